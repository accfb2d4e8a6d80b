package speculate

import (
	"testing"
	"time"

	"heddle/am/stage"
	"heddle/internal/speedclass"
)

// Epochs count from the first round, whenever that is: a task has a rate after the second one.
func TestEpochsCountFromTheFirstRound(t *testing.T) {
	e := &ESplash{}
	r := &stage.Round{Slots: []int{1}, Running: []stage.Running{{ID: id(0), Attempts: 1}}}
	for _, c := range []struct {
		at    time.Duration
		rated bool
	}{{50 * time.Second, false}, {50*time.Second + epoch, false}, {50*time.Second + 2*epoch, true}} {
		if r.Now = c.at; e.Round(r) != nil || e.rated(id(0)) != c.rated {
			t.Errorf("at %v it is rated: %v", c.at, !c.rated)
		}
	}
}

// On a node that straggles a task that has just begun isn't copied: its estimate means nothing.
func TestTasksThatHaveJustBegunAreNotCopied(t *testing.T) {
	e, x := halfway()
	e.nodes, e.classes, e.highest = append(e.nodes, performance{}), []int{1, 2}, 2
	e.nodes[0].straggles = true
	e.begun, e.classified = true, 0
	for range 5 {
		e.Ended(stage.Map, 1, 3*time.Second)
	}
	young := *x
	young.ID, young.Progress = id(1), 0.001
	r := &stage.Round{Now: epoch - 1, Slots: []int{1, 4}, Classes: []int{1, 2}, Running: []stage.Running{young, *x}}
	if copies := e.Round(r); len(copies) != 1 || copies[0].Of != x.ID {
		t.Errorf("%+v", copies)
	}
	r.Running = r.Running[:1]
	if copies := e.Round(r); copies != nil {
		t.Errorf("%+v", copies)
	}
}

// Of two attempts at a task the first one that is seen in an epoch counts.
func TestACopyDoesNotHideItsOriginal(t *testing.T) {
	e := &ESplash{}
	copied := id(0)
	copied.Number = 1
	r := &stage.Round{Slots: []int{1, 1}, Running: []stage.Running{
		{ID: id(0), Attempts: 2, Progress: 0.1}, {ID: copied, Node: 1, Attempts: 2, Progress: 0.9},
	}}
	for range 3 {
		e.Round(r)
		r.Now += epoch
	}
	if k := e.track(id(0)); k.number != 0 || k.progress != 0.1 || !k.rated {
		t.Errorf("%+v", k)
	}
}

// Algorithm 5.2.3: a class without containers, or on which nothing has finished, is none that a copy could go to.
func TestLevelsWithoutContainersArePassedOver(t *testing.T) {
	for name, c := range map[string]struct {
		containers, means []float64
		want              int
	}{
		"no containers":     {[]float64{0, 0, 2}, []float64{none, 5, 5}, 2},
		"nothing finished":  {[]float64{0, 3, 2}, []float64{none, none, 5}, 2},
		"nobody knows":      {[]float64{0, 3, 2}, []float64{none, none, none}, 0},
		"equal expectation": {[]float64{0, 3, 2}, []float64{none, 5, 5}, 1},
	} {
		if got, _ := leastClass(c.containers, c.means, 1, 100); got != c.want {
			t.Errorf("%s: level %d instead of %d", name, got, c.want)
		}
	}
}

// A copy does as much as its original: of half a map it takes half as long as of a whole one.
func TestCopyOfAPartOfATask(t *testing.T) {
	e, x := halfway()
	e.nodes, e.classes, e.highest = append(e.nodes, performance{}), []int{1, 2}, 2
	e.table = append(e.table, [stages]statistics{stage.Map: {mean: 15, dev: 1}})
	e.nodes[0].straggles = true
	e.count = []float64{0, 0, 4}
	x.Share = 0.5 // 10 s of the 12 s that it took are left at its rate; a copy takes 7.5 s
	e.track(x.ID).rate, e.track(x.ID).progress = 0.05, 0.5
	if !e.Worth(stage.Copy{}, 10*time.Second, *x, 1) {
		t.Error("7.5 s are less than 10")
	}
	x.Share = 1
	if e.Worth(stage.Copy{}, 10*time.Second, *x, 1) {
		t.Error("15 s are more than 10")
	}
}

// There are four classes at most (section 5.3.2).
func TestNumberOfLevels(t *testing.T) {
	e := &ESplash{}
	for n, s := range []int{10, 20, 40, 80, 160, 320} {
		e.Ended(stage.Map, n, time.Duration(s)*time.Second)
	}
	e.Round(&stage.Round{Slots: make([]int, 6)})
	if e.highest != speedclass.Most {
		t.Errorf("%d levels: %v", e.highest, e.classes)
	}
}

// A cut is of the attempt that wins most by it, wherever that is. A node of which no slots are told has none that are idle.
func TestCutIsOfTheSlowest(t *testing.T) {
	s, r := splitting(0.1, 1, 4, 8)
	slow := r.Running[0]
	slow.ID = id(7)
	*s.track(id(7)) = *s.track(id(0))
	s.track(id(7)).rate *= 0.8
	r.Running = append(r.Running, slow, stage.Running{ID: id(8), Node: len(r.Slots), Attempts: 1, Share: 1})
	if cuts := s.Split(r); len(cuts) != 1 || cuts[0].Of != id(7) {
		t.Errorf("%+v", cuts)
	}
}

// The candidate that wins most goes first, wherever it stands (section 5.2.3).
func TestLargestValueGoesFirst(t *testing.T) {
	e, x := halfway()
	e.nodes, e.classes = append(e.nodes, performance{}), []int{1, 2}
	e.nodes[0].straggles, e.begun = true, true
	for range 5 {
		e.Ended(stage.Map, 1, 3*time.Second)
	}
	slow := *x
	slow.ID = id(1)
	*e.track(slow.ID) = track{seen: true, progress: 0.5, rate: 0.01, rated: true}
	for _, running := range [][]stage.Running{{slow, *x}, {*x, slow}} {
		if copies := e.Round(&stage.Round{Now: epoch - 1, Slots: []int{1, 4}, Classes: []int{1, 2}, Running: running}); len(copies) != 1 || copies[0].Of != slow.ID {
			t.Errorf("%+v", copies)
		}
	}
}

// What is measured of an attempt is its own progress, by its part of a task: class 0 counts each task once, and where nothing runs there is no rate.
func TestRatesOfAttempts(t *testing.T) {
	e := &ESplash{nodes: make([]performance, 2), classes: []int{0, 1}, highest: 1, table: make([][stages]statistics, 2)}
	r := &stage.Round{Running: []stage.Running{{ID: id(0), Attempts: 1, Share: 0.5}, {ID: id(1), Node: 1, Attempts: 1}}}
	e.measure(r)
	r.Now, r.Running[0].Progress, r.Running[1].Progress = epoch, 0.3, 0.6
	e.measure(r)
	own := [2]float64{0.3 * 0.5 / epoch.Seconds(), 0.6 / epoch.Seconds()}
	if all, one := e.table[0][stage.Map].rate, e.table[1][stage.Map].rate; !near(all, (own[0]+own[1])/2) || !near(one, own[1]) {
		t.Errorf("rates %v and %v", all, one)
	}
	if got := e.table[0][stage.Reduce].rate; got != 0 {
		t.Errorf("reduces get on at %v, and none runs", got)
	}
	r.Now, r.Running[0].ID.Number, r.Running[0].Progress = 2*epoch, 1, 0.9
	if e.measure(r); e.rated(r.Running[0].ID) {
		t.Error("an attempt is rated by what another one had done")
	}
}

// The straggler value is a mean over the tasks of a node. One that is quicker than others adds nothing.
func TestStragglerValueIsAMean(t *testing.T) {
	e, x := halfway()
	if got := e.deficit(8*time.Second, x, e.track(x.ID)); !near(got, 1) {
		t.Errorf("it will end after 16 s, others after 20, and it adds %v", got)
	}
	other := *x
	other.ID = id(1)
	*e.track(other.ID) = *e.track(x.ID)
	e.judge(&stage.Round{Now: 12 * time.Second, Running: []stage.Running{*x, other}})
	if got := e.nodes[0].value; !near(got, 1) {
		t.Errorf("two tasks that add 3 each make a value of %v after an epoch", got)
	}
}

// What remains is 0 of an attempt that has done all, and known by its estimate of one that has no rate yet.
func TestWhatRemains(t *testing.T) {
	e, x := halfway()
	now := 10 * time.Second
	if got := e.remaining(now, x); !near(got, 20) {
		t.Errorf("%v s at its rate", got)
	}
	e.track(x.ID).rated = false
	if got := e.remaining(now, x); !near(got, 10) {
		t.Errorf("%v s by its estimate", got)
	}
	e.track(x.ID).rated, e.track(x.ID).rate, x.Progress = true, 0, 1
	if got := e.remaining(now, x); got != 0 {
		t.Errorf("%v s of one that has done all", got)
	}
}

// A copy goes to the original's class or above; to lower ones only if there is none.
func TestPlanBeginsWithTheLevelOfTheOriginal(t *testing.T) {
	e, x := halfway()
	at := func(class int, counts, means []float64) (minL int) {
		e.classes[0], e.highest, e.count = class, len(counts)-1, counts
		e.table = e.table[:0]
		for _, m := range means {
			e.table = append(e.table, [stages]statistics{stage.Map: {mean: m}})
		}
		minL, _ = e.plan(12*time.Second, x)
		return minL
	}
	for _, c := range []struct {
		class         int
		counts, means []float64
		want          int
	}{
		{1, []float64{0, 2, 2}, []float64{none, 10, 10}, 1},
		{2, []float64{0, 4, 4}, []float64{none, 5, 10}, 2},
		{2, []float64{0, 4, 0}, []float64{none, 5, 10}, 1},
		{0, []float64{0, 4, 0}, []float64{none, 5, 10}, 1},
	} {
		if got := at(c.class, c.counts, c.means); got != c.want {
			t.Errorf("%+v: level %d", c, got)
		}
	}
}

// Nothing is worth a copy that has no rate, and no node that isn't known hosts one. LATE doesn't ask.
func TestWorthAtItsEdges(t *testing.T) {
	e, x := halfway()
	e.nodes, e.classes, e.highest = append(e.nodes, performance{}), []int{1, 2}, 2
	e.table = append(e.table, [stages]statistics{stage.Map: {mean: 3, dev: 1}})
	e.nodes[0].straggles, e.count = true, []float64{0, 0, 4}
	now := 12 * time.Second
	for node, want := range map[int]bool{-1: true, 0: false, 1: true, 2: false, 99: false} {
		if got := e.Worth(stage.Copy{}, now, *x, node); got != want {
			t.Errorf("on node %d: %v", node, got)
		}
	}
	if e.straggles(len(e.nodes)) {
		t.Error("a node that isn't known straggles")
	}
	e.track(x.ID).rated = false
	if e.Worth(stage.Copy{}, now, *x, 1) {
		t.Error("it has just begun")
	}
	if !(*Late)(nil).Worth(stage.Copy{}, now, *x, 0) {
		t.Error("LATE asks")
	}
}

// LATE proposes a copy each 15 s, and none of what has one.
func TestLateProposesNowAndThen(t *testing.T) {
	l := &Late{}
	l.Ended(stage.Map, 0, time.Second)
	r := &stage.Round{Now: 100 * time.Second, Running: []stage.Running{{ID: id(0), Attempts: 2, Progress: 0.1}}}
	if copies := l.Round(r); copies != nil {
		t.Errorf("%+v", copies)
	}
	r.Running[0].Attempts = 1
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {retryAfter - 1, 0}, {1, 1}} {
		r.Now += c.after
		if copies := l.Round(r); len(copies) != c.want {
			t.Errorf("at %v: %+v", r.Now, copies)
		}
	}
}

// A small gain isn't worth a cut. What is better divided isn't copied; what can't be divided is.
func TestCutsAndCopies(t *testing.T) {
	s, r := splitting(1, 1, 1, 15)
	if cuts := s.Split(r); cuts != nil {
		t.Errorf("%+v, to win 1.5 s", cuts)
	}
	s, r = splitting(0.02, 1, 4, 8)
	s.nodes[0].straggles = true
	if copies := s.ESplash.Round(r); len(copies) != 1 {
		t.Fatalf("it isn't worth a copy: %+v", copies)
	}
	r.Running[0].Progress = 0.3
	s.track(id(0)).rate = 0.02 / 20
	if copies := s.Round(r); len(copies) > 0 && s.Split(r) != nil {
		t.Errorf("%+v, and %+v", copies, s.Split(r))
	}
	r.Running[0].Fixed = true
	if copies := s.Round(r); len(copies) != 1 {
		t.Errorf("it can't be divided, and the copies are %+v", copies)
	}
}
