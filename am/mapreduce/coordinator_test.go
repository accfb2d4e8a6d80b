package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"pgregory.net/rapid"

	"heddle/am"
	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
	"heddle/am/stage"
	"heddle/yarn/records"
)

// fakeCluster keeps account of what is asked for.
type fakeCluster struct {
	next     am.RequestID
	asks     map[am.RequestID]am.Request
	released []records.ContainerID
	started  []records.ContainerID
	bad      []string // hosts that are blacklisted
	nodes    int
	stages   am.StageReport
	tries    []am.TaskTry
	ran      []am.Performance
	err      error
	swaps    map[records.ContainerID]am.RequestID // containers that are to stand still
	launch   am.Launch                            // the latest
}

func (f *fakeCluster) Swap(id records.ContainerID, to am.RequestID) error {
	if f.swaps == nil {
		f.swaps = map[records.ContainerID]am.RequestID{}
	}
	f.swaps[id] = to
	return nil
}

func (f *fakeCluster) Unswap(id records.ContainerID) { delete(f.swaps, id) }

func (f *fakeCluster) Request(r am.Request) (am.RequestID, error) {
	if f.err != nil {
		return 0, f.err
	}
	f.next++
	f.asks[f.next] = r
	return f.next, nil
}

func (f *fakeCluster) Withdraw(id am.RequestID, _ int) int {
	if _, ok := f.asks[id]; !ok {
		return 0
	}
	delete(f.asks, id)
	return 1
}

func (f *fakeCluster) Release(ids ...records.ContainerID) { f.released = append(f.released, ids...) }

func (f *fakeCluster) Start(id records.ContainerID, l am.Launch) {
	f.started, f.launch = append(f.started, id), l
}

func (f *fakeCluster) Blacklist(add, remove []string) {
	f.bad = append(f.bad, add...)
	f.bad = slices.DeleteFunc(f.bad, func(h string) bool { return slices.Contains(remove, h) })
}

func (f *fakeCluster) ClusterNodes() int { return f.nodes }

func (f *fakeCluster) SetStages(r am.StageReport) { f.stages = r }
func (f *fakeCluster) AddTry(t am.TaskTry)        { f.tries = append(f.tries, t) }

func (f *fakeCluster) SetPerformance(p am.Performance) { f.ran = append(f.ran, p) }

// play is a coordinator with what it has to do with.
type play struct {
	c       *coordinator
	cluster *fakeCluster
	now     time.Time
	id      int64
}

var testApp = records.ApplicationID{ClusterTimestamp: 1, ID: 2}

func newPlay(maps, reduces int, hosts ...string) *play {
	return newPatientPlay(3, maps, reduces, hosts...)
}

// newPatientPlay is a play whose tasks may be tried so often.
func newPatientPlay(tries, maps, reduces int, hosts ...string) *play {
	return newPlayOf(job.Job{Reduces: reduces}, tries, maps, hosts...)
}

func newPlayOf(j job.Job, tries, maps int, hosts ...string) *play {
	return newPlayBy(specOf(j, tries), maps, hosts...)
}

func specOf(j job.Job, tries int) *job.Spec {
	s := &job.Spec{
		Job: j, MapSize: job.Size{MemoryMB: 1024, Cores: 1}, ReduceSize: job.Size{MemoryMB: 1024, Cores: 1}, MapTries: tries, ReduceTries: tries, SlowStart: 0.05,
		NodeFailures: 3, Timeout: 10 * time.Minute,
	}
	if j.SlowStart == "1.0" {
		s.Start, s.SlowStart = job.StartAtFraction, 1
	}
	return s
}

func newPlayBy(s *job.Spec, maps int, hosts ...string) *play {
	log := logrus.New()
	log.SetOutput(io.Discard)
	splits := make([]input.Split, maps)
	for i := range hosts {
		splits[i].Hosts = []string{hosts[i]}
	}
	p := &play{cluster: &fakeCluster{asks: map[am.RequestID]am.Request{}}, now: time.Unix(1e9, 0)}
	p.c = newCoordinator(s, splits, testApp, logrus.NewEntry(log))
	p.c.cluster, p.c.output = p.cluster, "out"
	p.c.knock = func([]string) answer { return unknown }
	p.c.now, p.c.began = func() time.Time { return p.now }, p.now
	p.c.begin()
	return p
}

// grant serves one of the requests with a container on a host, and returns its id if it was started.
func (p *play) grant(host string) string { return p.grantOf(host, 1024) }

// grantOf does so with a container of some MB.
func (p *play) grantOf(host string, memory int64) string {
	for id := range p.cluster.asks {
		delete(p.cluster.asks, id)
		p.id++
		x := am.Container{
			ID: records.ContainerID{Attempt: records.AttemptID{App: testApp, Attempt: 1}, ID: p.id}, Request: id, Resource: records.NewResource(memory, 1),
			Node: records.NodeID{Host: host, Port: 1},
		}
		n := len(p.cluster.started)
		p.c.allocated([]am.Container{x})
		if len(p.cluster.started) > n {
			return x.ID.String()
		}
		return ""
	}
	return ""
}

// next asks for work without waiting for it.
func (p *play) next(w string) (job.NextResponse, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return p.c.next(ctx, &job.NextRequest{Worker: w, URL: "http://" + w})
}

func (p *play) done(w string, id job.TaskID) {
	r := &job.DoneReport{Worker: w, ID: id, Counters: job.Counters{"g": {"n": int64(id.Index + 1)}}}
	if id.Kind == job.Reduce || p.c.spec.Job.Reduces == 0 {
		r.Output = fmt.Sprintf("out/%s/part-%05d", id.Name(testApp), id.Index)
	}
	p.c.finished(context.Background(), r)
}

func (p *play) fail(w string, id job.TaskID) {
	p.c.finished(context.Background(), &job.DoneReport{Worker: w, ID: id, Error: "it failed", Stderr: []string{"why"}})
}

func (p *play) end(w string, exit int32) {
	p.c.completed(must(records.ParseContainerID(w)), exit, "diagnostics")
}

// check compares the account that a coordinator keeps with what there is.
func (p *play) check(t interface{ Fatalf(string, ...any) }) {
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	finals := job.Counters{}
	for s, n := range []int{len(c.splits), c.spec.Job.Reduces} {
		for i := range n {
			id := stage.TaskID{Stage: stage.Stage(s), Index: i}
			won := slices.ContainsFunc(c.planner.Attempts(id), func(a stage.Attempt) bool { return a.State == stage.Succeeded })
			r, ok := c.results[id]
			if ok && !won {
				t.Fatalf("%v has a result, and no attempt that has succeeded", id)
			}
			finals.AddAll(r.counters)
		}
	}
	for name, n := range c.finals["g"] {
		if n != finals["g"][name] {
			t.Fatalf("counters %v, noted are %v", finals, c.finals)
		}
	}
	if len(c.asks) != len(c.requests) || len(c.asks) != len(p.cluster.asks) {
		t.Fatalf("requests %v and %v, but the cluster has %v", c.asks, c.requests, p.cluster.asks)
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func TestContainersAreAskedForByNeed(t *testing.T) {
	p := newPlay(3, 2, "a", "b")
	var hosts []string
	for _, r := range p.cluster.asks {
		hosts = append(hosts, strings.Join(r.Hosts, ","))
		if r.Priority != mapPriority || !r.RelaxLocality {
			t.Errorf("%+v", r)
		}
	}
	if slices.Sort(hosts); !slices.Equal(hosts, []string{"", "a", "b"}) {
		t.Fatalf("containers on %q", hosts)
	}
	w := p.grant("b")
	r, err := p.next(w)
	if err != nil || r.Task == nil || r.Task.ID != (job.TaskID{Kind: job.Map, Index: 1, Attempt: 0}) {
		t.Fatalf("%+v, %v instead of the task whose input is there", r, err)
	}
	again, _ := p.next(w)
	if again.Task == nil || again.Task.ID != r.Task.ID {
		t.Errorf("an answer that was lost becomes %+v", again)
	}
	p.done(w, r.Task.ID)
	p.done(w, r.Task.ID) // said twice
	for range 2 {
		r, _ := p.next(w)
		p.done(w, r.Task.ID)
	}
	// All maps are done by one worker: it does a reduce, and a container is asked for the other one.
	r, _ = p.next(w)
	if r.Task == nil || r.Task.ID.Kind != job.Reduce || r.Task.Output != "out/"+r.Task.ID.Name(testApp) {
		t.Fatalf("%+v instead of a reduce task", r)
	}
	if len(p.cluster.asks) != 1 {
		t.Errorf("%d requests for one reduce task", len(p.cluster.asks))
	}
	for _, r := range p.cluster.asks {
		if r.Priority != reducePriority {
			t.Errorf("%+v", r)
		}
	}
	p.done(w, r.Task.ID)
	r, _ = p.next(w)
	p.done(w, r.Task.ID)
	if r, _ = p.next(w); !r.Exit {
		t.Errorf("%+v at the end", r)
	}
	if err := p.c.await(t.Context()); err != nil || len(p.cluster.asks) > 0 {
		t.Errorf("%v, %d requests are left", err, len(p.cluster.asks))
	}
	if _, err := p.next(w); !errors.Is(err, signed.ErrGone) {
		t.Errorf("a worker that has gone: %v", err)
	}
}

func TestJobFailsWhenATaskHasFailedTooOften(t *testing.T) {
	p := newPlay(1, 0)
	for i := range 3 {
		w := p.grant("a")
		if w == "" {
			t.Fatalf("no container for attempt %d", i)
		}
		r, _ := p.next(w)
		if r.Task == nil || r.Task.ID.Attempt != i {
			t.Fatalf("attempt %d: %+v", i, r)
		}
		p.fail(w, r.Task.ID)
		p.end(w, 1)
	}
	err := p.c.await(t.Context())
	if err == nil || !strings.Contains(err.Error(), "map task 0 failed 3 times") || !strings.Contains(err.Error(), "why") {
		t.Errorf("%v", err)
	}
}

func TestFailedTasksGoElsewhere(t *testing.T) {
	p := newPlay(2, 0)
	a, b := p.grant("a"), p.grant("b")
	r, _ := p.next(a)
	failed := r.Task.ID
	r, _ = p.next(b)
	p.fail(a, failed)
	if r, _ := p.next(a); r.Task != nil || r.Exit {
		t.Fatalf("%+v for a host on which it has failed", r)
	}
	p.done(b, r.Task.ID)
	r, _ = p.next(b)
	if r.Task == nil || r.Task.ID.Index != failed.Index {
		t.Fatalf("%+v for another host", r)
	}
	p.fail(b, r.Task.ID)
	if r, _ = p.next(b); r.Task == nil { // the worker on a was told to go
		t.Fatal("it has failed everywhere, and nobody gets it")
	}
	p.done(b, r.Task.ID)

	p = newPlay(1, 0)
	a = p.grant("a")
	r, _ = p.next(a)
	p.fail(a, r.Task.ID)
	if r, _ = p.next(a); r.Task == nil {
		t.Fatal("there is no other host, and nobody gets it")
	}
}

// The message says what is set, also where a worker may be silent for longer.
func TestSilentWorkerIsReportedWithTheSetting(t *testing.T) {
	for set, want := range map[time.Duration]string{
		15 * time.Second: "said nothing for 30s (mapreduce.task.timeout is 15s; a worker may be silent for 30s at least)",
		time.Minute:      "said nothing for 1m0s (mapreduce.task.timeout)",
	} {
		s := specOf(job.Job{}, 3)
		s.Timeout = set
		p := newPlayBy(s, 1)
		w := p.grant("a")
		if r, err := p.next(w); err != nil || r.Task == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		p.now = p.now.Add(max(set, leastSilence) + time.Second)
		p.c.relieve()
		if f := p.c.failures; len(f) != 1 || !strings.Contains(f[0].Error, w) || !strings.HasSuffix(f[0].Error, want) {
			t.Errorf("%v: %+v", set, f)
		}
	}
}

func TestPreemptedContainersCostNoAttempt(t *testing.T) {
	p := newPlay(1, 0)
	for i := range 10 {
		w := p.grant("a")
		r, _ := p.next(w)
		if r.Task == nil {
			t.Fatalf("nothing to do after %d containers were taken", i)
		}
		p.end(w, records.ExitPreempted)
	}
	w := p.grant("a")
	r, _ := p.next(w)
	p.done(w, r.Task.ID)
	if err := p.c.await(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWorkersThatDoNotStart(t *testing.T) {
	p := newPlay(1, 0)
	for range 8 {
		p.end(p.grant("a"), 127)
	}
	if err := p.c.await(t.Context()); err == nil || !strings.Contains(err.Error(), "workers don't start") || !strings.Contains(err.Error(), "diagnostics") {
		t.Errorf("%v", err)
	}
	p = newPlay(1, 0)
	p.cluster.err = errors.New("too large")
	for id := range p.cluster.asks {
		p.grant("a")
		delete(p.cluster.asks, id)
	}
	p.end(p.cluster.started[0].String(), 137) // another container is asked for
	if err := p.c.await(t.Context()); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v", err)
	}
}

func TestReduceMakesRoomForALostMap(t *testing.T) {
	p := newPlay(1, 1)
	a := p.grant("a")
	r, _ := p.next(a)
	p.done(a, r.Task.ID)
	r, _ = p.next(a)
	if r.Task == nil || r.Task.ID.Kind != job.Reduce {
		t.Fatalf("%+v", r)
	}
	reduce := r.Task.ID
	p.c.unfetchable(t.Context(), &job.FetchFailure{Worker: a, Map: 0, Attempt: 0, Gone: true})
	for range 10 {
		p.c.relieve()
		p.later(time.Second)
	}
	resp, err := p.report(&job.ProgressReport{Worker: a, ID: reduce})
	if err != nil || !resp.Abandon {
		t.Fatalf("%+v, %v: the reduce task goes on", resp, err)
	}
	p.done(a, reduce) // too late
	r, _ = p.next(a)
	if r.Task == nil || r.Task.ID != (job.TaskID{Kind: job.Map, Index: 0, Attempt: 1}) {
		t.Fatalf("%+v instead of the map task", r.Task)
	}
	p.done(a, r.Task.ID)
	r, _ = p.next(a)
	if r.Task == nil || r.Task.ID != (job.TaskID{Kind: job.Reduce, Index: 0, Attempt: 1}) {
		t.Fatalf("%+v instead of the reduce task", r.Task)
	}
	p.done(a, r.Task.ID)
	if err := p.c.await(t.Context()); err != nil {
		t.Error(err)
	}
	events, err := p.c.whereabouts(t.Context(), &job.OutputsRequest{Worker: a})
	if err != nil || fmt.Sprint(events.Events) != "[{0 0 http://"+a+"  false} {0 0   true} {0 1 http://"+a+"  false}]" {
		t.Errorf("%+v, %v", events, err)
	}
}

// Whatever happens to containers, tasks and outputs: a job ends, each task's last attempt is done by a worker that is there,
// outputs included, and nothing is asked for in vain.
func TestJobsEndWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maps, reduces := rapid.IntRange(0, 8).Draw(t, "maps"), rapid.IntRange(0, 3).Draw(t, "reduces")
		p := newPatientPlay(1000, maps, reduces)
		p.cluster.nodes = rapid.IntRange(0, 3).Draw(t, "nodes")
		var workers []string
		doing := map[string]job.TaskID{}
		drop := func(i int) {
			delete(doing, workers[i])
			workers = slices.Delete(workers, i, i+1)
		}
		over := func() bool {
			p.c.mu.Lock()
			defer p.c.mu.Unlock()
			return p.c.over
		}
		trouble := rapid.IntRange(0, 100).Draw(t, "trouble")
		for step := 0; !over(); step++ {
			if step > 5000 {
				t.Fatalf("no end: %+v", p.c.snapshot())
			}
			if n := len(p.cluster.asks); n > maps+reduces {
				t.Fatalf("%d requests for %d tasks", n, maps+reduces)
			}
			if len(p.cluster.asks) > 0 && (len(workers) == 0 || rapid.Bool().Draw(t, "grant")) {
				if w := p.grant(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "host")); w != "" {
					workers = append(workers, w)
				}
				continue
			}
			if len(workers) == 0 {
				t.Fatalf("no worker, and no request: %+v", p.c.snapshot())
			}
			i := rapid.IntRange(0, len(workers)-1).Draw(t, "worker")
			w := workers[i]
			id, busy := doing[w]
			if trouble > 0 {
				switch trouble--; rapid.IntRange(0, 3).Draw(t, "what") {
				case 0:
					p.end(w, 137)
					drop(i)
					continue
				case 1:
					if busy {
						p.fail(w, id)
						delete(doing, w)
						continue
					}
				case 2:
					p.c.unfetchable(context.Background(), &job.FetchFailure{Worker: w, Gone: rapid.Bool().Draw(t, "gone"), Map: rapid.IntRange(0, 8).Draw(t, "map"), Attempt: rapid.IntRange(0, 2).Draw(t, "attempt")})
					continue
				}
			}
			p.later(time.Second)
			p.c.relieve()
			p.check(t)
			switch {
			case !busy:
				r, err := p.next(w)
				gone := errors.Is(err, signed.ErrGone) // it was let go after its last question had timed out
				if err != nil && !gone {
					t.Fatalf("%s: %v", w, err)
				}
				if r.Exit || gone {
					drop(i)
				} else if r.Task != nil {
					doing[w] = r.Task.ID
				}
			case id.Kind == job.Reduce && p.c.planner.Facts().Maps.Done < maps:
				// it waits for outputs, or learns that it's not wanted
				if r, _ := p.report(&job.ProgressReport{Worker: w, ID: id}); r.Abandon {
					delete(doing, w)
				}
			default:
				p.done(w, id)
				delete(doing, w)
			}
		}
		if p.c.err != nil {
			if !strings.Contains(p.c.err.Error(), "lost") && !strings.Contains(p.c.err.Error(), "start") {
				t.Fatalf("%v", p.c.err)
			}
			return
		}
		if parts := p.c.parts(); reduces > 0 && len(parts) != reduces || reduces == 0 && len(parts) != maps {
			t.Fatalf("%d parts of %d maps and %d reduces", len(parts), maps, reduces)
		}
		if len(p.cluster.asks) > 0 {
			t.Fatalf("%d requests at the end", len(p.cluster.asks))
		}
	})
}
