package raft

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/sirupsen/logrus"

	"heddle/rm/raft/promise"
)

// maxUnproven limits the connections whose callers haven't proved yet who they are.
const maxUnproven = 64

// oldFor is how long an address counts as that of an earlier version.
const oldFor = time.Minute

// stream carries raft's connections. A caller first says who it is, and of which cluster and group, so that a wrong address in a
// configuration file can't mix two logs. Nothing reaches raft before the caller has proved it.
type stream struct {
	cfg        *Config
	advertised string
	host       host
	proven     chan net.Conn
	done       chan struct{}
	unproven   chan struct{}
	refusals   refusals
	running    sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool // accepted connections
	old    map[string]time.Time
	closed bool
}

// host is the member that a stream belongs to.
type host interface {
	self() greeting
	// admit decides about a caller who has proved its identity.
	admit(greeting) error
	status() Status
	// knows returns what the member knows of another's promises.
	knows(id, incarnation string) promise.Known
	// replaced is called when a member has continued without this one.
	replaced(by greeting) error
	// met records what another has told.
	met(id, incarnation string, s promise.Start, known promise.Known) error
}

// newStream makes the stream; it accepts nothing before serve runs.
func newStream(cfg *Config, advertised string, h host) *stream {
	return &stream{
		cfg: cfg, advertised: advertised, host: h,
		proven: make(chan net.Conn), done: make(chan struct{}), unproven: make(chan struct{}, maxUnproven),
		open: map[net.Conn]bool{}, old: map[string]time.Time{}, refusals: refusals{log: cfg.Log},
	}
}

// serve accepts connections until the stream is closed.
func (s *stream) serve() {
	for {
		c, err := s.cfg.Listener.Accept()
		if err != nil {
			select {
			case <-s.done:
				return
			case <-time.After(acceptPause): // perhaps no descriptors are left
				continue
			}
		}
		select {
		case s.unproven <- struct{}{}:
		default:
			s.refusals.add(c.RemoteAddr(), fmt.Errorf("%d other callers have not proved yet who they are", maxUnproven))
			_ = c.Close()
			continue
		}
		if !s.track(c) {
			<-s.unproven
			continue
		}
		s.running.Go(func() {
			proven, err := s.receive(c)
			<-s.unproven
			if err != nil {
				s.refusals.add(c.RemoteAddr(), err)
			}
			if proven == nil {
				s.forget(c)
				return
			}
			select {
			case s.proven <- proven:
			case <-s.done:
			}
		})
	}
}

const acceptPause = 50 * time.Millisecond

// receive lets a caller prove who it is. It returns nil if the connection needs nothing more.
func (s *stream) receive(c net.Conn) (net.Conn, error) {
	if err := c.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, err
	}
	talk := c
	var peer *tls.ConnectionState
	if s.cfg.TLS != nil {
		t := tls.Server(c, s.cfg.TLS)
		if err := t.Handshake(); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		state := t.ConnectionState()
		talk, peer = t, &state
	}
	line, err := readLine(talk, maxHello)
	if err != nil {
		return nil, fmt.Errorf("no greeting: %w", err)
	}
	g, err := parseGreeting(line)
	if err != nil {
		return nil, err
	}
	me := s.host.self()
	answer := welcome{From: s.cfg.ID, Incarnation: me.Incarnation, Start: me.Start}
	err = s.judge(g, peer)
	if err == nil {
		answer.Known = s.host.knows(g.From, g.Incarnation)
		err = s.host.met(g.From, g.Incarnation, g.Start, g.Known)
	}
	if err != nil {
		answer.Refused = err.Error()
		return nil, errors.Join(err, s.answer(talk, g, answer))
	}
	if g.Ask {
		status := s.host.status()
		answer.Status = &status
		return nil, s.answer(talk, g, answer)
	}
	if err := s.answer(talk, g, answer); err != nil {
		return nil, err
	}
	return &accepted{Conn: talk, raw: c, stream: s}, talk.SetDeadline(time.Time{})
}

// judge checks who a caller is, and whether it belongs to this group.
func (s *stream) judge(g greeting, peer *tls.ConnectionState) error {
	if peer != nil {
		if err := names(peer.PeerCertificates, g.From); err != nil {
			return err
		}
	}
	switch err := g.check(s.host.self()); {
	case errors.Is(err, ErrReplaced):
		return s.host.replaced(g)
	case err != nil:
		return err
	}
	return s.host.admit(g)
}

// answer sends the welcome; callers of earlier versions expect none.
func (s *stream) answer(c net.Conn, g greeting, w welcome) error {
	if g.old {
		return nil
	}
	return writeWelcome(c, w)
}

// Dial implements hraft.StreamLayer. The address names the member, too (dialled).
func (s *stream) Dial(address hraft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if s.isClosed() {
		return nil, net.ErrClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	to := parseTarget(address)
	if s.isOld(to.address) {
		return s.dialOld(ctx, to)
	}
	c, _, err := s.dial(ctx, to, false)
	if errors.Is(err, errNoAnswer) && to.incarnation == "" {
		if c, err := s.dialOld(ctx, to); err == nil {
			s.mu.Lock()
			s.old[to.address] = time.Now().Add(oldFor)
			s.mu.Unlock()
			return c, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// errNoAnswer says that a peer closed the connection without answering our greeting, as earlier versions do.
var errNoAnswer = errors.New("the peer gave no answer: its log says why, or it runs an earlier version")

// ask asks the member at an address for its status.
func (s *stream) ask(ctx context.Context, m Member) (Status, error) {
	c, w, err := s.dial(ctx, target{id: m.ID, address: m.Address}, true)
	if err != nil {
		return Status{}, err
	}
	_ = c.Close()
	if w.Status == nil {
		return Status{}, fmt.Errorf("%w: it didn't report its status", errStranger)
	}
	w.Status.known = w.Known
	return *w.Status, nil
}

// dial connects, sends our greeting, and reads the answer.
func (s *stream) dial(ctx context.Context, to target, ask bool) (net.Conn, welcome, error) {
	g := s.host.self()
	g.To, g.Ask = to.id, ask
	if !ask {
		g.Folder, g.Known = to.incarnation, s.host.knows(to.id, to.incarnation)
	}
	hello, err := g.line()
	if err != nil {
		return nil, welcome{}, err
	}
	c, err := s.connect(ctx, to)
	if err != nil {
		return nil, welcome{}, err
	}
	w, err := s.greet(c, hello)
	if err == nil && to.id != "" && w.From != to.id {
		err = fmt.Errorf("at %s is member %q, not %q: check heddle.raft.address.*", to.address, w.From, to.id)
	}
	if t, ok := c.(*tls.Conn); ok && err == nil {
		state := t.ConnectionState()
		err = names(state.PeerCertificates, w.From)
	}
	if err == nil {
		err = s.host.met(w.From, w.Incarnation, w.Start, w.Known)
	}
	if err != nil {
		return nil, welcome{}, errors.Join(err, c.Close())
	}
	return c, w, nil
}

func (s *stream) greet(c net.Conn, hello []byte) (welcome, error) {
	if _, err := c.Write(hello); err != nil {
		return welcome{}, err
	}
	line, err := readLine(c, maxWelcome)
	if err != nil {
		if len(line) == 0 && !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
			err = fmt.Errorf("%w (%w)", errNoAnswer, err)
		}
		return welcome{}, err
	}
	w, err := parseWelcome(line)
	if err != nil {
		return w, err
	}
	return w, c.SetDeadline(time.Time{})
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// connect opens a connection to a member, with TLS if that is configured. Until the greeting is done its deadline is that of ctx, and
// at most helloTimeout.
func (s *stream) connect(ctx context.Context, to target) (net.Conn, error) {
	deadline := time.Now().Add(helloTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	d := net.Dialer{Deadline: deadline}
	c, err := d.DialContext(ctx, "tcp", to.address)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(deadline); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if s.cfg.TLS == nil {
		if !isLoopback(c.RemoteAddr()) {
			return nil, errors.Join(fmt.Errorf("%s is another machine, which %w", to.address, ErrUnsafe), c.Close())
		}
		return c, nil
	}
	t := tls.Client(c, clientTLS(s.cfg.TLS, to.id))
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS with %s: %w", to.address, err), c.Close())
	}
	return t, nil
}

// dialOld greets a member of an earlier version.
func (s *stream) dialOld(ctx context.Context, to target) (net.Conn, error) {
	c, err := s.connect(ctx, to)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c, oldPrefix+s.cfg.Cluster+" "+s.cfg.ID+"\n"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, c.SetDeadline(time.Time{})
}

func (s *stream) isOld(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.old[address])
}

// Accept implements net.Listener: it yields connections of members that have proved who they are.
func (s *stream) Accept() (net.Conn, error) {
	select {
	case c := <-s.proven:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s *stream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *stream) track(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return false
	}
	s.open[c] = true
	return true
}

func (s *stream) forget(c net.Conn) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	_ = c.Close()
}

// Close also closes accepted connections, which raft's transport would leave open.
func (s *stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	err := s.cfg.Listener.Close()
	for c := range s.open {
		_ = c.Close()
	}
	s.open = nil
	s.mu.Unlock()
	s.running.Wait()
	return err
}

// Addr returns the address that other members are told; it may differ from the one listened on.
func (s *stream) Addr() net.Addr { return addr(s.advertised) }

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

// refusals logs refused connections, at most one line a second: strangers must not fill the disk.
type refusals struct {
	log *logrus.Entry

	mu      sync.Mutex
	last    time.Time
	skipped int
}

func (r *refusals) add(from net.Addr, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.last) < time.Second && !r.last.IsZero() {
		r.skipped++
		return
	}
	log := r.log.WithField("peer", from).WithError(err)
	if r.skipped > 0 {
		log = log.WithField("others", r.skipped)
	}
	r.last, r.skipped = time.Now(), 0
	log.Warn("raft connection refused")
}
