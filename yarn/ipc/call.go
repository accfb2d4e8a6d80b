package ipc

import (
	"context"
	"net/netip"
)

// AuthMethod is how a peer has proved who it is.
type AuthMethod int

const (
	AuthMethodSimple AuthMethod = iota // it hasn't: it says so
	AuthMethodToken                    // by knowing the password of a token
)

// String returns Hadoop's name of the method.
func (m AuthMethod) String() string {
	if m == AuthMethodToken {
		return "TOKEN"
	}
	return "SIMPLE"
}

// Peer is who is at the other end of a server's connection. It doesn't change during the life of the connection and is
// shared by all of its calls.
type Peer struct {
	// User is who the calls are made for, RealUser who makes them if that is somebody else. User is empty if a client
	// without authentication didn't name itself.
	User, RealUser string
	Auth           AuthMethod
	Addr           netip.AddrPort

	// Of peers with a token.
	TokenKind       string
	TokenIdentifier []byte
	Identifier      any // what Secrets made of it
}

// Call is what a handler can know of the call that it answers; CallFrom finds it.
type Call struct {
	*Peer
	Conn *Conn

	Method        Method
	ID            int32
	RetryCount    int32  // −1 if the client doesn't count
	ClientID      string // 16 bytes that name the client's process; any length is accepted
	CallerContext string // free text, for audit logs
}

// Conn is the identity of a server's connection.
type Conn struct {
	id  uint64
	ctx context.Context
}

// ID is unique among the connections of a Server.
func (c *Conn) ID() uint64 { return c.id }

// Context is done when the connection has ended; context.AfterFunc cleans up what was kept for it.
func (c *Conn) Context() context.Context { return c.ctx }

// NewConn returns an identity for tests of handlers.
func NewConn(ctx context.Context, id uint64) *Conn { return &Conn{id: id, ctx: ctx} }

type callKey struct{}

// handlerContext is the context of a handler. It is the connection's, so that it is done when nobody is there any more to
// read the reply, plus the call.
type handlerContext struct {
	context.Context
	call Call
}

func (c *handlerContext) Value(key any) any {
	if key == (callKey{}) {
		return &c.call
	}
	return c.Context.Value(key)
}

// CallFrom returns the call that a handler's context belongs to, or nil.
func CallFrom(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// WithCall returns a context for tests of handlers.
func WithCall(ctx context.Context, call Call) context.Context { return &handlerContext{ctx, call} }
