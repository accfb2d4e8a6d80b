// Package archives proves on a real cluster that containers of stock MapReduce and Spark start with archives of Java classes
// which their node has made (nm/jvmarchive), and that jobs succeed where archives or jars are not what they were.
package archives
