// Package ipc is Hadoop's remote procedure call, IPC version 9 with protobuf messages (RPC_PROTOCOL_BUFFER), client and server. It carries
// any protocol; package protocol has YARN's.
//
// A connection begins with seven bytes from the client: "hrpc", version, service class and whether it will use SASL.
// Packets follow, in both directions: four bytes of length, then protobufs, each after its own length:
//
//	client  RpcRequestHeader, then RequestHeader and request, or the message of an out-of-band call
//	server  RpcResponseHeader, then, if the call succeeded, the response
//
// Calls have an id that the client chooses, and replies come in any order. Negative ids are out of band: the connection
// context, which names the user, pings and SASL.
//
// A Server serves one listener with one kind of authentication (AuthMode). Its life is NewServer, Handle for every
// method, Serve, Shutdown. A Client caches connections by address, protocol and identity. It returns Endpoints, for
// one address, and Failovers, for several of which one is active; both are Invokers.
//
// Errors on the wire are a Java class and a text. A handler that returns an *Exception chooses both. The caller gets them
// as a *RemoteError, and IsClass tells them apart.
//
// It is large because client and server share the protocol's frames, headers and security.
package ipc
