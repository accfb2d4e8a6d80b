package whatif_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"heddle/rm/queue"
	"heddle/sim/whatif"
	"heddle/sim/whatif/change"
	"heddle/sim/whatif/forecast"
	"heddle/sim/whatif/load"
)

// long skips what takes minutes.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 runs jobs on a live cluster for minutes")
	}
}

// setting is a single change.
type setting struct {
	name string
	set  map[string]string
	node int // more nodes, or fewer
}

func settings() []setting {
	one := func(name string, pairs ...string) setting {
		s := setting{name: name, set: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			s.set[queue.Prefix+pairs[i]] = pairs[i+1]
		}
		return s
	}
	return []setting{
		one("dev has 50 % at most", "root.dev.maximum-capacity", "50"),
		one("prod has 80 % and dev 20 %", "root.prod.capacity", "80", "root.dev.capacity", "20"),
		one("prod has 20 % and dev 80 %", "root.prod.capacity", "20", "root.dev.capacity", "80"),
		one("three applications at a time in dev", "root.dev.max-parallel-apps", "3"),
		one("a user has half of dev", "root.dev.user-limit-factor", "0.5"),
		one("a user has half of prod", "root.prod.user-limit-factor", "0.5"),
		one("ApplicationMasters have 15 %", "maximum-am-resource-percent", "0.15"),
		one("ApplicationMasters have 15 % of dev", "root.dev.maximum-am-resource-percent", "0.15"),
		{"a node more", nil, 1},
		{"a node less", nil, -1},
	}
}

// queueMean is the mean time of the applications of a queue, in seconds, as recorded.
func queueMean(l *load.Load, queue string) float64 {
	sum, n := 0.0, 0.0
	for i := range l.Apps {
		if a := &l.Apps[i]; a.Queue == queue && a.Then.End >= 0 {
			sum, n = sum+float64(a.Then.End-a.Submit)/1000, n+1
		}
	}
	return sum / max(n, 1)
}

// predictedMean is the mean time, in seconds, before and after a change, and what the bars say of the latter.
func predictedMean(r *whatif.Report, queue string) (before, after, low, high float64) {
	n := 0.0
	for i := range r.Apps {
		if a := &r.Apps[i]; a.Queue == queue && a.After >= 0 && a.Before >= 0 {
			before, after, low, high, n = before+a.Before, after+a.After, low+a.Low, high+a.High, n+1
		}
	}
	return before / n, after / n, low / n, high / n
}

// Ten single settings are changed, predicted, made live and measured: the direction is right for nine at least.
func TestTenSettingsAreMetLive(t *testing.T) {
	long(t)
	list := jobs(36, 11)
	for i := range list { // so that what the machine does besides matters less
		list[i].at *= 2
		for _, stage := range list[i].stages {
			for k := range stage {
				stage[k] *= 2
			}
		}
	}
	before := run(t, list, nil)
	again := run(t, list, nil)
	right, inside := 0, 0
	for _, q := range []string{"root.prod", "root.dev"} {
		t.Logf("%s, unchanged: %.2f s, and %.2f s when it was run again", q, queueMean(before, q), queueMean(again, q))
	}
	for _, s := range settings() {
		c := change.Request{}
		for k, v := range s.set {
			c.Set = append(c.Set, k+"="+v)
		}
		slices.Sort(c.Set)
		if s.node != 0 {
			c.Nodes = []string{fmt.Sprintf("%+d", s.node)}
		}
		r := predict(t, before, c)
		after, _ := runOn(t, list, s.set, 3+s.node, func(*live) {})
		most := ""
		for _, q := range []string{"root.prod", "root.dev"} {
			if b, a, _, _ := predictedMean(r, q); most == "" || math.Abs(a-b) > shift(r, most) {
				most = q
			}
		}
		b, a, low, high := predictedMean(r, most)
		happened := queueMean(after, most)
		if math.Signbit(a-b) == math.Signbit(happened-queueMean(before, most)) {
			right++
		}
		if happened >= low-1 && happened <= high+1 {
			inside++
		}
		t.Logf("%s: mean time in %s %.2f s, played %.2f s; predicted %.2f s (bars %.2f to %.2f), measured %.2f s: off by %.1f %%", s.name, most, queueMean(before, most), b, a, low, high, happened, 100*(a-happened)/happened)
	}
	t.Logf("the direction is right for %d of %d, %d are within the bars", right, len(settings()), inside)
	if right < 9 {
		t.Errorf("the direction is right for %d of %d", right, len(settings()))
	}
}

func shift(r *whatif.Report, queue string) float64 {
	b, a, _, _ := predictedMean(r, queue)
	return math.Abs(a - b)
}

// Fifty submissions to a loaded cluster start when it was forecast.
func TestFiftySubmissionsAreMetLive(t *testing.T) {
	long(t)
	list := jobs(150, 23)
	for i := range list {
		list[i].at *= 3
	}
	l, dir := runOn(t, list, nil, 3, func(*live) {})
	var first, rest []int
	for i, x := range forecast.Candidates(l, 70) {
		if i < 20 {
			first = append(first, x)
		} else {
			rest = append(rest, x)
		}
	}
	if len(rest) < 50 {
		t.Fatalf("only %d submissions can be graded", len(rest))
	}
	learned, err := forecast.Grade(dir, l, first, load.Options{}, forecast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	graded, err := forecast.Grade(dir, l, rest, load.Options{}, forecast.Options{Wider: forecast.Widen(learned)})
	if err != nil {
		t.Fatal(err)
	}
	waits := []float64{}
	for i := range graded {
		waits = append(waits, graded[i].Happened)
	}
	slices.Sort(waits)
	median, inside := forecast.Summary(graded)
	t.Logf("%d submissions, which waited for %.1f s in the median and %.1f s at most: median error %.2f s, %d within the bars, which are wider by %.2f",
		len(graded), waits[len(waits)/2], waits[len(waits)-1], median, inside, forecast.Widen(learned))
	if len(graded) < 50 || inside*10 < len(graded)*8 {
		t.Errorf("%d of %d are within the bars", inside, len(graded))
	}
}
