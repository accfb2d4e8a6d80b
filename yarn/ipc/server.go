package ipc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/internal/light"
	"heddle/yarn/kerberos"
	"heddle/yarn/sasl"
)

// AuthMode says which peers a server admits.
type AuthMode int

const (
	// AuthSimple believes what clients say; a client that starts SASL must continue without it (ports 8031, 8033, 8040).
	AuthSimple AuthMode = iota
	// AuthSimpleOrToken offers both. A client with a token for this server uses it (port 8032).
	AuthSimpleOrToken
	// AuthToken demands a token from all callers (port 8030 and the NodeManager's).
	AuthToken
	// AuthTokenOrKerberos demands a token or a Kerberos ticket (port 8032 of a cluster with Kerberos).
	AuthTokenOrKerberos
	// AuthKerberos demands a Kerberos ticket (ports 8031 and 8033 of a cluster with Kerberos).
	AuthKerberos
)

// takes reports whether a server of this mode takes clients of a method.
func (m AuthMode) takes(method AuthMethod) bool {
	switch method {
	case AuthMethodToken:
		return m == AuthSimpleOrToken || m == AuthToken || m == AuthTokenOrKerberos
	case AuthMethodKerberos:
		return m == AuthTokenOrKerberos || m == AuthKerberos
	default:
		return m == AuthSimple || m == AuthSimpleOrToken
	}
}

// available is Hadoop's list of authentication methods, as refusals show it.
func (m AuthMode) available() string {
	var names []string
	for _, method := range []AuthMethod{AuthMethodToken, AuthMethodSimple, AuthMethodKerberos} {
		if m.takes(method) {
			names = append(names, method.String())
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// Bearer describes a token and its bearer.
type Bearer struct {
	Password []byte
	// User is the user that the bearer acts as. A token without one is refused. RealUser is the user that
	// obtained the token, if that was another.
	User, RealUser string
	Kind           string
	Identifier     any // the parsed identifier, for handlers
}

// Secrets knows the passwords of tokens. It must be safe for concurrent use.
type Secrets interface {
	// Bearer returns the bearer of the token with the identifier. An *Exception reaches the client unchanged:
	// InvalidToken makes it give up, StandbyException try another server, RetriableException the same one again. For
	// ErrMalformedIdentifier the server closes the connection without an answer, as Hadoop does.
	Bearer(identifier []byte) (Bearer, error)
}

// ErrMalformedIdentifier says that an identifier doesn't even parse.
var ErrMalformedIdentifier = errors.New("malformed token identifier")

// ServerConfig configures a Server. Zero values stand for the defaults that are named with the fields.
type ServerConfig struct {
	Auth    AuthMode
	Secrets Secrets // required if Auth takes tokens
	// Kerberos checks tickets; it is required if Auth takes them. Its Principal is the service's full name, of two parts.
	Kerberos *kerberos.Acceptor
	// Unproven, if set, is the log line for a client that couldn't prove who it is.
	Unproven string

	// Protection lists the qualities of protection that the server offers to clients who prove themselves, the preferred one first
	// (hadoop.rpc.protection). Clients without SASL have none. The default is Authentication.
	Protection sasl.Qualities

	// Gate, if set, is called before every call with the name of its protocol, and with "" before a token is checked.
	// Its error is the answer. A standby returns a StandbyException here.
	Gate func(protocol string) error

	// MayImpersonate, if set, decides whether a user who is connected from the address may act as another one.
	// Its error is the reason for a refusal. Without it no caller may.
	MayImpersonate func(realUser, user string, from netip.Addr) error

	// Authorize, if set, decides whether a client that has said who it is may call a protocol, by the protocol's name. Its error is the refusal.
	Authorize func(protocol string, p *Peer) error

	// Short, if set, makes the names of users that clients claim short. A refused caller gets its error.
	Short func(name string) (string, error)

	MaxDataLength         int           // longest packet from a client, in bytes; DefaultMaxDataLength
	MaxConnections        int           // more are closed at once; 0: no limit
	MaxCallsPerConnection int           // unanswered; the server reads no more before it answers some; 256
	MaxQueuedReplies      int           // bytes on a connection; the server reads no calls beyond that; 16 MiB
	IdleTimeout           time.Duration // without a packet or a call under way; 10 min; negative: never
	HandshakeTimeout      time.Duration // limit from accept to connection context; 2 min; negative: none
	ReadTimeout           time.Duration // limit for 256 KiB of a request that has begun to arrive; 1 min
	WriteTimeout          time.Duration // limit for writing 256 KiB of replies; 1 min

	// MaxRequests and MaxReplies bound the bytes of memory of requests under way, and of unread replies, over all
	// connections. The default is 256 MiB each, and at least twice the longest packet. When memory is used up, the
	// connection that holds most of it ends.
	MaxRequests, MaxReplies int

	Log *logrus.Entry // nil: nothing is logged
}

// A connection may send packets of maxHandshakePacket bytes, and maxHandshake bytes in all, before its connection
// context.
const (
	maxHandshakePacket = 64 << 10
	maxHandshake       = 256 << 10
)

// defaultMaxMemory is the default of MaxRequests and MaxReplies, in bytes.
const defaultMaxMemory = 256 << 20

func (c *ServerConfig) setDefaults() {
	c.MaxDataLength = defaultTo(c.MaxDataLength, DefaultMaxDataLength)
	c.MaxCallsPerConnection = defaultTo(c.MaxCallsPerConnection, 256)
	c.MaxQueuedReplies = defaultTo(c.MaxQueuedReplies, 16<<20)
	c.IdleTimeout = defaultTo(c.IdleTimeout, 10*time.Minute)
	c.HandshakeTimeout = defaultTo(c.HandshakeTimeout, 2*time.Minute)
	c.WriteTimeout = defaultTo(c.WriteTimeout, time.Minute)
	c.ReadTimeout = defaultTo(c.ReadTimeout, time.Minute)
	c.MaxRequests = max(defaultTo(c.MaxRequests, defaultMaxMemory), 2*c.MaxDataLength)
	c.MaxReplies = max(defaultTo(c.MaxReplies, defaultMaxMemory), c.MaxQueuedReplies)
	if c.Log == nil {
		c.Log = discard()
	}
}

func defaultTo[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

func discard() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	l.SetLevel(logrus.PanicLevel)
	return logrus.NewEntry(l)
}

// ErrServerClosed is returned by Serve after Shutdown or Close.
var ErrServerClosed = errors.New("ipc: server closed")

// Server answers calls. All of its listeners share one AuthMode.
type Server struct {
	cfg ServerConfig

	services map[string]*service // fixed once Serve has been called

	conns      sync.WaitGroup // connections
	calls      sync.WaitGroup // handlers that run
	background sync.WaitGroup // workers and sweeper
	work       chan *job
	long       chan struct{} // holds an element for each long reply that is being built
	proofs     chan struct{} // holds an element for each ticket that is being checked
	quit       chan struct{} // closed by Close, and at the end of Shutdown
	activity   activity

	requests, replies *memory

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	open      map[*serverConn]struct{}
	nextConn  uint64
	started   bool
	stopping  bool // Shutdown or Close was called
	closed    bool // quit is closed
}

type service struct {
	protocol Protocol
	methods  map[string]*served
}

type served struct {
	method     Method
	newRequest func() proto.Message
	handler    Handler
	long       bool // its replies may be long
	calls      count
}

// NewServer returns a server that serves nothing yet.
func NewServer(cfg ServerConfig) (*Server, error) {
	if cfg.Auth.takes(AuthMethodToken) && cfg.Secrets == nil {
		return nil, errors.New("ipc: a server that takes tokens needs Secrets")
	}
	if cfg.Auth.takes(AuthMethodKerberos) {
		if err := checkAcceptor(cfg.Kerberos); err != nil {
			return nil, fmt.Errorf("ipc: %w", err)
		}
	}
	cfg.setDefaults()
	return &Server{
		cfg:       cfg,
		services:  map[string]*service{},
		work:      make(chan *job),
		quit:      make(chan struct{}),
		long:      make(chan struct{}, MaxLong),
		proofs:    make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		listeners: map[net.Listener]struct{}{},
		open:      map[*serverConn]struct{}{},
		requests:  newMemory(cfg.MaxRequests, func(c *serverConn) *atomic.Int64 { return &c.requestBytes }),
		replies:   newMemory(cfg.MaxReplies, func(c *serverConn) *atomic.Int64 { return &c.replyBytes }),
	}, nil
}

// Handle registers the handler of a method. newRequest returns an empty request for it. It panics if the method has a
// handler already, if another version of the protocol is served, or if the server runs already.
func (s *Server) Handle(m Method, newRequest func() proto.Message, h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		panic(fmt.Sprintf("ipc: %s was registered while the server runs", m))
	}
	p := s.services[m.Protocol.Name]
	if p == nil {
		p = &service{m.Protocol, map[string]*served{}}
		s.services[m.Protocol.Name] = p
	}
	if p.protocol.Version != m.Protocol.Version {
		panic(fmt.Sprintf("ipc: version %d of %s is served already", p.protocol.Version, m))
	}
	if p.methods[m.Name] != nil {
		panic(fmt.Sprintf("ipc: %s has a handler already", m))
	}
	p.methods[m.Name] = &served{method: m, newRequest: newRequest, handler: h}
}

// MarkLong says that the replies of a method, which has a handler, may be long. The server then builds at most MaxLong of all such replies at a
// time, and one for each connection. A message takes several times the memory of its encoded bytes, which ServerConfig.MaxReplies bounds. A call that
// waits for its turn delays no others, and isn't run if its connection ends.
func (s *Server) MarkLong(m Method) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.services[m.Protocol.Name].methods[m.Name].long = true
}

// MaxLong is how many long replies a server builds at a time.
const MaxLong = 4

// Protocol returns the protocol with the name, and whether it is served.
func (s *Server) Protocol(name string) (Protocol, bool) {
	p, ok := s.services[name]
	if !ok {
		return Protocol{}, false
	}
	return p.protocol, true
}

// Serve accepts connections until Shutdown or Close, and then returns ErrServerClosed. It returns earlier if the
// listener fails. It closes the listener. One server may serve several listeners at once.
func (s *Server) Serve(l net.Listener) error {
	if !s.start(l) {
		_ = l.Close()
		return ErrServerClosed
	}
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
		_ = l.Close()
	}()
	for pause := time.Duration(0); ; {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			s.accept(nc)
			continue
		}
		s.mu.Lock()
		stopping := s.stopping
		s.mu.Unlock()
		if stopping {
			return ErrServerClosed
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("ipc: accepting connections at %s: %w", l.Addr(), err)
		}
		// The process most likely has no free file descriptors. Wait until connections end.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.cfg.Log.WithError(err).WithField("address", l.Addr().String()).Warn("can't accept a connection; trying again")
		select {
		case <-time.After(pause):
		case <-s.quit:
			return ErrServerClosed
		}
	}
}

// start registers the listener and, the first time, starts the goroutines that all connections share.
func (s *Server) start(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.listeners[l] = struct{}{}
	if !s.started {
		s.started = true
		for range 2 * runtime.GOMAXPROCS(0) {
			s.background.Add(1)
			go s.worker()
		}
		s.background.Add(1)
		go s.sweep()
	}
	return true
}

func (s *Server) accept(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || (s.cfg.MaxConnections > 0 && len(s.open) >= s.cfg.MaxConnections) {
		if !s.stopping {
			s.cfg.Log.WithField("peer", nc.RemoteAddr().String()).
				Warnf("connection refused: %d are open, which is the limit", len(s.open))
		}
		_ = nc.Close()
		return
	}
	s.nextConn++
	c := newServerConn(s, countedConn{light.Conn(nc), &s.activity}, s.nextConn)
	s.open[c] = struct{}{}
	s.conns.Add(1)
	go func() {
		defer s.conns.Done()
		s.requests.add(c)
		s.replies.add(c)
		c.serve()
		s.requests.remove(c)
		s.replies.remove(c)
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
	}()
}

// Connections returns the number of open connections.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// Shutdown accepts no more connections and calls, waits until all calls under way are answered, and closes the
// connections. If ctx ends first, it closes them at once and returns an error that wraps the one of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	for l := range s.listeners {
		_ = l.Close()
	}
	for c := range s.open {
		c.stop()
	}
	s.mu.Unlock()

	done := make(chan struct{})
	go func() {
		defer close(done)
		s.conns.Wait()
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("ipc: shutdown with calls under way: %w", ctx.Err())
	}
	s.Close()
	<-done
	return err
}

// Close closes the listeners and connections at once, which ends the handlers' contexts. It waits until the handlers
// return.
func (s *Server) Close() {
	s.mu.Lock()
	s.stopping = true
	if !s.closed {
		s.closed = true
		close(s.quit)
	}
	for l := range s.listeners {
		_ = l.Close()
	}
	for c := range s.open {
		c.abort(ErrServerClosed)
	}
	s.mu.Unlock()
	s.conns.Wait() // first, because connections add calls
	s.calls.Wait()
	s.background.Wait()
}

// sweep closes idle connections, and those whose handshake takes too long.
func (s *Server) sweep() {
	defer s.background.Done()
	limit := s.cfg.IdleTimeout
	for _, t := range []time.Duration{s.cfg.HandshakeTimeout, s.cfg.ReadTimeout} {
		if t > 0 && (limit < 0 || t < limit) {
			limit = t
		}
	}
	if limit < 0 {
		<-s.quit
		return
	}
	tick := time.NewTicker(max(limit/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-s.quit:
			return
		case now := <-tick.C:
			s.mu.Lock()
			for c := range s.open {
				c.checkIdle(now)
			}
			s.mu.Unlock()
		}
	}
}
