package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"heddle/cmd/heddle/internal/signedin"
	"heddle/conf"
	"heddle/conf/secure"
	"heddle/conf/ssl"
	"heddle/yarn/kerberos/negotiate"
)

// maxAnswer bounds the length of an answer, in bytes. It suffices for some 200,000 applications.
const maxAnswer = 1 << 30

// web is access to the REST APIs.
type web struct {
	client *http.Client
	user   string
	scheme string // http or https
	key    string // key of the ResourceManager's address
	hint   string // for callers whom a ResourceManager doesn't know; "" if there is nothing to say
}

func newWeb(c *conf.Config, user string) (*web, error) {
	trust, err := ssl.Client(c)
	if err != nil {
		return nil, err
	}
	tickets := &negotiate.Transport{Next: trust.Transport(), Tickets: func() (negotiate.Tickets, error) { return secure.Cache(c) }}
	signed, err := signedin.Transport(c, tickets)
	if err != nil {
		return nil, err
	}
	w := &web{client: &http.Client{Timeout: time.Minute, Transport: signed}, user: user, scheme: ssl.Scheme(c), key: conf.WebKey(c, "yarn.resourcemanager.")}
	if signed != http.RoundTripper(tickets) {
		w.hint = "run heddle login"
	}
	return w, nil
}

// RESTError is an error in a server's answer.
type RESTError struct {
	Method, URL string
	Status      int
	Exception   string // Java's class name without packages; may be empty
	Message     string
}

func (e *RESTError) Error() string {
	msg := e.Message
	if msg == "" {
		msg = http.StatusText(e.Status)
	}
	return fmt.Sprintf("%s (%d from %s %s)", msg, e.Status, e.Method, e.URL)
}

// IsStatus reports whether err is an answer with the HTTP status.
func IsStatus(err error, status int) bool {
	var rest *RESTError
	return errors.As(err, &rest) && rest.Status == status
}

// IsUnknownPath reports whether err says that the server doesn't know the path, rather than the thing that it names.
func IsUnknownPath(err error) bool {
	var rest *RESTError
	return errors.As(err, &rest) && rest.Status == http.StatusNotFound && rest.Exception == ""
}

// Request is a request to a REST API.
type Request struct {
	Method string // GET if empty
	Scheme string // http or https; that of the cluster if empty
	Path   string
	Query  url.Values
	Body   any // sent as JSON, if not nil; json.RawMessage as it is
}

// Answer is a successful answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Get makes a GET request to the active ResourceManager.
func (c *Cluster) Get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	a, err := c.REST(ctx, Request{Path: path, Query: query})
	if err != nil {
		return nil, err
	}
	return a.Body, nil
}

// GetInto decodes the answer to a GET request. Where the target's type leaves it open, numbers become json.Number.
func (c *Cluster) GetInto(ctx context.Context, path string, query url.Values, to any) error {
	body, err := c.Get(ctx, path, query)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // numbers are printed as they were received
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("the answer of %s is not the expected JSON: %w", path, err)
	}
	return nil
}

// errStandby is the answer of a ResourceManager that isn't active and names no active one.
var errStandby = errors.New("it is on standby and names no active one")

// REST makes a request to the active ResourceManager. It tries each in turn, several times if none is active, and
// follows a standby's redirect. A refusal by the server is a *RESTError.
func (c *Cluster) REST(ctx context.Context, r Request) (*Answer, error) {
	ids := c.conf.RMIDs()
	at, err := c.conf.RMAddresses(c.web.key)
	if err != nil {
		return nil, err
	}
	addrs := make([]string, len(at))
	for i, a := range at {
		addrs[i] = a.String()
	}
	failures := make([]error, len(addrs))
	wait, began := c.patience(len(at)), time.Now()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		for i, addr := range addrs {
			var a *Answer
			a, err = c.web.do(ctx, addr, r)
			failures[i] = err
			var rest *RESTError
			if err == nil || errors.As(err, &rest) && rest.Status != http.StatusServiceUnavailable || ctx.Err() != nil {
				return a, c.web.hinted(err)
			}
			if !repeatable(err, r.Method) {
				return nil, c.explain(c.web.key, ids, addrs, failures, err)
			}
		}
		if time.Since(began)+pause > wait {
			return nil, c.explain(c.web.key, ids, addrs, failures, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// hinted adds to an error what its caller can do about it.
func (w *web) hinted(err error) error {
	if w.hint != "" && IsStatus(err, http.StatusUnauthorized) {
		return fmt.Errorf("%w: %s", err, w.hint)
	}
	return err
}

// repeatable reports whether a failed request may be sent again, because it only reads or had no effect.
func repeatable(err error, method string) bool {
	if method == "" || method == http.MethodGet {
		return true
	}
	return errors.Is(err, errStandby) || isDial(err)
}

// At makes a request to any server, such as a NodeManager, at host:port.
func (c *Cluster) At(ctx context.Context, addr string, r Request) (*Answer, error) {
	a, err := c.web.do(ctx, addr, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, cause(err))
	}
	return a, nil
}

// Open makes a GET request to any server, and returns the answer as a stream.
func (c *Cluster) Open(ctx context.Context, addr, path string, query url.Values) (io.ReadCloser, error) {
	resp, err := c.web.send(ctx, addr, Request{Path: path, Query: query}, "*/*")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, cause(err))
	}
	return resp.Body, nil
}

func (w *web) do(ctx context.Context, addr string, r Request) (*Answer, error) {
	resp, err := w.send(ctx, addr, r, "application/json")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", resp.Request.URL.Redacted(), err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("the answer of %s is longer than %d bytes", resp.Request.URL.Redacted(), maxAnswer)
	}
	if bytes.HasPrefix(body, []byte("This is standby RM")) || bytes.HasPrefix(body, []byte("There is no active RM")) {
		return nil, errStandby
	}
	return &Answer{resp.StatusCode, resp.Header, body}, nil
}

// send returns a successful response. The caller closes its body.
func (w *web) send(ctx context.Context, addr string, r Request, accept string) (*http.Response, error) {
	query := url.Values{}
	for k, v := range r.Query {
		query[k] = v
	}
	query.Set("user.name", w.user)
	scheme := r.Scheme
	if scheme == "" {
		scheme = w.scheme
	}
	u := url.URL{Scheme: scheme, Host: addr, Path: r.Path, RawQuery: query.Encode()}
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	var body io.Reader
	if r.Body != nil {
		data, err := json.Marshal(r.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(method, &u, resp)
}

// refusal returns the error that a server's response describes.
func refusal(method string, u *url.URL, resp *http.Response) error {
	shown := *u
	shown.RawQuery = ""
	e := &RESTError{Method: method, URL: shown.String(), Status: resp.StatusCode}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return e
	}
	var remote struct {
		RemoteException struct{ Exception, Message string }
	}
	switch json.Unmarshal(body, &remote) {
	case nil:
		e.Exception, e.Message = remote.RemoteException.Exception, remote.RemoteException.Message
	default:
		// Some refusals are a plain sentence, whatever their content type. Others are a web page.
		if text := strings.TrimSpace(string(body)); !strings.HasPrefix(text, "<") {
			e.Message = strings.Trim(text, `"`)
		}
	}
	// Java's exceptions carry the class of their cause.
	for {
		class, rest, ok := strings.Cut(e.Message, ": ")
		if !ok || !strings.Contains(class, ".") || strings.ContainsAny(class, " '\"/") {
			return e
		}
		e.Message = rest
	}
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
