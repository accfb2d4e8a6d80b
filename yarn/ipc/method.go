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
	// Repeatable says that a call may be sent again after its connection broke, when nobody knows whether the first one
	// was carried out (Hadoop: @Idempotent or @AtMostOnce).
	Repeatable bool
}

// String returns protocol and method as in org.example.Protocol.method.
func (m Method) String() string { return m.Protocol.Name + "." + m.Name }

// Invoker makes calls. Endpoint and Failover are Invokers.
type Invoker interface {
	// Invoke sends req and fills in resp, which is undefined after an error. What the peer refuses is a *RemoteError.
	Invoke(ctx context.Context, m Method, req, resp proto.Message) error
}

// Handler answers a method. It gets a request of the type that was registered with it, which it may keep. Its context
// has the Call, and is done when the connection ends or the server is closed. An error should be an *Exception, or wrap
// one, to choose the Java class that the client sees; others become YarnExceptions, and IOExceptions if they are about
// files or the network. A nil response stands for an empty one.
type Handler func(ctx context.Context, req proto.Message) (proto.Message, error)
