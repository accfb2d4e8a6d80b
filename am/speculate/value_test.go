package speculate

import (
	"math"
	"testing"
	"time"

	"heddle/am/stage"
)

// halfway is a Speculator that knows one node, on which maps take 20 ± 2 s and get on by 5 % a second, and a map there that is half
// done after 12 s: it got on by 2.5 % a second in the latest epoch.
func halfway() (*ESplash, *stage.Running) {
	e := &ESplash{nodes: make([]performance, 1), classes: []int{1}, highest: 1, table: make([][stages]statistics, 2)}
	e.table[1][stage.Map] = statistics{mean: 20, dev: 2, rate: 0.05, rated: 2}
	*e.track(id(0)) = track{seen: true, progress: 0.5, rate: 0.025, rated: true}
	return e, &stage.Running{ID: id(0), Progress: 0.5, Attempts: 1}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// Section 5.2.2, SV: a task adds (EstT − mean)/dev and the ratio of the rates, here without the 1 of a healthy one; the value is a
// moving average of it.
func TestStragglerValueOfSection522(t *testing.T) {
	e, x := halfway()
	now := 12 * time.Second
	if got := e.deficit(now, x, e.track(x.ID)); !near(got, (24-20)/2.+(0.05/0.025-1)) {
		t.Errorf("a task adds %v", got)
	}
	for i, want := range []float64{1, 1 + (3-1)/3.} {
		e.judge(&stage.Round{Now: now, Running: []stage.Running{*x}})
		if got := e.nodes[0].value; !near(got, want) {
			t.Errorf("the value is %v after %d epochs", got, i+1)
		}
	}
	e.track(x.ID).rate = 0
	if got := e.deficit(100*time.Hour, x, e.track(x.ID)); !near(got, 2*bound-1) {
		t.Errorf("one that is stuck adds %v", got)
	}
}

// Section 5.2.2, ST: mean and deviation of what the nodes of a class took, later ones weighing more, and the mean progress of what runs
// there; the first line is for all classes.
func TestStatisticsOfSection522(t *testing.T) {
	e := &ESplash{nodes: make([]performance, 3), classes: []int{1, 1, 2}, highest: 2}
	e.nodes[0].done[stage.Map] = moments{n: 2, sum: 30 + 50, sq: 900 + 2500}
	e.nodes[1].done[stage.Map] = moments{n: 2, sum: 40 + 40, sq: 1600 + 1600}
	e.nodes[2].done[stage.Map] = moments{n: 4, sum: 80, sq: 1600}
	e.summarize()
	for class, want := range map[int][2]float64{1: {40, math.Sqrt(50)}, 2: {20, 0.05 * 20}, 0: {30, math.Sqrt(8200/8. - 900)}} {
		if got := e.table[class][stage.Map]; !near(got.mean, want[0]) || !near(got.dev, want[1]) {
			t.Errorf("level %d: %v ± %v instead of %v", class, got.mean, got.dev, want)
		}
	}
	if !math.IsNaN(e.table[1][stage.Reduce].mean) {
		t.Errorf("reduces take %v, and none has finished", e.table[1][stage.Reduce].mean)
	}
	r := &stage.Round{}
	for n := range 3 {
		r.Running = append(r.Running, stage.Running{ID: id(n), Node: n, Attempts: 1})
	}
	e.measure(r)
	r.Now = 10 * time.Second
	for n, p := range []float64{0.1, 0.3, 0.8} {
		r.Running[n].Progress = p
	}
	e.measure(r)
	for class, want := range []float64{0.04, 0.02, 0.08} {
		if got := e.table[class][stage.Map].rate; !near(got, want) {
			t.Errorf("level %d: progress of %v a second instead of %v", class, got, want)
		}
	}
}

// What remains is EstEnd of equation 5.1 or, if that is more, what the rate of the latest epoch gives.
func TestRemainingTime(t *testing.T) {
	e, x := halfway()
	for rate, want := range map[float64]float64{0.025: 20, 0.1: 12, 0: forever} {
		e.track(x.ID).rate = rate
		if got := e.remaining(12*time.Second, x); !near(got, want) {
			t.Errorf("%v s at a rate of %v", got, rate)
		}
	}
}

// A node's times are those of its latest tasks.
func TestEarlierExecutionsFade(t *testing.T) {
	var m moments
	for range 200 {
		m.add(40)
	}
	for range 100 {
		m.add(10)
	}
	if got := m.sum / m.n; got > 15 {
		t.Errorf("the mean is %v after 200 executions of 40 s and 100 of 10 s", got)
	}
}

// Hadoop's cap: as many copies as a tenth of what runs, but 10 in any case.
func TestLateMakesSoManyCopies(t *testing.T) {
	for _, c := range []struct{ copied, alone, want int }{{9, 1, 1}, {10, 1, 0}, {10, 100, 1}, {15, 100, 0}} {
		l := &Late{}
		for range 20 { // more than 5 % of the tasks
			l.Ended(stage.Map, 0, 10*time.Second)
		}
		r := &stage.Round{Now: time.Minute}
		for i := range c.copied {
			r.Running = append(r.Running, stage.Running{ID: id(i), Attempts: 2}, stage.Running{ID: id(i), Attempts: 2})
		}
		for i := range c.alone {
			r.Running = append(r.Running, stage.Running{ID: id(c.copied + i), Attempts: 1})
		}
		if got := l.Round(r); len(got) != c.want {
			t.Errorf("%+v: %d copies", c, len(got))
		}
	}
}
