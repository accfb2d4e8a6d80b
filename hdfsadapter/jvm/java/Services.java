package heddle.javahost;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.service.Service;
import org.apache.hadoop.util.ApplicationClassLoader;
import org.apache.hadoop.util.ReflectionUtils;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryService;
import org.apache.hadoop.yarn.server.api.ContainerInitializationContext;
import org.apache.hadoop.yarn.server.api.ContainerTerminationContext;
import org.apache.hadoop.yarn.server.api.ContainerType;

/** The services of this process, and the requests that concern them. Only the main thread calls handle. */
final class Services {
  static final int HELLO = 1;
  static final int INIT = 2;
  static final int START = 3;
  static final int APPLICATION_INIT = 4;
  static final int APPLICATION_STOP = 5;
  static final int CONTAINER_INIT = 6;
  static final int CONTAINER_STOP = 7;
  static final int DIRS = 8;
  static final int QUIT = 9;

  /** A service, and the loader of its classes if it has one of its own. */
  private static final class Loaded {
    final AuxiliaryService service;
    final ClassLoader loader;

    Loaded(AuxiliaryService service, ClassLoader loader) {
      this.service = service;
      this.loader = loader;
    }
  }

  private interface Call {
    void on(AuxiliaryService s) throws Exception;
  }

  // A hash map, as services of a NodeManager of Hadoop's are called in the order of one.
  private final Map<String, Loaded> services = new HashMap<>();
  private final LocalPaths paths = new LocalPaths();
  private Configuration conf;

  Wire.Writer handle(int op, Wire.Reader r, Wire.Writer reply) throws Exception {
    switch (op) {
      case HELLO:
        hello(r);
        return reply.text(System.getProperty("java.version")).text(VersionInfo.getVersion());
      case INIT:
        init(r);
        return reply;
      case START:
        return start(reply);
      case APPLICATION_INIT:
        initializeApplication(r);
        return reply;
      case APPLICATION_STOP:
        ApplicationId app = application(r);
        each(s -> s.stopApplication(new ApplicationTerminationContext(app)));
        return reply;
      case CONTAINER_INIT:
        Container begun = new Container(r);
        each(s -> s.initializeContainer(new ContainerInitializationContext(begun.user, begun.id, begun.size, begun.type)));
        return reply;
      case CONTAINER_STOP:
        Container ended = new Container(r);
        each(s -> s.stopContainer(new ContainerTerminationContext(ended.user, ended.id, ended.size, ended.type)));
        return reply;
      case DIRS:
        paths.set(r.texts(), r.texts());
        return reply;
      case QUIT:
        stop();
        return reply;
      default:
        throw new IOException("operation " + op + " is unknown");
    }
  }

  /** Reads the configuration, and logs in where the cluster has Kerberos, as a NodeManager does before it has services. */
  private void hello(Wire.Reader r) throws IOException {
    conf = new YarnConfiguration();
    String[] set = r.texts();
    for (int i = 0; i + 1 < set.length; i += 2) {
      conf.set(set[i], set[i + 1]);
    }
    paths.set(r.texts(), r.texts());
    String host = r.text();
    UserGroupInformation.setConfiguration(conf);
    if (UserGroupInformation.isSecurityEnabled()) {
      SecurityUtil.login(conf, YarnConfiguration.NM_KEYTAB, YarnConfiguration.NM_PRINCIPAL, host);
    }
  }

  private void init(Wire.Reader r) throws Exception {
    String name = r.text();
    String className = r.text();
    String classPath = r.text();
    String remote = r.text();
    String[] system = r.texts();
    String recovery = r.text();
    if (classPath.isEmpty() && !remote.isEmpty()) {
      classPath = Remote.fetch(remote, className, paths, conf);
    }
    ClassLoader loader = null;
    if (!classPath.isEmpty()) {
      loader = new ApplicationClassLoader(classPath, Services.class.getClassLoader(), Arrays.asList(system));
    }
    Class<? extends AuxiliaryService> type =
        Class.forName(className, true, loader == null ? Services.class.getClassLoader() : loader).asSubclass(AuxiliaryService.class);
    AuxiliaryService service = ReflectionUtils.newInstance(type, loader == null ? null : conf);
    Loaded loaded = new Loaded(service, loader);
    services.put(name, loaded);
    Configuration own = new Configuration(conf);
    if (loader != null) {
      own.setClassLoader(loader);
    }
    call(loaded, s -> {
      s.setAuxiliaryLocalPathHandler(paths);
      if (!recovery.isEmpty()) {
        File folder = new File(recovery);
        if (!folder.isDirectory() && !folder.mkdirs()) {
          throw new IOException("can't make the folder of its state, " + recovery);
        }
        s.setRecoveryPath(new Path("file:" + recovery));
      }
      s.init(own);
    });
  }

  /** Starts all services, and returns how many there are, and each one's name and data for applications. */
  private Wire.Writer start(Wire.Writer reply) throws Exception {
    reply.integer(services.size());
    for (Map.Entry<String, Loaded> e : services.entrySet()) {
      try {
        call(e.getValue(), Service::start);
      } catch (Throwable failed) {
        throw new IOException("auxiliary service " + e.getKey() + " (" + e.getValue().service.getClass().getName() + ") can't start", failed);
      }
      ByteBuffer[] meta = new ByteBuffer[1];
      call(e.getValue(), s -> meta[0] = s.getMetaData());
      byte[] data = null;
      if (meta[0] != null) {
        ByteBuffer copy = meta[0].duplicate();
        data = new byte[copy.remaining()];
        copy.get(data);
      }
      reply.text(e.getKey()).bytes(data);
    }
    return reply;
  }

  private void initializeApplication(Wire.Reader r) throws Exception {
    String name = r.text();
    String user = r.text();
    ApplicationId app = application(r);
    byte[] data = r.bytes();
    Loaded s = services.get(name);
    if (s == null) {
      throw new IOException("there is no service " + name);
    }
    call(s, to -> to.initializeApplication(new ApplicationInitializationContext(user, app, ByteBuffer.wrap(data == null ? new byte[0] : data))));
  }

  private static ApplicationId application(Wire.Reader r) {
    long timestamp = r.number();
    return ApplicationId.newInstance(timestamp, r.integer());
  }

  /** Calls all services. What one throws doesn't keep the others from being called. */
  private void each(Call c) throws IOException {
    List<String> failures = new ArrayList<>();
    for (Map.Entry<String, Loaded> e : services.entrySet()) {
      try {
        call(e.getValue(), c);
      } catch (OutOfMemoryError dying) {
        throw dying;
      } catch (Throwable failed) {
        failed.printStackTrace();
        failures.add(e.getKey() + ": " + failed);
      }
    }
    if (!failures.isEmpty()) {
      throw new IOException(String.join("; ", failures));
    }
  }

  private static void call(Loaded s, Call c) throws Exception {
    Thread here = Thread.currentThread();
    ClassLoader before = here.getContextClassLoader();
    if (s.loader != null) {
      here.setContextClassLoader(s.loader);
    }
    try {
      c.on(s.service);
    } finally {
      here.setContextClassLoader(before);
    }
  }

  void stop() {
    for (Map.Entry<String, Loaded> e : new ArrayList<>(services.entrySet())) {
      try {
        if (e.getValue().service.getServiceState() == Service.STATE.STARTED) {
          call(e.getValue(), Service::stop);
        }
      } catch (Throwable failed) {
        failed.printStackTrace();
      }
    }
  }

  /** A container as requests describe it. */
  private static final class Container {
    final String user;
    final ContainerId id;
    final Resource size;
    final ContainerType type;

    Container(Wire.Reader r) {
      user = r.text();
      id = ContainerId.fromString(r.text());
      size = Resource.newInstance(r.number(), r.integer());
      type = r.octet() == 1 ? ContainerType.APPLICATION_MASTER : ContainerType.TASK;
      for (int n = r.integer(); n > 0; n--) {
        String name = r.text();
        size.setResourceValue(name, r.number());
      }
    }
  }
}
