package opportunistic

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Each window's times are shown in the window behind it, and nothing in the one behind that.
func TestLatenciesOfTheLastWindow(t *testing.T) {
	var l latencies
	const begun = 5_000_000
	shown := func(at int64) Latency {
		l.roll(begun + at)
		return l.last
	}
	if got := shown(-100); got != (Latency{}) {
		t.Errorf("before any grant: %+v", got)
	}
	for ms := range int64(100) {
		l.add(ms+1, begun+ms)
	}
	if got := shown(windowTime - 1); got != (Latency{}) {
		t.Errorf("while the first window lasts: %+v", got)
	}
	if got, want := shown(windowTime), (Latency{100, [...]int64{50, 75, 90, 95, 99}}); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	l.add(7, begun+windowTime+1)
	if got, want := shown(2*windowTime), (Latency{1, [...]int64{7, 7, 7, 7, 7}}); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	if got := shown(4 * windowTime); got != (Latency{}) {
		t.Errorf("behind a window without grants: %+v", got)
	}
}

// Times are at most 1.6 % too short, whatever they are.
func TestLatenciesAreNearlyExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(-5, 1<<45), 1, 200).Draw(t, "times")
		var l latencies
		for _, ms := range times {
			l.add(ms, 1)
		}
		slices.Sort(times)
		l.roll(1 + windowTime)
		for i, p := range Percents {
			want := max(times[(int64(len(times))*p+99)/100-1], 0)
			if got := l.last.Of[i]; got > want || got < want-want/fine {
				t.Fatalf("the %d-th percentile of %v is %d, not %d", p, times, got, want)
			}
		}
	})
}
