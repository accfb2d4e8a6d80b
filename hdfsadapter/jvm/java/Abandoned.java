package heddle.javahost;

import java.io.IOException;
import org.apache.hadoop.fs.FSDataOutputStream;

/** Gives up files that are being written. */
final class Abandoned {
  private Abandoned() {}

  /** Ends a stream; a store that makes files visible as a whole then has none. Hadoop has abort since 3.3.1; earlier streams leave what is written. */
  static void stream(FSDataOutputStream out) throws IOException {
    if (out == null) {
      return;
    }
    if (out.hasCapability("fs.capability.outputstream.abortable")) {
      try {
        out.getClass().getMethod("abort").invoke(out);
        return;
      } catch (ReflectiveOperationException absent) {
        // it can only be closed
      }
    }
    out.close();
  }
}
