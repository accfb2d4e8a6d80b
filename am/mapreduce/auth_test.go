package mapreduce

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What was signed was method and URI: whoever saw a request could send it again, or with another body.
func TestRequestsAreTakenOnceUnchangedAndInTime(t *testing.T) {
	key := []byte("key")
	g := newGuard(key)
	signed := newSigner(key)
	// request signs a request for one body and returns it with another, as a server sees it.
	request := func(said, sent string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/worker/done?a=b", strings.NewReader(sent))
		signed.sign(r, []byte(said))
		return r
	}
	again := func(r *http.Request) *http.Request {
		c := r.Clone(t.Context())
		c.Body = request("", "body").Body
		return c
	}
	good := request("body", "body")
	replay := again(good)
	if _, body, err := g.check(good); err != nil || string(body) != "body" {
		t.Fatalf("%q, %v", body, err)
	}
	if _, _, err := g.check(replay); err == nil || !strings.Contains(err.Error(), "before") {
		t.Errorf("a request that comes twice: %v", err)
	}
	for name, change := range map[string]func(r *http.Request){
		"method": func(r *http.Request) { r.Method = http.MethodGet },
		"host":   func(r *http.Request) { r.Host = "other:1" },
		"URI":    func(r *http.Request) { r.RequestURI = "/worker/next" },
		"sender": func(r *http.Request) {
			h := strings.Split(r.Header.Get(authorization), " ")
			h[1] = "somebody"
			r.Header.Set(authorization, strings.Join(h, " "))
		},
		"number": func(r *http.Request) {
			h := strings.Split(r.Header.Get(authorization), " ")
			h[2] += "0"
			r.Header.Set(authorization, strings.Join(h, " "))
		},
		"no signature": func(r *http.Request) { r.Header.Del(authorization) },
	} {
		r := request("body", "body")
		change(r)
		if _, _, err := g.check(r); !errors.Is(err, errUnsigned) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if _, _, err := g.check(request("body", "else")); !errors.Is(err, errUnsigned) {
		t.Errorf("another body: %v", err)
	}
	for _, off := range []time.Duration{-maxSkew - time.Minute, maxSkew + time.Minute} {
		g.now = func() time.Time { return time.Now().Add(off) }
		if _, _, err := g.check(request("body", "body")); err == nil || !strings.Contains(err.Error(), "clocks") {
			t.Errorf("a clock that is off by %v: %v", off, err)
		}
	}
}

// Whoever answers in the ApplicationMaster's place could give tasks, and send workers away.
func TestAnswersThatAreNotSignedAreNotTaken(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusGone} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(answerHeader, answerMAC([]byte("another key"), r.Header.Get(authorization), status, []byte("{}")))
			w.WriteHeader(status)
			_, _ = w.Write([]byte("{}"))
		}))
		c := &caller{base: server.URL, signer: newSigner([]byte("key")), http: server.Client()}
		if err := c.call(t.Context(), "/worker/next", nextRequest{}, &nextResponse{}); err == nil || errors.Is(err, errGone) {
			t.Errorf("status %d: %v", status, err)
		}
		server.Close()
	}
}

func TestEachNumberIsTakenOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n numbers
		taken, highest := map[uint64]bool{0: true}, uint64(0)
		for range rapid.IntRange(1, 300).Draw(t, "messages") {
			x := max(0, int64(highest)+rapid.Int64Range(-2*int64(remembered), 2*int64(remembered)).Draw(t, "from the highest"))
			got := n.first(uint64(x))
			want := !taken[uint64(x)] && (uint64(x) > highest || highest-uint64(x) < remembered)
			if got != want {
				t.Fatalf("%d after %d: %v", x, highest, got)
			}
			if got {
				taken[uint64(x)] = true
				highest = max(highest, uint64(x))
			}
		}
	})
}

func FuzzAuthorization(f *testing.F) {
	r := httptest.NewRequest(http.MethodPost, "/x", nil)
	newSigner([]byte("another key")).sign(r, nil)
	f.Add(r.Header.Get(authorization), []byte{})
	f.Add("Heddle a 1 2 b c", []byte("x"))
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/x", bytes.NewReader(body))
		r.Header.Set(authorization, header)
		if _, _, err := newGuard([]byte("key")).check(r); err == nil {
			t.Fatalf("%q is taken for signed", header)
		}
	})
}

// FuzzMessages sends the ApplicationMaster whatever may be in a message: the account that it keeps stays right.
func FuzzMessages(f *testing.F) {
	for i, s := range []string{
		`{"Worker":"W","Host":"h","URL":"http://h:1"}`, `{"Worker":"W","ID":{"Kind":"map","Index":0,"Attempt":0},"Progress":0.5}`,
		`{"Worker":"W","ID":{"Kind":"map","Index":0,"Attempt":0},"Counters":{"a":{"b":1}},"Output":""}`, `{"Worker":"W","From":-1}`,
		`{"Worker":"W","Map":0,"Attempt":0,"Gone":true}`, `{"Version":0}`, `{"Worker":"W","ID":{"Kind":"x","Index":-1,"Attempt":9},"Progress":1e300}`,
	} {
		f.Add([]byte(s), uint8(i), []byte(s), uint8(0))
	}
	f.Fuzz(func(t *testing.T, first []byte, to1 uint8, second []byte, to2 uint8) {
		p := newPlay(2, 1)
		w := p.grant("a")
		m := &master{spec: p.c.spec, tasks: p.c}
		m.spec.Key = []byte("key")
		h, s := m.handler(), newSigner(m.spec.Key)
		paths := []string{"/worker/next", "/worker/progress", "/worker/done", "/worker/outputs", "/worker/lost", "/status"}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nobody waits
		send := func(path string, body []byte) {
			body = bytes.ReplaceAll(body, []byte(`"W"`), []byte(`"`+w+`"`))
			r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)).WithContext(ctx)
			s.sign(r, body)
			a := httptest.NewRecorder()
			h.ServeHTTP(a, r)
			if a.Code == http.StatusForbidden || a.Header().Get(answerHeader) == "" {
				t.Fatalf("%s: %d %s", path, a.Code, a.Body)
			}
			p.check(t)
		}
		id, err := p.next(w)
		if err != nil || id.Task == nil {
			t.Fatal(err)
		}
		send(paths[int(to1)%len(paths)], first)
		send(paths[int(to2)%len(paths)], second)
		p.pass(time.Second)
		p.check(t)
	})
}

// FuzzAnswers gives a worker whatever may be in an answer: it takes no task that the job doesn't have.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"Task":{"ID":{"Kind":"map","Index":1,"Attempt":0},"Split":{"Pieces":[{"Path":"a","Offset":0,"Length":5}],"Length":5}}}`), []byte(`{"Events":[{"Map":0,"URL":"http://h:1"}],"Next":1}`))
	f.Add([]byte(`{"Task":{"ID":{"Kind":"","Index":-1}}}`), []byte(`{"Events":[{"Map":-7,"Lost":true}],"Next":-1}`))
	f.Fuzz(func(t *testing.T, next, events []byte) {
		var answers [][]byte
		server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			signature, _, err := newGuard([]byte("key")).check(r)
			if err != nil {
				t.Fatal(err)
			}
			body := answers[0]
			w.Header().Set(answerHeader, answerMAC([]byte("key"), signature, http.StatusOK, body))
			_, _ = w.Write(body)
		})
		c := &caller{base: "http://am:1", signer: newSigner([]byte("key")), http: &http.Client{Transport: direct{server}}}
		s := &spec{Maps: 3, Job: Job{Reduces: 2}}
		answers = [][]byte{next}
		var n nextResponse
		if c.call(t.Context(), "/worker/next", nextRequest{}, &n) == nil && n.Task != nil && n.Task.check(s) == nil {
			id := n.Task.ID
			w := &worker{disks: []string{"a", "b", "c"}}
			_, _, _ = id.name(testApp), w.disk(id), n.Task.part()
			if id.Index >= 3 || (id.Kind == mapTask) != (n.Task.Split != nil) {
				t.Fatalf("%+v is taken", n.Task)
			}
		}
		answers = [][]byte{events}
		var o outputsResponse
		if c.call(t.Context(), "/worker/outputs", outputsRequest{}, &o) == nil && o.check(0, s.Maps) == nil {
			for _, e := range o.Events {
				if e.Map < 0 || e.Map >= s.Maps {
					t.Fatalf("%+v is taken", e)
				}
			}
		}
	})
}

// direct is a way to a handler without a network.
type direct struct{ h http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	a, b := httptest.NewRecorder(), r.Clone(r.Context())
	b.RequestURI, b.Host = r.URL.RequestURI(), r.URL.Host
	d.h.ServeHTTP(a, b)
	return a.Result(), nil
}
