// Package jvmarchive makes repeated starts of Java cheap: it keeps class-data archives of what containers load, and has
// later containers use them (JEP 310, JEP 350).
//
// A Java process of Hadoop or Spark spends most of its first seconds with finding, parsing and verifying some thousand
// classes. The JVM can map them ready-made from an archive, but asks for a class path that begins with the very jars of
// the archive and has no folder with files before or between them. YARN's frameworks put folders first (the work folder,
// the configuration). So the store
//
//   - understands the container's command and environment as its shell would (command.go, classpath.go), and leaves
//     alone whatever it doesn't understand;
//   - moves folders behind the jars, if no file in them has the name of an entry in one of these jars: then it makes no
//     difference to look-ups which comes first. Files that do share a name go first in a small jar (cover.go);
//   - has the first containers of a kind note down the classes that they load, and lets a JVM in the background make an
//     archive of these when the container has ended (build.go).
//
// Archives are the JVM's own check's business: a JVM that finds its class path, jars or options other than those of the
// archive goes on without it, in silence. Nothing here can fail a container; every error means that it starts as it
// would without this package.
//
// Archives belong to the user who submitted the application, and can be read by whom its containers run as: the class
// path may hold jars that are nobody else's business.
package jvmarchive
