// Package archives shows on a real cluster that containers of stock MapReduce and Spark start with archives of Java classes
// that their node has made (nm/jvmarchive), and that jobs succeed when archives or jars have changed.
package archives
