// Package machines shows what one node does, its containers over time and the state of its machine, and has it leave the cluster or stay.
package machines

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/internal/bounded"
	"heddle/rm/access"
	"heddle/rm/hosts"
	"heddle/rm/leader"
	"heddle/rm/view"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
	"heddle/yarn/rest/machinestate"
)

const (
	// patience is how long a node may take to tell its machine's state. A disk of it that hangs is told after 2 s.
	patience = 4 * time.Second
	atOnce   = 32 // nodes that are asked at a time
	// defaultSpan and maxSpan are how far back containers are listed.
	defaultSpan = time.Hour
	maxSpan     = 7 * 24 * time.Hour
	maxTimeout  = 365 * 24 * time.Hour
)

// Config gives a Service what its web port has.
type Config struct {
	View   *view.Viewer
	Access *access.Checker
	Conf   *conf.Config
	// Find returns the node in the path.
	Find func(*yarnrest.Call) (view.Node, error)
	// Admin refuses callers who may not change nodes.
	Admin func(*yarnrest.Call) error
	// Audited writes into the audit log what came of a call.
	Audited func(call string, h yarnrest.Handler) yarnrest.Handler
	Leader  func() (*leader.Leader, error)
	Refusal func(error) error // what clients see of a leader's refusal
}

// Service answers requests about one node.
type Service struct {
	Config
	client func() (*http.Client, error)
	turns  chan struct{}
}

// New makes a Service.
func New(cfg Config) *Service {
	s := &Service{Config: cfg, turns: make(chan struct{}, atOnce)}
	s.client = sync.OnceValues(s.newClient)
	return s
}

// newClient makes what asks nodes. It neither follows redirects nor keeps connections.
func (s *Service) newClient() (*http.Client, error) {
	trust, err := ssl.Client(s.Conf)
	if err != nil {
		return nil, err
	}
	transport := trust.Transport()
	transport.Proxy, transport.DisableKeepAlives = nil, true
	return &http.Client{Transport: transport, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// Route adds the paths below a path.
func (s *Service) Route(api *yarnrest.API, base string) {
	base += "/nodes/{node}"
	api.Handle(base+"/machine", yarnrest.Methods{http.MethodGet: {Handle: s.machine}})
	api.Handle(base+"/timeline", yarnrest.Methods{http.MethodGet: {Handle: s.timeline, Large: true}})
	post := func(path, call string, h yarnrest.Handler, takes yarnrest.Endpoint) {
		takes.Handle = s.Audited(call, func(c *yarnrest.Call) (yarnrest.Reply, error) {
			if auth.From(c.Context()).User == "" {
				return yarnrest.Reply{}, yarnrest.Unauthorized("Unable to obtain user name, user not authenticated")
			}
			if err := s.Admin(c); err != nil {
				return yarnrest.Reply{}, err
			}
			return h(c)
		})
		api.Handle(base+path, yarnrest.Methods{http.MethodPost: takes})
	}
	post("/drain", "drainNode", s.drain, yarnrest.Endpoint{Takes: yarnrest.TakesDocument})
	post("/recommission", "recommissionNode", s.recommission, yarnrest.Endpoint{})
}

// drainOption is the body of a request to drain a node.
type drainOption struct {
	// Timeout is in seconds; −1 is no end. Without it the configured one holds (yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs).
	Timeout *int64 `yarn:"timeoutSeconds"`
}

// outcome describes a node after a change.
type outcome struct {
	ID       string `yarn:"id"`
	State    string `yarn:"state"`
	Deadline int64  `yarn:"decommissionDeadline,omitempty"`
}

func (s *Service) drain(c *yarnrest.Call) (yarnrest.Reply, error) {
	var want drainOption
	if err := c.Decode(yarnrest.Target{Root: "drain", Value: &want}); err != nil {
		return yarnrest.Reply{}, err
	}
	timeout := hosts.Unset
	if t := want.Timeout; t != nil {
		if *t < -1 || *t > int64(maxTimeout.Seconds()) {
			return yarnrest.Reply{}, yarnrest.BadRequest("timeoutSeconds is %d: it must be a number of seconds from 0 to %d, or -1 for no end", *t, int64(maxTimeout.Seconds()))
		}
		if timeout = time.Duration(*t) * time.Second; *t < 0 {
			timeout = hosts.Unset - 1
		}
	}
	return s.change(c, func(l *leader.Leader, n *view.Node) error { return l.Hosts().Drain(n.ID, timeout) })
}

func (s *Service) recommission(c *yarnrest.Call) (yarnrest.Reply, error) {
	return s.change(c, func(l *leader.Leader, n *view.Node) error { return l.Hosts().Recommission(n.ID) })
}

func (s *Service) change(c *yarnrest.Call, do func(*leader.Leader, *view.Node) error) (yarnrest.Reply, error) {
	n, err := s.Find(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	l, err := s.Leader()
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if err := do(l, &n); err != nil {
		return yarnrest.Reply{}, s.Refusal(err)
	}
	if now, ok := s.View.Node(n.ID); ok {
		n = now
	}
	return yarnrest.OK("node", yarnrest.Natural, outcome{n.ID.String(), stateOf(&n), n.DecommissionDeadline}), nil
}

// machine answers GET /nodes/{node}/machine with what the node says.
func (s *Service) machine(c *yarnrest.Call) (yarnrest.Reply, error) {
	n, err := s.Find(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	default:
		return yarnrest.Reply{}, yarnrest.Retriable("%d nodes are being asked for the state of their machines already", atOnce)
	}
	state, err := s.ask(c.Context(), &n, auth.From(c.Context()).User)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("machine", yarnrest.Natural, state), nil
}

func (s *Service) ask(ctx context.Context, n *view.Node, user string) (state machinestate.State, err error) {
	switch {
	case !n.Known || n.HTTPPort == 0:
		return state, yarnrest.NotFound("node %v isn't running: it is %s", n.ID, stateOf(n))
	case strings.EqualFold(s.Conf.Text("hadoop.http.authentication.type"), "kerberos"):
		return state, &yarnrest.Error{Status: http.StatusNotImplemented, Class: yarnrest.YarnException, Message: fmt.Sprintf("node %v wants a ticket of Kerberos: look at the node's own page", n.ID)}
	}
	client, err := s.client()
	if err != nil {
		return state, err
	}
	q := url.Values{"user.name": {user}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.View.URL(n.HTTPAddress())+machinestate.Path+"?"+q.Encode(), nil)
	if err != nil {
		return state, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		var text *url.Error
		if errors.As(err, &text) {
			err = text.Err // without the address, which the id says
		}
		return state, yarnrest.Retriable("node %v doesn't answer: %v", n.ID, err)
	}
	defer resp.Body.Close()
	body, err := bounded.ReadAll(resp.Body, machinestate.MaxBytes)
	switch {
	case err != nil:
		return state, yarnrest.Retriable("node %v: %v", n.ID, err)
	case resp.StatusCode == http.StatusServiceUnavailable:
		return state, yarnrest.Retriable("node %v: a disk of it doesn't answer", n.ID)
	case resp.StatusCode != http.StatusOK:
		return state, yarnrest.NotFound("node %v doesn't tell the state of its machine (status %d): NodeManagers of YARN, and older ones of Heddle, don't", n.ID, resp.StatusCode)
	}
	if state, err = machinestate.Parse(body); err != nil {
		return state, yarnrest.Retriable("node %v: %v", n.ID, err)
	}
	return state, nil
}

// span reads how far back containers are wanted.
func span(c *yarnrest.Call) (time.Duration, error) {
	text := c.Query().Get("span")
	if text == "" {
		return defaultSpan, nil
	}
	minutes, err := strconv.ParseInt(text, 10, 32)
	if d := time.Duration(minutes) * time.Minute; err == nil && d > 0 && d <= maxSpan {
		return d, nil
	}
	return 0, yarnrest.BadRequest("span is %.60q: it must be a number of minutes from 1 to %d", text, int64(maxSpan.Minutes()))
}
