package slowstart

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/am/stage"
	"heddle/internal/omo"
)

// facts are those of a job of 100 maps of 20 s and 10 reduces on 50 slots, of which some maps wait and 50 run. A map makes
// 100 MB; a reduce fetches 50 MB/s, so that a shuffle takes 20 s.
func facts(waiting int) *stage.Facts {
	return &stage.Facts{
		Maps:    stage.Stat{Tasks: 100, Waiting: waiting, Running: 50, Done: 50 - waiting, Mean: 20 * time.Second, OutBytes: int64(50-waiting) * 100e6},
		Reduces: stage.Stat{Tasks: 10, Waiting: 10},
		Slots:   50, Available: 50,
		Hints: stage.Hints{Bandwidth: 50e6, Frequency: 2.5, Available: 50, Jobs: 1},
	}
}

func TestFractions(t *testing.T) {
	for _, c := range []struct {
		done, waiting int
		fraction, all bool
	}{{0, 100, false, false}, {49, 51, false, false}, {50, 50, true, false}, {50, 1, true, false}, {50, 0, true, true}, {49, 0, false, false}, {100, 0, true, true}} {
		f := &stage.Facts{Maps: stage.Stat{Tasks: 100, Done: c.done, Waiting: c.waiting}}
		if got := Fraction(0.5).Due(f); got != c.fraction {
			t.Errorf("%d done: %v", c.done, got)
		}
		if got := AfterMaps(0.5).Due(f); got != c.all {
			t.Errorf("%d done, %d wait: after the maps %v", c.done, c.waiting, got)
		}
	}
}

// With 250 reduces on 40 slots those took all slots, and all maps but one waited.
func TestReducesRampUp(t *testing.T) {
	for _, c := range []struct{ slots, waiting, running, done, want int }{
		{40, 900, 40, 60, 2}, {40, 560, 40, 400, 16}, {40, 260, 40, 700, 20}, {40, 1, 20, 979, 20}, {40, 1, 9, 990, 30}, {2, 2, 1, 1, 1}, {40, 100, 40, 0, 1}, {0, 1, 0, 1, 1},
	} {
		f := &stage.Facts{Slots: c.slots, Maps: stage.Stat{Tasks: c.waiting + c.running + c.done, Waiting: c.waiting, Running: c.running, Done: c.done}}
		if got := (Ramp{0.05}).Most(f); got != c.want {
			t.Errorf("%+v: %d reduces", c, got)
		}
	}
}

// T_s = d·m/(B·r) (section 4.3.2.2).
func TestShuffleTimeOfSection4322(t *testing.T) {
	if got := Shuffle(facts(10)); got != 20 {
		t.Errorf("%v s to shuffle 100 MB of each of 100 maps to 10 reduces at 50 MB/s", got)
	}
}

// Equation 4.3: α = T_s − (x·A_o·K/(F_o·(A_o − r)) + T_m).
func TestGapOfEquation43(t *testing.T) {
	var o OMO
	for _, c := range []struct {
		waiting, jobs int
		bandwidth     float64
		want          float64
	}{
		{16, 1, 50e6, 20 - (16*50./(2.5*40) + 20)},   // −8
		{16, 1, 25e6, 40 - (16*50./(2.5*40) + 20)},   // 12
		{16, 3, 25e6, 40 - (16*50*3./(2.5*40) + 20)}, // −4
		{40, 1, 25e6, 40 - (40*50./(2.5*40) + 20)},   // 0
	} {
		f := facts(c.waiting)
		f.Hints.Jobs, f.Hints.Bandwidth = c.jobs, c.bandwidth
		if got := o.Gap(f); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: α is %v", c, got)
		}
		if got, want := (&OMO{}).Due(f), c.want >= 0; got != want {
			t.Errorf("%+v: due is %v", c, got)
		}
	}
	// Containers that take 3 s to start have to be asked for so much earlier.
	starts := facts(16)
	starts.Start = 3 * time.Second
	if got := o.Gap(starts); math.Abs(got+5) > 1e-9 {
		t.Errorf("α is %v with the start of containers", got)
	}
	// Where nobody knows of releases, the job's own maps are what releases slots.
	own := facts(16)
	own.Hints.Frequency, own.Hints.Available, own.Hints.Bandwidth = 0, 0, 25e6
	if got := o.Gap(own); math.Abs(got-12) > 1e-9 {
		t.Errorf("α is %v with 50 slots of 20 s", got)
	}
	// With as many reduces as available slots none would be released to maps any more.
	f := facts(1)
	f.Reduces.Tasks, f.Hints.Bandwidth = 50, 1
	if got := o.Gap(f); !math.IsInf(got, -1) {
		t.Errorf("α is %v if reduces take all slots", got)
	}
}

// When the last map was launched 15 s ago, of 20 s, a shuffle of 4 s can wait one second more.
func TestLazyStartWaitsForTheLastWave(t *testing.T) {
	o := &OMO{}
	f := facts(0)
	f.Hints.Bandwidth = 250e6 // 4 s
	for f.Now = 0; f.Now < 30*time.Second; f.Now += time.Second {
		if got, want := o.Due(f), f.Now >= 16*time.Second; got != want {
			t.Fatalf("due %v after the last map was launched: %v", f.Now, got)
		}
	}
	// Principle 4.3.1: all reduces of a job begin in a row, even if a map has to be repeated.
	f.Maps.Waiting = 30
	if !o.Due(f) {
		t.Error("reduces begin, and then don't")
	}
}

// Whatever is told, reduces are due when all maps have ended, never before one has, and once they are due they stay so.
func TestLazyStartIsNeverAfterTheLastMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := &OMO{}
		number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), -1}))
		n := rapid.IntRange(1, 20).Draw(t, "maps")
		was := false
		var now time.Duration
		for done, last := 0, false; !last; {
			now += time.Duration(rapid.Int64Range(-5, 20).Draw(t, "s")) * time.Second
			waiting := rapid.IntRange(0, n-done).Draw(t, "waiting")
			f := &stage.Facts{
				Now: now, Released: rapid.IntRange(0, 100).Draw(t, "released"), Available: rapid.IntRange(0, 50).Draw(t, "available"),
				Maps:    stage.Stat{Tasks: n, Done: done, Waiting: waiting, Running: n - done - waiting, OutBytes: rapid.Int64().Draw(t, "bytes")},
				Reduces: stage.Stat{Tasks: rapid.IntRange(1, 30).Draw(t, "reduces")},
				Hints:   stage.Hints{Frequency: number.Draw(t, "F"), Available: number.Draw(t, "A"), Bandwidth: number.Draw(t, "B"), Jobs: rapid.IntRange(-1, 9).Draw(t, "K")},
			}
			if done > 0 {
				f.Maps.Mean = time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "mean"))
			}
			due := o.Due(f)
			if done == n && !due || done == 0 && due || was && !due {
				t.Fatalf("%d of %d maps are done: due %v, before %v", done, n, due, was)
			}
			was = due
			last = done == n
			done = min(n, done+rapid.IntRange(0, 1).Draw(t, "ends"))
		}
	})
}

// What reduces wait for, in the words of the rule.
func TestWhyReducesWait(t *testing.T) {
	f := facts(16)
	f.Hints.Bandwidth = 250e6 // 4 s
	started := facts(16)
	started.Hints.Bandwidth, started.Start = 250e6, 1200*time.Millisecond
	for _, c := range []struct {
		of   stage.Explainer
		f    *stage.Facts
		want string
	}{
		{Fraction(0.605), f, "61 of 100 maps have to be done, and 34 are"},
		{AfterMaps(0.05), f, "16 maps pending, whose places reduces must not take"},
		{AfterMaps(0.5), facts(0), "50 of 100 maps have to be done, and 50 are"},
		{&OMO{}, f, "16 maps pending, 50 running; the shuffle needs 4 s, maps need 28 s"},
		{&OMO{}, started, "16 maps pending, 50 running; a container's start takes 1.2 s, the shuffle needs 4 s, maps need 28 s"},
		{&OMO{}, &stage.Facts{Maps: stage.Stat{Tasks: 9, Waiting: 9}, Reduces: stage.Stat{Tasks: 1}}, "9 maps pending, 0 running; none is done, so their duration is unknown"},
		{&OMO{}, func() *stage.Facts { f := facts(1); f.Reduces.Tasks = 50; return f }(), "1 maps pending, 50 running; with 50 reduces no container would be left to maps"},
	} {
		if got := c.of.Why(c.f); got != c.want {
			t.Errorf("%q instead of %q", got, c.want)
		}
	}
}

// Section 4.3.2.2 at its edges: one reduce fetches all, none counts as one, and a negative size as nothing.
func TestShuffleTimeAtItsEdges(t *testing.T) {
	for _, c := range []struct {
		maps, done, reduces int
		bytes               int64
		bandwidth, want     float64
	}{
		{10, 5, 1, 500, 100, 10},
		{10, 5, 0, 500, 100, 10},
		{10, 5, 2, 500, 100, 5},
		{10, 0, 1, 7, 7, 10},
		{10, 5, 1, -500, 100, 0},
		{64, 1, 1, 1 << 20, 0, 1},
		{64, 1, 1, 1 << 20, -1, 1}, // 64 MB/s where nobody has measured it
	} {
		f := &stage.Facts{Maps: stage.Stat{Tasks: c.maps, Done: c.done, OutBytes: c.bytes}, Reduces: stage.Stat{Tasks: c.reduces}, Hints: stage.Hints{Bandwidth: c.bandwidth}}
		if got := Shuffle(f); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v s", c, got)
		}
	}
}

// Where the ResourceManager says nothing, a job goes by what it has seen itself: F_o and A_o of its own windows (section 4.3.1).
func TestLazyStartByOwnReleases(t *testing.T) {
	o := &OMO{}
	f := facts(16)
	f.Hints.Frequency, f.Hints.Available, f.Hints.Bandwidth = 0, 0, 1e12 // no shuffle to speak of
	for ; f.Now <= omo.Window; f.Now += time.Second {
		o.Due(f)
		f.Released += 4
	}
	if !o.Release.Known || math.Abs(o.Release.Frequency-4) > 1e-9 || o.Release.Available != 50 {
		t.Fatalf("%+v", o.Release)
	}
	if got, want := o.Gap(f), -(16*50./(4*40) + 20); math.Abs(got-want) > 1e-2 {
		t.Errorf("α is %v instead of %v", got, want)
	}
	// Hints count only if they are whole.
	f.Hints.Frequency = 100
	if got, want := o.Gap(f), -(16*50./(4*40) + 20); math.Abs(got-want) > 1e-2 {
		t.Errorf("α is %v with half a hint", got)
	}
	f.Hints.Available = 50
	if got, want := o.Gap(f), -(16*50./(100*40) + 20); math.Abs(got-want) > 1e-2 {
		t.Errorf("α is %v with a hint", got)
	}
}

// Section 4.3.1: what is available is weighed by time; an observation from before the last one is not taken; a late one closes a longer window.
func TestReleasesAreWeighedByTime(t *testing.T) {
	var r omo.Release
	r.Observe(5*time.Second, 100, 10)
	r.Observe(9*time.Second, 100, 30)
	r.Observe(7*time.Second, 999, 99)
	r.Observe(13*time.Second, 110, 50)
	r.Observe(25*time.Second, 140, 0)
	// 10 for 4 s, 30 for 4 s, 50 for 12 s, in 20 s
	if !r.Known || r.Frequency != 2 || r.Available != (40+120+600)/20. {
		t.Errorf("%+v", r)
	}
	r.Observe(35*time.Second, 130, 0) // fewer than before: nothing was released
	if r.Frequency != 1 || r.Available != 19 {
		t.Errorf("%+v", r)
	}
}

// What is left of T_m counts from when the last map was launched, and anew if one has to be launched again.
func TestLastWaveBeginsWithItsLastMap(t *testing.T) {
	o := &OMO{}
	f := facts(5)
	f.Hints.Bandwidth = 250e6 // 4 s
	f.Now = 100 * time.Second
	if o.Due(f) {
		t.Fatal("five maps wait, and need 21 s")
	}
	f.Maps.Waiting, f.Maps.Done, f.Maps.OutBytes = 0, 50, 50*100e6
	for _, c := range []struct {
		s, waiting int
		gap        float64
	}{{101, 0, 4 - 20}, {106, 0, 4 - 15}, {108, 2, 4 - (2*50./(2.5*40) + 20)}, {110, 0, 4 - 20}, {118, 0, 4 - 12}, {140, 0, 4}} {
		f.Now, f.Maps.Waiting = time.Duration(c.s)*time.Second, c.waiting
		due := o.Due(f)
		if got := o.Gap(f); math.Abs(got-c.gap) > 1e-9 || due != (c.gap >= 0) {
			t.Errorf("at %d s: α is %v instead of %v, due %v", c.s, got, c.gap, due)
		}
	}
}

// A job without reduces has no gap. Maps of no length at all count as such of a millisecond; half a hint is none.
func TestGapAtItsEdges(t *testing.T) {
	var o OMO
	f := facts(16)
	f.Hints.Bandwidth = 1e12
	for _, reduces := range []int{0, 1} {
		f.Reduces.Tasks = reduces
		if got := o.Gap(f); math.IsInf(got, -1) != (reduces == 0) {
			t.Errorf("α is %v with %d reduces", got, reduces)
		}
	}
	f.Reduces.Tasks, f.Hints.Frequency, f.Hints.Available = 10, 0, 0
	shuffle := Shuffle(f)
	for _, mean := range []float64{0, 0.5, 2} {
		f.Maps.Mean = time.Duration(mean * float64(time.Second))
		if got, want := o.Gap(f), shuffle-(16*max(mean, 1e-3)/40+mean); math.Abs(got-want) > 1e-9 {
			t.Errorf("α is %v instead of %v for maps of %v s", got, want, mean)
		}
	}
	was := o.Gap(f)
	if f.Hints.Available = 10; o.Gap(f) != was {
		t.Errorf("α is %v with half a hint, and %v with none", o.Gap(f), was)
	}
}
