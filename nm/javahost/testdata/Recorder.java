package heddle.test;

import java.io.File;
import java.io.FileWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryService;
import org.apache.hadoop.yarn.server.api.ContainerContext;
import org.apache.hadoop.yarn.server.api.ContainerInitializationContext;
import org.apache.hadoop.yarn.server.api.ContainerTerminationContext;

/** A service that appends each call to the file recorder.file. An application's data may be an order: hang, exit, throw, leak, fork. */
public class Recorder extends AuxiliaryService {
  private String file;
  private Path recovery;
  private boolean handler;

  public Recorder() {
    super("recorder");
  }

  private void record(String what) {
    try (FileWriter w = new FileWriter(file, true)) {
      w.write(what + "\n");
    } catch (IOException e) {
      throw new RuntimeException(e);
    }
  }

  private static void forever() throws InterruptedException {
    synchronized (Recorder.class) {
      Recorder.class.wait();
    }
  }

  @Override
  public void setRecoveryPath(Path path) {
    super.setRecoveryPath(path);
    recovery = path;
  }

  @Override
  protected void serviceInit(Configuration conf) throws Exception {
    file = conf.get("recorder.file");
    handler = getAuxiliaryLocalPathHandler() != null;
    // The text of the path is a file's name: services of Hadoop's and Tez's take it as one.
    String state = recovery == null ? null : new File(recovery.toString()).isDirectory() ? recovery.getName() : "nowhere";
    record("init recovery=" + state + " handler=" + handler + " loader="
        + (Thread.currentThread().getContextClassLoader() == getClass().getClassLoader()));
    switch (conf.get("recorder.init", "")) {
      case "hang":
        forever();
        break;
      case "throw":
        throw new IOException("the recorder is told to fail");
      case "exit":
        System.exit(3);
        break;
      default:
    }
  }

  @Override
  protected void serviceStart() throws Exception {
    record("start");
    System.out.println("the recorder has started");
  }

  @Override
  protected void serviceStop() {
    record("stop");
  }

  @Override
  public void initializeApplication(ApplicationInitializationContext c) {
    ByteBuffer b = c.getApplicationDataForService();
    String data = StandardCharsets.UTF_8.decode(b.duplicate()).toString();
    record("initializeApplication " + c.getUser() + " " + app(c.getApplicationId().toString()) + " " + data);
    try {
      switch (data) {
        case "hang":
          forever();
          break;
        case "exit":
          Runtime.getRuntime().halt(4);
          break;
        case "throw":
          throw new IllegalStateException("the application is told to fail");
        case "leak":
          StringBuilder all = new StringBuilder("leak");
          while (true) {
            all.append(all);
          }
        case "fork":
          new ProcessBuilder("setsid", "sh", "-c", "echo $$ > " + file + ".child; exec sleep 86399").inheritIO().start();
          break;
        case "path":
          record("path " + getAuxiliaryLocalPathHandler().getLocalPathForWrite("recorder/a/file").getParent().getName());
          break;
        default:
      }
    } catch (IOException | InterruptedException e) {
      throw new RuntimeException(e);
    }
  }

  @Override
  public void stopApplication(ApplicationTerminationContext c) {
    record("stopApplication " + app(c.getApplicationId().toString()));
  }

  @Override
  public void initializeContainer(ContainerInitializationContext c) {
    record("initializeContainer " + container(c));
  }

  @Override
  public void stopContainer(ContainerTerminationContext c) {
    record("stopContainer " + container(c));
  }

  @Override
  public ByteBuffer getMetaData() {
    record("getMetaData");
    return ByteBuffer.wrap("recorded".getBytes(StandardCharsets.UTF_8));
  }

  /** Without what differs between two clusters. */
  private static String app(String id) {
    return id.substring(id.lastIndexOf('_') + 1);
  }

  private static String container(ContainerContext c) {
    return c.getUser() + " " + app(c.getContainerId().getApplicationAttemptId().getApplicationId().toString()) + "/"
        + (c.getContainerId().getContainerId() & 0xffffffffffL) + " " + c.getResource() + " " + c.getContainerType();
  }
}
