package shuffle

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/writable"
)

// Sizes of a connection's buffers. The write buffer takes a response's headers, and pieces too small for a system call
// of their own.
const (
	readBuffer  = 2 << 10
	writeBuffer = 64 << 10
	smallPiece  = 16 << 10
	chunk       = 1 << 20 // a reducer may take StallTimeout for so many bytes
)

var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, writeBuffer) }}

// connection is a reducer's connection.
type connection struct {
	s   *Service
	raw net.Conn
	in  *bufio.Reader
}

// serve answers requests until the connection ends. If there are too many connections, it tells the reducer to come
// back later.
func (s *Service) serve(raw net.Conn, tooMany bool) {
	if tooMany {
		s.metrics.refused.Inc()
	}
	c := &connection{s: s, raw: raw}
	if s.cfg.TLS != nil {
		c.raw = tls.Server(raw, s.cfg.TLS) // this makes files pass through user space
	}
	if tooMany {
		c.refuse(refusal{status: 429, reason: "TOO MANY REQUESTS", retry: true})
		return
	}
	c.in = bufio.NewReaderSize(c.raw, readBuffer)
	wait := s.cfg.HeadTimeout
	for !s.stopping() {
		c.raw.SetReadDeadline(time.Now().Add(wait))
		if s.stopping() { // the line above may have overwritten Stop's deadline
			return
		}
		r, err := readRequest(c.in)
		if err != nil {
			return
		}
		if expects, ok := r.get("Expect"); ok && expects == "100-continue" {
			c.raw.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
		}
		more := r.skipBody(c.in)
		keep, err := c.answer(r)
		var no refusal
		switch {
		case errors.As(err, &no):
			s.metrics.failed.Inc()
			s.log.WithFields(logrus.Fields{"peer": raw.RemoteAddr().String(), "uri": clip(r.uri), "status": no.status, "reason": no.text}).
				Debug("shuffle request refused")
			c.refuse(no)
			return
		case err != nil:
			s.metrics.failed.Inc()
			s.log.WithFields(logrus.Fields{"peer": raw.RemoteAddr().String(), logrus.ErrorKey: err}).Debug("shuffle connection broken")
			return
		case !keep || !more:
			c.linger()
			return
		}
		wait = s.cfg.KeepAliveFor
	}
}

// clip shortens a stranger's text for the log.
func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

// refusal is an error that the reducer learns.
type refusal struct {
	status int
	reason string
	text   string
	retry  bool
}

func (r refusal) Error() string { return r.text }

func badRequest(text string) refusal { return refusal{status: 400, reason: "Bad Request", text: text} }

func unauthorized(text string) refusal {
	return refusal{status: 401, reason: "Unauthorized", text: text}
}

func failed(text string) refusal {
	return refusal{status: 500, reason: "Internal Server Error", text: text}
}

// retryAfter is how long a reducer should wait if there are too many connections, in ms.
const retryAfter = "1000"

// refuse sends an error, with which the connection ends.
func (c *connection) refuse(r refusal) {
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\ncontent-type: text/plain; charset=UTF-8\r\nname: mapreduce\r\nversion: 1.0.0\r\n", r.status, r.reason)
	if r.retry {
		b = append(b, "Retry-After: "+retryAfter+"\r\n"...)
	}
	b = fmt.Appendf(b, "content-length: %d\r\n\r\n%s", len(r.text), r.text)
	c.raw.SetDeadline(time.Now().Add(lingerTime))
	if _, err := c.raw.Write(b); err == nil {
		c.linger()
	}
}

// lingerTime bounds the end of a connection.
const lingerTime = 2 * time.Second

// linger ends the connection so that the reducer gets everything that was sent. Closing with unread input would make
// the kernel reset the connection, and the reducer's kernel would drop its unread data.
func (c *connection) linger() {
	half, ok := c.raw.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.raw.SetReadDeadline(time.Now().Add(lingerTime))
	io.CopyN(io.Discard, c.raw, maxBody)
}

// answer serves one request. keep reports whether the connection stays open.
func (c *connection) answer(r *request) (keep bool, err error) {
	if !r.invalid && r.method != "GET" {
		return false, refusal{status: 405, reason: "Method Not Allowed"}
	}
	name, _ := r.get("name")
	version, _ := r.get("version")
	if r.invalid || name != "mapreduce" || version != "1.0.0" {
		return false, badRequest("Incompatible shuffle request version")
	}
	q, err := parseQuery(r.uri)
	if err != nil {
		return false, failed("")
	}
	if q.maps == nil || q.reduce == nil || q.job == nil {
		return false, badRequest("Required param job, map and reduce")
	}
	if len(q.reduce) != 1 || len(q.job) != 1 {
		return false, badRequest("Too many job/reduce parameters")
	}
	reduce, err := strconv.ParseInt(q.reduce[0], 10, 32)
	if err != nil {
		return false, badRequest("Bad reduce parameter")
	}
	j, ok := c.s.job(q.job[0])
	if !ok {
		return false, unauthorized("Can't find job token for job " + q.job[0] + " !!")
	}
	urlHash, ok := r.get("UrlHash")
	if !ok {
		return false, unauthorized("fetcher cannot be authenticated")
	}
	if !checkHash(j.secret, c.s.port, r.uri, urlHash) {
		return false, unauthorized("Verification of the hashReply failed")
	}
	b, err := c.s.prepare(j, q.maps, int(reduce))
	if err != nil {
		c.s.log.WithFields(logrus.Fields{"application": j.app.String(), "reduce": reduce, logrus.ErrorKey: err}).Warn("map output cannot be served")
		return false, failed(err.Error())
	}
	defer b.close()
	keep = c.s.cfg.KeepAlive || q.keepsAlive()
	return keep, c.send(j, b, replyHash(j.secret, urlHash), keep)
}

// body is the body of a response.
type body struct {
	pieces []piece
	heads  [][]byte   // the header of each piece
	files  []*os.File // files of the first pieces; the others are opened again later
	length int64
}

func (b *body) close() {
	for _, f := range b.files {
		f.Close()
	}
}

// prepare looks up all pieces first, so that the status can report an error in any of them.
func (s *Service) prepare(j job, maps []string, reduce int) (*body, error) {
	b := &body{pieces: make([]piece, 0, len(maps)), heads: make([][]byte, 0, len(maps))}
	for _, attempt := range maps {
		p, f, err := s.piece(j, attempt, reduce)
		if err != nil {
			b.close()
			return nil, err
		}
		if len(b.files) == len(b.pieces) && len(b.files) < s.cfg.MaxOpenFiles {
			b.files = append(b.files, f)
		} else {
			f.Close()
		}
		head := p.appendHead(nil)
		b.pieces, b.heads = append(b.pieces, p), append(b.heads, head)
		b.length += int64(len(head)) + p.size
	}
	return b, nil
}

// appendHead appends the header of a piece in the body (org.apache.hadoop.mapreduce.task.reduce.ShuffleHeader).
func (p piece) appendHead(b []byte) []byte {
	b = writable.AppendText(b, p.attempt)
	b = writable.AppendVLong(b, p.size)
	b = writable.AppendVLong(b, p.raw)
	return writable.AppendVLong(b, int64(p.reduce))
}

// send writes the response.
func (c *connection) send(j job, b *body, reply string, keep bool) error {
	w := writers.Get().(*bufio.Writer)
	w.Reset(stalling{c.raw, c.s.cfg.StallTimeout})
	defer func() {
		w.Reset(nil)
		writers.Put(w)
	}()
	began := time.Now()
	fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nReplyHash: %s\r\nname: mapreduce\r\nversion: 1.0.0\r\n", reply)
	if keep {
		fmt.Fprintf(w, "Connection: Keep-Alive\r\nKeep-Alive: timeout=%d\r\n", int(c.s.cfg.KeepAliveFor.Seconds()))
	} else {
		w.WriteString("Connection: close\r\n")
	}
	fmt.Fprintf(w, "content-length: %d\r\n\r\n", b.length)
	for i, p := range b.pieces {
		w.Write(b.heads[i])
		var f *os.File
		if i < len(b.files) {
			f = b.files[i]
		} else {
			var err error
			if f, err = c.s.openPiece(j, p); err != nil {
				return err
			}
		}
		err := c.sendPiece(w, f, p)
		if i >= len(b.files) {
			f.Close()
		}
		if err != nil {
			return err
		}
		c.s.metrics.sent(p.size)
	}
	err := w.Flush()
	if now := time.Now(); err == nil {
		c.s.fetched.add(now, b.length, now.Sub(began))
	}
	return err
}

// sendPiece sends a part of a file: a small one through the buffer, a large one through the kernel.
func (c *connection) sendPiece(w *bufio.Writer, f *os.File, p piece) error {
	if p.size <= smallPiece {
		return exactly(p.size)(io.Copy(w, io.NewSectionReader(f, p.start, p.size)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if _, err := f.Seek(p.start, io.SeekStart); err != nil {
		return err
	}
	for left := p.size; left > 0; {
		n := min(left, chunk)
		c.raw.SetWriteDeadline(time.Now().Add(c.s.cfg.StallTimeout))
		// A TCP connection uses sendfile for this.
		if err := exactly(n)(io.Copy(c.raw, io.LimitReader(f, n))); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// exactly returns an error if a copy has another length than n, because the file became shorter.
func exactly(n int64) func(int64, error) error {
	return func(copied int64, err error) error {
		if err == nil && copied != n {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
}

// stalling sets a deadline for every write.
type stalling struct {
	net.Conn
	after time.Duration
}

func (s stalling) Write(p []byte) (int, error) {
	s.Conn.SetWriteDeadline(time.Now().Add(s.after))
	return s.Conn.Write(p)
}
