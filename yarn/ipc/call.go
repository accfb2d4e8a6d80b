package ipc

import (
	"context"
	"fmt"
	"net/netip"
)

// AuthMethod says how a peer has proved its identity.
type AuthMethod int

const (
	AuthMethodSimple   AuthMethod = iota // it hasn't proved it, only stated it
	AuthMethodToken                      // it knows the password of a token
	AuthMethodKerberos                   // it has a Kerberos ticket
)

// String returns Hadoop's name of the method.
func (m AuthMethod) String() string {
	switch m {
	case AuthMethodToken:
		return "TOKEN"
	case AuthMethodKerberos:
		return "KERBEROS"
	default:
		return "SIMPLE"
	}
}

// Peer is the client of a server's connection. It stays the same for the life of the connection, and all calls share
// it.
type Peer struct {
	// User is the user that the calls are made for. RealUser is the caller, if that is another. User
	// is empty if a client without authentication sent no name.
	User, RealUser string
	// FullUser and FullRealUser are their names before they became short, such as alice@EXAMPLE.COM.
	FullUser, FullRealUser string

	Auth AuthMethod
	Addr netip.AddrPort

	// Principal is the full name of the user that was authenticated by Kerberos: of RealUser if that is set, or else of User.
	Principal string

	// These are set for peers with a token.
	TokenKind       string
	TokenIdentifier []byte
	Identifier      any // what Secrets parsed it into
}

// String describes who calls as Hadoop's refusals do.
func (p *Peer) String() string {
	switch {
	case p.FullRealUser == "":
		return fmt.Sprintf("%s (auth:%v)", p.FullUser, p.Auth)
	case p.Auth == AuthMethodToken:
		return fmt.Sprintf("%s (auth:TOKEN) via %s (auth:TOKEN)", p.FullUser, p.FullRealUser)
	}
	return fmt.Sprintf("%s (auth:PROXY) via %s (auth:%v)", p.FullUser, p.FullRealUser, p.Auth)
}

// Call describes a call to its handler. CallFrom returns it.
type Call struct {
	*Peer
	Conn *Conn

	Method        Method
	ID            int32
	RetryCount    int32  // −1 if the client doesn't count
	ClientID      string // 16 bytes that name the client's process; any length is accepted
	CallerContext string // free text, for audit logs
}

// Conn identifies a server's connection.
type Conn struct {
	id  uint64
	ctx context.Context
}

// ID is unique among the connections of a Server.
func (c *Conn) ID() uint64 { return c.id }

// Context ends when the connection ends. Use context.AfterFunc to clean up what belongs to the connection.
func (c *Conn) Context() context.Context { return c.ctx }

// NewConn returns an identity for tests of handlers.
func NewConn(ctx context.Context, id uint64) *Conn { return &Conn{id: id, ctx: ctx} }

type callKey struct{}

// handlerContext is the context of a handler: the connection's context with the call. It ends when the connection ends,
// because then the reply can't be read.
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

// CallFrom returns the call of a handler's context, or nil.
func CallFrom(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// WithCall returns a context for tests of handlers.
func WithCall(ctx context.Context, call Call) context.Context { return &handlerContext{ctx, call} }
