package heddle.javahost;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.service.Service;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Asks a site's class which labels nodes have, for a ResourceManager that isn't Java (Hadoop: RMDelegatedNodeLabelsUpdater). Descriptor 0 is a socket to that
 * ResourceManager (see Wire). Requests are executed one after the other. The process ends when the socket does.
 */
public final class NodeLabels {
  static final int HELLO = 1;
  static final int LABELS = 2;
  static final int QUIT = 3;

  private static final String KEY = "yarn.resourcemanager.node-labels.provider";
  private static final String BASE = "org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsMappingProvider";

  private Service provider;
  private Method labels;

  private NodeLabels() {}

  public static void main(String[] args) {
    Wire.serve(Runnable::run, QUIT, new NodeLabels()::handle);
  }

  private Wire.Writer handle(int op, Wire.Reader r, Wire.Writer reply) throws Exception {
    switch (op) {
      case HELLO:
        hello(Daemon.begin(r));
        return reply;
      case LABELS:
        return ask(r.texts(), reply);
      case QUIT:
        provider.stop();
        return reply;
      default:
        throw new IOException("operation " + op + " is unknown");
    }
  }

  private void hello(YarnConfiguration conf) throws Exception {
    Class<?> base = conf.getClassByName(BASE);
    Class<?> named = conf.getClassByName(conf.getTrimmed(KEY));
    if (!base.isAssignableFrom(named)) {
      throw new IOException("class " + named.getName() + " not " + BASE);
    }
    provider = (Service) named.getDeclaredConstructor().newInstance();
    labels = base.getMethod("getNodeLabels", Set.class);
    provider.init(conf);
    provider.start();
  }

  /** The reply has a number of nodes, and of each its id and its labels. */
  private Wire.Writer ask(String[] nodes, Wire.Writer reply) throws Exception {
    Set<NodeId> ids = new HashSet<>();
    for (String node : nodes) {
      ids.add(NodeId.fromString(node));
    }
    Map<?, ?> found;
    try {
      found = (Map<?, ?>) labels.invoke(provider, ids);
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
    }
    if (found == null) {
      return reply.integer(0);
    }
    reply.integer(found.size());
    for (Map.Entry<?, ?> entry : found.entrySet()) {
      reply.text(((NodeId) entry.getKey()).toString());
      Set<?> of = entry.getValue() == null ? new HashSet<>() : (Set<?>) entry.getValue();
      reply.integer(of.size());
      for (Object label : of) {
        reply.text(((NodeLabel) label).getName());
      }
    }
    return reply;
  }
}
