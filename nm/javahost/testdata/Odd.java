package heddle.test;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * The local file system under the scheme odd. The names of some files are orders: hang, exit, leak, denied. The file whoami has the name of the user who reads it,
 * and as its length the number of tokens.
 */
public class Odd extends FilterFileSystem {
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
