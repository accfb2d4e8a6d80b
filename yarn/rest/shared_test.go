package rest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
)

// counting is an API whose answers are numbered, in the order in which they are made. Each takes a while.
type counting struct {
	*API
	made  atomic.Int32
	takes time.Duration // to make one
}

const making = 100 * time.Millisecond

func newCounting(e Endpoint) *counting {
	a := &counting{API: NewAPI(logrus.NewEntry(logrus.New())), takes: making}
	a.Caller = func(r *http.Request) any { return r.Header.Get("User") }
	e.Handle = func(c *Call) (Reply, error) {
		n := int(a.made.Add(1))
		time.Sleep(a.takes)
		switch c.Query().Get("want") {
		case "refusal":
			return Reply{}, BadRequest("refusal %d", n)
		case "panic":
			panic(n)
		case "much":
			return OK("row", Natural, row{strings.Repeat(strconv.Itoa(n), maxSharedBytes)}), nil
		}
		r := OK("row", Natural, row{fmt.Sprint("answer ", n)})
		r.Versioned = true
		return r, nil
	}
	a.Handle("/list", Methods{http.MethodGet: e})
	return a
}

// kept is how many answers are kept for others.
func (a *counting) kept() int {
	a.shared.mu.Lock()
	defer a.shared.mu.Unlock()
	return len(a.shared.answers)
}

// ask makes requests of a path by users at the same time. It returns what each got.
func (a *counting) ask(method, query, control string, users ...string) []*httptest.ResponseRecorder {
	out := make([]*httptest.ResponseRecorder, len(users))
	var all sync.WaitGroup
	for i, user := range users {
		out[i] = httptest.NewRecorder()
		all.Go(func() {
			r := httptest.NewRequest(method, "/list"+query, nil)
			r.Header.Set("User", user)
			r.Header.Set("Accept-Encoding", "gzip")
			if control != "" {
				r.Header.Set("Cache-Control", control)
			}
			a.ServeHTTP(out[i], r)
		})
	}
	all.Wait()
	return out
}

func TestRequestsShareAnAnswerOfAMomentAgo(t *testing.T) {
	const get = http.MethodGet
	ann3, both := []string{"ann", "ann", "ann"}, []string{"ann", "bob", "ann", "bob"}
	for name, test := range map[string]struct {
		method, query, control string
		users                  []string
		own                    bool // the endpoint isn't shared
		want                   int
	}{
		"one caller":             {get, "", "max-age=1", ann3, false, 1},
		"words in any case":      {get, "", "Private, Max-Age=5", ann3, false, 1},
		"each caller":            {get, "", "max-age=1", both, false, 2},
		"without the header":     {get, "", "", ann3, false, 3},
		"nothing old":            {get, "", "max-age=0", ann3, false, 3},
		"no number":              {get, "", "max-age=-1", ann3, false, 3},
		"not from a cache":       {get, "", "max-age=1, no-cache", ann3, false, 3},
		"of an endpoint's own":   {get, "", "max-age=1", ann3, true, 3},
		"without bytes":          {http.MethodHead, "", "max-age=1", ann3, false, 3},
		"refusals":               {get, "?want=refusal", "max-age=1", ann3, false, 3},
		"handlers that fail":     {get, "?want=panic", "max-age=1", ann3, false, 3},
		"long ones, at one time": {get, "?want=much", "max-age=1", ann3, false, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newCounting(Endpoint{Shared: !test.own})
				a.ask(test.method, test.query, test.control, test.users...)
				if int(a.made.Load()) != test.want {
					t.Errorf("%d answers were made, want %d", a.made.Load(), test.want)
				}
				time.Sleep(sharedFor)
				synctest.Wait()
				if n := a.kept(); n != 0 {
					t.Errorf("%d answers are kept", n)
				}
			})
		})
	}
}

// An answer is of one query and format, and has one version for all.
func TestSharedAnswersAreThoseOfTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newCounting(Endpoint{Shared: true})
		one := a.ask(http.MethodGet, "", "max-age=1", "ann", "ann")
		other := a.ask(http.MethodGet, "?limit=1", "max-age=1", "ann")
		if got := one[0].Header().Get("ETag"); got == "" || got != one[1].Header().Get("ETag") || got == other[0].Header().Get("ETag") {
			t.Errorf("versions are %q, %q, and %q of another question", got, one[1].Header().Get("ETag"), other[0].Header().Get("ETag"))
		}
		if a.made.Load() != 2 {
			t.Errorf("%d answers were made, want 2", a.made.Load())
		}
		if one[0].Code != http.StatusOK || one[1].Body.Len() == 0 || one[0].Body.String() != one[1].Body.String() {
			t.Errorf("got %d and %d bytes", one[0].Body.Len(), one[1].Body.Len())
		}
	})
}

// What is a moment old is not given to a later request, also if it has just been made.
func TestSharedAnswersAreNotOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newCounting(Endpoint{Shared: true})
		ask := func() { a.ask(http.MethodGet, "", "max-age=1", "ann") }
		ask()
		time.Sleep(sharedFor - making - time.Nanosecond)
		if ask(); a.made.Load() != 1 {
			t.Errorf("%d answers were made before the first was old, want 1", a.made.Load())
		}
		time.Sleep(time.Nanosecond)
		if ask(); a.made.Load() != 2 {
			t.Errorf("%d answers were made after it, want 2", a.made.Load())
		}
	})
}

// A request doesn't wait for an answer that was begun too long ago: it may lack what has happened since.
func TestAnswersThatTakeLongAreSharedByThoseThatAskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newCounting(Endpoint{Shared: true})
		a.takes = 3 * sharedFor
		var all sync.WaitGroup
		for _, after := range []time.Duration{0, sharedFor / 2, sharedFor, sharedFor + sharedFor/2} {
			all.Go(func() {
				time.Sleep(after)
				a.ask(http.MethodGet, "", "max-age=1", "ann")
			})
		}
		all.Wait()
		if a.made.Load() != 2 {
			t.Errorf("%d answers were made, want 2", a.made.Load())
		}
	})
}

// Callers beyond what is kept get answers of their own.
func TestSharedAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newCounting(Endpoint{Shared: true})
		var users []string
		for i := range 2 * maxShared {
			users = append(users, strconv.Itoa(i))
		}
		for _, w := range a.ask(http.MethodGet, "", "max-age=1", users...) {
			if w.Code != http.StatusOK {
				t.Errorf("got %d", w.Code)
			}
		}
		if n := a.kept(); n > maxShared {
			t.Errorf("%d answers are kept, want at most %d", n, maxShared)
		}
	})
}
