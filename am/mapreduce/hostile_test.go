package mapreduce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
)

// hostile speaks to an ApplicationMaster.
type hostile struct {
	*play
	t      *testing.T
	server *httptest.Server
	signer *signed.Signer
}

// say sends a message and returns the answer.
func (h *hostile) say(path string, msg any) (int, string) {
	h.t.Helper()
	body, ok := msg.([]byte)
	if !ok {
		body = must(json.Marshal(msg))
	}
	r := must(http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.server.URL+path, bytes.NewReader(body)))
	if h.signer != nil {
		h.signer.Sign(r, body)
	}
	a, err := h.server.Client().Do(r)
	if err != nil {
		return 0, err.Error() // it hangs up on who sends too much
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	h.check(h.t)
	return a.StatusCode, string(text)
}

// Whoever lacks the job's key gets nothing. Who has it, as the job's own commands do, can do no more than fail attempts of the job: what isn't his to
// say has no effect, results count once, and what he says is kept within bounds and shown as text.
func TestHostileWorkers(t *testing.T) {
	key := []byte("key")
	h := &hostile{play: newPlayOf(job.Job{Reduces: 1, SlowStart: "1.0"}, 4, 3), t: t}
	h.c.spec.Key = key
	h.server = httptest.NewServer((&master{spec: h.c.spec, tasks: h.c}).handler())
	t.Cleanup(h.server.Close)
	a, b := h.grant("a"), h.grant("b")
	first, second := h.take(t, a), h.take(t, b)
	done := &job.DoneReport{Worker: a, ID: first, Counters: job.Counters{"g": {"n": 1}}}
	maps := func(want int) {
		t.Helper()
		if got := h.c.planner.Facts().Maps.Done; got != want {
			t.Errorf("%d maps are done instead of %d", got, want)
		}
	}
	for _, signer := range []*signed.Signer{nil, signed.NewSigner([]byte("another job's"))} {
		h.signer = signer
		for _, path := range []string{"/worker/next", "/worker/progress", "/worker/done", "/worker/outputs", "/worker/lost", "/status"} {
			if code, text := h.say(path, done); code != http.StatusForbidden || strings.Contains(text, a) {
				t.Errorf("a stranger is answered %d %s", code, text)
			}
		}
	}
	maps(0)

	h.signer = signed.NewSigner(key)
	if code, _ := h.say("/worker/done", bytes.Repeat([]byte("x"), 20<<20)); code == http.StatusOK {
		t.Error("20 MB are taken")
	}
	for _, body := range []string{"", "null", "[]", "{", `{"Worker":"` + "\xff\xfe" + `"}`, `{"Worker":7}`, `{"Worker":"` + a + `","ID":{"Kind":"map","Index":1e99}}`} {
		h.say("/worker/done", []byte(body))
	}
	for _, x := range []*job.DoneReport{
		{Worker: b, ID: first}, // what another one does
		{Worker: "container_1_0002_01_999999", ID: first},
		{Worker: a, ID: job.TaskID{Kind: job.Map, Index: 99}},
		{Worker: a, ID: job.TaskID{Kind: job.Map, Index: -1}},
		{Worker: a, ID: job.TaskID{Kind: job.Map, Index: first.Index, Attempt: 7}},
		{Worker: a, ID: job.TaskID{Kind: job.Reduce}},
	} {
		h.say("/worker/done", x)
	}
	maps(0)
	h.say("/worker/done", done)
	h.say("/worker/done", done)
	maps(1)
	if n := h.c.finals["g"]["n"]; n != 1 {
		t.Errorf("the result counts %d times", n)
	}

	// The second map fails with whatever can be said.
	many := job.Counters{"g": {}}
	for i := range maxCounters + 1 {
		many["g"][fmt.Sprint(i)] = 1
	}
	long := strings.Repeat("<b>x</b>", 1<<17)
	h.say("/worker/done", &job.DoneReport{Worker: b, ID: second, Counters: many})
	third := h.take(t, a)
	h.say("/worker/done", &job.DoneReport{Worker: a, ID: third, Error: long + "\xff", Stderr: strings.SplitAfter(strings.Repeat("<i>\n", 10_000), "\n")})
	if code, text := h.say("/worker/next", &job.NextRequest{Worker: a, URL: long}); code == http.StatusOK || !strings.Contains(text, "URL has") {
		t.Errorf("a URL of 1 MB: %d %s", code, text)
	}
	if len(h.c.finals["g"]) > 1 || len(h.c.failures) != 2 || !strings.Contains(h.c.failures[0].Error, "5001 counters, more than 5000") {
		t.Errorf("%d counters; failures %.300v", len(h.c.finals["g"]), h.c.failures)
	}
	if code, text := h.page("/"); code != http.StatusOK || len(text) > 200_000 || strings.Contains(text, "<b>x") || strings.Contains(text, "<i>") {
		t.Errorf("%d, a page of %d bytes", code, len(text))
	}

	// The job goes on.
	h.pass(10 * time.Second)
	for range 2 {
		w := h.grant("c")
		if w == "" {
			w = a
		}
		h.done(w, h.take(t, w))
	}
	maps(3)
}
