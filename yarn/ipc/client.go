package ipc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/yarn/sasl"
	"heddle/yarn/token"
)

// Identity is the identity of a caller.
type Identity struct {
	// User is the user that the calls are for. RealUser, if set, is who makes them on the user's behalf; the
	// server must allow it.
	User, RealUser string
	// Token, if set, is offered to the server by SASL. If the server takes no tokens, the client falls back to User,
	// unless the token must prove the server's identity as well.
	Token        *token.Token
	RequireToken bool
	// Kerberos, if set, proves who calls to a server that doesn't take the Token. User is then the full name of the tickets' owner, unless RealUser
	// is: a caller that acts for another has that other's name in User. A server that asks for no proof is refused.
	Kerberos Tickets
}

// ClientConfig configures a Client. Zero values stand for the defaults that are named with the fields.
type ClientConfig struct {
	ConnectTimeout    time.Duration // limit for connecting and authenticating; 20 s
	CallTimeout       time.Duration // limit from sending a request to its response; 2 min; negative: none
	PingInterval      time.Duration // of silence before a ping, while calls wait for responses; 1 min
	MaxIdle           time.Duration // an unused connection is closed after this time; 10 s
	WriteTimeout      time.Duration // limit for sending 256 KiB of requests; 1 min
	MaxResponseLength int           // longest packet from a server, in bytes; DefaultMaxDataLength

	// Protection lists the qualities of protection that the client accepts, the preferred one first (hadoop.rpc.protection). The default is
	// Authentication.
	Protection sasl.Qualities
	// AsJava has connections with tokens take the ciphers alone that Hadoop's own clients have, for measurements.
	AsJava bool

	CallerContext string // sent with every call, for the server's audit log

	// Dial makes connections; the default is net.Dialer's DialContext.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Log *logrus.Entry // nil: nothing is logged
}

func (c *ClientConfig) setDefaults() {
	c.ConnectTimeout = defaultTo(c.ConnectTimeout, 20*time.Second)
	c.CallTimeout = defaultTo(c.CallTimeout, 2*time.Minute)
	c.PingInterval = defaultTo(c.PingInterval, time.Minute)
	c.MaxIdle = defaultTo(c.MaxIdle, 10*time.Second)
	c.WriteTimeout = defaultTo(c.WriteTimeout, time.Minute)
	c.MaxResponseLength = defaultTo(c.MaxResponseLength, DefaultMaxDataLength)
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	if c.Log == nil {
		c.Log = discard()
	}
}

// Client makes calls. It keeps one connection for each address, protocol and identity in use. It is safe for concurrent
// use.
type Client struct {
	cfg    ClientConfig
	id     string // of 16 random bytes, in every call
	nextID atomic.Uint32
	calls  sync.Pool // of *clientCall

	ctx    context.Context // done after Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	conns    map[connKey]*clientConn
	currents map[string]*atomic.Uint64 // of Failovers, by protocol and addresses
	swept    bool                      // the sweeper runs
	closed   bool
}

type connKey struct {
	addr, protocol, user, realUser, token string
	kerberos                              Tickets
}

// ErrClientClosed is the error of calls after Close, and of calls that Close interrupts.
var ErrClientClosed = errors.New("ipc: client closed")

// ErrConnectTimeout says that no connection was made within the ConnectTimeout.
var ErrConnectTimeout = errors.New("no connection in time")

// ErrCallTimeout says that a call had no answer within the CallTimeout.
var ErrCallTimeout = errors.New("no answer in time")

// ConnError says that a call failed because its connection did.
type ConnError struct {
	Addr   string
	Method string
	// Sent says that the request may have reached the server and taken effect.
	Sent bool
	Err  error
}

func (e *ConnError) Error() string { return fmt.Sprintf("%s of %s: %v", e.Method, e.Addr, e.Err) }

func (e *ConnError) Unwrap() error { return e.Err }

// AuthError says that client and server agree on no way to authenticate, or that the server didn't prove its identity.
type AuthError struct {
	Addr string
	Err  error
}

func (e *AuthError) Error() string { return fmt.Sprintf("authenticating to %s: %v", e.Addr, e.Err) }

func (e *AuthError) Unwrap() error { return e.Err }

// NewClient returns a client without connections.
func NewClient(cfg ClientConfig) *Client {
	cfg.setDefaults()
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	c := &Client{cfg: cfg, id: string(id[:]), conns: map[connKey]*clientConn{}, currents: map[string]*atomic.Uint64{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Close closes all connections. Calls under way fail with ErrClientClosed.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	open := make([]*clientConn, 0, len(c.conns))
	for _, conn := range c.conns {
		open = append(open, conn)
	}
	c.mu.Unlock()
	c.cancel()
	for _, conn := range open {
		conn.fail(ErrClientClosed)
	}
	c.wg.Wait()
}

// Endpoint returns an Invoker for one address (host:port) and protocol. It connects on first use, and again after its
// connection has ended. It doesn't repeat calls.
func (c *Client) Endpoint(addr string, p Protocol, who Identity) *Endpoint {
	e := &Endpoint{client: c, addr: addr, protocol: p}
	e.SetIdentity(who)
	return e
}

// Endpoint calls the server at one address.
type Endpoint struct {
	client   *Client
	addr     string
	protocol Protocol

	who  atomic.Pointer[identity]
	conn atomic.Pointer[clientConn] // the last one, which saves a look-up
}

type identity struct {
	Identity
	key connKey
}

// Addr returns the endpoint's address, host:port.
func (e *Endpoint) Addr() string { return e.addr }

// SetIdentity sets who makes the calls that follow, for example after a token was renewed.
func (e *Endpoint) SetIdentity(who Identity) {
	id := &identity{who, connKey{addr: e.addr, protocol: e.protocol.Name, user: who.User, realUser: who.RealUser, kerberos: who.Kerberos}}
	if who.Token != nil {
		id.key.token = string(who.Token.AppendWritable(nil))
	}
	e.who.Store(id)
}

// Invoke implements Invoker.
func (e *Endpoint) Invoke(ctx context.Context, m Method, req, resp proto.Message) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s of %s: %w", m.Name, e.addr, err)
	}
	if err := checkRequired(req); err != nil {
		return fmt.Errorf("%s of %s: request: %w", m.Name, e.addr, err)
	}
	who := e.who.Load()
	call := e.client.newCall(m, resp)
	// A connection found in the cache may have ended. Then try once more with a new one.
	for first := true; ; first = false {
		conn := e.conn.Load()
		if !first || conn == nil || conn.key != who.key {
			var err error
			if conn, err = e.client.connect(ctx, who); err != nil {
				e.client.free(call)
				return e.connectFailure(m, err)
			}
			e.conn.Store(conn)
		}
		id := int32(e.client.nextID.Add(1) & 0x7fffffff)
		since, err := conn.register(id, call)
		if err != nil {
			if first {
				continue
			}
			e.client.free(call)
			return e.connectFailure(m, err)
		}
		if err := conn.send(id, m, req); err != nil && conn.forget(id) {
			e.client.free(call)
			return &ConnError{e.addr, m.Name, false, err}
		}
		return conn.await(ctx, id, call, since)
	}
}

// connectFailure adds the method and address to the reason why no connection was made. Refusals of the server keep
// their type.
func (e *Endpoint) connectFailure(m Method, err error) error {
	r, a, gone := (*RemoteError)(nil), (*AuthError)(nil), callerGone{}
	switch {
	case errors.As(err, &r) || errors.As(err, &a):
		return err
	case errors.As(err, &gone):
		return fmt.Errorf("%s of %s: connecting: %w", m.Name, e.addr, gone.error)
	default:
		return &ConnError{e.addr, m.Name, false, err}
	}
}

// callerGone says that the caller's context has ended. Our own timeouts, some of which look like that, are not
// callerGone.
type callerGone struct{ error }

// connect returns the connection of an identity, and makes one if there is none.
func (c *Client) connect(ctx context.Context, who *identity) (*clientConn, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrClientClosed
	}
	conn := c.conns[who.key]
	if conn == nil {
		conn = &clientConn{client: c, key: who.key, who: who.Identity, ready: make(chan struct{}), calls: map[int32]*clientCall{}}
		c.conns[who.key] = conn
		c.wg.Add(1)
		go conn.run()
		if !c.swept {
			c.swept = true
			c.wg.Add(1)
			go c.sweep()
		}
	}
	c.mu.Unlock()
	select {
	case <-conn.ready:
		return conn, conn.connectErr
	case <-ctx.Done():
		return nil, callerGone{ctx.Err()}
	}
}

// drop removes a connection that has ended from the cache.
func (c *Client) drop(conn *clientConn) {
	c.mu.Lock()
	if c.conns[conn.key] == conn {
		delete(c.conns, conn.key)
	}
	c.mu.Unlock()
}

// sweep pings quiet servers and closes idle connections.
func (c *Client) sweep() {
	defer c.wg.Done()
	tick := time.NewTicker(max(min(c.cfg.PingInterval, c.cfg.MaxIdle)/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case now := <-tick.C:
			c.mu.Lock()
			open := make([]*clientConn, 0, len(c.conns))
			for _, conn := range c.conns {
				open = append(open, conn)
			}
			c.mu.Unlock()
			for _, conn := range open {
				conn.tick(now)
			}
		}
	}
}
