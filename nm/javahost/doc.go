// Package javahost runs auxiliary services that are Java classes (yarn.nodemanager.aux-services), such as Spark's external shuffle, in one JVM
// beside the NodeManager.
//
// The JVM runs a small program of ours (java/, compiled into host.jar), which loads the services and calls them as a NodeManager of Hadoop's does:
// one call after the other, in the order of events. Its descriptor 0 is a socket to this process; wire.go has the messages, and no other process can
// reach it. What the JVM prints goes to the NodeManager's log.
//
// A Host knows which applications and containers live (ledger.go). When the JVM dies, or a call takes too long, a new one is started, and is told of them
// again. Applications are also in the NodeManager's state, so that a service hears of the end of each, even if the node or the JVM was killed in between.
//
// Files reads files of file systems that only Java knows, in JVMs of their own, each for one user (java/Files.java).
//
// See docs/decisions/java.md.
package javahost
