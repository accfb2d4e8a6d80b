import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Writes a number a second to a folder, as many as it is told, and a checkpoint every ten seconds to another one. */
public class Outlives {
  public static void main(String[] args) throws Exception {
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    env.setParallelism(1);
    env.enableCheckpointing(10000);
    env.fromSequence(1, Long.parseLong(args[1])).map(Outlives::slowly).returns(Types.STRING)
        .sinkTo(FileSink.<String>forRowFormat(new Path(args[0]), new SimpleStringEncoder<>()).build());
    env.execute("outlives");
  }

  private static String slowly(long n) throws InterruptedException {
    Thread.sleep(1000);
    return Long.toString(n);
  }
}
