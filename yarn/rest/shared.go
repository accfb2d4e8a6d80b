package rest

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sharedFor is how old an answer may be that is given to clients which take one of a second ago. It is shorter than that: a page asks half a second after
// it has heard of an event, and must not get what was true before it.
const sharedFor = 400 * time.Millisecond

// maxShared and maxSharedBytes bound the answers that are kept for that time, and each of them.
const (
	maxShared      = 64
	maxSharedBytes = 256 << 10
)

// shared has the answers of the last moment, for many pages that ask the same at about the same time. Create it with newShared.
type shared struct {
	mu      sync.Mutex
	answers map[sharedKey]*sharedAnswer
}

func newShared() *shared { return &shared{answers: map[sharedKey]*sharedAnswer{}} }

// sharedKey says to what an answer belongs: an endpoint that is Shared answers alike to all requests of one key.
type sharedKey struct {
	caller               any // as API.Caller tells
	self, uri, lastEvent string
	format               Format
}

// sharedAnswer is made by the call that has begun it. The other fields are set, if it is for others, before done is closed.
type sharedAnswer struct {
	begun  time.Time
	done   chan struct{}
	reply  Reply // Encoded, with its tag if it is Versioned
	format Format
	ok     bool
}

// begin returns the answer for a key. If mine is true, the caller makes it, and calls end; if a is nil, there are too many.
func (s *shared) begin(key sharedKey) (a *sharedAnswer, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a = s.answers[key]; a != nil && time.Since(a.begun) < sharedFor {
		return a, false
	}
	if a == nil && len(s.answers) >= maxShared {
		return nil, false
	}
	a = &sharedAnswer{begun: time.Now(), done: make(chan struct{})}
	s.answers[key] = a
	return a, true
}

// end gives an answer to those that wait for it, and forgets it after sharedFor.
func (s *shared) end(key sharedKey, a *sharedAnswer) {
	close(a.done)
	forget := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.answers[key] == a {
			delete(s.answers, key)
		}
	}
	if left := sharedFor - time.Since(a.begun); a.ok && left > 0 {
		time.AfterFunc(left, forget)
		return
	}
	forget()
}

// takesShared reports whether a client takes an answer of a second ago (Cache-Control: max-age, RFC 9111, section 5.2.1.1).
func takesShared(h http.Header) (ok bool) {
	for _, list := range h.Values("Cache-Control") {
		for part := range strings.SplitSeq(list, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch strings.ToLower(name) {
			case "no-cache", "no-store":
				return false
			case "max-age":
				seconds, err := strconv.ParseUint(value, 10, 31)
				ok = err == nil && seconds > 0
			}
		}
	}
	return ok
}

// sharing is the key of a call's answer; ok is false where it gets an answer of its own.
func (a *API) sharing(c *Call, e *Endpoint) (key sharedKey, ok bool) {
	if !e.Shared || a.Caller == nil || c.Method != http.MethodGet || !takesShared(c.Header) {
		return key, false
	}
	return sharedKey{a.Caller(c.Request), c.Self(), c.URL.RequestURI(), c.Header.Get("Last-Event-ID"), c.Format}, true
}

// show answers a request that changes nothing, by an answer that others have got a moment ago, or by its own.
func (a *API) show(w http.ResponseWriter, c *Call, e *Endpoint) {
	made := func(*Reply) {}
	if key, ok := a.sharing(c, e); ok {
		switch answer, mine := a.shared.begin(key); {
		case mine:
			end := sync.OnceFunc(func() { a.shared.end(key, answer) })
			defer end() // also if the handler panics, or the client has left
			made = func(r *Reply) {
				answer.ok, answer.format = r.encode(c.Format), c.Format
				answer.reply = *r
				end()
			}
		case answer != nil:
			select {
			case <-answer.done:
			case <-c.Context().Done():
				return
			}
			if answer.ok {
				c.Format = answer.format
				a.write(w, c, answer.reply)
				return
			}
		}
	}
	a.showOwn(w, c, e, made)
}

// encode makes a reply one that several clients can get. It reports whether it may be: a document, not a refusal, and no long one.
func (r *Reply) encode(f Format) bool {
	if r.Document == nil || r.Status != 0 && r.Status != http.StatusOK || r.Location != "" {
		return false
	}
	r.Encoded, r.Document = r.Document.Encode(f), nil
	if r.Versioned {
		r.tag = tagOf(r.Encoded)
	}
	return r.Encoded.Len() <= maxSharedBytes
}
