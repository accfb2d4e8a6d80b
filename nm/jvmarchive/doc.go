// Package jvmarchive makes repeated starts of Java cheap. It keeps class-data archives of the classes that containers
// load, and lets later containers use them (JEP 310, JEP 350).
//
// A Java process of Hadoop or Spark spends most of its first seconds on finding, parsing and verifying some thousand
// classes. The JVM can map them from an archive. But then the class path must begin with exactly the jars of the
// archive, without folders with files before or between them. YARN's frameworks put folders first (the work folder, the
// configuration). So the store
//
//   - interprets the container's command and environment as its shell would (command.go, classpath.go), and leaves
//     alone whatever it doesn't understand;
//   - moves folders behind the jars. If no file in them shares its name with a jar's entry, look-ups don't notice.
//     Files that do share a name go first in a small jar (cover.go);
//   - lets the first containers of a kind record the classes that they load. When such a container has ended, a JVM in the
//     background makes an archive of these classes (build.go).
//
// The JVM itself checks archives. If its class path, jars or options differ from those of the archive, it silently
// continues without it. Nothing here can make a container fail: after any error it starts as it would without this
// package.
//
// Archives belong to the user who submitted the application. Only the user of its containers can read them, because the
// class path may have jars that no other may see.
package jvmarchive
