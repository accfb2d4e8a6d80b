package heddle.test;

import java.net.URL;
import java.net.URLClassLoader;

/** A system class loader that takes further URLs, as that of Java 8 does: Tez 0.9 adds the files of a DAG to it. */
public class Urls extends URLClassLoader {
  public Urls(ClassLoader parent) {
    super(new URL[0], parent);
  }
}
