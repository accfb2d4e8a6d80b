package mapreduce

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/stage"
	"heddle/integration/browser"
)

func (p *play) page(path string) (int, string) {
	w := httptest.NewRecorder()
	p.c.page(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// The page says where the job is and why, which copies there are, and nothing that a name or a failure holds gets into it as markup.
func TestPageOfAJob(t *testing.T) {
	p := newPlayOf(job.Job{Name: "<b>name", Speculation: job.SpeculateLate, Reduces: 1, SlowStart: "1.0"}, 3, 3)
	p.cluster.nodes = 2
	quick, slow := p.grant("a"), p.grant("b")
	first, original := p.take(t, quick), p.take(t, slow)
	p.pass(10*time.Second, quick, slow)
	p.done(quick, first)
	failed := p.take(t, quick)
	p.c.finished(t.Context(), &job.DoneReport{Worker: quick, ID: failed, Error: "<script>alert(1)</script>"})
	p.pass(4*time.Second, slow) // it isn't tried again at once where it has failed
	p.done(quick, p.take(t, quick))
	p.pass(15*time.Second, slow)
	copied := p.take(t, quick)
	code, text := p.page("/")
	for _, want := range []string{
		testApp.String(), "&lt;b&gt;name", "Reduces wait: 3 of 3 maps have to be done, and 2 are", "&lt;script&gt;alert(1)", "<b>Maps</b>", "2 of 3 done", "1 failed",
		fmt.Sprintf("map %d</td><td class=\"num\">1 (copy)", copied.Index), fmt.Sprintf("map %d</td><td>a</td>", original.Index), "<polygon", "<polyline", `http-equiv="refresh"`,
		"Attempts at tasks 1 to 5 of 5", slow, "<h2>Counters</h2>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q", want)
		}
	}
	if code != http.StatusOK || strings.Contains(text, "<script>") || strings.Contains(text, "<b>name") {
		t.Errorf("%d: %s", code, text)
	}
	p.done(quick, copied)
	p.done(quick, p.take(t, quick))
	if _, text = p.page("/?from=4"); strings.Contains(text, "http-equiv") || strings.Contains(text, "Reduces wait") || !strings.Contains(text, "Attempts at tasks 5 to 6 of 6") ||
		!strings.Contains(text, "reduce 0") || !strings.Contains(text, `?from=0"`) || strings.Contains(text, "later ones") {
		t.Errorf("at the end: %s", text)
	}
	for _, path := range []string{"/?from=x", "/?from=-1"} {
		if code, text := p.page(path); code != http.StatusBadRequest || !strings.Contains(text, "number of an attempt") {
			t.Errorf("%s: %d, %s", path, code, text)
		}
	}
	if _, text := p.page("/?from=9999999"); !strings.Contains(text, "Attempts at tasks 6 to 6 of 6") {
		t.Errorf("far behind the end: %s", text)
	}
}

// Readers can use the page in both themes, on a phone, too: axe-core finds nothing. That it is loaded again each few seconds is its way to follow the job without scripts.
func TestPageIsAccessibleInBothThemes(t *testing.T) {
	p := newPlayOf(job.Job{Name: strings.Repeat("long-", 40) + "\u202eעברית", Speculation: job.SpeculateLate, Reduces: 1, SlowStart: "1.0"}, 3, 3)
	p.cluster.nodes = 2
	quick, slow := p.grant("a"), p.grant("b")
	first := p.take(t, quick)
	p.take(t, slow)
	p.pass(10*time.Second, quick, slow)
	p.done(quick, first)
	p.c.finished(t.Context(), &job.DoneReport{Worker: quick, ID: p.take(t, quick), Error: "it fails"})
	p.pass(4*time.Second, slow)
	_, text := p.page("/")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, text)
	}))
	defer web.Close()
	tab := browser.Open(t, 1000, 700)
	tab.Go(web.URL)
	tab.Until(`document.querySelector("svg") && document.querySelector("pre")`)
	for _, v := range tab.Violations("meta-refresh") {
		t.Error(v)
	}
	for theme, paper := range map[string]string{"light": "rgb(251, 250, 246)", "dark": "rgb(21, 26, 26)"} {
		tab.Theme(theme)
		tab.Until(`getComputedStyle(document.body).backgroundColor === "` + paper + `" && getComputedStyle(document.querySelector("svg text")).fill === getComputedStyle(document.body).color`)
	}
	tab.Size(360, 700)
	tab.Until(`document.documentElement.scrollWidth <= innerWidth`)
	tab.Go("about:blank")
}

// A page is of bounded size, however many tasks there are.
func TestPageOfManyTasks(t *testing.T) {
	p := newPlay(1000, 0)
	w := p.grant("a")
	for range 1000 {
		p.done(w, p.take(t, w))
	}
	if _, text := p.page("/?from=300"); strings.Count(text, "succeeded") != attemptsOfPage || !strings.Contains(text, "301 to 500 of 1000") ||
		!strings.Contains(text, `?from=100"`) || !strings.Contains(text, `?from=500"`) {
		t.Errorf("%d attempts", strings.Count(text, "succeeded"))
	}
}

// A node that straggles is slow for its class only if others are of that class.
func TestWhatASlowNodeIsComparedWith(t *testing.T) {
	got := []string{}
	for _, n := range nodesOf([]stage.NodeState{
		{Name: "unknown", Straggles: true}, {Name: "alone", Class: 1, Straggles: true}, {Name: "of two", Class: 2, Straggles: true}, {Name: "well", Class: 2},
	}) {
		got = append(got, n.Name+": "+n.Slow)
	}
	if want := []string{"unknown: hardly gets on", "alone: slower than before", "of two: slow for its level", "well: "}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The course of a job is kept in a bounded number of samples, from its beginning to now.
func TestCourseOfALongJob(t *testing.T) {
	p := newPlay(2, 0)
	w := p.grant("a")
	p.take(t, w)
	p.pass(3 * time.Hour)
	x := p.c.course.samples
	if len(x) < maxSamples/2 || len(x) > maxSamples || x[0].at > time.Second || x[len(x)-1].at < 3*time.Hour-time.Minute {
		t.Errorf("%d samples from %v to %v", len(x), x[0].at, x[len(x)-1].at)
	}
	for i := range x[1:] {
		if x[i].at >= x[i+1].at {
			t.Fatalf("%v before %v", x[i].at, x[i+1].at)
		}
	}
}

// Who follows a job gets all attempts in the end, if he has asked for them.
func TestAttemptsComeInTheEnd(t *testing.T) {
	p := newPlay(1, 1)
	w := p.grant("a")
	m := p.take(t, w)
	p.pass(2*time.Second, w)
	p.done(w, m)
	r := p.take(t, w)
	p.pass(time.Second)
	p.report(&job.ProgressReport{Worker: w, ID: r, Shuffles: true, Progress: 0.1})
	p.pass(time.Second)
	p.report(&job.ProgressReport{Worker: w, ID: r, Progress: 0.5})
	p.pass(2 * time.Second)
	if s, _ := p.c.status(t.Context(), &job.StatusRequest{Version: -1, Attempts: true}); s.Attempts != nil {
		t.Errorf("before the end: %+v", s.Attempts)
	}
	p.done(w, r)
	p.pass(10 * time.Second)
	p.c.conclude(nil)
	s, err := p.c.status(t.Context(), &job.StatusRequest{Version: -1, Attempts: true})
	if err != nil || len(s.Attempts) != 2 {
		t.Fatalf("%+v, %v", s.Attempts, err)
	}
	if a, b := s.Attempts[0], s.Attempts[1]; a.Ended != 2 || a.ID != m || a.Host != "a" || a.State != "succeeded" || a.Container != w || a.Progress != 1 ||
		b.ID != r || b.Begun != 2 || b.Fetched != 4 || b.Ended != 6 {
		t.Errorf("%+v", s.Attempts)
	}
	if spans := Spans(s.Attempts); len(spans) != 3 || spans[1].To != 4 || spans[2].To != 6 {
		t.Errorf("%+v", spans)
	}
	if s, _ := p.c.status(t.Context(), &job.StatusRequest{Version: -1}); s.Attempts != nil {
		t.Error("nobody has asked for attempts")
	}
}
