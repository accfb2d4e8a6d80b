import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;
import java.io.File;

/**
 * Counts the words of a folder into another one; called with "forever", runs until it is cancelled; called with "gate", a folder of this machine and one of HDFS, counts
 * numbers by their last digit, and waits halfway for a file gate.
 */
public class Words {
  public static void main(String[] args) throws Exception {
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    if (args[0].equals("forever")) {
      env.fromSequence(0, Long.MAX_VALUE).map(Words::slowly).returns(Types.LONG).print();
      env.execute("forever");
      return;
    }
    env.setRuntimeMode(RuntimeExecutionMode.BATCH);
    if (args[0].equals("gate")) {
      String dir = args[1];
      env.fromSequence(0, 9999).map(n -> atGate(dir, n)).returns(Types.TUPLE(Types.STRING, Types.INT))
          .keyBy(t -> t.f0).sum(1)
          .map(t -> t.f0 + "\t" + t.f1).returns(Types.STRING)
          .sinkTo(FileSink.<String>forRowFormat(new Path(args[2]), new SimpleStringEncoder<>()).build());
      env.execute("gate");
      return;
    }
    FileSource<String> in = FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(args[0])).build();
    env.fromSource(in, WatermarkStrategy.noWatermarks(), "in")
        .flatMap(Words::split).returns(Types.TUPLE(Types.STRING, Types.INT))
        .keyBy(t -> t.f0).sum(1)
        .map(t -> t.f0 + "\t" + t.f1).returns(Types.STRING)
        .sinkTo(FileSink.<String>forRowFormat(new Path(args[1]), new SimpleStringEncoder<>()).build());
    env.execute("words");
  }

  private static long slowly(long n) throws InterruptedException {
    Thread.sleep(100);
    return n;
  }

  private static Tuple2<String, Integer> atGate(String dir, long n) throws Exception {
    if (n % 5000 == 2500) {
      File.createTempFile("begun", "", new File(dir));
      while (!new File(dir, "gate").exists()) {
        Thread.sleep(100);
      }
    }
    return Tuple2.of(Long.toString(n % 10), 1);
  }

  private static void split(String line, Collector<Tuple2<String, Integer>> out) {
    for (String word : line.split(" ")) {
      out.collect(Tuple2.of(word, 1));
    }
  }
}
