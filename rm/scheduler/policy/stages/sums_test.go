package stages

import (
	"math"
	"slices"
	"testing"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

func grant(c handle.Container, a leaf.App, priority, left int32, since int64) leaf.Grant {
	return leaf.Grant{Container: c, Resource: small, Since: since, Ask: ask(a, priority, 0, left, small)}
}

// The leaf is what its stages hold and what it could get besides. What it is of is measured in the resources that count, and nothing else.
func TestSharesAreOfTheDominantResource(t *testing.T) {
	for name, x := range map[string]struct {
		types int
		free  records.Resource
		of    records.Resource
		want  float64
	}{
		"memory alone":           {1, records.NewResource(9*1024, 0), wide, 0.1},
		"cores dominate":         {2, records.NewResource(9*1024, 9), wide, 0.4},
		"memory dominates":       {2, records.NewResource(9*1024, 99), wide, 0.1},
		"more than there is":     {2, records.NewResource(0, 1), wide, 2},
		"what is lacking counts": {2, records.NewResource(-5*1024, -5), wide, 4}, // as nothing
		"nothing is measured":    {0, records.NewResource(9*1024, 9), wide, 0},
	} {
		var b Book
		a := job(0)
		b.Asked(ask(a, 20, 0, 1, small))
		b.Granted(a, grant(0, a, 20, 0, 0))
		b.Granted(leaf.App{Handle: 1, Seq: 1, Type: "SPARK"}, leaf.Grant{Container: 1, Resource: small}) // of no stage
		b.Tick(0, &leaf.Queue{Free: x.free, Types: x.types})
		if got := b.Share(&x.of); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
		if got := b.Used(Map); x.types > 0 && math.Abs(got-b.Share(&small)) > 1e-9 || b.Used(Reduce) != 0 {
			t.Errorf("%s: maps have %v and reduces %v of the leaf, which has one container of maps and one of no stage", name, got, b.Used(Reduce))
		}
	}
}

// How long a task takes is known from its stage of the job, else from that stage of all jobs, else from the job's other stage.
func TestMeansComeFromTheNearestThatIsKnown(t *testing.T) {
	var b Book
	queue := &leaf.Queue{Free: records.NewResource(9*1024, 9), Types: 2}
	first, second := job(0), job(1)
	b.Tick(0, queue)
	b.Asked(ask(first, 20, 0, 2, small))
	b.Asked(ask(second, 20, 0, 2, small))
	expect := func(when string, want [4]float64) {
		t.Helper()
		x, y := b.Job(0), b.Job(1)
		if got := [4]float64{b.Mean(x, Map), b.Mean(x, Reduce), b.Mean(y, Map), b.Mean(y, Reduce)}; got != want {
			t.Errorf("%s: maps and reduces of two jobs take %v, want %v", when, got, want)
		}
	}
	expect("nothing is known", [4]float64{1, 1, 1, 1})
	b.Granted(first, grant(0, first, 20, 1, 0))
	b.Ended(leaf.Outcome{Container: 0})
	b.Tick(4000, queue)
	expect("a map", [4]float64{4, 4, 4, 1})
	b.Granted(second, grant(1, second, 20, 1, 4000))
	b.Ended(leaf.Outcome{Container: 1})
	b.Tick(10_000, queue)
	expect("a map of each", [4]float64{4, 4, 6, 6})
	b.Granted(first, grant(2, first, 10, 0, 10_000))
	b.Ended(leaf.Outcome{Container: 2})
	b.Tick(12_000, queue)
	expect("a reduce of one", [4]float64{4, 2, 6, 2})
	b.Granted(first, grant(3, first, 20, 0, 20_000)) // later than the next Tick
	b.Ended(leaf.Outcome{Container: 3})
	b.Tick(12_001, queue)
	expect("one that took no time", [4]float64{2, 2, 6, 2})
}

// The last pending map was granted when none was left. A later one, of a request that came later, is the last one then.
func TestSinceTheLastMap(t *testing.T) {
	var b Book
	queue := &leaf.Queue{Free: records.NewResource(9*1024, 9), Types: 2}
	a := job(0)
	b.Tick(0, queue)
	b.Asked(ask(a, 20, 0, 2, small))
	for i, x := range []struct {
		priority, left int32
		since, now     int64
		want           float64
	}{{20, 1, 1000, 5000, 5}, {20, 0, 6000, 7500, 1.5}, {10, 0, 8000, 9000, 3}, {20, 0, 9500, 9000, 0}} {
		b.Granted(a, grant(handle.Container(i), a, x.priority, x.left, x.since))
		b.Tick(x.now, queue)
		if got := b.SinceLastMap(b.Job(0)); got != x.want {
			t.Errorf("%d: %v s, want %v", i, got, x.want)
		}
	}
}

// Progress is the part of the tasks that has ended. It is none before there are tasks, and never less.
func TestProgress(t *testing.T) {
	for name, x := range map[string]struct {
		of   Tally
		want float64
	}{
		"no tasks":             {Tally{}, 0},
		"none has ended":       {Tally{Granted: 2, Running: 2, Pending: 2}, 0},
		"one of four":          {Tally{Granted: 4, Running: 3}, 0.25},
		"all":                  {Tally{Granted: 4}, 1},
		"reruns are no tasks":  {Tally{Granted: 4, Running: 1, Pending: 1, reruns: 1}, 0.5},
		"more left than tasks": {Tally{Granted: 1, Running: 3}, 0},
	} {
		if got := x.of.Progress(); got != x.want {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}

// Jobs are kept by submission, whoever is heard of first. What has gone isn't known any more, and its containers count no more.
func TestJobsComeAndGo(t *testing.T) {
	var b Book
	queue := &leaf.Queue{Free: records.NewResource(9*1024, 9), Types: 2}
	for _, x := range []struct {
		h   handle.App
		seq int64
	}{{3, 30}, {0, 50}, {1, 10}} {
		b.Asked(ask(leaf.App{Handle: x.h, Seq: x.seq, Type: Type}, 20, 0, 1, small))
	}
	order := func() (seqs []int64) {
		for _, j := range b.Jobs {
			seqs = append(seqs, j.Seq)
		}
		return seqs
	}
	if got := order(); !slices.Equal(got, []int64{10, 30, 50}) {
		t.Errorf("jobs: %v", got)
	}
	for h, known := range map[handle.App]bool{-1: false, 0: true, 1: true, 2: false, 3: true, 4: false} {
		if got := b.Job(h) != nil; got != known {
			t.Errorf("application %d is known: %t", h, got)
		}
	}
	third := leaf.App{Handle: 3, Seq: 30, Type: Type}
	b.Granted(third, grant(0, third, 20, 0, 0))
	b.Granted(third, grant(1, third, 20, 0, 0))
	b.Ended(leaf.Outcome{Container: 1})
	b.Left(3)
	b.Left(3)
	b.Left(99)
	b.Tick(8000, queue)
	if got := order(); !slices.Equal(got, []int64{10, 50}) || b.Used(Map) != 0 || b.Mean(b.Job(0), Map) != 1 {
		t.Errorf("jobs: %v; maps hold %v and take %v s", got, b.Used(Map), b.Mean(b.Job(0), Map))
	}
	for _, c := range []handle.Container{0, 1, 2, 50} {
		if j := b.Ended(leaf.Outcome{Container: c}); j != nil {
			t.Errorf("container %d was of job %d", c, j.Seq)
		}
	}
}

// A leaf looks again at jobs with stages, at each once in a row, and at all where that is asked for.
func TestChangesNameJobsWithStages(t *testing.T) {
	var b Book
	for h, of := range []string{Type, "SPARK", Type} {
		b.Asked(ask(leaf.App{Handle: handle.App(h), Seq: int64(h), Type: of}, 20, 0, 1, small))
	}
	var c Changes
	for _, j := range []*Job{nil, b.Job(0), b.Job(0), b.Job(1), b.Job(2), b.Job(0)} {
		c.Note(j)
	}
	if got := c.Take(); !slices.Equal(got, []handle.App{0, 2, 0}) {
		t.Errorf("noted: %v", got)
	}
	if got := c.Take(); len(got) != 0 {
		t.Errorf("taken twice: %v", got)
	}
	c.Note(b.Job(2))
	c.NoteAll(&b)
	if got := c.Take(); !slices.Equal(got, []handle.App{0, 1, 2}) {
		t.Errorf("of all: %v", got)
	}
}

// With up to 64 jobs all is summed up each time, with more of them each 100 ms, or when the clock was set back.
func TestSumsOfManyJobsAreMadeEachInterval(t *testing.T) {
	for jobs, want := range map[int][]bool{64: {true, true, true, true, true, true}, 65: {true, false, true, false, true, false}} {
		var b Book
		for h := range jobs {
			b.Asked(ask(job(handle.App(h)), 20, 0, 1, small))
		}
		var got []bool
		for _, now := range []int64{1000, 1099, 1100, 1101, 500, 599} {
			got = append(got, b.Due(now))
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %d jobs: %v, want %v", jobs, got, want)
		}
	}
}
