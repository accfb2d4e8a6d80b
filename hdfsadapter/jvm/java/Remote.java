package heddle.javahost;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;

/** Fetches the classes of a service from a file system (yarn.nodemanager.aux-services.NAME.remote-classpath, or the files of a manifest). */
final class Remote {
  private Remote() {}

  /**
   * Returns the class path of the local copies of files: jars, and folders of unpacked archives. files has types and locations in turn; STATIC is copied as it is,
   * ARCHIVE is unpacked, and without a type the name says which. A copy of the same time of modification is used again; others of the service are removed.
   */
  static String fetch(String[] files, String service, String className, LocalPaths paths, Configuration conf) throws IOException {
    File home = new File(paths.getLocalPathForWrite("nmAuxService/x").toString()).getParentFile();
    Files.setPosixFilePermissions(home.toPath(), PosixFilePermissions.fromString("rwx------"));
    List<String> path = new ArrayList<>();
    Set<String> used = new HashSet<>();
    for (int i = 0; i + 1 < files.length; i += 2) {
      File copy = fetch(home, files[i], files[i + 1], service, className, conf);
      path.add(copy.getPath());
      used.add(copy.getParentFile().getName());
    }
    removeOthers(home, service, className, used);
    return String.join(File.pathSeparator, path);
  }

  private static File fetch(File home, String type, String remote, String service, String className, Configuration conf) throws IOException {
    String lower = remote.toLowerCase(Locale.ROOT);
    boolean unpack = type.equals("ARCHIVE") || type.isEmpty() && !lower.endsWith(".jar");
    if (unpack && !lower.matches(".*\\.(jar|zip|tar|tgz|tar\\.gz)")) {
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
    File folder = new File(home, className + "_" + status.getModificationTime() + "_" + mark(service) + "_" + mark(source.toString()));
    File whole = new File(folder, source.getName());
    if (whole.exists()) {
      return whole;
    }
    File partial = new File(home, "partial_" + folder.getName());
    FileUtil.fullyDelete(partial);
    if (!partial.mkdirs()) {
      throw new IOException("can't make " + partial);
    }
    File copy = new File(partial, unpack ? "archive-" + source.getName() : source.getName());
    fs.copyToLocalFile(false, source, new Path(copy.getPath()), true);
    if (unpack) {
      File into = new File(partial, source.getName());
      if (lower.endsWith(".zip") || lower.endsWith(".jar")) {
        FileUtil.unZip(copy, into);
      } else {
        FileUtil.unTar(copy, into);
      }
      Files.delete(copy.toPath());
    }
    Files.move(partial.toPath(), folder.toPath(), StandardCopyOption.ATOMIC_MOVE);
    return whole;
  }

  private static String mark(String text) {
    return UUID.nameUUIDFromBytes(text.getBytes(StandardCharsets.UTF_8)).toString();
  }

  /** Removes copies of a service that it doesn't use any more: CLASS_TIME, which earlier versions made, and CLASS_TIME_SERVICE_SOURCE. */
  private static void removeOthers(File home, String service, String className, Set<String> used) {
    Pattern own = Pattern.compile("(partial_)?" + Pattern.quote(className) + "_\\d+(_" + mark(service) + "_[0-9a-f-]+)?");
    File[] all = home.listFiles();
    for (File f : all == null ? new File[0] : all) {
      if (own.matcher(f.getName()).matches() && !used.contains(f.getName())) {
        FileUtil.fullyDelete(f);
      }
    }
  }
}
