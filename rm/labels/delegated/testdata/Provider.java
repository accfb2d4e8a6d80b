package example;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsMappingProvider;

/** Says of nodes what a file does, example.labels: "throw", "hang", "exit", or a line "HOST LABEL…" for each host; "*" is every host. */
public class Provider extends RMNodeLabelsMappingProvider {
  private String file;

  public Provider() {
    super("example");
  }

  @Override
  protected void serviceInit(Configuration conf) throws Exception {
    file = conf.get("example.labels");
    super.serviceInit(conf);
  }

  @Override
  public Map<NodeId, Set<NodeLabel>> getNodeLabels(Set<NodeId> nodes) {
    Map<NodeId, Set<NodeLabel>> all = new HashMap<>();
    try {
      for (String line : Files.readAllLines(Paths.get(file))) {
        String[] words = line.split(" ");
        switch (words[0]) {
          case "throw":
            throw new IllegalStateException("no labels today");
          case "hang":
            Files.createFile(Paths.get(file + ".hangs"));
            while (true) {
              LockSupport.park();
            }
          case "exit":
            Runtime.getRuntime().halt(3);
          default:
        }
        for (NodeId node : nodes) {
          if (words[0].equals("*") || words[0].equals(node.getHost())) {
            Set<NodeLabel> labels = new HashSet<>();
            for (int i = 1; i < words.length; i++) {
              labels.add(NodeLabel.newInstance(words[i]));
            }
            all.put(node, labels);
          }
        }
      }
    } catch (IOException e) {
      throw new RuntimeException(e);
    }
    return all;
  }
}
