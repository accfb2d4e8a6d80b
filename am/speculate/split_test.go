package speculate

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/am/stage"
)

// splitting is a Split that has seen maps take 20 s on three nodes, of which one gets on at a speed with a share of a map, and whose other two
// have idle slots, for some seconds.
func splitting(speed, share float64, idle, seconds int) (*Split, *stage.Round) {
	s := &Split{}
	for n := range 3 {
		for range 4 {
			s.Ended(stage.Map, n, 20*time.Second)
		}
	}
	r := &stage.Round{Running: []stage.Running{{ID: id(0), Node: 0, Attempts: 1, Share: share}}, Slots: []int{1, idle / 2, idle - idle/2}}
	for range seconds {
		r.Now += time.Second
		r.Running[0].Progress += speed / 20 / share
		s.Round(r)
	}
	return s, r
}

// All end together: t = (W + n·v·b)/(u + n·v), where W is the work that is left, u the pace of the attempt and v that of n others, which
// begin after b seconds.
func TestAllPartsEndTogether(t *testing.T) {
	for name, c := range map[string]struct {
		speed float64
		share float64
		idle  int
		parts int
	}{
		"slow, one slot":    {0.1, 1, 1, 1},
		"slow, four":        {0.1, 1, 4, 4},
		"slow, many":        {0.1, 1, 100, stage.MostParts},
		"a fifth of a task": {0.1, 0.2, 16, 3}, // of more parts each is less than 4 % of a task
		"healthy, but late": {1, 1, 2, 2},
	} {
		s, r := splitting(c.speed, c.share, c.idle, 8)
		cuts := s.Split(r)
		if len(cuts) != 1 || cuts[0].Of != id(0) {
			t.Fatalf("%s: %+v", name, cuts)
		}
		if len(cuts[0].Avoid) > 0 {
			t.Errorf("%s: parts avoid %v, and nobody straggles", name, cuts[0].Avoid)
		}
		s.nodes[0].straggles = true
		if cuts := s.Split(r); len(cuts) != 1 || !slices.Equal(cuts[0].Avoid, []int{0}) {
			t.Errorf("%s: the node straggles: %+v", name, cuts)
		}
		x := cuts[0]
		u, v, n := c.speed/20/c.share, 1/20., float64(x.Parts)
		own := (x.At - r.Running[0].Progress) / u
		others := beginning + (1-x.At)*c.share/n/v
		if math.Abs(own-others) > 1e-6 {
			t.Errorf("%s: the attempt ends after %v s, the parts after %v", name, own, others)
		}
		if x.Parts != c.parts {
			t.Errorf("%s: %d parts instead of %d", name, x.Parts, c.parts)
		}
		if got := s.Round(r); len(got) > 0 {
			t.Errorf("%s: %+v is copied as well", name, got)
		}
	}
}

// Where only nodes that straggle have idle slots, these help, at the pace that the attempt has.
func TestSlotsOfStragglersHelpIfThereAreNoOthers(t *testing.T) {
	s := &Split{}
	for range 5 {
		s.Ended(stage.Map, 0, 20*time.Second)
	}
	r := &stage.Round{Running: []stage.Running{{ID: id(0), Attempts: 1, Share: 1}}, Slots: []int{4}}
	for range 30 {
		r.Now += time.Second
		r.Running[0].Progress += 0.1 / 20
		s.Round(r)
	}
	if _, straggles := s.Class(0); !straggles {
		t.Fatal("the only node doesn't straggle")
	}
	cuts := s.Split(r)
	if len(cuts) != 1 || cuts[0].Parts != 3 || len(cuts[0].Avoid) != 0 {
		t.Fatalf("%+v", cuts)
	}
	v := 0.1 / 20
	if own, others := (cuts[0].At-r.Running[0].Progress)/v, beginning+(1-cuts[0].At)/3/v; math.Abs(own-others) > 1e-6 {
		t.Errorf("the attempt ends after %v s, the parts after %v", own, others)
	}
}

// What can't be divided, or isn't worth it, isn't. What straggles then is copied.
func TestWhatIsNotDivided(t *testing.T) {
	for name, c := range map[string]struct {
		speed   float64
		seconds int
		change  func(*stage.Round)
		copied  bool
	}{
		"it is fixed":            {0.1, 30, func(r *stage.Round) { r.Running[0].Fixed = true }, true},
		"it is stuck":            {0, 30, func(*stage.Round) {}, true},
		"maps wait":              {0.1, 30, func(r *stage.Round) { r.Waiting[stage.Map] = 1 }, true},
		"no slot is idle":        {0.1, 30, func(r *stage.Round) { clear(r.Slots) }, false},
		"it has almost ended":    {1, 18, func(*stage.Round) {}, false},
		"it has just begun":      {1, 2, func(*stage.Round) {}, false},
		"somebody does it twice": {0.1, 30, func(r *stage.Round) { r.Running[0].Attempts = 2 }, false},
		"its part is small":      {1, 8, func(r *stage.Round) { r.Running[0].Share = 0.05 }, false},
	} {
		s, r := splitting(c.speed, 1, 4, c.seconds)
		c.change(r)
		for range 4 {
			r.Now += time.Second
			if cuts := s.Split(r); len(cuts) > 0 {
				t.Fatalf("%s: %+v", name, cuts)
			}
		}
		if got := s.Round(r); (len(got) > 0) != c.copied {
			t.Errorf("%s: copies %+v", name, got)
		}
	}
}

// Reduces are not divided, and nothing before anybody knows what a map takes.
func TestNothingIsKnownOfMaps(t *testing.T) {
	s := &Split{}
	r := &stage.Round{Running: []stage.Running{{ID: id(0), Attempts: 1}}, Slots: []int{1, 5}}
	for range 20 {
		r.Now += time.Second
		r.Running[0].Progress += 0.01
		s.Round(r)
		if cuts := s.Split(r); len(cuts) > 0 {
			t.Fatalf("%+v", cuts)
		}
	}
	s, r = splitting(0.1, 1, 4, 8)
	r.Running[0].ID.Stage = stage.Reduce
	for range 20 {
		r.Now += time.Second
		r.Running[0].Progress += 0.01
		s.Round(r)
		if cuts := s.Split(r); len(cuts) > 0 {
			t.Fatalf("%+v", cuts)
		}
	}
}

// Whatever is observed, a cut is of a map that runs alone and may be cut, behind what it has done, and into at least one part.
func TestCutsAreSaneWhateverIsObserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Split{}
		number := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, -1, 2, math.NaN(), math.Inf(1), math.Inf(-1)}))
		nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
		var now time.Duration
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			now += time.Duration(rapid.Int64Range(0, 8e9).Draw(t, "ns"))
			for range rapid.IntRange(0, 3).Draw(t, "ended") {
				s.Ended(stage.Map, rapid.IntRange(0, nodes-1).Draw(t, "node"), time.Duration(rapid.Int64Range(-1e9, 9e10).Draw(t, "took")))
			}
			r := &stage.Round{Now: now, Waiting: [2]int{rapid.IntRange(0, 1).Draw(t, "waiting")}}
			for i := range rapid.IntRange(0, 8).Draw(t, "running") {
				r.Running = append(r.Running, stage.Running{
					ID: id(i), Node: rapid.IntRange(0, nodes-1).Draw(t, "on"), Attempts: rapid.IntRange(1, 2).Draw(t, "attempts"),
					Begun: now - time.Duration(rapid.Int64Range(-1e9, 9e10).Draw(t, "age")), Progress: number.Draw(t, "progress"),
					Share: number.Draw(t, "share"), Fixed: rapid.Bool().Draw(t, "fixed"),
				})
			}
			for range nodes {
				r.Slots = append(r.Slots, rapid.IntRange(0, 6).Draw(t, "slots"))
			}
			s.Round(r)
			cuts := s.Split(r)
			if len(cuts) > 1 || len(cuts) > 0 && r.Waiting[stage.Map] > 0 {
				t.Fatalf("%+v", cuts)
			}
			for _, c := range cuts {
				x := r.Running[c.Of.Index]
				if x.Attempts != 1 || x.Fixed || !(c.At > sane(x.Progress)) || !(c.At < 1) || c.Parts < 1 {
					t.Fatalf("%+v of %+v", c, x)
				}
			}
		}
	})
}
