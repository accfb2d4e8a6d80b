import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.util.GenericOptionsParser;
import org.apache.tez.client.TezClient;
import org.apache.tez.dag.api.DAG;
import org.apache.tez.dag.api.Edge;
import org.apache.tez.dag.api.ProcessorDescriptor;
import org.apache.tez.dag.api.TezConfiguration;
import org.apache.tez.dag.api.UserPayload;
import org.apache.tez.dag.api.Vertex;
import org.apache.tez.dag.api.client.DAGStatus;
import org.apache.tez.dag.api.client.Progress;
import org.apache.tez.dag.api.client.StatusGetOpts;
import org.apache.tez.runtime.api.ProcessorContext;
import org.apache.tez.runtime.library.api.KeyValueWriter;
import org.apache.tez.runtime.library.api.KeyValuesReader;
import org.apache.tez.runtime.library.conf.OrderedPartitionedKVEdgeConfig;
import org.apache.tez.runtime.library.partitioner.HashPartitioner;
import org.apache.tez.runtime.library.processor.SimpleProcessor;

/** Tasks that write half of their output, wait for a file, and write the rest; others add all of it up. Arguments: tasks, a folder. */
public class Gate {
  static final int EACH = 10_000;

  public static class First extends SimpleProcessor {
    public First(ProcessorContext context) {
      super(context);
    }

    @Override
    public void run() throws Exception {
      String dir = StandardCharsets.UTF_8.decode(getContext().getUserPayload().getPayload()).toString();
      KeyValueWriter out = (KeyValueWriter) getOutputs().values().iterator().next().getWriter();
      for (int i = 0; i < EACH; i++) {
        if (i == EACH / 2) {
          File.createTempFile("begun", "", new File(dir));
          while (!new File(dir, "gate").exists()) {
            Thread.sleep(100);
            getContext().notifyProgress();
          }
        }
        out.write(new IntWritable(i % 100), new LongWritable(i));
      }
    }
  }

  public static class Second extends SimpleProcessor {
    public Second(ProcessorContext context) {
      super(context);
    }

    @Override
    public void run() throws Exception {
      KeyValuesReader in = (KeyValuesReader) getInputs().values().iterator().next().getReader();
      while (in.next()) {
        for (Object n : in.getCurrentValues()) {
          getContext().getCounters().findCounter("gate", "sum").increment(((LongWritable) n).get());
        }
      }
    }
  }

  public static void main(String[] args) throws Exception {
    TezConfiguration conf = new TezConfiguration();
    args = new GenericOptionsParser(conf, args).getRemainingArgs();
    UserPayload dir = UserPayload.create(ByteBuffer.wrap(args[1].getBytes(StandardCharsets.UTF_8)));
    Vertex first = Vertex.create("first", ProcessorDescriptor.create(First.class.getName()).setUserPayload(dir), Integer.parseInt(args[0]));
    Vertex second = Vertex.create("second", ProcessorDescriptor.create(Second.class.getName()), 2);
    OrderedPartitionedKVEdgeConfig edge = OrderedPartitionedKVEdgeConfig.newBuilder(
        IntWritable.class.getName(), LongWritable.class.getName(), HashPartitioner.class.getName()).setFromConfiguration(conf).build();
    DAG dag = DAG.create("gate").addVertex(first).addVertex(second).addEdge(Edge.create(first, second, edge.createDefaultEdgeProperty()));
    TezClient client = TezClient.create("gate", conf);
    client.start();
    try {
      DAGStatus status = client.submitDAG(dag).waitForCompletionWithStatusUpdates(EnumSet.of(StatusGetOpts.GET_COUNTERS));
      Progress p = status.getDAGProgress();
      System.out.printf("%s sum=%d succeeded=%d failed=%d killed=%d%n", status.getState(),
          status.getDAGCounters().findCounter("gate", "sum").getValue(),
          p.getSucceededTaskCount(), p.getFailedTaskAttemptCount() + p.getFailedTaskCount(), p.getKilledTaskAttemptCount() + p.getKilledTaskCount());
    } finally {
      client.stop();
    }
  }
}
