package stages

import (
	"math"
	"slices"
	"testing"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

var (
	small = records.NewResource(1024, 1)
	wide  = records.NewResource(1024, 4)
)

func ask(a leaf.App, priority int32, id int64, count int32, size records.Resource) leaf.Ask {
	return leaf.Ask{App: a, Priority: priority, RequestID: id, Count: count, Capability: size}
}

func job(h handle.App) leaf.App { return leaf.App{Handle: h, Seq: int64(h), Type: Type} }

func TestStagesByPriority(t *testing.T) {
	mr, spark := job(0), leaf.App{Type: "SPARK"}
	for _, c := range []struct {
		a        *leaf.App
		priority int32
		stage    Stage
		rerun    bool
	}{{&mr, 20, Map, false}, {&mr, 19, Map, false}, {&mr, 5, Map, true}, {&mr, 10, Reduce, false}, {&mr, 0, None, false}, {&mr, leaf.Unknown, None, false}, {&spark, 20, None, false}} {
		if s, rerun := Of(c.a, c.priority); s != c.stage || rerun != c.rerun {
			t.Errorf("%s at %d: %v, rerun %v", c.a.Type, c.priority, s, rerun)
		}
	}
}

// Tasks are counted by asks and grants, and last as long as containers live that have done their work.
func TestBookCountsTasksAndTime(t *testing.T) {
	var b Book
	a := job(0)
	queue := &leaf.Queue{Free: records.NewResource(9*1024, 9), Types: 2}
	b.Tick(1000, queue)
	b.Asked(ask(a, 20, 0, 3, small))
	b.Asked(ask(a, 20, 1, 2, small)) // another request at the same priority
	b.Asked(ask(a, 10, 0, 4, wide))
	b.Tick(1000, queue)
	b.Granted(a, leaf.Grant{Container: 0, Resource: small, Since: 1000, Ask: ask(a, 20, 0, 2, small)})
	b.Granted(a, leaf.Grant{Container: 1, Resource: small, Since: 1000, Ask: ask(a, 20, 0, 1, small)})
	b.Tick(2000, &leaf.Queue{Free: records.NewResource(7*1024, 7), Types: 2})
	j := b.Job(0)
	m := &j.Of[Map]
	if m.Tasks() != 5 || m.Left() != 5 || m.Pending != 3 || m.Running != 2 || m.Known() || j.Of[Reduce].Tasks() != 4 {
		t.Errorf("%+v", m)
	}
	b.Ended(leaf.Outcome{Container: 0, Resource: small})
	b.Ended(leaf.Outcome{Container: 1, Resource: small, Failed: true})
	b.Asked(ask(a, 5, 0, 1, small)) // the failed one again
	b.Tick(11_000, queue)
	if m.Mean() != 10 || m.Tasks() != 5 || m.Left() != 4 || math.Abs(m.Progress()-0.2) > 1e-9 {
		t.Errorf("%d tasks, %d left, mean %v, progress %v", m.Tasks(), m.Left(), m.Mean(), m.Progress())
	}
	// Of a leaf of 9 GB and 9 cores a map is a ninth, a reduce four ninths. Nobody knows how long reduces take: as long as maps.
	if w := b.Work(j, Map); math.Abs(w-4*10/9.) > 1e-9 {
		t.Errorf("%v of work in maps", w)
	}
	if w := b.Work(j, Reduce); math.Abs(w-4*10*4/9.) > 1e-9 {
		t.Errorf("%v of work in reduces", w)
	}
	b.Granted(a, leaf.Grant{Container: 0, Resource: small, Since: 11_000, Ask: ask(a, 5, 0, 0, small)})
	if m.Tasks() != 5 || m.Left() != 4 {
		t.Errorf("with the rerun %d tasks, %d left", m.Tasks(), m.Left())
	}
	// 2 containers for 10 s, and one for 4 s, in 14 s: equation 3.1.
	b.Tick(15_000, &leaf.Queue{Free: records.NewResource(8*1024, 8), Types: 2})
	if r := b.Rate(j, 15_000); math.Abs(r-24/9./14) > 1e-9 {
		t.Errorf("r is %v", r)
	}
	if u, h := b.Used(Map), b.Holds(j, Map); math.Abs(u-1/9.) > 1e-9 || u != h || math.Abs(b.Released()-2/9.) > 1e-9 {
		t.Errorf("maps hold %v, of the job %v, released %v", u, h, b.Released())
	}
	b.Left(0)
	if b.Job(0) != nil || len(b.Jobs) != 0 || b.Used(Map) != 0 {
		t.Errorf("after it has left: %v, %v", b.Jobs, b.Used(Map))
	}
	if j := b.Ended(leaf.Outcome{Container: 0}); j != nil {
		t.Errorf("a container that nobody knows was of job %v", j)
	}
}

// What another leader granted counts, and takes nothing off what is asked for.
func TestRestoredContainers(t *testing.T) {
	var b Book
	a := job(2)
	b.Asked(ask(a, 20, 0, 3, small))
	if _, s := b.Granted(a, leaf.Grant{Container: 7, Resource: small, Restored: true, Ask: leaf.Ask{App: a, Priority: 20}}); s != Map {
		t.Errorf("it is of %v", s)
	}
	if m := &b.Job(2).Of[Map]; m.Pending != 3 || m.Running != 1 || m.Tasks() != 4 {
		t.Errorf("%+v", m)
	}
}

// The size of a stage is that which was asked for last; of what was never asked for, that of its first container. Whoever asks has a job.
func TestBookKnowsSizesOfStages(t *testing.T) {
	var b Book
	a := job(0)
	b.Tick(1000, &leaf.Queue{Free: records.NewResource(9*1024, 9), Types: 2})
	if j := b.Asked(ask(a, 0, 0, 1, wide)); j == nil || j != b.Job(0) {
		t.Errorf("an application that asks for its master has the job %v", j)
	}
	j := b.Asked(ask(a, 20, 0, 2, small))
	b.Granted(a, leaf.Grant{Container: 0, Resource: wide, Since: 1000, Ask: ask(a, 20, 0, 1, small)})
	b.Granted(a, leaf.Grant{Container: 1, Resource: wide, Since: 1000, Restored: true, Ask: ask(a, 10, 0, 0, small)})
	b.Granted(a, leaf.Grant{Container: 2, Resource: small, Since: 1000, Restored: true, Ask: ask(a, 10, 0, 0, small)})
	if j.Of[Map].Size != small || j.Of[Reduce].Size != wide {
		t.Errorf("maps have %v, reduces %v", j.Of[Map].Size, j.Of[Reduce].Size)
	}
}

// Applications are listed by submission, in whatever order they are heard of, and each once.
func TestJobsAreListedBySubmission(t *testing.T) {
	var b Book
	for _, seq := range []int64{5, 2, 9, 7, 2} {
		b.Asked(ask(leaf.App{Handle: handle.App(seq), Seq: seq, Type: Type}, 20, 0, 1, small))
	}
	var got []int64
	for _, j := range b.Jobs {
		got = append(got, j.Seq)
	}
	if !slices.Equal(got, []int64{2, 5, 7, 9}) {
		t.Errorf("listed as %v", got)
	}
}
