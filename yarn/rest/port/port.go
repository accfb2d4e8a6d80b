// Package port serves HTTP to clients that may be slow or hostile. It disconnects a client that sends or reads nothing for a
// while. There is no deadline for a whole request or answer, so that a long download may go on while data moves.
package port

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Timeouts of a client. They are for a piece, not for the whole.
const (
	headerTimeout = 30 * time.Second // for all headers of a request
	readTimeout   = 30 * time.Second // for the next bytes of a body
	writeTimeout  = time.Minute      // for piece bytes of an answer to be taken
	idleTimeout   = time.Minute      // between requests
	piece         = 64 << 10
)

// MaxHeader is how long the headers of a request may be where nothing else is configured.
const MaxHeader = 64 << 10

// Server is an HTTP server with these deadlines. Use its Serve, not the http.Server's.
type Server struct{ http.Server }

// New returns a server. complaints takes what net/http says of connections; nil is its default.
func New(h http.Handler, maxHeader int, complaints *log.Logger) *Server {
	return &Server{http.Server{
		Handler: WithReadDeadlines(h), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: complaints,
	}}
}

// Serve serves the connections that a listener accepts.
func (s *Server) Serve(l net.Listener) error { return s.Server.Serve(listener{l}) }

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{c}, nil
}

// conn sets a deadline for each piece that is written. net/http sets none itself unless it has a WriteTimeout.
type conn struct{ net.Conn }

func (c *conn) Write(b []byte) (written int, err error) {
	for {
		n := min(len(b), piece)
		if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
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

// ReadFrom lets the kernel send files by itself, a piece at a time, if the connection can do that.
func (c *conn) ReadFrom(r io.Reader) (sent int64, err error) {
	to, ok := c.Conn.(io.ReaderFrom)
	from, limited := r.(*io.LimitedReader)
	if !ok || !limited {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	for from.N > 0 {
		if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return sent, err
		}
		next := io.LimitedReader{R: from.R, N: min(from.N, piece)} // one that net knows how to send
		n, err := to.ReadFrom(&next)
		sent += n
		from.N -= n
		if err != nil || n == 0 {
			return sent, err
		}
	}
	return sent, nil
}

// CloseWrite is what net/http wants to end a connection gently.
func (c *conn) CloseWrite() error {
	if t, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return t.CloseWrite()
	}
	return nil
}

// WithReadDeadlines has bodies of requests go on coming.
func WithReadDeadlines(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			h.ServeHTTP(w, r)
			return
		}
		b := &body{r.Body, http.NewResponseController(w)}
		b.extend() // also for a body that nobody reads: net/http skips it
		clone := *r
		clone.Body = b
		h.ServeHTTP(w, &clone)
	})
}

// body is the body of a request whose next bytes have to come soon.
type body struct {
	io.ReadCloser
	control *http.ResponseController
}

// A ResponseWriter that has no deadlines is one of a test, or of a connection that was taken over.
func (b *body) extend() { _ = b.control.SetReadDeadline(time.Now().Add(readTimeout)) }

func (b *body) Read(p []byte) (int, error) {
	b.extend()
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{}) // the handler may take its time
	}
	return n, err
}
