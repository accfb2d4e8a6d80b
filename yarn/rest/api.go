package rest

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/mux"
	"github.com/sirupsen/logrus"
)

// Call is a request on its way to a handler.
type Call struct {
	*http.Request
	Format Format // of the answer
	api    *API
	query  url.Values
	w      http.ResponseWriter
	body   *share // its share of the memory for bodies; nil: no body was read
}

// Var returns a variable of the path.
func (c *Call) Var(name string) string {
	raw := mux.Vars(c.Request)[name]
	if v, err := url.PathUnescape(raw); err == nil {
		return v
	}
	return raw
}

// Query returns the parameters of the query. Malformed escapes stay as they are, as in Hadoop, so that they don't turn
// into values that weren't sent.
func (c *Call) Query() url.Values {
	if c.query != nil {
		return c.query
	}
	c.query = url.Values{}
	for pair := range strings.SplitSeq(c.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		key = orRaw(key)
		c.query[key] = append(c.query[key], orRaw(value))
	}
	return c.query
}

func orRaw(escaped string) string {
	if s, err := url.QueryUnescape(escaped); err == nil {
		return s
	}
	return escaped
}

// Decode reads the body. Its errors are of type *Error.
func (c *Call) Decode(to Target) error {
	body, err := c.Body()
	if err != nil {
		return err
	}
	return Decode(c.Header.Get("Content-Type"), body, to)
}

// Body reads the body, decompressed if need be, up to MaxBody. Its errors are of type *Error.
func (c *Call) Body() ([]byte, error) {
	in := c.Request.Body
	if c.body == nil {
		control := http.NewResponseController(c.w)
		c.body = c.api.bodies.open(func() { _ = control.SetReadDeadline(longAgo) })
	}
	defer c.body.settle()
	switch encoding := strings.ToLower(c.Header.Get("Content-Encoding")); {
	case strings.Contains(encoding, ",") || slices.Contains(compressions, encoding):
		return nil, &Error{
			http.StatusUnsupportedMediaType, WebApplicationException,
			fmt.Sprintf("Content-Encoding is %.100q: send the body as it is, or compressed once by gzip", encoding),
		}
	case encoding == "gzip", encoding == "x-gzip":
		gz, err := gzip.NewReader(http.MaxBytesReader(nil, in, c.api.MaxBody))
		if err != nil {
			return nil, badBody("the body doesn't match its Content-Encoding: %v", err)
		}
		in = gz
	}
	body, err := io.ReadAll(&counted{http.MaxBytesReader(nil, in, c.api.MaxBody), c})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &Error{
			http.StatusRequestEntityTooLarge, WebApplicationException,
			fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit),
		}
	case errors.Is(err, errNoMemory):
		return nil, &Error{http.StatusServiceUnavailable, WebApplicationException, err.Error()}
	case err != nil:
		return nil, badBody("the body can't be read: %v", err)
	}
	return body, nil
}

// compressions are the others that clients may use. Other values, such as a character set, count as no encoding, as in Hadoop.
var compressions = []string{"br", "compress", "deflate", "x-compress", "zstd"}

// bodyFootprint estimates how many bytes of memory a byte of a body takes until the request is answered.
const bodyFootprint = 4

// counted is a body whose bytes count as used memory.
type counted struct {
	io.Reader
	call *Call
}

func (r *counted) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if taken := r.call.body.take(r.call.Context(), bodyFootprint*n); taken != nil {
		return 0, taken
	}
	return n, err
}

// done frees the memory that the call holds.
func (c *Call) done() {
	if c.body != nil {
		c.body.close()
	}
}

// Self returns scheme and host as the client addressed them. Put it before a path.
func (c *Call) Self() string { return Self(c.Request) }

// Self returns scheme and host as the client addressed them. Put it before a path.
func Self(r *http.Request) string {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.Host
}

// Reply is an answer. At most one field besides Status and Location is set; an answer may be empty.
type Reply struct {
	Status   int // 0 is 200
	Location string
	Document *Document
	Text     string // sent unchanged, with the content type of the format, as in YARN
	Encoded  Body   // a document in the call's format
	// Serve writes the whole answer, with status and headers.
	Serve http.HandlerFunc
	// Versioned gives the answer to a GET an ETag of its bytes: a client that has it already (If-None-Match) gets a 304 without them.
	Versioned bool
	tag       string // of the bytes, if they have one already

	ready func() // called before the answer is sent; may be nil
}

// OK returns a reply with a document.
func OK(root string, style Style, value any) Reply {
	return Reply{Document: &Document{root, style, value}}
}

// Say returns a reply with a text.
func Say(status int, format string, args ...any) Reply {
	return Reply{Status: status, Text: fmt.Sprintf(format, args...)}
}

// Handler answers calls. Return an *Error to choose the status; Failed handles other errors.
type Handler func(*Call) (Reply, error)

// Endpoint is one method of a path.
type Endpoint struct {
	Handle Handler
	Takes  []string // media types of the body; nil if the body is ignored
	Gives  []Format // formats of the answer; nil stands for JSON and XML
	// Large says that the answer may be long: only maxLarge of these are built at a time, as building takes more memory than the
	// bytes of the answer, which SetMemory bounds.
	Large bool
	// Shared says that the answer to a GET depends on nothing but the caller, the URL and the format. Clients that take one of a second ago
	// (Cache-Control: max-age=1) get the same for a moment.
	Shared bool
	// Changes says that a GET changes something: pages of other origins may not have it sent (MayChange).
	Changes bool
}

// TakesDocument lists the types of bodies that Decode reads.
var TakesDocument = []string{"application/json", "application/xml", "text/xml"}

// Methods are the endpoints of a path by HTTP method. GET serves HEAD as well. OPTIONS needs no entry.
type Methods map[string]Endpoint

// API routes requests to handlers.
type API struct {
	// MaxBody is the size of the largest body that Body and Decode read, in bytes.
	MaxBody int64
	// Failed turns an error of a handler that is no *Error into a reply. If it is nil or returns false, the reply is a
	// 500.
	Failed func(c *Call, err error) (r Reply, ok bool)
	// Caller tells who makes a request, by a comparable value: answers are shared by requests of one caller. If it is nil, none is.
	Caller func(*http.Request) any
	Log    *logrus.Entry

	bodies, answers *budget
	shared          *shared
	// slots bound how many answers with documents are under way at once, because each takes memory until it is written.
	slots chan struct{}
	// large bound how many large answers are built at once.
	large chan struct{}

	router  *mux.Router
	paths   []string
	methods map[string]Methods // by path
}

// Paths returns the paths that were added, in that order.
func (a *API) Paths() []string { return slices.Clone(a.paths) }

// Methods returns the endpoints of a path.
func (a *API) Methods(path string) Methods { return a.methods[path] }

// NewAPI returns an API without paths.
func NewAPI(log *logrus.Entry) *API {
	a := &API{
		MaxBody: 16 << 20, Log: log, router: mux.NewRouter().UseEncodedPath().SkipClean(true),
		slots: make(chan struct{}, maxDocuments), large: make(chan struct{}, maxLarge), methods: map[string]Methods{},
		shared: newShared(),
	}
	a.SetMemory(DefaultMemory)
	a.router.NotFoundHandler = http.HandlerFunc(NoSuchPage)
	return a
}

// maxDocuments and maxLarge are the numbers of slots.
const (
	maxDocuments = 64
	maxLarge     = 4
)

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// SetMemory bounds the bytes of all bodies, and the bytes of all answers, to n each. The default is DefaultMemory.
func (a *API) SetMemory(n int) { a.bodies, a.answers = newBudget(n), newBudget(n) }

// Handle adds a path, with variables in braces. It is served with a trailing slash as well.
func (a *API) Handle(path string, m Methods) {
	allow := []string{http.MethodOptions}
	for method := range m {
		allow = append(allow, method)
		if method == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	a.paths = append(a.paths, path)
	a.methods[path] = m
	a.router.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		a.dispatch(w, r, m, strings.Join(allow, ","))
	})
}

// matrix matches matrix parameters in a path, which JAX-RS has and nothing here uses.
var matrix = regexp.MustCompile(`;[^/]*`)

// tidy removes from a path what doesn't matter: a trailing slash, and matrix parameters.
func tidy(r *http.Request) *http.Request {
	path := matrix.ReplaceAllString(r.URL.EscapedPath(), "")
	if strings.HasSuffix(path, "/") && len(path) > 1 {
		path = path[:len(path)-1]
	}
	if path == r.URL.EscapedPath() {
		return r
	}
	u := *r.URL
	if p, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = p, path
	}
	clone := *r
	clone.URL = &u
	return &clone
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = tidy(r)
	w.Header().Add("Vary", "Accept-Encoding")
	if !takesGzip(r.Header) {
		a.router.ServeHTTP(w, r)
		return
	}
	c := &compressor{ResponseWriter: w}
	a.router.ServeHTTP(c, r)
	c.finish()
}

func (a *API) dispatch(w http.ResponseWriter, r *http.Request, m Methods, allow string) {
	if r.Method == http.MethodOptions {
		options(w, r, allow)
		return
	}
	method := r.Method
	if _, own := m[method]; method == http.MethodHead && !own {
		method = http.MethodGet
	}
	e, ok := m[method]
	offered := e.Gives
	if offered == nil {
		offered = []Format{JSON, XML}
	}
	format, acceptable := Negotiate(r.Header.Values("Accept"), offered...)
	c := &Call{Request: r, Format: format, api: a, w: w}
	defer c.done()
	switch {
	case malformed(r.Header):
		ErrorPage(w, r, http.StatusBadRequest, "Accept or Content-Type can't be read")
	case !ok:
		w.Header().Set("Allow", allow)
		a.write(w, c, fail(http.StatusMethodNotAllowed, "%s is not allowed here; these are: %s", r.Method, allow))
	case !acceptable:
		ErrorPage(w, r, http.StatusNotAcceptable, "This path answers in none of the types in Accept")
	case !e.takes(r):
		a.write(w, c, fail(http.StatusUnsupportedMediaType, "Content-Type is %q; it must be one of %s",
			r.Header.Get("Content-Type"), strings.Join(e.Takes, ", ")))
	case e.Changes && !MayChange(r):
		UnaskedChange(w, r)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		a.show(w, c, &e)
	default:
		a.write(w, c, a.call(c, e.Handle))
	}
}

// showOwn answers a request that changes nothing. It waits for a slot, and answers nothing if the client leaves first. made may change the reply before it is
// written.
func (a *API) showOwn(w http.ResponseWriter, c *Call, e *Endpoint, made func(*Reply)) {
	leave, ok := a.enter(c, e.Large)
	if !ok {
		return
	}
	defer leave()
	reply := a.call(c, e.Handle)
	made(&reply)
	reply.ready = leave
	a.write(w, c, reply)
}

// enter takes a slot. For a large answer it takes one of those for large answers first, so that the many that wait for it keep no slot
// of the others. ok is false if the client has left.
func (a *API) enter(c *Call, large bool) (leave func(), ok bool) {
	slots := []chan struct{}{a.slots}
	if large {
		slots = []chan struct{}{a.large, a.slots}
	}
	var held []chan struct{}
	leave = sync.OnceFunc(func() {
		for _, s := range held {
			<-s
		}
	})
	for _, s := range slots {
		select {
		case s <- struct{}{}:
			held = append(held, s)
		case <-c.Context().Done():
			leave()
			return nil, false
		}
	}
	return leave, true
}

// malformed reports whether an Accept or Content-Type header can't be parsed.
func malformed(h http.Header) bool {
	if kind, _, _ := strings.Cut(h.Get("Content-Type"), ";"); kind != "" && !strings.Contains(kind, "/") {
		return true
	}
	return slices.ContainsFunc(h.Values("Accept"), func(list string) bool { return strings.HasPrefix(strings.TrimSpace(list), ";") })
}

// options answers with the methods of a path, as a document if the client accepts any. Hadoop's clients authenticate
// with such a request, and count only a 200 as success.
func options(w http.ResponseWriter, r *http.Request, allow string) {
	w.Header().Set("Allow", allow)
	if _, ok := Negotiate(r.Header.Values("Accept"), WADL); !ok {
		w.Header().Set("Content-Type", TextType)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?><application xmlns="http://wadl.dev.java.net/2009/02"><resources base="`)
	// a buffer's Write doesn't fail
	_ = xml.EscapeText(&b, []byte(Self(r)+r.URL.Path))
	b.WriteString(`"><resource path="">`)
	for method := range strings.SplitSeq(allow, ",") {
		b.WriteString(`<method name="` + method + `"/>`)
	}
	b.WriteString(`</resource></resources></application>`)
	w.Header().Set("Content-Type", WADL.ContentType())
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b.Bytes())
}

func fail(status int, format string, args ...any) Reply {
	d := (&Error{status, WebApplicationException, fmt.Sprintf(format, args...)}).Document()
	return Reply{Status: status, Document: &d}
}

func (e *Endpoint) takes(r *http.Request) bool {
	if e.Takes == nil {
		return true
	}
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return slices.Contains(e.Takes, strings.ToLower(strings.TrimSpace(media)))
}

// call runs a handler, and turns its error or panic into a reply.
func (a *API) call(c *Call, h Handler) (reply Reply) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			a.Log.WithField("path", c.URL.Path).WithField("panic", p).WithField("stack", string(debug.Stack())).
				Error("a handler of the REST API failed")
			reply = fail(http.StatusInternalServerError, "internal error")
		}
	}()
	reply, err := h(c)
	if err == nil {
		return reply
	}
	var e *Error
	if errors.As(err, &e) {
		d := e.Document()
		return Reply{Status: e.Status, Document: &d}
	}
	if a.Failed != nil {
		if r, ok := a.Failed(c, err); ok {
			return r
		}
	}
	a.Log.WithField("path", c.URL.Path).WithError(err).Error("a request failed")
	return fail(http.StatusInternalServerError, "%v", err)
}

func (a *API) write(w http.ResponseWriter, c *Call, r Reply) {
	ready := r.ready
	if ready == nil {
		ready = func() {}
	}
	if r.Serve != nil {
		ready()
		r.Serve(w, c.Request)
		return
	}
	if r.Location != "" {
		w.Header().Set("Location", r.Location)
	}
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	var body Body
	format := c.Format
	switch {
	case r.Encoded != nil:
		format, body = documentFormat(format), r.Encoded
	case r.Document != nil:
		format = documentFormat(format)
		body = r.Document.Encode(format)
	default:
		body = Body{[]byte(r.Text)}
	}
	ready()
	if r.Versioned && r.Status == http.StatusOK && unchanged(w, c.Request, r.version(body)) {
		return
	}
	control := http.NewResponseController(w)
	share := a.answers.open(func() { _ = control.SetWriteDeadline(longAgo) })
	defer share.close()
	if share.take(c.Context(), body.Len()+answerFootprint) != nil {
		return
	}
	w.Header().Set("Content-Type", format.ContentType())
	w.WriteHeader(r.Status)
	for _, piece := range body {
		if _, err := w.Write(piece); err != nil {
			return // a client that is gone needs no answer
		}
	}
}

// documentFormat returns the format of a document for a call: JSON where the call's isn't one for documents.
func documentFormat(f Format) Format {
	if f == XML {
		return XML
	}
	return JSON
}

// answerFootprint is the memory that an answer takes besides its bytes, mostly for a compressor.
const answerFootprint = 1 << 20
