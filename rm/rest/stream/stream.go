// Package stream sends the cluster's events to web clients as they happen (server-sent events, https://html.spec.whatwg.org/multipage/server-sent-events.html).
package stream

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"heddle/rm/feed"
	yarnrest "heddle/yarn/rest"
)

// Bounds of streams.
const (
	maxStreams = 1024 // at a time
	batch      = 256  // events that are taken from the feed at a time: all that a client occupies besides its connection
	silence    = 15 * time.Second
	// together is how long a client's events wait for further ones. A thousand nodes that come at a time would otherwise wake each client a thousand times.
	together = 50 * time.Millisecond
	// seldom is that time for clients that want the newest event alone.
	seldom = 500 * time.Millisecond
)

// Stream sends events.
type Stream struct {
	Feed *feed.Feed
	// Leader returns the id of the leader as this member knows it; Self is this member's.
	Leader func() string
	Self   string
	// MaySee decides for each event whether a caller may know of it.
	MaySee func(c *yarnrest.Call) func(*feed.Event) bool

	open atomic.Int64
}

type hello struct {
	Member string `yarn:"member"`
	Leader string `yarn:"leader"`
}

type missed struct {
	After string `yarn:"after"`
	Text  string `yarn:"text"`
}

type event struct {
	Time    int64  `yarn:"time"`
	Kind    string `yarn:"kind"`
	What    string `yarn:"what"`
	App     string `yarn:"applicationId,omitempty"`
	User    string `yarn:"user,omitempty"`
	Queue   string `yarn:"queue,omitempty"`
	Name    string `yarn:"name,omitempty"`
	Subject string `yarn:"subject,omitempty"`
	State   string `yarn:"state,omitempty"`
	Detail  string `yarn:"detail,omitempty"`
}

// want is what a client wants to know of.
type want struct {
	kinds []string
	app   string
	after feed.ID
	begun bool // after was given
	limit int  // of a list
	// newest leaves out all but the newest of events that come within half a second: a page asks again for what it shows, whatever has happened.
	newest bool
}

// Events of a list, unless the client says otherwise, and at most.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// parseWant reads a request. A browser that connects again says by a header which event was its last; other clients may say so by a parameter.
func parseWant(c *yarnrest.Call) (w want, err error) {
	q := c.Query()
	for _, list := range q["kind"] {
		for k := range strings.SplitSeq(list, ",") {
			if !slices.Contains(feed.Kinds, feed.Kind(k)) {
				return w, fmt.Errorf("kind has %.60q: it may have %v", k, feed.Kinds)
			}
			w.kinds = append(w.kinds, k)
		}
	}
	w.app, w.limit = q.Get("app"), defaultLimit
	if n := q.Get("limit"); n != "" {
		if w.limit, err = strconv.Atoi(n); err != nil || w.limit < 1 || w.limit > maxLimit {
			return w, fmt.Errorf("limit is %.60q: it must be a number from 1 to %d", n, maxLimit)
		}
	}
	switch text := q.Get("newest"); text {
	case "", "false":
	case "true":
		w.newest = true
	default:
		return w, fmt.Errorf("newest is %.60q: it may be true or false", text)
	}
	last := c.Header.Get("Last-Event-ID")
	if last == "" {
		last = q.Get("after")
	}
	if last != "" {
		w.begun = true
		w.after, err = feed.ParseID(last)
	}
	return w, err
}

func (w *want) admits(e *feed.Event) bool {
	return (len(w.kinds) == 0 || slices.Contains(w.kinds, string(e.Kind))) && (w.app == "" || e.App.ID != 0 && e.App.String() == w.app)
}

// Events answers GET /events, until the client leaves, is too slow, or this member stops.
func (s *Stream) Events(c *yarnrest.Call) (yarnrest.Reply, error) {
	w, err := parseWant(c)
	if err != nil {
		return yarnrest.Reply{}, yarnrest.BadRequest("%v", err)
	}
	if c.Format == yarnrest.JSON {
		return s.past(&w, s.MaySee(c)), nil
	}
	if s.open.Add(1) > maxStreams {
		s.open.Add(-1)
		return yarnrest.Reply{}, yarnrest.Retriable("%d clients follow the events of this ResourceManager already, and no more may", maxStreams)
	}
	see := s.MaySee(c)
	return yarnrest.Reply{Serve: func(out http.ResponseWriter, r *http.Request) {
		defer s.open.Add(-1)
		if r.Method == http.MethodHead {
			return
		}
		h := out.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would keep events back
		f := follower{s: s, w: w, see: see, out: out, flush: http.NewResponseController(out).Flush}
		f.run(r.Context().Done())
	}}, nil
}

// list is what has happened, for a client that doesn't follow.
type list struct {
	Last   string   `yarn:"last"` // send it as after for what comes next
	Missed bool     `yarn:"missed"`
	Events []listed `yarn:"event"`
}

type listed struct {
	ID string `yarn:"id"`
	event
}

// past answers with what is remembered, or came after what the client has, the oldest first.
func (s *Stream) past(w *want, see func(*feed.Event) bool) yarnrest.Reply {
	if !w.begun {
		return s.newest(w, see)
	}
	out := list{}
	at := w.after
	for {
		p := s.Feed.After(at, batch)
		out.Missed = out.Missed || p.Missed
		for i := range p.Events {
			e := &p.Events[i]
			if at = e.ID; w.admits(e) && see(e) {
				out.Events = append(out.Events, listed{e.ID.String(), eventOf(e)})
			}
		}
		if len(p.Events) < batch {
			break
		}
	}
	out.Events = out.Events[max(0, len(out.Events)-w.limit):]
	out.Last = at.String()
	return yarnrest.OK("events", yarnrest.Natural, out)
}

// newest answers with the newest events, the oldest of them first. Pages ask for a few again and again, so no more are looked at than that takes.
func (s *Stream) newest(w *want, see func(*feed.Event) bool) yarnrest.Reply {
	out := list{Last: feed.ID{}.String()}
	size := min(batch, max(2*w.limit, 16))
	events := s.Feed.Before(feed.ID{}, size)
	if len(events) > 0 {
		out.Last = events[len(events)-1].ID.String()
	}
	for {
		for i := len(events) - 1; i >= 0 && len(out.Events) < w.limit; i-- {
			if e := &events[i]; w.admits(e) && see(e) {
				out.Events = append(out.Events, listed{e.ID.String(), eventOf(e)})
			}
		}
		if len(events) < size || len(out.Events) == w.limit {
			break
		}
		events = s.Feed.Before(events[0].ID, size)
	}
	slices.Reverse(out.Events)
	return yarnrest.OK("events", yarnrest.Natural, out)
}

// follower is a client that follows.
type follower struct {
	s     *Stream
	w     want
	see   func(*feed.Event) bool
	out   io.Writer
	flush func() error
}

func (f *follower) run(gone <-chan struct{}) {
	at, known := f.w.after, f.w.begun
	if !known {
		at = f.s.Feed.Last()
	}
	// a browser waits for 2 s before it connects again
	if f.send("hello", at.String(), hello{f.s.Self, f.s.Leader()}, "retry: 2000\n") != nil {
		return
	}
	var err error
	for behind := false; ; {
		p := f.s.Feed.After(at, batch)
		if p.Missed && known {
			text := "events after this number are forgotten here: read again what you show"
			cut := behind && !f.w.newest
			if cut {
				text = "this client is too slow: events were forgotten before it took them. Connect again"
			}
			if f.send("missed", "", missed{at.String(), text}, "") != nil || cut {
				return
			}
		}
		if at, err = f.tell(at, p.Events); err != nil {
			return
		}
		known, behind = true, len(p.Events) > 0
		if len(p.Events) == batch {
			continue
		}
		if f.flush() != nil || p.Closed || !f.wait(p.More, gone) || !f.rest(gone) {
			return
		}
	}
}

// tell sends those events that the client wants and may see. It returns the last one's number, which is at if there is none.
func (f *follower) tell(at feed.ID, events []feed.Event) (feed.ID, error) {
	if len(events) == 0 {
		return at, nil
	}
	at = events[len(events)-1].ID
	wants := func(e *feed.Event) bool { return f.w.admits(e) && f.see(e) }
	if f.w.newest {
		for len(events) > 0 && !wants(&events[len(events)-1]) {
			events = events[:len(events)-1]
		}
		events = events[max(0, len(events)-1):]
	}
	for i := range events {
		if e := &events[i]; wants(e) {
			if err := f.send(string(e.Kind), e.ID.String(), eventOf(e), ""); err != nil {
				return at, err
			}
		}
	}
	return at, nil
}

// wait waits for more events, and shows meanwhile that the connection is alive. It is false if the client has left.
func (f *follower) wait(more, gone <-chan struct{}) bool {
	t := time.NewTicker(silence)
	defer t.Stop()
	for {
		select {
		case <-more:
			return true
		case <-gone:
			return false
		case <-t.C:
			if _, err := io.WriteString(f.out, ":\n\n"); err != nil || f.flush() != nil {
				return false
			}
		}
	}
}

// rest lets further events come. It is false if the client has left.
func (f *follower) rest(gone <-chan struct{}) bool {
	while := together
	if f.w.newest {
		while = seldom
	}
	t := time.NewTimer(while)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-gone:
		return false
	}
}

func (f *follower) send(kind, id string, data any, more string) error {
	if id != "" {
		id = "id: " + id + "\n"
	}
	body := yarnrest.Document{Style: yarnrest.Unwrapped, Value: data}.JSON() // it has no line breaks
	_, err := fmt.Fprintf(f.out, "%s%sevent: %s\ndata: %s\n\n", more, id, kind, body)
	return err
}

func eventOf(e *feed.Event) event {
	out := event{
		Time: e.Time, Kind: string(e.Kind), What: e.What, User: e.User, Queue: e.Queue, Name: e.Name, Subject: e.Subject, State: e.State, Detail: e.Detail,
	}
	if e.App.ID != 0 {
		out.App = e.App.String()
	}
	return out
}
