// Package launch turns a container's launch context into processes.
//
// It writes launch_container.sh as a NodeManager of Hadoop would (Script, Environment), and runs it in a session of its
// own (Start). The container outlives this process: a small shell waits for the script to end, and writes its exit code
// into a file. A restarted NodeManager reads it there (Reattach).
package launch
