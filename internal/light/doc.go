// Package light makes connections whose reads and writes aren't announced to Go's runtime as calls that may block. They never do: its poller waits.
//
// A runtime that is told of a call wakes a thread that looks after it every 20 µs ("sysmon"), and gives its processor to another thread if the call takes longer than
// that, as a write to this machine does. In a process that mostly waits, and passes a message on now and then, that made two thirds of all switches, each at the cost of
// the programs beside it.
package light
