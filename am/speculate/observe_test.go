package speculate

import (
	"math"
	"slices"
	"testing"
	"time"

	"heddle/am/stage"
)

// What is told of nodes and stages that there aren't is passed over, and a progress is a number from 0 to 1.
func TestObservationsThatMakeNoSense(t *testing.T) {
	e := &ESplash{}
	e.Ended(stage.Map, -1, time.Second)
	e.Ended(stages, 0, time.Second)
	if len(e.nodes) != 0 {
		t.Errorf("%+v", e.nodes)
	}
	e.Ended(stage.Map, 2, -time.Second)
	if len(e.nodes) != 3 || len(e.classes) != 3 || e.nodes[2].done[stage.Map].sum != 1e-3 {
		t.Errorf("%+v", e.nodes)
	}
	l := &Late{}
	l.Ended(stages, 0, time.Second)
	for p, want := range map[float64]float64{-1: 0, 0: 0, 0.25: 0.25, 1: 1, 1.5: 1, math.Inf(1): 1, math.Inf(-1): 0} {
		if got := sane(p); got != want {
			t.Errorf("%v counts as %v", p, got)
		}
	}
	if got := sane(math.NaN()); got != 0 {
		t.Errorf("NaN counts as %v", got)
	}
	if e.straggles(-1) || e.straggles(9) {
		t.Error("a node that isn't there straggles")
	}
	for _, n := range []int{-1, 9} {
		if class, straggles := e.Class(n); class != 0 || straggles {
			t.Errorf("node %d is on level %d", n, class)
		}
	}
}

// Each execution weighs 0.98 of the one that follows it (the moments of ST, section 5.2.2).
func TestExecutionsAreWeighed(t *testing.T) {
	var m moments
	m.add(10)
	m.add(20)
	m.add(40)
	if want := (moments{0.98*0.98 + 0.98 + 1, 10*0.98*0.98 + 20*0.98 + 40, 100*0.98*0.98 + 400*0.98 + 1600}); math.Abs(m.n-want.n)+math.Abs(m.sum-want.sum)+math.Abs(m.sq-want.sq) > 1e-9 {
		t.Errorf("%+v instead of %+v", m, want)
	}
}

// Section 5.2.2, ST: mean and deviation by class and type, and of all nodes; a deviation is 5 % of the mean at least.
func TestStatisticsTableOfSection522(t *testing.T) {
	e := &ESplash{}
	for n, x := range [][]float64{{10, 10}, {20, 30}, {25}} {
		for _, s := range x {
			e.Ended(stage.Map, n, time.Duration(s*float64(time.Second)))
		}
	}
	e.Round(&stage.Round{Slots: []int{1, 1, 1, 1}, Classes: []int{2, 1, 1}})
	for class, want := range []struct{ mean, dev float64 }{{math.NaN(), 0}, {25, 4}, {10, 0.5}} {
		if c := e.table[class][stage.Map]; class > 0 && (math.Abs(c.mean-want.mean) > 0.2 || math.Abs(c.dev-want.dev) > 0.2) {
			t.Errorf("level %d: %+v", class, c)
		}
	}
	if c := e.table[0][stage.Map]; math.Abs(c.mean-19) > 0.2 || math.Abs(c.dev-8) > 0.2 {
		t.Errorf("all: %+v", c)
	}
	if c := e.table[1][stage.Reduce]; !math.IsNaN(c.mean) {
		t.Errorf("reduces, of which none has ended: %+v", c)
	}
}

// Classes that somebody else has decided count as they are. A node that isn't on the list has none.
func TestLevelsFromElsewhere(t *testing.T) {
	e := &ESplash{}
	for n := range 3 {
		e.Ended(stage.Map, n, time.Second)
	}
	r := &stage.Round{Slots: []int{1, 1, 1, 1}}
	look := func(classes []int, want ...int) {
		t.Helper()
		r.Classes = classes
		e.Round(r)
		if !slices.Equal(e.classes, want) || e.highest != max(0, slices.Max(want)) || len(e.table) != e.highest+1 {
			t.Errorf("%v: levels %v up to %d", classes, e.classes, e.highest)
		}
	}
	look([]int{3, -1, 1}, 3, 0, 1, 0)
	look([]int{1, 2, 1, 5, 9}, 1, 2, 1, 5)
	look([]int{}, 0, 0, 0, 0)
}

// Nodes are sorted into classes at first, and again every ten seconds.
func TestLevelsAreMadeNowAndThen(t *testing.T) {
	e := &ESplash{}
	r := &stage.Round{Now: 50 * time.Second, Slots: []int{1, 1}}
	look := func(after time.Duration, want ...int) {
		t.Helper()
		r.Now += after
		e.Round(r)
		if !slices.Equal(e.classes, want) {
			t.Errorf("at %v levels %v instead of %v", r.Now, e.classes, want)
		}
	}
	e.Ended(stage.Map, 0, 10*time.Second)
	e.Ended(stage.Map, 1, 10*time.Second)
	look(0, 1, 1)
	for range 50 {
		e.Ended(stage.Map, 1, 40*time.Second)
	}
	look(reclassify-1, 1, 1)
	look(1, 2, 1)
	for range 200 {
		e.Ended(stage.Map, 1, 10*time.Second)
	}
	look(reclassify-1, 2, 1)
	look(1, 1, 1)
}

// Hadoop's bounds: ten copies at once, or a tenth of what runs. An attempt whose time was suspended isn't late, and one that does a
// part of a task isn't quick.
func TestBoundsOfLate(t *testing.T) {
	late := func(change func(*stage.Round)) []stage.Copy {
		l := &Late{}
		for range 20 { // more than 5 % of the tasks
			l.Ended(stage.Map, 0, 20*time.Second)
		}
		r := &stage.Round{Now: 100 * time.Second, Running: []stage.Running{{ID: id(0), Begun: 50 * time.Second, Progress: 0.5, Attempts: 1}}} // ends in 50 s
		change(r)
		return l.Round(r)
	}
	twins := func(n, others int) func(*stage.Round) {
		return func(r *stage.Round) {
			for i := range 2 * n {
				r.Running = append(r.Running, stage.Running{ID: id(1 + i/2), Attempts: 2})
			}
			for i := range others {
				r.Running = append(r.Running, stage.Running{ID: id(1000 + i), Begun: 100 * time.Second, Attempts: 1, Waits: true})
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*stage.Round)
		value  float64 // 0: none
	}{
		"as it is":                {func(*stage.Round) {}, 30},
		"it was suspended":        {func(r *stage.Round) { r.Running[0].Paused = 40 * time.Second }, 0},
		"a bit":                   {func(r *stage.Round) { r.Running[0].Paused = 10 * time.Second }, 20},
		"it does half a task":     {func(r *stage.Round) { r.Running[0].Share = 0.5 }, 40},
		"nothing is known":        {func(r *stage.Round) { r.Running[0].ID.Stage = stage.Reduce }, 0},
		"nine copies":             {twins(9, 0), 30},
		"ten copies":              {twins(10, 0), 0},
		"ten copies of very many": {twins(10, 200), 30},
	} {
		got := late(c.change)
		if (len(got) > 0) != (c.value > 0) || len(got) > 0 && math.Abs(got[0].Value-c.value) > 1e-9 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Of several late attempts the one goes first that wins most, wherever it is on the list.
func TestLateCopiesWhatWinsMost(t *testing.T) {
	for most := range 3 {
		l := &Late{}
		l.Ended(stage.Map, 0, 10*time.Second)
		r := &stage.Round{Now: 100 * time.Second}
		for i := range 3 {
			x := stage.Running{ID: id(i), Begun: 50 * time.Second, Progress: 0.5, Attempts: 1}
			if i == most {
				x.Progress = 0.25
			}
			r.Running = append(r.Running, x)
		}
		if got := l.Round(r); len(got) != 1 || got[0].Of != id(most) || math.Abs(got[0].Value-140) > 1e-9 {
			t.Errorf("%+v instead of a copy of task %d", got, most)
		}
	}
}

// What is known of an attempt isn't that of the next one at the same task, nor of the rest of its work when others do a part of it.
func TestWhatIsKnownIsOfOneAttempt(t *testing.T) {
	e := &ESplash{}
	e.Ended(stage.Map, 0, 20*time.Second)
	r := &stage.Round{Running: []stage.Running{{ID: id(0), Attempts: 1, Share: 1}}, Slots: []int{1}}
	pass := func() {
		for range 3 * epoch / time.Second {
			r.Now += time.Second
			r.Running[0].Progress += 0.01
			e.Round(r)
		}
	}
	pass()
	if !e.rated(r.Running[0].ID) {
		t.Fatal("after three epochs nothing is known")
	}
	next := r.Running[0].ID
	next.Number++
	if e.rated(next) {
		t.Error("what is known of the first attempt counts for the second")
	}
	r.Running[0].Share = 0.5
	r.Now += epoch
	e.Round(r)
	if e.rated(r.Running[0].ID) {
		t.Error("what is known of all of it counts for a part")
	}
	pass()
	if !e.rated(r.Running[0].ID) {
		t.Error("nothing is known of the part after three epochs")
	}
}

// Half a task that gets on with itself twice as fast is as healthy as a whole one: a node is judged by whole tasks (section 5.2.2, SV).
func TestPartsAreJudgedAsWholeTasks(t *testing.T) {
	e := &ESplash{}
	for range 3 {
		e.Ended(stage.Map, 0, 20*time.Second)
	}
	e.Round(&stage.Round{Slots: []int{1}, Classes: []int{1}})
	e.table[1][stage.Map].rate, e.table[1][stage.Map].rated = 0.05, 1
	for _, c := range []struct{ rate, progress float64 }{{0.05, 0.4}, {0.025, 0.2}, {0.01, 0.1}, {0, 0}} {
		whole := &stage.Running{ID: id(0), Progress: c.progress, Share: 1}
		half := &stage.Running{ID: id(1), Progress: 2 * c.progress, Share: 0.5}
		a := e.deficit(10*time.Second, whole, &track{rate: c.rate, rated: true})
		b := e.deficit(10*time.Second, half, &track{rate: 2 * c.rate, rated: true, share: 0.5})
		// The estimates of the two differ by what no progress at all counts as.
		if c.progress > 0 && math.Abs(a-b) > 1e-9 || a > 2*bound-1 || c.rate == 0 && a != 2*bound-1 {
			t.Errorf("%+v: a whole task adds %v, half a task %v", c, a, b)
		}
	}
}

// While a task stands still nothing is known of its pace: only the time in which it has worked counts (section 5.2.2, PR).
func TestPaceOfATaskThatStoodStill(t *testing.T) {
	e := &ESplash{}
	r := &stage.Round{Slots: []int{1}, Running: []stage.Running{{ID: stage.AttemptID{}, Attempts: 1, Share: 1}}}
	x := &r.Running[0]
	e.Round(r)
	r.Now, x.Progress = epoch, 0.1
	e.Round(r)
	still := *x
	r.Now, r.Running = 10*epoch, nil // for nine epochs
	e.Round(r)
	still.Paused, still.Progress = 9*epoch, 0.2
	r.Now, r.Running = 11*epoch, []stage.Running{still}
	e.Round(r)
	if got, want := e.track(still.ID).rate, 0.1/epoch.Seconds(); math.Abs(got-want) > 1e-9 {
		t.Errorf("%v of its work a second instead of %v", got, want)
	}
}
