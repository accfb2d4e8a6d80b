package mapreduce

import (
	"math"
	"slices"
	"testing"
	"time"

	"heddle/am"
	"heddle/am/mapreduce/job"
	"heddle/am/stage"
)

// The ResourceManager is told of each node how long tasks took there, and where the stages are.
func TestWhatIsLearnedIsReported(t *testing.T) {
	p := newPlay(3, 1)
	fast, slow := p.grant("fast"), p.grant("slow")
	run := func(worker string, took time.Duration) {
		t.Helper()
		r, err := p.next(worker)
		if err != nil || r.Task == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		p.later(took)
		if _, err := p.c.finished(t.Context(), &job.DoneReport{Worker: worker, ID: r.Task.ID, OutBytes: 100}); err != nil {
			t.Fatal(err)
		}
	}
	run(fast, 2*time.Second)
	run(fast, 4*time.Second)
	run(slow, 9*time.Second)
	p.c.relieve()
	want := []am.Performance{
		{Host: "fast", Tasks: 1, Mean: 2}, {Host: "fast", Tasks: 2, Mean: 3}, {Host: "slow", Tasks: 1, Mean: 9},
	}
	if !slices.Equal(p.cluster.ran, want) {
		t.Errorf("told of %+v, want %+v", p.cluster.ran, want)
	}
	if r, want := p.cluster.stages, (am.StageReport{Maps: 3, OutputBytes: 300, Released: 3, Left: 1}); r != want {
		t.Errorf("told of stages %+v, want %+v", r, want)
	}
	p.c.learned.divided(1, 3)
	for _, id := range []job.TaskID{{Kind: job.Map, Index: 1}, {Kind: job.Map, Index: 3}} {
		if !p.c.learned.partial(attemptOf(id).TaskID) {
			t.Errorf("%v measures a node", id)
		}
	}
	if p.c.learned.partial(attemptOf(job.TaskID{Kind: job.Map, Index: 2}).TaskID) {
		t.Error("no map measures a node any more")
	}
}

// Hints reach the starter of reduces.
func TestHintsReachThePlanner(t *testing.T) {
	p := newPlay(3, 1)
	p.c.hinted(am.Hinted{Hints: am.Hints{Frequency: 2, Available: 30, Jobs: 4, Bandwidth: 5e6}, Classes: map[string]int{"fast": 2}})
	if h := p.c.planner.Facts().Hints; h.Frequency != 2 || h.Available != 30 || h.Jobs != 4 || h.Bandwidth != 5e6 {
		t.Errorf("the planner knows %+v", h)
	}
	for _, c := range []struct {
		start job.Start
		copy  string
		wants bool
	}{{0, "", false}, {job.StartLazily, "", true}, {0, job.SpeculateESplash, true}, {0, job.SpeculateLate, true}, {0, job.SpeculateNone, false}} {
		p.c.spec.Start, p.c.spec.Job.Speculation = c.start, c.copy
		if usesHints(p.c.spec) != c.wants {
			t.Errorf("%+v: it wants hints: %v", c, !c.wants)
		}
	}
}

// While maps run, the ResourceManager is told how many are left, and by the outputs so far what they and the reduces have still to do. A job that
// makes copies says how many of its tasks are too young to judge.
func TestWhatIsToldOfTasksAndCopies(t *testing.T) {
	f := &stage.Facts{
		Maps: stage.Stat{Tasks: 10, Waiting: 2, Running: 4, Done: 4, OutBytes: 400}, Reduces: stage.Stat{Tasks: 4, Waiting: 2, Running: 2},
		Young: 5, Detection: 6 * time.Second,
	}
	var l learned
	want := am.StageReport{Maps: 4, OutputBytes: 400, Left: 6, Copies: true, Young: 5, Detection: 6 * time.Second, ToRead: 1000 - 200, ToMake: 600}
	if r := l.reportOf(f); r != want {
		t.Errorf("told %+v, want %+v", r, want)
	}
	f.Detection, f.Reduces = 0, stage.Stat{}
	if r := l.reportOf(f); r.Copies || r.ToRead != 0 || r.ToMake != 0 || r.Left != 6 {
		t.Errorf("without reduces and copies: %+v", r)
	}
	f = &stage.Facts{Maps: stage.Stat{Tasks: 10, Done: 10, OutBytes: 1000}, Reduces: stage.Stat{Tasks: 4, Running: 1, Done: 3}}
	if r := l.reportOf(f); r.Left != 1 || r.ToMake != 0 {
		t.Errorf("in the last phase: %+v", r)
	}
}

// Once fifty attempts of a stage have ended, the ResourceManager is told the shape of the distribution of their times. Those that others have
// overtaken count with the time that they had.
func TestTheShapeOfTimesIsTold(t *testing.T) {
	var l learned
	maps := &stage.Facts{Maps: stage.Stat{Tasks: 500, Waiting: 300}}
	const beta = 1.4
	for i := range 100 {
		took := time.Duration(math.Pow(1-(float64(i)+.5)/100, -1/beta) * float64(time.Second))
		if i == 49 {
			if r := l.reportOf(maps); r.Beta != 0 || r.Ended != 0 {
				t.Errorf("after %d: %+v", i, r)
			}
		}
		a := &stage.Attempt{ID: stage.AttemptID{TaskID: stage.TaskID{Stage: stage.Map, Index: i}}, Begun: time.Second, Ended: time.Second + took}
		if took < 4*time.Second {
			l.learn(a, "host", func(am.Performance) {})
			continue
		}
		a.Ended = 5 * time.Second
		l.overtaken(a)
	}
	if r := l.reportOf(maps); math.Abs(r.Beta-beta) > .051 || r.Ended != 86 {
		t.Errorf("told β %v of %d tasks, want %v of 86", r.Beta, r.Ended, beta)
	}
	if r := l.reportOf(&stage.Facts{Reduces: stage.Stat{Tasks: 5}}); r.Beta != 0 {
		t.Errorf("of reduces, of which none has ended: %v", r.Beta)
	}
}
