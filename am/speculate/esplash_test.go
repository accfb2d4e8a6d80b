package speculate

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/am/stage"
)

var none = math.NaN()

func id(i int) stage.AttemptID {
	return stage.AttemptID{TaskID: stage.TaskID{Stage: stage.Map, Index: i}}
}

// Algorithm 5.2.3 and the speculative value of section 5.2.3.
func TestLeastLevelOfAlgorithm523(t *testing.T) {
	for name, c := range map[string]struct {
		containers, means []float64 // class 0 is none
		from              int
		remaining         float64
		minL              int
		value             float64
	}{
		// ExpT(1) = (10·40 + 10·20)/20 = 30, ExpT(2) = 20
		"the fastest is best": {[]float64{0, 10, 10}, []float64{none, 40, 20}, 1, 100, 2, 10 * (100 - 20.) / 20},
		"equal ones count":    {[]float64{0, 10, 10}, []float64{none, 20, 20}, 1, 100, 1, 80},
		// ExpT(3) = 30, ExpT(2) = (300 + 10)/11 = 28.2, ExpT(1) = (310 + 250)/21 = 26.7
		"containers weigh":    {[]float64{0, 10, 1, 10}, []float64{none, 25, 10, 30}, 1, 100, 1, (750 + 90 + 700) / 21.},
		"not below its own":   {[]float64{0, 10, 10, 5}, []float64{none, 5, 30, 20}, 2, 100, 3, 5 * 80. / 25},
		"a level without any": {[]float64{0, 10, 0}, []float64{none, 40, 20}, 1, 100, 1, 60},
		"nothing known there": {[]float64{0, 10, 10}, []float64{none, 40, none}, 1, 100, 1, 10 * 60. / 20},
		"nothing at all":      {[]float64{0, 0, 0}, []float64{none, 40, 20}, 1, 100, 0, 0},
		"only slower ones":    {[]float64{0, 10, 0}, []float64{none, 40, 20}, 2, 100, 0, 0},
		"it ends before":      {[]float64{0, 10}, []float64{none, 40}, 1, 30, 1, -10},
	} {
		minL, value := leastClass(c.containers, c.means, c.from, c.remaining)
		if minL != c.minL || math.Abs(value-c.value) > 1e-9 {
			t.Errorf("%s: level %d, value %v", name, minL, value)
		}
	}
}

// cluster is nodes that do maps, each at its speed: a task takes 20 s at speed 1.
type simulated struct {
	speed []float64
	now   time.Duration
	tasks []stage.Running // a task on each node, with its progress
	next  int
	said  []stage.Copy
}

func simulate(speed ...float64) *simulated {
	s := &simulated{speed: speed}
	for n := range speed {
		s.tasks = append(s.tasks, stage.Running{ID: id(n), Node: n, Attempts: 1})
	}
	s.next = len(speed)
	return s
}

// pass lets nodes work, and a Speculator look each second.
func (s *simulated) pass(p stage.Speculator, seconds int) {
	slots := make([]int, len(s.speed))
	for range seconds {
		s.now += time.Second
		for n := range s.tasks {
			x := &s.tasks[n]
			slots[n] = 1
			if x.Progress += s.speed[n] / 20; x.Progress >= 1 {
				p.Ended(stage.Map, n, s.now-x.Begun)
				*x = stage.Running{ID: id(s.next), Node: n, Begun: s.now, Attempts: 1}
				s.next++
			}
		}
		s.said = append(s.said, p.Round(&stage.Round{Now: s.now, Running: s.tasks, Slots: slots})...)
	}
}

// Section 5.1.2: slow nodes that work as they always do need no copies. Hadoop makes them.
func TestSlowNodesAreNoStragglers(t *testing.T) {
	e, l := &ESplash{}, &Late{}
	a, b := simulate(1, 1, 1, 0.25, 0.25, 0.5, 0.5), simulate(1, 1, 1, 0.25, 0.25, 0.5, 0.5)
	a.pass(e, 400)
	b.pass(l, 400)
	if len(a.said) > 0 {
		t.Errorf("eSplash copies %+v", a.said)
	}
	if len(b.said) < 10 {
		t.Errorf("LATE copies %d times", len(b.said))
	}
	for n, want := range []int{3, 3, 3, 1, 1, 2, 2} {
		if class, _ := e.Class(n); class != want {
			t.Errorf("node %d is on level %d", n, class)
		}
	}
}

// A node that becomes slow for its class straggles; its task is copied, to its own class or above, and not to a straggler.
func TestNodeThatBecomesSlowStraggles(t *testing.T) {
	for name, speed := range map[string]float64{"slow": 0.1, "stuck": 0} {
		e := &ESplash{}
		s := simulate(1, 1, 1, 0.5, 0.5, 0.5)
		s.pass(e, 200)
		if len(s.said) > 0 {
			t.Fatalf("%s: copies of healthy nodes: %+v", name, s.said)
		}
		s.speed[1] = speed
		s.pass(e, 15)
		if len(s.said) == 0 {
			_, straggles := e.Class(1)
			t.Fatalf("%s: no copy; straggles: %v, %+v", name, straggles, e.nodes[1])
		}
		for _, c := range s.said {
			if c.Of != s.tasks[1].ID || c.MinClass != 2 {
				t.Fatalf("%s: %+v instead of the straggler's task", name, c)
			}
		}
		c := s.said[len(s.said)-1]
		for n, want := range []bool{true, false, true, false, false, false} {
			if got := e.Worth(c, s.now, s.tasks[1], n); got != want {
				t.Errorf("%s: worth while on node %d: %v", name, n, got)
			}
		}
		// It recovers: the copy isn't worth while any more.
		s.speed[1] = 1
		s.tasks[1].Progress = 0.9
		s.pass(e, 60)
		if e.Worth(c, s.now, s.tasks[1], -1) {
			t.Errorf("%s: the copy is kept, though the node has recovered", name)
		}
	}
}

// A straggler on which nothing runs any more gets no copies: nothing shows that it has recovered.
func TestStragglerWithoutTasksStaysOne(t *testing.T) {
	e := &ESplash{}
	s := simulate(1, 1, 1)
	s.pass(e, 200)
	s.speed[1] = 0
	s.pass(e, 15)
	if _, straggles := e.Class(1); !straggles {
		t.Fatal("a node that is stuck doesn't straggle")
	}
	for range 60 {
		s.now += time.Second
		e.Round(&stage.Round{Now: s.now, Running: s.tasks[:1], Slots: []int{1, 1, 1}})
	}
	if _, straggles := e.Class(1); !straggles {
		t.Error("it recovers without having done anything")
	}
}

// The last task of a job is stuck on a node that has finished nothing, and nothing else runs that it could be compared with.
func TestLastTaskThatIsStuckAlone(t *testing.T) {
	e := &ESplash{}
	e.Ended(stage.Map, 1, 2*time.Second)
	x := stage.Running{ID: id(0), Node: 0, Attempts: 1}
	for now := time.Second; now < 20*time.Second; now += time.Second {
		if c := e.Round(&stage.Round{Now: now, Running: []stage.Running{x}, Slots: []int{1, 1}}); len(c) > 0 {
			if !e.Worth(c[0], now, x, 1) || e.Worth(c[0], now, x, 0) {
				t.Errorf("worth while on node 1: %v, on node 0: %v", e.Worth(c[0], now, x, 1), e.Worth(c[0], now, x, 0))
			}
			return
		}
	}
	t.Errorf("no copy: %+v", e.nodes)
}

// A reduce that waits for maps is no sign of its node's health, and no copy of it would get on.
func TestReducesThatWaitForMaps(t *testing.T) {
	e, l := &ESplash{}, &Late{}
	for node := range 2 {
		for s := range stage.Stage(stages) {
			e.Ended(s, node, 2*time.Second)
			l.Ended(s, node, 2*time.Second)
		}
	}
	reduce := func(i int) stage.Running {
		return stage.Running{ID: stage.AttemptID{TaskID: stage.TaskID{Stage: stage.Reduce, Index: i}}, Node: 0, Attempts: 1, Waits: true}
	}
	r := &stage.Round{Running: []stage.Running{reduce(0), reduce(1)}, Slots: []int{3, 3}}
	pass := func(seconds int) (out []stage.Copy) {
		for range seconds {
			r.Now += time.Second
			out = append(out, e.Round(r)...)
			out = append(out, l.Round(r)...)
		}
		return out
	}
	if got := pass(30); len(got) > 0 {
		t.Fatalf("copies of reduces that wait: %+v", got)
	}
	if _, straggles := e.Class(0); straggles {
		t.Error("a node straggles because its reduces wait")
	}
	// A map that is stuck beside them is found as soon as one that is alone: in the second epoch after it was seen first.
	r.Running = append(r.Running, stage.Running{ID: id(0), Node: 0, Begun: r.Now, Attempts: 1})
	var copies []stage.Copy
	for range 3 * epoch / time.Second {
		r.Now += time.Second
		copies = append(copies, e.Round(r)...)
	}
	if len(copies) == 0 || copies[0].Of != id(0) {
		t.Errorf("%+v instead of a copy of the stuck map; %+v", copies, e.nodes[0])
	}
	// When the maps are done, the reduces are judged by their pace since then.
	r.Running = r.Running[:2]
	for i := range r.Running {
		r.Running[i].Waits = false
	}
	if got := pass(30); len(got) == 0 || got[0].Of.Stage != stage.Reduce {
		t.Errorf("%+v instead of copies of reduces that are stuck", got)
	}
}

// The only node of the highest class is stuck: a slower one helps.
func TestOnlyFastNodeIsHelpedByASlowerOne(t *testing.T) {
	e := &ESplash{}
	s := simulate(1, 0.5, 0.5)
	s.pass(e, 200)
	s.speed[0] = 0
	s.pass(e, 15)
	if len(s.said) == 0 || s.said[0].Of != s.tasks[0].ID || s.said[0].MinClass != 1 {
		t.Fatalf("%+v", s.said)
	}
}

// A slow node may straggle as well, and is then helped by its own class, too.
func TestStragglerOnALowLevel(t *testing.T) {
	e := &ESplash{}
	s := simulate(1, 0.5, 0.5, 0.5)
	s.pass(e, 200)
	s.speed[1] = 0.02
	s.pass(e, 15)
	if len(s.said) == 0 || s.said[0].Of != s.tasks[1].ID {
		t.Fatalf("%+v", s.said)
	}
}

// Where all straggle, or there is one node only, a copy would go to a node that is no better.
func TestNobodyToHelp(t *testing.T) {
	for name, nodes := range map[string]int{"one node": 1, "all": 5} {
		e := &ESplash{}
		s := simulate(make([]float64, nodes)...)
		for i := range s.speed {
			s.speed[i] = 1
		}
		s.pass(e, 100)
		for i := range s.speed {
			s.speed[i] = 0.01
		}
		s.pass(e, 60)
		if len(s.said) > 0 {
			t.Errorf("%s: %+v", name, s.said)
		}
	}
}

// Equations 5.1 and 5.2: EstEnd − EstRepEnd decides, and the largest goes first.
func TestLateOfEquations51And52(t *testing.T) {
	l := &Late{}
	l.Ended(stage.Map, 0, 10*time.Second)
	l.Ended(stage.Map, 1, 30*time.Second) // a mean of 20 s
	r := &stage.Round{Now: 100 * time.Second, Running: []stage.Running{
		{ID: id(0), Begun: 80 * time.Second, Progress: 0.5, Attempts: 1},  // ends in 20 s: as a copy would
		{ID: id(1), Begun: 80 * time.Second, Progress: 0.4, Attempts: 1},  // in 30 s
		{ID: id(2), Begun: 80 * time.Second, Progress: 0.25, Attempts: 1}, // in 60 s
		{ID: id(3), Begun: 80 * time.Second, Progress: 0.1, Attempts: 2},  // has a copy
	}}
	got := l.Round(r)
	if len(got) != 1 || got[0].Of != id(2) || math.Abs(got[0].Value-40) > 1e-9 {
		t.Fatalf("%+v", got)
	}
	r.Now += retryAfter - 1
	if got := l.Round(r); got != nil {
		t.Errorf("another one before %v: %+v", retryAfter, got)
	}
	r.Running = r.Running[:1]
	r.Now = 200 * time.Second
	r.Running[0].Begun = 180 * time.Second
	if got := l.Round(r); got != nil {
		t.Errorf("%+v, though a copy would take as long", got)
	}
}

// Whatever is observed: a copy is of a task that runs alone on a straggler, for a class that there is, and never worth while
// below the least class, on a straggler, or on a node of which nothing is known. The same observations give the same copies.
func TestCopiesAreSaneWhateverIsObserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, twin := &ESplash{}, &ESplash{}
		number := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, -1, 2, math.NaN(), math.Inf(1), math.Inf(-1)}))
		nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
		var now time.Duration
		for range rapid.IntRange(1, 40).Draw(t, "rounds") {
			now += time.Duration(rapid.Int64Range(0, 8e9).Draw(t, "ns"))
			for range rapid.IntRange(0, 4).Draw(t, "ended") {
				s, n, d := stage.Stage(rapid.IntRange(0, 1).Draw(t, "stage")), rapid.IntRange(0, nodes-1).Draw(t, "node"), time.Duration(rapid.Int64Range(-1e9, 9e10).Draw(t, "took"))
				e.Ended(s, n, d)
				twin.Ended(s, n, d)
			}
			r := &stage.Round{Now: now}
			for i := range rapid.IntRange(0, 12).Draw(t, "running") {
				x := stage.Running{
					ID: stage.AttemptID{TaskID: stage.TaskID{Stage: stage.Stage(i % 2), Index: i}, Number: rapid.IntRange(0, 1).Draw(t, "number")}, Node: rapid.IntRange(0, nodes-1).Draw(t, "on"),
					Begun: now - time.Duration(rapid.Int64Range(-1e9, 9e10).Draw(t, "age")), Progress: number.Draw(t, "progress"), Attempts: rapid.IntRange(1, 2).Draw(t, "attempts"),
				}
				r.Running = append(r.Running, x)
			}
			for range nodes {
				r.Slots = append(r.Slots, rapid.IntRange(0, 3).Draw(t, "slots"))
			}
			copies := e.Round(r)
			if again := twin.Round(r); !reflect.DeepEqual(copies, again) {
				t.Fatalf("%+v and %+v", copies, again)
			}
			if len(copies) > 1 {
				t.Fatalf("%d copies in one round", len(copies))
			}
			for _, x := range r.Running {
				for n := range nodes {
					if !e.Worth(stage.Copy{Of: x.ID}, now, x, n) {
						continue
					}
					minL, _ := e.plan(now, &x)
					class, straggles := e.Class(n)
					if class < minL || minL < 1 || straggles || !e.straggles(x.Node) {
						t.Fatalf("%+v is worth while on node %d of level %d, straggling: %v; the least is %d", x, n, class, straggles, minL)
					}
				}
			}
			for _, c := range copies {
				found := false
				for _, x := range r.Running {
					found = found || x.ID == c.Of && x.Attempts == 1 && e.straggles(x.Node)
				}
				if !found || c.MinClass < 1 || c.MinClass > e.highest || !(c.Value > 0) || math.IsInf(c.Value, 0) {
					t.Fatalf("%+v of %+v", c, r.Running)
				}
			}
		}
	})
}

// BenchmarkRound is a round over 10,000 running tasks, with straggler values updated and nodes sorted into classes each time. No two nodes
// are quite alike.
func BenchmarkRound(b *testing.B) {
	for _, nodes := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			e := &ESplash{}
			r := &stage.Round{Slots: make([]int, nodes)}
			for i := range 10_000 {
				r.Running = append(r.Running, stage.Running{ID: id(i), Node: i % nodes, Attempts: 1})
			}
			for i := range r.Slots {
				r.Slots[i] = 10
				for s := range stage.Stage(stages) {
					e.Ended(s, i, time.Duration(20+i%4*20)*time.Second+time.Duration((i*(31+17*int(s)))%7919)*time.Millisecond)
				}
			}
			for b.Loop() {
				r.Now += reclassify
				for i := range r.Running {
					r.Running[i].Progress = math.Mod(r.Running[i].Progress+0.01, 1)
				}
				e.Round(r)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/round")
		})
	}
}
