package rest

import (
	"bufio"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// compressedTypes are the types of answers that are compressed if the client asks for it. As in Hadoop, these are all
// answers of the APIs, however small, and nothing else: neither pages nor /jmx and /conf.
var compressedTypes = []string{"application/json", "application/xml", "application/vnd.sun.wadl+xml", "text/plain"}

// compressBlock is how many bytes are compressed at a time. Each block is compressed by itself, so that nothing is kept for a client between its writes: a compressor with a
// window keeps 800 KB for each, and hundreds of pages refresh at the same moment. It costs a seventh more bytes, and a tenth of the time.
const compressBlock = 16 << 10

// takesGzip reports whether a client accepts gzip by name. As in Hadoop, a wildcard doesn't count.
func takesGzip(h http.Header) bool {
	for _, header := range h.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(header, ",") {
			if name, q := mediaRange(part); q > 0 && (name == "gzip" || name == "x-gzip") {
				return true
			}
		}
	}
	return false
}

// compressor is a ResponseWriter that compresses answers of some types. It holds headers back until the first byte
// shows that there is something to compress. Call finish at the end, unless the handler failed: a truncated answer must
// look truncated.
type compressor struct {
	http.ResponseWriter
	status int // 0: not set yet
	sent   bool
	gz     *gzip.Writer  // nil: not compressed
	block  *bufio.Writer // collects what gz gets
}

// WriteHeader implements http.ResponseWriter.
func (c *compressor) WriteHeader(status int) {
	switch {
	case status < http.StatusOK:
		c.ResponseWriter.WriteHeader(status) // the final status follows
	case c.status == 0:
		c.status = status
	}
}

// send decides whether to compress, and sends the headers.
func (c *compressor) send(body bool) {
	if c.sent {
		return
	}
	c.sent = true
	if c.status == 0 {
		c.status = http.StatusOK
	}
	if h := c.Header(); body && compressible(c.status, h) {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		h.Del("Accept-Ranges")
		if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
			h.Set("ETag", "W/"+tag) // compressed bytes differ
		}
		c.gz, _ = gzip.NewWriterLevel(c.ResponseWriter, gzip.StatelessCompression) // the level is valid
		c.block = bufio.NewWriterSize(c.gz, compressBlock)
	}
	c.ResponseWriter.WriteHeader(c.status)
}

func compressible(status int, h http.Header) bool {
	switch status {
	case http.StatusNoContent, http.StatusPartialContent, http.StatusNotModified:
		return false
	}
	if h.Get("Content-Encoding") != "" || h.Get("Content-Range") != "" {
		return false
	}
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return slices.Contains(compressedTypes, media)
}

// Write implements http.ResponseWriter.
func (c *compressor) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.send(true)
	if c.gz == nil {
		return c.ResponseWriter.Write(b)
	}
	return c.block.Write(b)
}

// ReadFrom lets the kernel copy files to the socket if they aren't compressed.
func (c *compressor) ReadFrom(r io.Reader) (int64, error) {
	c.send(true)
	if c.gz == nil {
		return io.Copy(c.ResponseWriter, r)
	}
	return io.Copy(c.block, r)
}

// FlushError sends what was written so far, for http.ResponseController.
func (c *compressor) FlushError() error {
	c.send(true)
	if c.gz != nil {
		if err := errors.Join(c.block.Flush(), c.gz.Flush()); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (c *compressor) Flush() { _ = c.FlushError() } // the next Write reports a lost client

// Unwrap serves http.ResponseController.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// finish ends a compressed answer.
func (c *compressor) finish() {
	c.send(false)
	if c.gz != nil {
		_, _ = c.block.Flush(), c.gz.Close() // a lost client can't be told
	}
}
