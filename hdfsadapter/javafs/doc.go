// Package javafs reads and writes files of any file system that Hadoop's FileSystem classes know (fs.SCHEME.impl, such as s3a, abfs, gs and o3fs), in JVMs beside
// this process (hdfsadapter/jvm). A JVM works for one user, for each application with its own tokens, and starts once that user needs it: so what a class
// caches, leaks or waits for harms its own user alone.
//
// hdfsadapter has the view of all file systems that other packages use.
package javafs
