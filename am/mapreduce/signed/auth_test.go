package signed

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/am/mapreduce/job"
)

// What was signed was method and URI: whoever saw a request could send it again, or with another body.
func TestRequestsAreTakenOnceUnchangedAndInTime(t *testing.T) {
	key := []byte("key")
	g := NewGuard(key)
	signed := NewSigner(key)
	// request signs a request for one body and returns it with another, as a server sees it.
	request := func(said, sent string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/worker/done?a=b", strings.NewReader(sent))
		signed.Sign(r, []byte(said))
		return r
	}
	again := func(r *http.Request) *http.Request {
		c := r.Clone(t.Context())
		c.Body = request("", "body").Body
		return c
	}
	good := request("body", "body")
	replay := again(good)
	if _, body, err := g.Check(good); err != nil || string(body) != "body" {
		t.Fatalf("%q, %v", body, err)
	}
	if _, _, err := g.Check(replay); err == nil || !strings.Contains(err.Error(), "before") {
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
		if _, _, err := g.Check(r); !errors.Is(err, errUnsigned) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if _, _, err := g.Check(request("body", "else")); !errors.Is(err, errUnsigned) {
		t.Errorf("another body: %v", err)
	}
	for _, off := range []time.Duration{-4 * time.Minute, 4 * time.Minute} { // clocks of nodes differ by minutes
		g.now = func() time.Time { return time.Now().Add(off) }
		if _, _, err := g.Check(request("body", "body")); err != nil {
			t.Errorf("a clock that is off by %v: %v", off, err)
		}
	}
	for _, off := range []time.Duration{-maxSkew - time.Minute, maxSkew + time.Minute} {
		g.now = func() time.Time { return time.Now().Add(off) }
		if _, _, err := g.Check(request("body", "body")); err == nil || !strings.Contains(err.Error(), "clocks") {
			t.Errorf("a clock that is off by %v: %v", off, err)
		}
	}
}

// Whoever answers in the ApplicationMaster's place could give tasks, and send workers away.
func TestAnswersThatAreNotSignedAreNotTaken(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusGone} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(AnswerHeader, AnswerMAC([]byte("another key"), r.Header.Get(authorization), status, []byte("{}")))
			w.WriteHeader(status)
			_, _ = w.Write([]byte("{}"))
		}))
		c := &Caller{Base: server.URL, Signer: NewSigner([]byte("key")), HTTP: server.Client()}
		if err := c.Call(t.Context(), "/worker/next", job.NextRequest{}, &job.NextResponse{}); err == nil || errors.Is(err, ErrGone) {
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
	NewSigner([]byte("another key")).Sign(r, nil)
	f.Add(r.Header.Get(authorization), []byte{})
	f.Add("Heddle a 1 2 b c", []byte("x"))
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/x", bytes.NewReader(body))
		r.Header.Set(authorization, header)
		if _, _, err := NewGuard([]byte("key")).Check(r); err == nil {
			t.Fatalf("%q is taken for signed", header)
		}
	})
}
