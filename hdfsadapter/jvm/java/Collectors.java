package heddle.javahost;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.timelineservice.TimelineEntities;
import org.apache.hadoop.yarn.api.records.timelineservice.TimelineEntity;
import org.apache.hadoop.yarn.server.timelineservice.collector.AppLevelTimelineCollector;
import org.apache.hadoop.yarn.server.timelineservice.collector.TimelineCollector;
import org.apache.hadoop.yarn.server.timelineservice.collector.TimelineCollectorContext;
import org.apache.hadoop.yarn.server.timelineservice.collector.TimelineCollectorManager;
import org.apache.hadoop.yarn.webapp.YarnJacksonJaxbJsonProvider;

/**
 * Writes entities of timeline version 2 for a ResourceManager that isn't Java, by Hadoop's collectors and whichever TimelineWriter the configuration names.
 * Descriptor 0 is a socket to that ResourceManager (see Wire). Requests are executed one after the other. The process ends when the socket does.
 */
public final class Collectors extends TimelineCollectorManager {
  static final int HELLO = 1;
  static final int PUT = 2;
  static final int QUIT = 3;

  private final ObjectMapper json = new ObjectMapper();
  private Put current; // for doPostPut: one thread serves

  private Collectors() {
    super(Collectors.class.getName());
    YarnJacksonJaxbJsonProvider.configObjectMapper(json);
  }

  public static void main(String[] args) {
    Wire.serve(Runnable::run, QUIT, new Collectors()::handle);
  }

  private Wire.Writer handle(int op, Wire.Reader r, Wire.Writer reply) throws Exception {
    switch (op) {
      case HELLO:
        init(Daemon.begin(r));
        start();
        return reply;
      case PUT:
        put(new Put(r));
        return reply;
      case QUIT:
        stop();
        return reply;
      default:
        throw new IOException("operation " + op + " is unknown");
    }
  }

  /** An entity, with what the collector of its application has to know. */
  private static final class Put {
    final ApplicationId app;
    final String user;
    final String flow;
    final String version;
    final long run;
    final boolean last; // of the application
    final byte[] entity;

    Put(Wire.Reader r) {
      long timestamp = r.number();
      app = ApplicationId.newInstance(timestamp, r.integer());
      user = r.text();
      flow = r.text();
      version = r.text();
      run = r.number();
      last = r.octet() == 1;
      entity = r.bytes();
    }
  }

  private void put(Put p) throws IOException {
    TimelineEntities entities = new TimelineEntities();
    entities.addEntity(json.readValue(p.entity, TimelineEntity.class));
    TimelineCollector collector = get(p.app);
    if (collector == null) {
      current = p;
      collector = putIfAbsent(p.app, new AppLevelTimelineCollector(p.app, p.user));
    }
    collector.putEntities(entities, UserGroupInformation.getCurrentUser());
    if (p.last) {
      remove(p.app);
    }
  }

  @Override
  protected void doPostPut(ApplicationId app, TimelineCollector collector) {
    TimelineCollectorContext context = collector.getTimelineEntityContext();
    context.setUserId(current.user);
    context.setFlowName(current.flow);
    context.setFlowVersion(current.version);
    context.setFlowRunId(current.run);
  }
}
