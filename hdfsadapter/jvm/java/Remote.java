package heddle.javahost;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;

/** Fetches the classes of a service from a file system (yarn.nodemanager.aux-services.NAME.remote-classpath). */
final class Remote {
  private Remote() {}

  /** Returns the local copy of a jar, or the folder of an unpacked archive. A copy of the same time of modification is used again. */
  static String fetch(String remote, String className, LocalPaths paths, Configuration conf) throws IOException {
    String lower = remote.toLowerCase(Locale.ROOT);
    boolean jar = lower.endsWith(".jar");
    if (!jar && !lower.matches(".*\\.(zip|tar|tgz|tar\\.gz)")) {
      throw new IOException("Cannot unpack file from remote-file-path:" + remote + ": its name must end in .jar, .zip, .tar, .tgz or .tar.gz");
    }
    Path source = new Path(remote);
    FileSystem fs = source.getFileSystem(conf);
    FileStatus status = fs.getFileStatus(source);
    String me = UserGroupInformation.getCurrentUser().getShortUserName();
    if (!status.getOwner().equals(me)) {
      throw new IOException("The remote jarfile owner:" + status.getOwner() + " is not the same as the NM user:" + me + ".");
    }
    if ((status.getPermission().toShort() & 022) != 0) {
      throw new IOException("The remote jarfile should not be writable by group or others. The current Permission is " + status.getPermission());
    }
    File home = new File(paths.getLocalPathForWrite("nmAuxService/x").toString()).getParentFile();
    Files.setPosixFilePermissions(home.toPath(), PosixFilePermissions.fromString("rwx------"));
    File folder = new File(home, className + "_" + status.getModificationTime());
    File whole = new File(folder, source.getName());
    if (whole.exists()) {
      return whole.getPath();
    }
    removeOthers(home, className + "_");
    File partial = new File(home, "partial_" + className);
    FileUtil.fullyDelete(partial);
    if (!partial.mkdirs()) {
      throw new IOException("can't make " + partial);
    }
    File copy = new File(partial, jar ? source.getName() : "archive-" + source.getName());
    fs.copyToLocalFile(false, source, new Path(copy.getPath()), true);
    if (!jar) {
      File into = new File(partial, source.getName());
      if (lower.endsWith(".zip")) {
        FileUtil.unZip(copy, into);
      } else {
        FileUtil.unTar(copy, into);
      }
      Files.delete(copy.toPath());
    }
    Files.move(partial.toPath(), folder.toPath(), StandardCopyOption.ATOMIC_MOVE);
    return whole.getPath();
  }

  private static void removeOthers(File home, String prefix) {
    File[] all = home.listFiles();
    for (File f : all == null ? new File[0] : all) {
      if (f.getName().startsWith(prefix)) {
        FileUtil.fullyDelete(f);
      }
    }
  }
}
