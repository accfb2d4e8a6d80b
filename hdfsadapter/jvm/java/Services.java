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
  static final int LOAD = 10;
  static final int UNLOAD = 11;

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
        Request first = new Request(r);
        services.put(first.name, init(first));
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
      case LOAD:
        return reply.bytes(load(new Request(r)));
      case UNLOAD:
        unload(r.text());
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

  /** A service as a request describes it. */
  private static final class Request {
    final String name;
    final String className;
    final String classPath;
    final String[] files; // types and locations in turn
    final String[] system;
    final String recovery;
    final String[] properties; // keys and values in turn

    Request(Wire.Reader r) throws IOException {
      name = r.text();
      className = r.text();
      classPath = r.text();
      files = r.texts();
      system = r.texts();
      recovery = r.text();
      properties = r.texts();
    }
  }

  private Loaded init(Request q) throws Exception {
    String classPath = q.classPath;
    if (classPath.isEmpty() && q.files.length > 0) {
      classPath = Remote.fetch(q.files, q.name, q.className, paths, conf);
    }
    ClassLoader loader = null;
    if (!classPath.isEmpty()) {
      loader = new ApplicationClassLoader(classPath, Services.class.getClassLoader(), Arrays.asList(q.system));
    }
    Class<? extends AuxiliaryService> type =
        Class.forName(q.className, true, loader == null ? Services.class.getClassLoader() : loader).asSubclass(AuxiliaryService.class);
    AuxiliaryService service = ReflectionUtils.newInstance(type, loader == null ? null : conf);
    Loaded loaded = new Loaded(service, loader);
    Configuration own = new Configuration(conf);
    if (loader != null) {
      own.setClassLoader(loader);
    }
    for (int i = 0; i + 1 < q.properties.length; i += 2) {
      own.set(q.properties[i], q.properties[i + 1]);
    }
    call(loaded, s -> {
      s.setAuxiliaryLocalPathHandler(paths);
      if (!q.recovery.isEmpty()) {
        File folder = new File(q.recovery);
        if (!folder.isDirectory() && !folder.mkdirs()) {
          throw new IOException("can't make the folder of its state, " + q.recovery);
        }
        s.setRecoveryPath(new Path(q.recovery)); // without a scheme, as a NodeManager of Hadoop's has it: services take its text as the name of a file
      }
      s.init(own);
    });
    return loaded;
  }

  /** Starts all services, and returns how many there are, and each one's name and data for applications. */
  private Wire.Writer start(Wire.Writer reply) throws Exception {
    reply.integer(services.size());
    for (Map.Entry<String, Loaded> e : services.entrySet()) {
      reply.text(e.getKey()).bytes(start(e.getKey(), e.getValue()));
    }
    return reply;
  }

  /** Starts a service, and returns its data for applications; null: it has none. */
  private static byte[] start(String name, Loaded s) throws Exception {
    try {
      call(s, Service::start);
    } catch (Throwable failed) {
      throw new IOException("auxiliary service " + name + " (" + s.service.getClass().getName() + ") can't start", failed);
    }
    ByteBuffer[] meta = new ByteBuffer[1];
    call(s, to -> meta[0] = to.getMetaData());
    if (meta[0] == null) {
      return null;
    }
    ByteBuffer copy = meta[0].duplicate();
    byte[] data = new byte[copy.remaining()];
    copy.get(data);
    return data;
  }

  /** Replaces a service while others run: the old one has stopped before the new one is made, since both may want the same port. */
  private byte[] load(Request q) throws Exception {
    unload(q.name);
    Loaded loaded = init(q);
    byte[] data;
    try {
      data = start(q.name, loaded);
    } catch (Exception failed) {
      stop(loaded);
      throw failed;
    }
    services.put(q.name, loaded);
    return data;
  }

  private void unload(String name) {
    Loaded old = services.remove(name);
    if (old != null) {
      stop(old);
    }
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
    for (Loaded s : new ArrayList<>(services.values())) {
      stop(s);
    }
  }

  private static void stop(Loaded s) {
    try {
      if (s.service.getServiceState() == Service.STATE.STARTED) {
        call(s, Service::stop);
      }
    } catch (Throwable failed) {
      failed.printStackTrace();
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
