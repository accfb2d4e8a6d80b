package omo

import (
	"math"
	"testing"
	"time"
)

// T_s = d·m/(B·r) (section 4.3.2.2).
func TestShuffleTimeOfSection4322(t *testing.T) {
	if got := Shuffle(100e6, 100, 50e6, 10); got != 20 {
		t.Errorf("%v s to shuffle 100 MB of each of 100 maps to 10 reduces at 50 MB/s", got)
	}
	if got := Shuffle(Bandwidth, 3, math.NaN(), 0); got != 3 {
		t.Errorf("%v s at the usual bandwidth", got)
	}
}

// Equation 4.3, with 50 slots of which 2.5 a second are released, and maps of 20 s.
func TestRestOfMapsOfEquation43(t *testing.T) {
	r := Rate{Frequency: 2.5, Available: 50}
	for _, c := range []struct{ pending, jobs, reduces, want float64 }{
		{16, 1, 10, 16*50./(2.5*40) + 20}, {16, 3, 10, 16*50*3/(2.5*40) + 20}, {0, 1, 10, 20}, {1, 1, 50, math.Inf(1)}, {1, 1, 60, math.Inf(1)},
	} {
		if got := Maps(c.pending, r, c.jobs, c.reduces, 20); math.Abs(got-c.want) > 1e-9 && got != c.want {
			t.Errorf("%+v: %v s", c, got)
		}
	}
	if got := Maps(1, Rate{}, 1, 0, 20); !math.IsInf(got, 1) {
		t.Errorf("%v s if nothing is released", got)
	}
}

// Equations 4.4 and 4.5: 4 jobs, 30 slots of which 1.5 a second are released, a job with 6 pending maps of 20 s.
func TestBatchFinishOfEquations44And45(t *testing.T) {
	r := Rate{Frequency: 1.5, Available: 30}
	fair, batch := Batch(6, r, 4, 20, 20)
	if want := 4*6/1.5 + 20; math.Abs(fair-want) > 1e-9 {
		t.Errorf("t_fair is %v, not %v", fair, want)
	}
	if want := (3*6 + 1.5*3*20/4) * 30 / (1.5 * 50); math.Abs(batch-want) > 1e-9 {
		t.Errorf("t_batch is %v, not %v", batch, want)
	}
	if fair, batch := Batch(6, r, 1, 20, 20); batch != 0 || fair != 24 {
		t.Errorf("alone: %v and %v", fair, batch)
	}
	if fair, batch := Batch(6, Rate{}, 4, 20, 20); fair != 0 || batch != 0 {
		t.Errorf("with nothing known: %v and %v", fair, batch)
	}
}

// Section 4.3.1: f = R/T_w, and moving averages of f and a; equation 4.1.
func TestReleaseFrequencyOfSection431(t *testing.T) {
	var r Release
	r.Observe(0, 0, 40)
	r.Observe(5*time.Second, 7, 20)
	if r.Known {
		t.Error("known before the first window has passed")
	}
	r.Observe(10*time.Second, 30, 20)
	if !r.Known || r.Frequency != 3 || r.Available != 30 {
		t.Errorf("%+v", r)
	}
	r.Observe(20*time.Second, 40, 20)
	if r.Frequency != (1+3)/2. || r.Available != (20+30)/2. {
		t.Errorf("%+v", r)
	}
	if got := r.Expect(50); got != 4 {
		t.Errorf("%v slots per second of 50, with 2 of 25", got)
	}
	if (&Rate{}).Expect(5) != 0 {
		t.Error("a frequency of nothing")
	}
}
