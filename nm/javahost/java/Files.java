package heddle.javahost;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.PrivilegedExceptionAction;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Reads files of one user for a NodeManager that isn't Java, by Hadoop's FileSystem classes. Descriptor 0 is a socket to that NodeManager, which sends one
 * request after the other (see Wire). The process ends when the socket does.
 */
public final class Files {
  static final int HELLO = 1;
  static final int STAT = 2;
  static final int LIST = 3;
  static final int OPEN = 4;
  static final int READ = 5;
  static final int CLOSE = 6;

  private static final int CHUNK = 1 << 20;
  private static final int MOST_ENTRIES = 10000;

  private final YarnConfiguration conf = new YarnConfiguration();
  private UserGroupInformation user;
  private InputStream open;

  private Files() {}

  public static void main(String[] args) {
    System.setIn(new ByteArrayInputStream(new byte[0])); // the socket is ours alone
    int status = 1;
    try {
      new Files().serve();
      status = 0;
    } catch (Throwable lost) {
      lost.printStackTrace();
    }
    Runtime.getRuntime().halt(status);
  }

  private void serve() throws IOException {
    OutputStream out = new FileOutputStream(FileDescriptor.in); // a socket is read and written by the same descriptor
    DataInputStream in = new DataInputStream(new FileInputStream(FileDescriptor.in));
    while (true) {
      byte[] body;
      try {
        body = Wire.read(in);
      } catch (EOFException gone) {
        return;
      }
      Wire.Reader request = new Wire.Reader(body);
      int id = request.integer();
      int op = request.octet();
      Wire.Writer reply;
      try {
        reply = handle(op, request, Wire.ok(id));
      } catch (OutOfMemoryError dying) {
        throw dying;
      } catch (Throwable failed) {
        reply = Wire.failed(id, failed);
      }
      Wire.write(out, reply);
    }
  }

  private Wire.Writer handle(int op, Wire.Reader r, Wire.Writer reply) throws Exception {
    if (op == HELLO) {
      hello(r);
      return reply;
    }
    return user.doAs((PrivilegedExceptionAction<Wire.Writer>) () -> as(op, r, reply));
  }

  /** Reads the configuration, and who the files are read as: "" is this process's user, with the NodeManager's account where there is Kerberos. */
  private void hello(Wire.Reader r) throws IOException {
    String[] set = r.texts();
    for (int i = 0; i + 1 < set.length; i += 2) {
      conf.set(set[i], set[i + 1]);
    }
    String host = r.text();
    String name = r.text();
    byte[] tokens = r.bytes();
    UserGroupInformation.setConfiguration(conf);
    if (name.isEmpty()) {
      if (UserGroupInformation.isSecurityEnabled()) {
        SecurityUtil.login(conf, YarnConfiguration.NM_KEYTAB, YarnConfiguration.NM_PRINCIPAL, host);
      }
      user = UserGroupInformation.getLoginUser();
      return;
    }
    user = UserGroupInformation.createRemoteUser(name);
    if (tokens != null && tokens.length > 0) {
      Credentials c = new Credentials();
      c.readTokenStorageStream(new DataInputStream(new ByteArrayInputStream(tokens)));
      user.addCredentials(c);
    }
  }

  private Wire.Writer as(int op, Wire.Reader r, Wire.Writer reply) throws IOException {
    switch (op) {
      case STAT:
        Path file = path(r);
        return status(file.getFileSystem(conf).getFileStatus(file), reply);
      case LIST:
        Path folder = path(r);
        FileStatus[] all = folder.getFileSystem(conf).listStatus(folder);
        if (all.length > MOST_ENTRIES) {
          throw new IOException(folder + " has " + all.length + " entries, and may have " + MOST_ENTRIES);
        }
        reply.integer(all.length);
        for (FileStatus one : all) {
          status(one, reply);
        }
        return reply;
      case OPEN:
        close();
        Path opened = path(r);
        open = opened.getFileSystem(conf).open(opened);
        return reply;
      case READ:
        return read(reply);
      case CLOSE:
        close();
        return reply;
      default:
        throw new IOException("operation " + op + " is unknown");
    }
  }

  private static Path path(Wire.Reader r) {
    String scheme = r.text();
    String authority = r.text();
    return new Path(scheme, authority.isEmpty() ? null : authority, r.text());
  }

  private static Wire.Writer status(FileStatus s, Wire.Writer reply) throws FileNotFoundException {
    return reply.text(s.getPath().getName()).octet(s.isDirectory() ? 1 : 0).number(s.getLen()).number(s.getModificationTime()).integer(s.getPermission().toShort());
  }

  /** Replies with the next bytes of the open file; none at its end. */
  private Wire.Writer read(Wire.Writer reply) throws IOException {
    if (open == null) {
      throw new IOException("no file is open");
    }
    byte[] chunk = new byte[CHUNK];
    int n = 0;
    while (n < CHUNK) {
      int got = open.read(chunk, n, CHUNK - n);
      if (got < 0) {
        break;
      }
      n += got;
    }
    byte[] exact = n == CHUNK ? chunk : java.util.Arrays.copyOf(chunk, n);
    return reply.bytes(exact);
  }

  private void close() throws IOException {
    InputStream was = open;
    open = null;
    if (was != null) {
      was.close();
    }
  }
}
