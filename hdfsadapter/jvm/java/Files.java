package heddle.javahost;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathIsDirectoryException;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Reads and writes files for a program that isn't Java, by Hadoop's FileSystem classes. Descriptor 0 is a socket to that program (see Wire). It sends several
 * requests at once, which are executed by as many threads. Each belongs to a session: a user with tokens. The process ends when the socket does.
 */
public final class Files {
  static final int HELLO = 1;
  static final int SESSION = 2;
  static final int END = 3;
  static final int STAT = 4;
  static final int LIST = 5;
  static final int MORE = 6;
  static final int OPEN = 7;
  static final int READ = 8;
  static final int CREATE = 9;
  static final int APPEND = 10;
  static final int WRITE = 11;
  static final int FLUSH = 12;
  static final int CLOSE = 13;
  static final int ABANDON = 14;
  static final int RENAME = 15;
  static final int REMOVE = 16;
  static final int MKDIRS = 17;
  static final int CHMOD = 18;
  static final int CHOWN = 19;
  static final int CHTIMES = 20;
  static final int BLOCKS = 21;

  /** Bytes of a read, and entries of a part of a list; hdfsadapter/javafs has the same numbers. */
  private static final int CHUNK = 1 << 20;

  private static final int ENTRIES = 2000;

  /** What a request needs to have begun: it belongs to one session, and is used by one thread at a time. */
  private static final class Open {
    FSDataInputStream in;
    FSDataOutputStream out;
    RemoteIterator<FileStatus> list;
  }

  private final YarnConfiguration conf = new YarnConfiguration();
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          r -> {
            Thread t = new Thread(r, "request");
            t.setDaemon(true);
            return t;
          });
  private final Map<Integer, UserGroupInformation> sessions = new ConcurrentHashMap<>();
  private final Map<Integer, Open> opened = new ConcurrentHashMap<>();
  private final AtomicInteger last = new AtomicInteger();

  private Files() {}

  public static void main(String[] args) {
    Files files = new Files();
    Wire.serve(files.threads, 0, files::handle); // no operation ends it
  }

  private Wire.Writer handle(int op, Wire.Reader r, Wire.Writer reply) throws Exception {
    if (op == HELLO) {
      hello(r);
      return reply;
    }
    if (op == SESSION) {
      int id = last.incrementAndGet();
      sessions.put(id, session(r.text(), r.bytes()));
      return reply.integer(id);
    }
    int session = r.integer();
    UserGroupInformation user = sessions.get(session);
    if (user == null) {
      throw new IOException("session " + session + " is over");
    }
    if (op == END) {
      sessions.remove(session);
      if (user != UserGroupInformation.getLoginUser()) {
        FileSystem.closeAllForUGI(user);
      }
      return reply;
    }
    return user.doAs((PrivilegedExceptionAction<Wire.Writer>) () -> as(op, r, reply));
  }

  /** Reads the configuration, and logs in where this process works for a daemon and the cluster has Kerberos. */
  private void hello(Wire.Reader r) throws IOException {
    String[] set = r.texts();
    for (int i = 0; i + 1 < set.length; i += 2) {
      conf.set(set[i], set[i + 1]);
    }
    String host = r.text();
    String keytab = r.text();
    String principal = r.text();
    boolean daemon = r.octet() == 1;
    UserGroupInformation.setConfiguration(conf);
    if (daemon && UserGroupInformation.isSecurityEnabled()) {
      SecurityUtil.login(conf, keytab, principal, host);
    }
  }

  /** Who has a name and tokens: "" is this process's user, who is also meant by that name if there are no tokens. */
  private static UserGroupInformation session(String name, byte[] tokens) throws IOException {
    boolean bearing = tokens != null && tokens.length > 0;
    if (name.isEmpty() || !bearing && name.equals(UserGroupInformation.getLoginUser().getShortUserName())) {
      return UserGroupInformation.getLoginUser();
    }
    UserGroupInformation user = UserGroupInformation.createRemoteUser(name);
    if (bearing) {
      Credentials c = new Credentials();
      c.readTokenStorageStream(new DataInputStream(new ByteArrayInputStream(tokens)));
      user.addCredentials(c);
    }
    return user;
  }

  private Wire.Writer as(int op, Wire.Reader r, Wire.Writer reply) throws IOException {
    switch (op) {
      case STAT:
        Path file = path(r);
        return status(fs(file).getFileStatus(file), reply);
      case LIST:
        return list(path(r), reply);
      case OPEN:
        return open(path(r), reply);
      case CREATE:
        return create(r, reply);
      case APPEND:
        Path grown = path(r);
        return reply.integer(keep(null, fs(grown).append(grown), null));
      case MORE:
      case READ:
      case WRITE:
      case FLUSH:
      case CLOSE:
      case ABANDON:
        return used(op, r, reply);
      case BLOCKS:
        return blocks(path(r), r.number(), r.number(), reply);
      default:
        change(op, r);
        return reply;
    }
  }

  private FileSystem fs(Path p) throws IOException {
    return p.getFileSystem(conf);
  }

  private static Path path(Wire.Reader r) {
    String scheme = r.text();
    String authority = r.text();
    return new Path(scheme, authority.isEmpty() ? null : authority, r.text());
  }

  private int keep(FSDataInputStream in, FSDataOutputStream out, RemoteIterator<FileStatus> list) {
    Open o = new Open();
    o.in = in;
    o.out = out;
    o.list = list;
    int id = last.incrementAndGet();
    opened.put(id, o);
    return id;
  }

  private static Wire.Writer status(FileStatus s, Wire.Writer reply) {
    FsPermission mode = s.getPermission();
    return reply
        .text(s.getPath().getName())
        .octet(s.isDirectory() ? 1 : 0)
        .number(s.getLen())
        .number(s.getModificationTime())
        .number(s.getAccessTime())
        .integer(mode.toShort())
        .text(s.getOwner())
        .text(s.getGroup())
        .integer(s.isDirectory() ? 0 : s.getReplication())
        .number(s.isDirectory() ? 0 : s.getBlockSize());
  }

  private Wire.Writer list(Path folder, Wire.Writer reply) throws IOException {
    RemoteIterator<FileStatus> all = fs(folder).listStatusIterator(folder);
    return some(keep(null, null, all), all, reply);
  }

  /** Replies with the next entries, and the number under which there are more; 0 if there are none. */
  private Wire.Writer some(int id, RemoteIterator<FileStatus> all, Wire.Writer reply) throws IOException {
    boolean more = true;
    try {
      Wire.Writer entries = new Wire.Writer();
      int n = 0;
      while (n < ENTRIES && (more = all.hasNext())) {
        status(all.next(), entries);
        n++;
      }
      return reply.integer(more ? id : 0).integer(n).append(entries);
    } catch (IOException | RuntimeException failed) {
      more = false;
      throw failed;
    } finally {
      if (!more) {
        opened.remove(id);
      }
    }
  }

  private Wire.Writer open(Path p, Wire.Writer reply) throws IOException {
    FileSystem fs = fs(p);
    FileStatus s = fs.getFileStatus(p);
    if (s.isDirectory()) {
      throw new PathIsDirectoryException(p.toString());
    }
    reply.integer(keep(fs.open(p), null, null));
    return status(s, reply);
  }

  private Wire.Writer create(Wire.Reader r, Wire.Writer reply) throws IOException {
    Path p = path(r);
    boolean overwrite = r.octet() == 1;
    FsPermission mode = new FsPermission((short) r.integer());
    int copies = r.integer();
    long block = r.number();
    FileSystem fs = fs(p);
    FSDataOutputStream made =
        fs.create(
            p,
            mode,
            overwrite,
            conf.getInt("io.file.buffer.size", 4096),
            copies == 0 ? fs.getDefaultReplication(p) : (short) copies,
            block == 0 ? fs.getDefaultBlockSize(p) : block,
            null);
    if (!mode.equals(mode.applyUMask(FsPermission.getUMask(conf)))) {
      fs.setPermission(p, mode);
    }
    return reply.integer(keep(null, made, null));
  }

  /** Does something with what is open. */
  private Wire.Writer used(int op, Wire.Reader r, Wire.Writer reply) throws IOException {
    int id = r.integer();
    Open o = opened.get(id);
    if (o == null) {
      throw new IOException("it is closed");
    }
    synchronized (o) {
      switch (op) {
        case MORE:
          return some(id, o.list, reply);
        case READ:
          return read(o.in, r.number(), Math.min(r.integer(), CHUNK), reply);
        case WRITE:
          o.out.write(r.bytes());
          return reply;
        case FLUSH:
          if (o.out.hasCapability("hflush")) {
            o.out.hflush();
          } else {
            o.out.flush();
          }
          return reply;
        case CLOSE:
          opened.remove(id);
          if (o.in != null) {
            o.in.close();
          }
          if (o.out != null) {
            o.out.close();
          }
          return reply;
        default:
          opened.remove(id);
          if (o.in != null) {
            o.in.close();
          }
          Abandoned.stream(o.out);
          return reply;
      }
    }
  }

  /** Replies with bytes from a place on; with fewer than asked for only at the end. */
  private static Wire.Writer read(FSDataInputStream in, long from, int length, Wire.Writer reply) throws IOException {
    if (in.getPos() != from) {
      in.seek(from);
    }
    byte[] chunk = new byte[Math.max(length, 0)];
    int n = 0;
    while (n < length) {
      int got = in.read(chunk, n, length - n);
      if (got < 0) {
        break;
      }
      n += got;
    }
    return reply.bytes(n == length ? chunk : java.util.Arrays.copyOf(chunk, n));
  }

  private void change(int op, Wire.Reader r) throws IOException {
    Path p = path(r);
    FileSystem fs = fs(p);
    switch (op) {
      case RENAME:
        rename(fs, p, path(r), r.octet() == 1);
        return;
      case REMOVE:
        if (!fs.delete(p, r.octet() == 1)) {
          throw new FileNotFoundException(p.toString());
        }
        return;
      case MKDIRS:
        mkdirs(fs, p, new FsPermission((short) r.integer()));
        return;
      case CHMOD:
        fs.setPermission(p, new FsPermission((short) r.integer()));
        return;
      case CHOWN:
        String owner = r.text();
        String group = r.text();
        fs.setOwner(p, owner.isEmpty() ? null : owner, group.isEmpty() ? null : group);
        return;
      case CHTIMES:
        fs.setTimes(p, r.number(), r.number());
        return;
      default:
        throw new IOException("operation " + op + " is unknown");
    }
  }

  private void mkdirs(FileSystem fs, Path p, FsPermission mode) throws IOException {
    try {
      if (fs.getFileStatus(p).isDirectory()) {
        return;
      }
      throw new FileAlreadyExistsException(p + " is a file");
    } catch (FileNotFoundException absent) {
      // to be made
    }
    if (!fs.mkdirs(p, mode)) {
      throw new IOException("the file system has not made " + p);
    }
    if (!mode.equals(mode.applyUMask(FsPermission.getUMask(conf)))) {
      fs.setPermission(p, mode);
    }
  }

  /** FileSystem.rename moves into a folder that exists, and some replace files: so the target is looked at before. */
  private static void rename(FileSystem fs, Path from, Path to, boolean overwrite) throws IOException {
    FileStatus source = fs.getFileStatus(from);
    try {
      FileStatus target = fs.getFileStatus(to);
      if (!overwrite) {
        throw new FileAlreadyExistsException(to.toString());
      }
      if (source.isDirectory() != target.isDirectory()) {
        throw new FileAlreadyExistsException(to + (target.isDirectory() ? " is a folder" : " is a file"));
      }
      fs.delete(to, false);
    } catch (FileNotFoundException absent) {
      // as it should be
    }
    if (!fs.rename(from, to)) {
      if (to.getParent() != null && !fs.exists(to.getParent())) {
        throw new FileNotFoundException(to.getParent().toString());
      }
      throw new IOException("the file system has not renamed " + from + " to " + to);
    }
  }

  private Wire.Writer blocks(Path p, long offset, long length, Wire.Writer reply) throws IOException {
    BlockLocation[] all = fs(p).getFileBlockLocations(p, offset, length);
    reply.integer(all == null ? 0 : all.length);
    for (BlockLocation b : all == null ? new BlockLocation[0] : all) {
      String[] hosts = b.getHosts();
      reply.number(b.getOffset()).number(b.getLength()).integer(hosts.length);
      for (String host : hosts) {
        reply.text(host);
      }
    }
    return reply;
  }
}
