// Package launch turns a container's launch context into processes.
//
// It writes launch_container.sh as a NodeManager of Hadoop would (Script, Environment), and runs it in a session of its
// own (Start) such that the container outlives this process: a small shell waits for the script to end and notes its
// exit code in a file, from which a NodeManager that was started anew learns it (Recover).
package launch
