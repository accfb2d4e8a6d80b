package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
	"heddle/am/stage"
	"heddle/yarn/records"
)

// report tells of a task without waiting until the next report is due.
func (p *play) report(r *job.ProgressReport) (job.ProgressResponse, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return p.c.progress(ctx, r)
}

// later lets time pass.
func (p *play) later(d time.Duration) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.now = p.now.Add(d)
}

// pass lets time pass, a second at a time; alive are workers that go on talking.
func (p *play) pass(d time.Duration, alive ...string) {
	for range int(d / time.Second) {
		p.later(time.Second)
		for _, w := range alive {
			p.c.mu.Lock()
			t := p.c.workers[w].task
			p.c.mu.Unlock()
			r := &job.ProgressReport{Worker: w}
			if t != nil {
				r.ID = t.ID
			}
			p.report(r)
		}
		p.c.relieve()
	}
}

// take has a worker ask for a task and returns it.
func (p *play) take(t *testing.T, w string) job.TaskID {
	t.Helper()
	r, err := p.next(w)
	if err != nil || r.Task == nil {
		t.Fatalf("%s: %+v, %v instead of a task", w, r, err)
	}
	return r.Task.ID
}

// A worker whose process or machine was frozen was waited for without end.
func TestFrozenWorkerIsGivenUp(t *testing.T) {
	p := newPlay(2, 0)
	frozen, awake := p.grant("a"), p.grant("b")
	lost, kept := p.take(t, frozen), p.take(t, awake)
	p.pass(11*time.Minute, awake)
	if len(p.cluster.released) != 1 || p.cluster.released[0].String() != frozen {
		t.Fatalf("released: %v", p.cluster.released)
	}
	p.done(frozen, lost) // it thaws
	if _, err := p.report(&job.ProgressReport{Worker: frozen, ID: lost}); !errors.Is(err, signed.ErrGone) {
		t.Errorf("progress of a worker that was given up: %v", err)
	}
	p.done(awake, kept)
	again := p.take(t, awake)
	if again.Index != lost.Index || again.Attempt != 1 {
		t.Fatalf("%v instead of the frozen task", again)
	}
	p.done(awake, again)
	if err := p.c.await(t.Context()); err != nil || slices.ContainsFunc(p.c.parts(), func(s string) bool {
		return s == (&job.Assignment{ID: lost, Output: "out/" + lost.Name(testApp)}).Part()
	}) {
		t.Errorf("%v, parts %v", err, p.c.parts())
	}
}

// A worker that is suspended may be silent for as long as it takes, and counts as running: its task isn't done again.
func TestSuspendedWorkerIsWaitedFor(t *testing.T) {
	p := newPlayOf(job.Job{Speculation: job.SpeculateLate}, 3, 2)
	p.cluster.nodes = 2
	still, awake := p.grant("a"), p.grant("b")
	waits, other := p.take(t, still), p.take(t, awake)
	p.pass(2*time.Second, still, awake)
	p.report(&job.ProgressReport{Worker: still, ID: waits, Progress: 0.5})
	ids := []records.ContainerID{p.c.workers[still].ID}
	p.c.suspended(ids, true)
	p.pass(10*time.Second, awake)
	p.done(awake, other)
	p.pass(time.Hour, awake)
	if len(p.cluster.released)+len(p.cluster.asks) > 0 {
		t.Fatalf("released %v, asked for %v", p.cluster.released, p.cluster.asks)
	}
	if a := p.c.attempts()[waits.Index]; a.State != "suspended" {
		t.Errorf("%+v", a)
	}
	p.c.suspended(append(ids, records.ContainerID{}), false)
	p.pass(9*time.Minute, awake)
	if a := p.c.attempts()[waits.Index]; a.State != "running" {
		t.Errorf("%+v", a)
	}
	p.pass(2*time.Minute, awake)
	if len(p.cluster.released) != 1 || p.cluster.released[0] != ids[0] {
		t.Errorf("released %v: it is silent, and runs", p.cluster.released)
	}
}

// A reduce task was given to the same bad node until it had failed as often as it may.
func TestBadNodeDoesNotFailTheJob(t *testing.T) {
	p := newPlay(1, 1)
	p.cluster.nodes = 4
	good := p.grant("good")
	p.done(good, p.take(t, good))
	p.end(good, 137) // only the bad node has a worker when the reduce task begins
	bad := p.grant("bad")
	p.done(bad, p.take(t, bad))
	for range p.c.spec.ReduceTries - 1 {
		p.fail(bad, p.take(t, bad))
		p.pass(3 * time.Second)
	}
	if !slices.Equal(p.cluster.bad, []string{"bad"}) || len(p.cluster.asks) != 1 {
		t.Fatalf("blacklisted: %v; %d requests", p.cluster.bad, len(p.cluster.asks))
	}
	if r, err := p.next(bad); err != nil || r.Task != nil || r.Exit {
		t.Errorf("%+v, %v for a bad node that has outputs", r, err)
	}
	if w := p.grant("bad"); w != "" {
		t.Error("a container on a bad node is used")
	}
	p.c.relieve()
	good = p.grant("good")
	p.done(good, p.take(t, good))
	if err := p.c.await(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBadNodesAreUsedWhereThereAreNoOthers(t *testing.T) {
	p := newPlay(1, 0)
	p.cluster.nodes = 2
	w := p.grant("a")
	for range p.c.spec.MapTries - 1 {
		p.fail(w, p.take(t, w))
		p.pass(3 * time.Second)
	}
	if len(p.cluster.bad) != 1 {
		t.Fatalf("blacklisted: %v", p.cluster.bad)
	}
	if r, err := p.next(w); err != nil || !r.Exit {
		t.Fatalf("%+v, %v for a bad node that has no outputs", r, err)
	}
	p.pass(32 * time.Second)
	if len(p.cluster.bad) > 0 {
		t.Fatal("nothing can run, and the only node isn't used")
	}
	w = p.grant("a")
	p.done(w, p.take(t, w))
	if err := p.c.await(t.Context()); err != nil {
		t.Error(err)
	}
}

// A node on which containers don't start ended the job after eight of them.
func TestNodeWithoutStartsIsAvoided(t *testing.T) {
	p := newPlay(3, 0)
	p.cluster.nodes = 4
	for range 8 {
		if w := p.grant("bad"); w != "" {
			p.end(w, 127)
		}
	}
	if !slices.Equal(p.cluster.bad, []string{"bad"}) || p.c.over {
		t.Errorf("blacklisted: %v, %v", p.cluster.bad, p.c.err)
	}
}

// mapsDone is a job whose maps were done on the hosts h0, h1, …, and whose reduces run on others.
func mapsDone(t *testing.T, maps int, hosts ...string) (p *play, reducers []string) {
	p = newPlay(maps, len(hosts))
	p.cluster.nodes = 10
	var workers []string
	for i := range maps {
		workers = append(workers, p.grantOf(fmt.Sprint("h", i), 1)) // too small for a reduce task
		p.take(t, workers[i])
	}
	for i, w := range workers {
		p.done(w, job.TaskID{Kind: job.Map, Index: i, Attempt: 0})
	}
	for _, h := range hosts {
		w := p.grant(h)
		if id := p.take(t, w); id.Kind != job.Reduce {
			t.Fatalf("%v instead of a reduce task", id)
		}
		reducers = append(reducers, w)
	}
	return p, reducers
}

func (p *play) complain(t *testing.T, w string, m int) bool {
	t.Helper()
	v, err := p.c.unfetchable(t.Context(), &job.FetchFailure{Worker: w, Map: m, Error: "connection refused"})
	if err != nil {
		t.Fatal(err)
	}
	p.check(t)
	return v.Again
}

// One reduce task that couldn't reach the others had all maps made again, until the job failed for that.
func TestReduceThatCannotFetchFromSeveralGoesElsewhere(t *testing.T) {
	p, r := mapsDone(t, 3, "r0", "r1")
	if !p.complain(t, r[0], 0) {
		t.Fatal("one complaint of one host decides")
	}
	if p.complain(t, r[0], 1) {
		t.Fatal("it goes on, though it can't fetch from two hosts")
	}
	if n := p.c.counters.Get(job.JobGroup, job.LostMaps); n != 0 || p.c.stage(stage.Reduce).Failed != 1 {
		t.Errorf("%d outputs are lost, %d reduce tasks have failed", n, p.c.stage(stage.Reduce).Failed)
	}
	// Another host says the same: the output is lost.
	if p.complain(t, r[1], 0) || p.c.planner.Facts().Maps.Waiting != 1 || p.c.counters.Get(job.JobGroup, job.LostMaps) != 1 {
		t.Error("an output that two hosts can't fetch isn't made again")
	}
}

func TestOutputThatCannotBeFetchedIsMadeAgain(t *testing.T) {
	p, r := mapsDone(t, 1, "r0")
	for range 2 {
		if !p.complain(t, r[0], 0) {
			t.Fatal("it isn't to be tried again")
		}
	}
	if p.complain(t, r[0], 0) || p.c.planner.Facts().Maps.Waiting != 1 {
		t.Error("after several attempts it isn't made again")
	}
	p, r = mapsDone(t, 1, "r0")
	if v, err := p.c.unfetchable(t.Context(), &job.FetchFailure{Worker: r[0], Gone: true}); err != nil || v.Again || p.c.planner.Facts().Maps.Waiting != 1 {
		t.Errorf("an output that has gone: %+v, %v", v, err)
	}
}

// A worker that only waits with its outputs goes when all reduce tasks have fetched them.
func TestWorkerGoesWhenItsOutputsAreFetched(t *testing.T) {
	p, r := mapsDone(t, 1, "r0", "r1")
	mapper := p.c.slots[0].ID.String()
	goes := func() bool {
		t.Helper()
		n, err := p.next(mapper)
		if err != nil || n.Task != nil {
			t.Fatalf("%+v, %v", n, err)
		}
		return n.Exit
	}
	for i, shuffles := range []bool{false, true} {
		p.report(&job.ProgressReport{Worker: r[i], ID: job.TaskID{Kind: job.Reduce, Index: i}, Progress: 0.4, Shuffles: shuffles})
	}
	if goes() {
		t.Fatal("it goes, though a reduce task fetches")
	}
	woken := p.c.slots[0].wake
	p.report(&job.ProgressReport{Worker: r[1], ID: job.TaskID{Kind: job.Reduce, Index: 1}, Progress: 0.4})
	select {
	case <-woken:
	default:
		t.Error("it isn't told to go")
	}
	if !p.c.slots[0].exit {
		t.Error("it stays, though nobody needs it")
	}
	p.check(t)
}

// Every report woke all workers that waited for something.
func TestReportsWakeOnlyWhomTheyConcern(t *testing.T) {
	p := newPlay(2, 1)
	a := p.grant("a")
	id := p.take(t, a)
	b := p.grant("b")
	other := p.take(t, b)
	c := p.grant("c") // waits for the reduce task
	if c != "" {
		t.Fatal("a container for a reduce task before the maps are done")
	}
	woken, news := p.c.workers[b].wake, p.c.news
	p.report(&job.ProgressReport{Worker: a, ID: id, Progress: 0.5})
	if p.c.workers[b].wake != woken || p.c.news != news {
		t.Error("progress is news to workers")
	}
	p.done(a, id)
	if p.c.news == news {
		t.Error("an output is no news to reduce tasks")
	}
	if p.c.workers[b].wake != woken {
		t.Errorf("a worker that does %v looks for a task, though there are no more than before", other)
	}
}
