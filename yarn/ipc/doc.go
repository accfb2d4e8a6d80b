// Package ipc is Hadoop's remote procedure call, IPC version 9 with protobuf messages (RPC_PROTOCOL_BUFFER), client and
// server. Which protocols and methods exist is not known here but in package protocol.
//
// A connection begins with seven bytes from the client: "hrpc", version, service class and whether it will use SASL. All
// that follows, in both directions, is packets: four bytes of length, then protobufs, each after its own length:
//
//	client  RpcRequestHeader, then RequestHeader and request, or what an out-of-band call carries
//	server  RpcResponseHeader, then, if the call succeeded, the response
//
// Calls have an id that the client chooses, and replies come in any order. Negative ids are out of band: the connection
// context, which names the user, pings and SASL.
//
// A Server serves one listener with one way of authentication (AuthMode); its life is NewServer, Handle for every
// method, Serve, Shutdown. A Client keeps connections by address, protocol and identity, and hands out Endpoints, for
// one address, and Failovers, for several of which one is active; both are Invokers.
//
// Errors on the wire are a Java class and a text. A handler that returns an *Exception chooses both; a caller gets them
// back as a *RemoteError, and IsClass tells them apart.
package ipc
