package preempt

import (
	"math"
	"strings"
	"testing"
)

// A suspension costs what moving the memory takes, out and in, at the node's rates; who waits for memory there slows it down, and so
// did those before. A kill costs all of the container's work.
func TestQuotes(t *testing.T) {
	const gb = 1 << 30
	base := Facts{Memory: 3 * gb, Footprint: gb, Out: gb / 2, In: 2 * gb, Age: 41, Remaining: 7}
	for name, x := range map[string]struct {
		change func(*Facts)
		want   Price // of suspending it
	}{
		"measured rates":          {func(*Facts) {}, Price{Room: 4, Moved: 2 * gb, Back: 1}},
		"rates of BIG-C's disks":  {func(f *Facts) { f.Out, f.In = 0, 0 }, Price{Room: 6, Moved: 2 * gb, Back: 6}},
		"nothing to move":         {func(f *Facts) { f.Memory = gb / 2 }, Price{}},
		"processes wait":          {func(f *Facts) { f.Pressure = 50 }, Price{Room: 6, Moved: 2 * gb, Back: 1.5}},
		"all processes wait":      {func(f *Facts) { f.Pressure = 120 }, Price{Room: 8, Moved: 2 * gb, Back: 2}},
		"others took longer":      {func(f *Facts) { f.Past = 3 }, Price{Room: 12, Moved: 2 * gb, Back: 3}},
		"others took half of it":  {func(f *Facts) { f.Past = 0.5 }, Price{Room: 2, Moved: 2 * gb, Back: 0.5}},
		"pressure isn't negative": {func(f *Facts) { f.Pressure = -50 }, Price{Room: 4, Moved: 2 * gb, Back: 1}},
	} {
		f := base
		x.change(&f)
		q := f.Quote()
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
		if !near(q.Suspend.Room, x.want.Room) || !near(q.Suspend.Back, x.want.Back) || q.Suspend.Moved != x.want.Moved || q.Suspend.Lost != 0 {
			t.Errorf("%s: %+v, want %+v", name, q.Suspend, x.want)
		}
		if q.Kill.Cost() != 41 || q.Wait.Cost() != 7 || !near(q.Suspend.Cost(), x.want.Room+x.want.Back) {
			t.Errorf("%s: %+v", name, q)
		}
	}
	for remaining, want := range map[float64]string{7: "takes 7.0 s, to suspend it 4.0 s and 1.0 s to come back (2048 MB are moved), to kill it loses 41.0 s", math.Inf(1): "takes nobody knows how long"} {
		base.Remaining = remaining
		if got := base.Quote().String(); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What suspensions come to changes later quotes bit by bit, and within bounds.
func TestQuotesLearn(t *testing.T) {
	for x, want := range map[[3]float64]float64{
		{0, 2, 3}: 1.5, {1, 2, 4}: 1.25, {2, 1, 1}: 1.75, {1, 0.05, 9}: 1, {0, 0.05, 9}: 0, {0, 0.1, 0.3}: 3, {0, 1, 1000}: 10, {0, 100, 1}: 0.1, {1.5, 1, -1}: 1.5,
	} {
		if got := Learn(x[0], x[1], x[2]); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %v, want %v", x, got, want)
		}
	}
}
