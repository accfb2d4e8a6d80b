package ipc

import (
	"context"

	"google.golang.org/protobuf/proto"
)

// Protocol is a set of methods.
type Protocol struct {
	Name    string // on the wire: usually a Java interface
	Version uint64
}

// Method is one method of a protocol.
type Method struct {
	Protocol Protocol
	Name     string
	// Repeatable says that a call may be sent again after its connection broke, even if the first one may have taken
	// effect (Hadoop: @Idempotent or @AtMostOnce).
	Repeatable bool
}

// String returns protocol and method as in org.example.Protocol.method.
func (m Method) String() string { return m.Protocol.Name + "." + m.Name }

// Invoker makes calls. Endpoint and Failover are Invokers.
type Invoker interface {
	// Invoke sends req and fills in resp, which is undefined after an error. A refusal by the peer is a *RemoteError.
	Invoke(ctx context.Context, m Method, req, resp proto.Message) error
}

// Handler answers a method. It gets a request of the type that was registered with it, and may keep it. CallFrom finds
// the Call in its context, which ends when the connection ends or the server is closed. Return an *Exception, or an
// error that wraps one, to choose the Java class that the client sees. Errors about files or the network become
// IOExceptions, all others YarnExceptions. A nil response stands for an empty one.
type Handler func(ctx context.Context, req proto.Message) (proto.Message, error)
