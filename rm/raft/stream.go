package raft

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/sirupsen/logrus"
)

const (
	// the greeting is helloPrefix, the cluster's name, a blank and the dialling member's id
	helloPrefix  = "heddle-raft 1 "
	maxHello     = 512
	helloTimeout = 5 * time.Second
)

// stream carries raft's connections. The one who dials says first which cluster it belongs to, so that a wrong address in
// a configuration file can't mix two clusters' logs.
type stream struct {
	net.Listener
	advertised string
	cluster    string
	id         string
	tls        *tls.Config
	log        *logrus.Entry

	mu     sync.Mutex
	open   map[*greeted]bool // accepted connections
	closed bool
}

func newStream(cfg *Config, advertised string) *stream {
	l := cfg.Listener
	if cfg.TLS != nil {
		l = tls.NewListener(l, cfg.TLS)
	}
	return &stream{
		Listener: l, advertised: advertised, cluster: cfg.Cluster, id: cfg.ID, tls: cfg.TLS, log: cfg.Log,
		open: map[*greeted]bool{},
	}
}

// Dial implements hraft.StreamLayer.
func (s *stream) Dial(address hraft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	d := &net.Dialer{Timeout: timeout}
	var c net.Conn
	var err error
	if s.tls != nil {
		c, err = tls.DialWithDialer(d, "tcp", string(address), s.tls)
	} else {
		c, err = d.Dial("tcp", string(address))
	}
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c, helloPrefix+s.cluster+" "+s.id+"\n"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Accept implements net.Listener. The greeting is read when the connection is first read from, so that a silent peer
// holds up nobody else.
func (s *stream) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g := &greeted{Conn: c, r: bufio.NewReaderSize(c, 64<<10), stream: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(net.ErrClosed, c.Close())
	}
	s.open[g] = true
	return g, nil
}

// Close also closes what was accepted, which raft's transport would leave open.
func (s *stream) Close() error {
	err := s.Listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for g := range s.open {
		err = errors.Join(err, g.Conn.Close())
	}
	s.open = nil
	return err
}

// Addr is the address that members are told, which may differ from the one listened on.
func (s *stream) Addr() net.Addr { return addr(s.advertised) }

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

type greeted struct {
	net.Conn
	r      *bufio.Reader
	stream *stream
	done   bool
}

// Close implements net.Conn.
func (g *greeted) Close() error {
	g.stream.mu.Lock()
	delete(g.stream.open, g)
	g.stream.mu.Unlock()
	return g.Conn.Close()
}

func (g *greeted) Read(b []byte) (int, error) {
	if !g.done {
		if err := g.hello(); err != nil {
			g.stream.log.WithField("peer", g.RemoteAddr()).WithError(err).Warn("raft connection refused")
			return 0, errors.Join(err, g.Close())
		}
		g.done = true
	}
	return g.r.Read(b)
}

func (g *greeted) hello() error {
	if err := g.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
		return err
	}
	var line []byte
	for {
		b, err := g.r.ReadByte()
		if err != nil {
			return fmt.Errorf("no greeting: %w", err)
		}
		if b == '\n' {
			break
		}
		if line = append(line, b); len(line) > maxHello {
			return errors.New("not a heddle ResourceManager: its greeting is too long")
		}
	}
	rest, ok := strings.CutPrefix(string(line), helloPrefix)
	last := strings.LastIndexByte(rest, ' ')
	if !ok || last < 0 {
		return fmt.Errorf("not a heddle ResourceManager: greeting %q", line)
	}
	if cluster := rest[:last]; cluster != g.stream.cluster {
		return fmt.Errorf("it belongs to cluster %q, we to %q: check heddle.raft.address.* and yarn.resourcemanager.cluster-id",
			cluster, g.stream.cluster)
	}
	return g.SetReadDeadline(time.Time{})
}
