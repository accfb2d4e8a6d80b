package mapreduce

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"heddle/am/mapreduce/job"
)

// A task that gets on slowly is done twice, in a container that is asked for on hosts that are known. The first result is the
// task's; the other attempt is abandoned, and what it says later isn't taken.
func TestSlowTaskIsDoneTwiceAndOneResultCounts(t *testing.T) {
	p := newPlayOf(job.Job{Speculation: job.SpeculateLate}, 3, 2)
	p.cluster.nodes = 2
	quick, slow := p.grant("a"), p.grant("b")
	first, original := p.take(t, quick), p.take(t, slow)
	p.pass(10*time.Second, quick, slow)
	p.done(quick, first)
	if r, err := p.next(quick); err != nil || !r.Exit {
		t.Fatalf("%+v, %v for a worker that nobody needs", r, err)
	}
	p.pass(20*time.Second, slow)
	if len(p.cluster.asks) != 1 {
		t.Fatalf("%d containers are asked for", len(p.cluster.asks))
	}
	for _, r := range p.cluster.asks {
		if r.RelaxLocality || !slices.Equal(r.Hosts, []string{"a", "b"}) || r.Priority != mapPriority {
			t.Errorf("%+v", r)
		}
	}
	helper := p.grant("a")
	twin := p.take(t, helper)
	if twin != (job.TaskID{Kind: job.Map, Index: original.Index, Attempt: 1}) {
		t.Fatalf("%v instead of a copy of %v", twin, original)
	}
	p.pass(5*time.Second, slow, helper)
	p.done(helper, twin)
	r, err := p.c.progress(t.Context(), &job.ProgressReport{Worker: slow, ID: original})
	if err == nil && !r.Abandon {
		t.Error("the original goes on")
	}
	p.done(slow, original) // too late
	if err := p.c.await(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		fmt.Sprintf("out/%s/part-%05d", first.Name(testApp), first.Index), fmt.Sprintf("out/%s/part-%05d", twin.Name(testApp), twin.Index),
	}
	slices.SortFunc(want, func(a, b string) int { return int(a[len(a)-1]) - int(b[len(b)-1]) })
	if got := p.c.parts(); !slices.Equal(got, want) {
		t.Errorf("output %v instead of %v", got, want)
	}
	if n, m := p.c.counters.Get(job.JobGroup, job.KilledMaps), p.c.counters.Get(job.JobGroup, job.LaunchedMaps); n != 1 || m != 3 {
		t.Errorf("%d attempts were ended, %d launched", n, m)
	}
	p.check(t)
}
