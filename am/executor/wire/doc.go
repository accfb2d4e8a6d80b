// Package wire is what a pool of executors and its executors say to each other: messages, frames, and a connection that
// proves who is at its other end.
//
// A frame is a length of four bytes, big-endian, and a protobuf message of at most MaxFrame bytes. Its one field says what kind of
// message it is (Kind). The executor dials, and says Hello; the pool answers with tasks. Both send Ping when there is nothing else
// to say, so that a dead machine is noticed (Conn).
//
// Connections are TLS 1.3. Both ends have the key that is derived from the application's secret, and no other certificates count, nor
// do clocks.
package wire
