package heddle.javahost;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Runs the auxiliary services of a NodeManager that isn't Java. Descriptor 0 is a socket to that NodeManager, which sends one request after
 * the other and gets one reply for each (see Wire). Requests are executed in one thread in their order, as a NodeManager's dispatcher does.
 *
 * The process ends when the socket does: nothing of it outlives its NodeManager.
 */
public final class Main {
  private static final long STOP_MS = 3000;

  private final InputStream in = new FileInputStream(FileDescriptor.in);
  private final OutputStream out = new FileOutputStream(FileDescriptor.in); // a socket is read and written by the same descriptor
  private final LinkedBlockingQueue<byte[]> requests = new LinkedBlockingQueue<>();
  private final Services services = new Services();

  private Main() {}

  public static void main(String[] args) {
    System.setIn(new ByteArrayInputStream(new byte[0])); // the socket is ours alone
    Main host = new Main();
    Thread reader = new Thread(host::receive, "requests");
    reader.setDaemon(true);
    reader.start();
    host.serve();
  }

  /** Reads requests until the NodeManager is gone. It has its own thread, so that a service that hangs doesn't keep the process. */
  private void receive() {
    try (DataInputStream data = new DataInputStream(in)) {
      while (true) {
        requests.add(Wire.read(data));
      }
    } catch (EOFException gone) {
      System.err.println("The NodeManager has ended");
    } catch (Throwable bad) { // also a lack of memory for a request
      bad.printStackTrace();
    }
    Thread stop = new Thread(services::stop, "stop");
    stop.setDaemon(true);
    stop.start();
    try {
      stop.join(STOP_MS);
    } catch (InterruptedException ignored) {
      // it ends now
    }
    Runtime.getRuntime().halt(1);
  }

  private void serve() {
    while (true) {
      try {
        Wire.answer(requests.take(), out, Services.QUIT, this::handle);
      } catch (InterruptedException lost) {
        lost.printStackTrace();
        Runtime.getRuntime().halt(1);
      }
    }
  }

  private Wire.Writer handle(int op, Wire.Reader request, Wire.Writer reply) throws Exception {
    try {
      return services.handle(op, request, reply);
    } catch (Throwable failed) {
      failed.printStackTrace();
      throw failed;
    }
  }
}
