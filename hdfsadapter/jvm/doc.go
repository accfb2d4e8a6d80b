// Package jvm starts JVMs beside this process, and calls programs of ours in them (java/, compiled into host.jar): one runs auxiliary services of a NodeManager,
// another Hadoop's FileSystem classes.
//
// A JVM's descriptor 0 is a socket to this process; wire.go has the messages, and no other process can reach it. What it prints goes to this process's log. It ends
// with this process.
//
// See docs/decisions/java.md.
package jvm
