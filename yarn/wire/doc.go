// Package wire is the protocol of short tasks: messages, frames, and connections on which both ends prove who they are. There are three
// dialogues, with the same messages:
//
//   - A pool (heddle/am/pool) gives tasks to executors (heddle/am/executor), which dial it.
//   - A scheduler (heddle/am/probes) dials nodes. It sends probes, and nodes ask it for tasks when there is room for one.
//   - A node (heddle/nm/shorttasks) hands these tasks to executors of its own, which dial it.
//
// A frame is a length of four bytes, big-endian, and a protobuf message of at most MaxFrame bytes. Its one field says what kind of
// message it is (Kind). Both sides send Ping when there is nothing else to say, so that a dead machine is noticed (Conn).
//
// Connections are TLS 1.3. Both ends have a key that is derived from the same secret, and no other certificates count, nor do clocks. The
// dialer first names the owner of that secret, in plain text (Dial).
package wire
