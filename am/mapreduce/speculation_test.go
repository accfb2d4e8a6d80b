package mapreduce

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
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
	r, err := p.report(&job.ProgressReport{Worker: slow, ID: original})
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

// A worker learns that its task is cancelled when that happens, not with its next report.
func TestCancelledWorkerHearsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayOf(job.Job{Speculation: job.SpeculateLate}, 3, 2)
		p.cluster.nodes = 2
		quick, slow := p.grant("a"), p.grant("b")
		first, original := p.take(t, quick), p.take(t, slow)
		p.pass(10*time.Second, quick, slow)
		p.done(quick, first)
		p.next(quick)
		p.pass(20*time.Second, slow)
		helper := p.grant("a")
		twin := p.take(t, helper)
		began, heard := time.Now(), make(chan job.ProgressResponse)
		report := func() {
			r, _ := p.c.progress(t.Context(), &job.ProgressReport{Worker: slow, ID: original}) // the zero answer says that it goes on
			heard <- r
		}
		go report()
		if r := <-heard; r.Abandon || time.Since(began) != job.ReportEvery {
			t.Fatalf("%+v after %v instead of %v", r, time.Since(began), job.ReportEvery)
		}
		go report()
		synctest.Wait()
		p.done(helper, twin)
		if r := <-heard; !r.Abandon || time.Since(began) != job.ReportEvery {
			t.Errorf("%+v %v after the copy was done", r, time.Since(began)-job.ReportEvery)
		}
	})
}

// Reduces that fetch while maps run don't hide that the only map on their node is stuck.
func TestStuckMapBesideWaitingReducesIsCopied(t *testing.T) {
	p := newPlayOf(job.Job{Speculation: job.SpeculateESplash, Reduces: 3}, 3, 2)
	p.cluster.nodes = 2
	well, stuck := p.grant("a"), p.grant("b")
	first, original := p.take(t, well), p.take(t, stuck)
	p.pass(2*time.Second, stuck)
	p.done(well, first)
	reduces := []string{well, p.grant("b"), p.grant("b")}
	for _, w := range reduces {
		if id := p.take(t, w); id.Kind != job.Reduce {
			t.Fatalf("%v instead of a reduce", id)
		}
	}
	for range 15 {
		for _, w := range reduces {
			p.report(&job.ProgressReport{Worker: w, ID: p.c.workers[w].task.ID, Progress: 1. / 6, Shuffles: true})
		}
		p.pass(time.Second, stuck)
	}
	if len(p.cluster.asks) != 1 {
		t.Fatalf("%d containers are asked for", len(p.cluster.asks))
	}
	for _, r := range p.cluster.asks {
		if r.RelaxLocality || !slices.Equal(r.Hosts, []string{"a"}) || r.Priority != mapPriority {
			t.Errorf("%+v", r)
		}
	}
	if twin := p.take(t, p.grant("a")); twin != (job.TaskID{Kind: job.Map, Index: original.Index, Attempt: 1}) {
		t.Errorf("%v instead of a copy of %v", twin, original)
	}
}
