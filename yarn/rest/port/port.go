// Package port serves HTTP to clients that may be slow or hostile. It disconnects a client that sends or reads nothing for a
// while. There is no deadline for a whole request or answer, so that a long download may continue while data moves.
package port

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Timeouts for a client. Each is for a piece, none for a whole request.
const (
	headerTimeout = 30 * time.Second // for all headers of a request
	readTimeout   = 30 * time.Second // for the next bytes of a body
	writeTimeout  = time.Minute      // for writing piece bytes of an answer
	idleTimeout   = time.Minute      // between requests
	piece         = 64 << 10
)

// MaxHeader is the default limit of a request's headers, in bytes.
const MaxHeader = 64 << 10

// Server is an HTTP server with these deadlines. Call its Serve, not the one of http.Server.
type Server struct{ http.Server }

// New returns a server. complaints gets net/http's messages about connections; nil stands for the standard logger.
func New(h http.Handler, maxHeader int, complaints *log.Logger) *Server {
	return &Server{http.Server{
		Handler: WithReadDeadlines(h), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: complaints,
	}}
}

// Serve serves the connections that a listener accepts, by TLS if the server has a TLSConfig.
func (s *Server) Serve(l net.Listener) error {
	l = listener{l}
	if s.TLSConfig != nil {
		l = tls.NewListener(l, s.TLSConfig) // each record has a deadline of its own
	}
	return s.Server.Serve(l)
}

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// conn sets a deadline for each piece that is written. net/http sets none unless there is a WriteTimeout.
type conn struct {
	net.Conn
	limit atomic.Int64 // a deadline of its user's for writing, in ns since 1970; 0: none
}

// SetWriteDeadline sets one that pieces don't extend: TLS gives the end of a connection five seconds.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.limit.Store(0)
	if !t.IsZero() {
		c.limit.Store(t.UnixNano())
	}
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline does so as well.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// extend gives the next piece its time.
func (c *conn) extend() error {
	t := time.Now().Add(writeTimeout)
	if limit := c.limit.Load(); limit != 0 && limit < t.UnixNano() {
		t = time.Unix(0, limit)
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c *conn) Write(b []byte) (written int, err error) {
	for {
		n := min(len(b), piece)
		if err := c.extend(); err != nil {
			return written, err
		}
		n, err = c.Conn.Write(b[:n])
		written += n
		b = b[n:]
		if err != nil || len(b) == 0 {
			return written, err
		}
	}
}

// ReadFrom lets the kernel send files, a piece at a time, if the connection supports that.
func (c *conn) ReadFrom(r io.Reader) (sent int64, err error) {
	to, ok := c.Conn.(io.ReaderFrom)
	from, limited := r.(*io.LimitedReader)
	if !ok || !limited {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	for from.N > 0 {
		if err := c.extend(); err != nil {
			return sent, err
		}
		next := io.LimitedReader{R: from.R, N: min(from.N, piece)} // net recognizes this type
		n, err := to.ReadFrom(&next)
		sent += n
		from.N -= n
		if err != nil || n == 0 {
			return sent, err
		}
	}
	return sent, nil
}

// CloseWrite lets net/http end a connection gently.
func (c *conn) CloseWrite() error {
	if t, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return t.CloseWrite()
	}
	return nil
}

// WithReadDeadlines requires that the bytes of a request's body keep arriving.
func WithReadDeadlines(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			h.ServeHTTP(w, r)
			return
		}
		b := &body{r.Body, http.NewResponseController(w)}
		b.extend() // also for an unread body, which net/http skips
		clone := *r
		clone.Body = b
		h.ServeHTTP(w, &clone)
	})
}

// body is the body of a request whose next bytes must arrive soon.
type body struct {
	io.ReadCloser
	control *http.ResponseController
}

// A ResponseWriter without deadlines belongs to a test, or to a connection that was taken over.
func (b *body) extend() { _ = b.control.SetReadDeadline(time.Now().Add(readTimeout)) }

func (b *body) Read(p []byte) (int, error) {
	b.extend()
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{}) // the handler itself has no deadline
	}
	return n, err
}
