package heddle.test;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/** A site's own file system: this machine's files under the scheme loom. */
public class Loom extends RawLocalFileSystem {
  private static final URI ROOT = URI.create("loom:///");

  @Override
  public URI getUri() {
    return ROOT;
  }

  @Override
  public String getScheme() {
    return "loom";
  }

  @Override
  public FileStatus getFileStatus(Path f) throws IOException {
    FileStatus s = super.getFileStatus(f);
    PosixFileAttributes a = Files.readAttributes(pathToFile(f).toPath(), PosixFileAttributes.class);
    FsPermission mode = FsPermission.valueOf("-" + PosixFilePermissions.toString(a.permissions()));
    return new FileStatus(s.getLen(), s.isDirectory(), s.getReplication(), s.getBlockSize(), s.getModificationTime(), s.getAccessTime(), mode,
        a.owner().getName(), a.group().getName(), s.getPath());
  }

  @Override
  public FileStatus[] listStatus(Path f) throws IOException {
    FileStatus s = getFileStatus(f);
    return s.isDirectory() ? super.listStatus(f) : new FileStatus[] {s};
  }

  /** What FileContext takes instead of a FileSystem. */
  public static class Context extends DelegateToFileSystem {
    public Context(URI uri, Configuration conf) throws IOException, URISyntaxException {
      super(uri, opened(conf), conf, "loom", false);
    }

    private static Loom opened(Configuration conf) throws IOException {
      Loom fs = new Loom();
      fs.initialize(ROOT, conf);
      return fs;
    }
  }
}
