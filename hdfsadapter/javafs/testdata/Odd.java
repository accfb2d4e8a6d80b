package heddle.test;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.Progressable;

/**
 * The local file system under the scheme odd. The names of some files are orders: hang, exit, leak, denied. The folder many has 4,001 entries. The file whoami has the name of the user who reads it,
 * and as its length the number of tokens.
 */
public class Odd extends FilterFileSystem {
  private static final int MANY = 4001;

  public Odd() {
    super(new RawLocalFileSystem());
  }

  @Override
  public void initialize(URI uri, Configuration conf) throws IOException {
    fs.initialize(URI.create("file:///"), conf);
    setConf(conf);
  }

  @Override
  public URI getUri() {
    return URI.create("odd:///");
  }

  @Override
  public FSDataInputStream open(Path f, int bufferSize) throws IOException {
    order(f);
    return fs.open(local(f), bufferSize);
  }

  @Override
  public FileStatus getFileStatus(Path f) throws IOException {
    order(f);
    UserGroupInformation me = UserGroupInformation.getCurrentUser();
    if (f.getName().equals("whoami")) {
      return new FileStatus(me.getCredentials().numberOfTokens(), false, 1, 1, 5, new Path("odd:/" + me.getShortUserName()));
    }
    return fs.getFileStatus(local(f));
  }

  @Override
  public FileStatus[] listStatus(Path f) throws IOException {
    return fs.listStatus(local(f));
  }

  @Override
  public RemoteIterator<FileStatus> listStatusIterator(Path f) throws IOException {
    if (!f.getName().equals("many")) {
      return fs.listStatusIterator(local(f));
    }
    return new RemoteIterator<FileStatus>() {
      private int n;

      @Override
      public boolean hasNext() {
        return n < MANY;
      }

      @Override
      public FileStatus next() {
        return new FileStatus(n, false, 1, 1, 5, new Path("odd:/many/" + n++));
      }
    };
  }

  @Override
  public FSDataOutputStream create(Path f, FsPermission mode, boolean overwrite, int buffer, short copies, long block, Progressable p) throws IOException {
    order(f);
    return fs.create(local(f), mode, overwrite, buffer, copies, block, p);
  }

  @Override
  public FSDataOutputStream append(Path f, int buffer, Progressable p) throws IOException {
    return fs.append(local(f), buffer, p);
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    return fs.rename(local(from), local(to));
  }

  @Override
  public boolean delete(Path f, boolean recursive) throws IOException {
    return fs.delete(local(f), recursive);
  }

  @Override
  public boolean mkdirs(Path f, FsPermission mode) throws IOException {
    return fs.mkdirs(local(f), mode);
  }

  @Override
  public void setPermission(Path f, FsPermission mode) throws IOException {
    fs.setPermission(local(f), mode);
  }

  @Override
  public void setOwner(Path f, String owner, String group) throws IOException {
    fs.setOwner(local(f), owner, group);
  }

  @Override
  public void setTimes(Path f, long modified, long accessed) throws IOException {
    fs.setTimes(local(f), modified, accessed);
  }

  @Override
  public BlockLocation[] getFileBlockLocations(Path f, long start, long length) throws IOException {
    return fs.getFileBlockLocations(local(f), start, length);
  }

  private static Path local(Path f) {
    return new Path("file", null, f.toUri().getPath());
  }

  private static void order(Path f) throws IOException {
    switch (f.getName()) {
      case "hang":
        synchronized (Odd.class) {
          try {
            Odd.class.wait();
          } catch (InterruptedException e) {
            throw new IOException(e);
          }
        }
        break;
      case "exit":
        Runtime.getRuntime().halt(3);
        break;
      case "leak":
        StringBuilder all = new StringBuilder("leak");
        while (true) {
          all.append(all);
        }
      case "denied":
        throw new AccessControlException("you may not");
      default:
    }
  }
}
