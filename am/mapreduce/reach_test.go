package mapreduce

import (
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/stage"
	"heddle/internal/await"
	"heddle/yarn/records"
)

// closedPort returns an address at which nothing listens any more.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestKnocking(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // nobody accepts: a process that stands still holds its port
	open, closed := l.Addr().String(), closedPort(t)
	for _, c := range []struct {
		ports []string
		want  answer
	}{
		{[]string{open}, answered},
		{[]string{closed, open}, answered},
		{[]string{closed, closed}, refused},
		{[]string{closed, "nobody.invalid:1"}, unknown},
		{[]string{closed, "no port"}, unknown},
		{nil, unknown},
	} {
		if got := knock(c.ports); got != c.want {
			t.Errorf("%v: %d instead of %d", c.ports, got, c.want)
		}
	}
	if refused.and(nothing) != nothing || nothing.and(answered) != answered || unknown.and(nothing) != unknown {
		t.Error("answers of several ports")
	}
}

// rounds are knocks at a host, one a second, while another host goes on talking if it does.
func rounds(n neighbours, from time.Time, count int, a answer, other bool) (at time.Duration, e stage.Event) {
	for i := range count {
		now := from.Add(time.Duration(i) * time.Second)
		if other {
			n["other"].heard = now
		}
		if e := n.take(now, "host", a); e != nil {
			return now.Sub(from), e
		}
	}
	return 0, nil
}

func TestWhenAHostIsAway(t *testing.T) {
	t0 := time.Unix(1e9, 0)
	for name, c := range map[string]struct {
		a     answer
		other bool
		after time.Duration
		gone  bool
	}{
		"all ports refuse":           {refused, true, 2 * time.Second, true},
		"nothing answers":            {nothing, true, 10 * time.Second, true},
		"it answers":                 {answered, true, 0, false},
		"nobody knows":               {unknown, true, 0, false},
		"refused, and nobody talks":  {refused, false, 0, false},
		"cut off from all neighbors": {nothing, false, 0, false},
	} {
		n := neighbours{"host": {heard: t0.Add(-3 * time.Second)}, "other": {heard: t0.Add(-time.Second)}}
		at, e := rounds(n, t0, 60, c.a, c.other)
		if (e == stage.Event(stage.Unreachable{Host: "host"})) != c.gone || at != c.after {
			t.Errorf("%s: %+v after %v", name, e, at)
		}
		if _, again := rounds(n, t0.Add(time.Minute), 60, c.a, c.other); again != nil {
			t.Errorf("%s: %+v again", name, again)
		}
		e = n.take(t0.Add(3*time.Minute), "host", answered)
		if (e == stage.Event(stage.Reachable{Host: "host"})) != c.gone {
			t.Errorf("%s: %+v when it answers", name, e)
		}
	}
}

// An answer, or a word of a worker, between two that were refused begins anew.
func TestOneAnswerIsEnough(t *testing.T) {
	t0 := time.Unix(1e9, 0)
	n := neighbours{"host": {}, "other": {}}
	for i := range 30 {
		now := t0.Add(time.Duration(i) * time.Second)
		n["other"].heard = now
		a := refused
		switch {
		case i%4 == 1:
			a = answered
		case i%4 == 3:
			n["host"].heard = now.Add(-time.Millisecond)
		}
		if e := n.take(now, "host", a); e != nil {
			t.Fatalf("%+v after %d s", e, i)
		}
	}
	// One that times out between them doesn't say that no process is left.
	for i := range 9 {
		now := t0.Add(time.Duration(60+i) * time.Second)
		n["other"].heard = now
		if e := n.take(now, "host", []answer{refused, refused, nothing}[i%3]); e != nil {
			t.Fatalf("%+v after %d s", e, i)
		}
	}
}

// Hosts whose workers talk aren't asked; those that are quiet are, once at a time, at a few of their workers and at their NodeManager.
func TestWhoIsAsked(t *testing.T) {
	now := time.Unix(1e9, 0)
	worker := func(host string, i int, heard time.Duration) *workerState {
		w := &workerState{host: host, url: fmt.Sprintf("http://%s:%d", host, i), heard: now.Add(-heard)}
		w.Node = records.NodeID{Host: host, Port: 8041}
		return w
	}
	workers := map[string]*workerState{}
	for i := range 10 {
		workers[fmt.Sprint("quiet", i)] = worker("quiet", i, time.Minute)
	}
	workers["a"], workers["b"] = worker("one talks", 1, time.Minute), worker("one talks", 2, time.Second)
	workers["c"] = worker("broken", 1, time.Second)
	workers["c"].broken = now.Add(-time.Millisecond)
	workers["d"] = worker("broken and well", 1, time.Second)
	workers["d"].broken = now.Add(-2 * time.Second)
	workers["e"] = worker("starts", 0, time.Minute)
	workers["e"].url = ""
	n := neighbours{"was away": {away: true, node: "was away:8041"}, "has left": {}}
	got := n.look(now, 3*time.Second, workers)
	if len(got) != 4 || len(got["quiet"]) != doors+1 || !slices.Contains(got["quiet"], "quiet:8041") || !slices.Equal(got["broken"], []string{"broken:1", "broken:8041"}) ||
		!slices.Equal(got["starts"], []string{"starts:8041"}) || !slices.Equal(got["was away"], []string{"was away:8041"}) {
		t.Errorf("%v", got)
	}
	if n["has left"] != nil {
		t.Error("a host without workers is kept in mind")
	}
	if got := n.look(now, 3*time.Second, workers); len(got) != 0 {
		t.Errorf("%v while the first answers are still to come", got)
	}
	for i := range 100 {
		workers[fmt.Sprint("many", i)] = worker(fmt.Sprint("many", i), 1, time.Minute)
	}
	if got := n.look(now, 3*time.Second, workers); len(got) != atOnce-4 {
		t.Errorf("%d at once", len(got)+4)
	}
}

// A node dies with a map that runs and one whose output it had: both are made on the other node, long before the ResourceManager says so. The
// dead one gets no more containers until it answers again.
func TestANodeThatDoesNotAnswerIsGivenUp(t *testing.T) {
	p := newPlayOf(job.Job{Reduces: 1, SlowStart: "1.0"}, 4, 3)
	var said atomic.Int32
	p.c.knock = func([]string) answer { return answer(said.Load()) }
	p.cluster.nodes = 2
	dead, well := p.grant("dead"), p.grant("well")
	made, runs, other := p.take(t, dead), job.TaskID{}, p.take(t, well)
	p.done(dead, made)
	runs = p.take(t, dead)
	lost := func() (out []int) {
		for _, a := range p.c.attempts() {
			if a.State == "cancelled" {
				out = append(out, a.ID.Index)
			}
		}
		return out
	}
	hear := func(a answer) {
		t.Helper()
		said.Store(int32(a))
		p.pass(time.Second, well)
		await.Until(t, "the knock is answered", func() bool {
			p.c.mu.Lock()
			defer p.c.mu.Unlock()
			return !p.c.hosts["dead"].knocked
		})
	}
	for range 5 {
		hear(answered)
	}
	if len(lost()) > 0 {
		t.Fatalf("%v are given up while the node answers", lost())
	}
	for i := 0; i < 10 && len(lost()) == 0; i++ {
		hear(refused)
	}
	if !slices.Equal(lost(), []int{runs.Index}) || len(p.cluster.released) != 1 || p.cluster.released[0].String() != dead {
		t.Fatalf("%v are given up, released %v", lost(), p.cluster.released)
	}
	if !slices.Equal(p.cluster.bad, []string{"dead"}) {
		t.Errorf("avoided: %v", p.cluster.bad)
	}
	p.done(well, other)
	again := []int{p.take(t, well).Index}
	p.done(well, job.TaskID{Kind: job.Map, Index: again[0], Attempt: 1})
	again = append(again, p.take(t, well).Index)
	if want := []int{made.Index, runs.Index}; !slices.Equal(slices.Sorted(slices.Values(again)), slices.Sorted(slices.Values(want))) {
		t.Errorf("%v are made again instead of %v", again, want)
	}
	hear(answered)
	if len(p.cluster.bad) != 0 {
		t.Errorf("avoided though it answers: %v", p.cluster.bad)
	}
}
