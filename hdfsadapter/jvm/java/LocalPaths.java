package heddle.javahost;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.DiskChecker.DiskErrorException;
import org.apache.hadoop.yarn.server.api.AuxiliaryLocalPathHandler;

/** Finds files in the node's local folders for services. The NodeManager tells which of them are usable now. */
final class LocalPaths implements AuxiliaryLocalPathHandler {
  private volatile String[] writable = {};
  private volatile String[] readable = {};
  private final AtomicInteger next = new AtomicInteger();

  void set(String[] writable, String[] readable) {
    this.writable = writable;
    this.readable = readable;
  }

  private static File in(String dir, String path) {
    return new File(dir, path.replaceFirst("^/+", ""));
  }

  @Override
  public Path getLocalPathForRead(String path) throws IOException {
    for (String dir : readable) {
      File f = in(dir, path);
      if (f.exists()) {
        return new Path(f.getPath());
      }
    }
    throw new DiskErrorException("Could not find " + path + " in any of the directories");
  }

  @Override
  public Path getLocalPathForWrite(String path) throws IOException {
    return getLocalPathForWrite(path, -1);
  }

  @Override
  public Path getLocalPathForWrite(String path, long size) throws IOException {
    String[] dirs = writable;
    int first = Math.floorMod(next.getAndIncrement(), Math.max(dirs.length, 1));
    for (int i = 0; i < dirs.length; i++) {
      String dir = dirs[(first + i) % dirs.length];
      File f = in(dir, path);
      File parent = f.getParentFile();
      if (new File(dir).getUsableSpace() > size && (parent.isDirectory() || parent.mkdirs())) {
        return new Path(f.getPath());
      }
    }
    throw new DiskErrorException("Could not find any valid local directory for " + path + (size < 0 ? "" : " with requested size " + size));
  }

  @Override
  public Iterable<Path> getAllLocalPathsForRead(String path) throws IOException {
    List<Path> all = new ArrayList<>();
    for (String dir : readable) {
      File f = in(dir, path);
      if (f.exists()) {
        all.add(new Path(f.getPath()));
      }
    }
    return all;
  }
}
