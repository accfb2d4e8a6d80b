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
			s.set[pairs[i]] = pairs[i+1]
		}
		return s
	}
	return []setting{
		one("dev has 50 % at most", queue.Prefix+"root.dev.maximum-capacity", "50"),
		one("prod has 80 % and dev 20 %", queue.Prefix+"root.prod.capacity", "80", queue.Prefix+"root.dev.capacity", "20"),
		one("three applications at a time in dev", queue.Prefix+"root.dev.max-parallel-apps", "3"),
		one("a user has three quarters of dev", queue.Prefix+"root.dev.user-limit-factor", "0.75"),
		one("ApplicationMasters have 15 % of dev", queue.Prefix+"root.dev.maximum-am-resource-percent", "0.15"),
		one("dev is ordered fairly", queue.Prefix+"root.dev.ordering-policy", "fair"),
		one("prod comes before dev", queue.Prefix+"root.prod.priority", "5", queue.Prefix+"root.ordering-policy", "priority-utilization"),
		one("preemption", "yarn.resourcemanager.scheduler.monitor.enable", "true", "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill", "2000",
			"yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval", "1000", "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round", "1",
			"yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor", "1"),
		{"a node more", nil, 1},
		{"a node less", nil, -1},
	}
}

// mixed are jobs of tasks that take seconds, so that what the machine does besides matters little. Each fifth one is large.
func mixed(n int, seed uint64) []job {
	list := jobs(n, seed)
	for i := range list {
		j := &list[i]
		j.at *= 18
		for s, stage := range j.stages {
			for k := range stage {
				stage[k] *= 10
			}
			if i%5 == 4 {
				j.stages[s] = slices.Repeat(stage, 4)
			}
		}
	}
	return list
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
	list := mixed(60, 11)
	records := make([]*load.Load, len(settings())+2) // the first two of the unchanged configuration
	t.Run("live", func(t *testing.T) {
		for i := range records {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				s := setting{}
				if i >= 2 {
					s = settings()[i-2]
				}
				records[i], _ = runOn(t, list, s.set, 3+s.node, func(*live) {})
			})
		}
	})
	if t.Failed() {
		return
	}
	before, right, inside := records[0], 0, 0
	for _, q := range []string{"root.prod", "root.dev"} {
		t.Logf("%s, unchanged: %.2f s, and %.2f s when it was run again", q, queueMean(before, q), queueMean(records[1], q))
	}
	for i, s := range settings() {
		r := predict(t, before, s.request())
		if b := r.Backtest; i == 0 {
			t.Logf("backtest of %d applications: median %.2f %%, p95 %.2f %%", b.Apps, 100*b.Median, 100*b.P95)
			if b.Apps != len(list) || b.Median > 0.017 || b.P95 > 0.1 {
				t.Errorf("the backtest misses by %.3f in the median, %.3f at p95: %+v", b.Median, b.P95, b.Worst)
			}
		}
		m := measure(r, before, records[i+2])
		if m.right {
			right++
		}
		if m.inside {
			inside++
		}
		t.Logf("%s: %s", s.name, m.text)
	}
	t.Logf("the direction is right for %d of %d, %d are within the bars", right, len(settings()), inside)
	if right < 9 || inside < 9 {
		t.Errorf("the direction is right for %d of %d, %d are within the bars", right, len(settings()), inside)
	}
}

// request is the change as a command line asks for it.
func (s *setting) request() (c change.Request) {
	for k, v := range s.set {
		c.Set = append(c.Set, k+"="+v)
	}
	slices.Sort(c.Set)
	if s.node != 0 {
		c.Nodes = []string{fmt.Sprintf("%+d", s.node)}
	}
	return c
}

// met is how well a prediction was met.
type met struct {
	right, inside bool
	text          string
}

// measure compares a prediction with what was measured, in the queue that the change concerns most.
func measure(r *whatif.Report, before, after *load.Load) met {
	most := "root.prod"
	if shift(r, "root.dev") > shift(r, most) {
		most = "root.dev"
	}
	b, a, low, high := predictedMean(r, most)
	then, happened := queueMean(before, most), queueMean(after, most)
	return met{
		right: math.Signbit(a-b) == math.Signbit(happened-then), inside: happened >= low && happened <= high,
		text: fmt.Sprintf("mean time in %s %.2f s, played %.2f s; predicted %.2f s (bars %.2f to %.2f), measured %.2f s: off by %.1f %%", most, then, b, a, low, high, happened, 100*(a-happened)/happened),
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
		list[i].at = list[i].at * 9 / 4
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
	if len(graded) < 50 || inside*10 < len(graded)*9 {
		t.Errorf("%d of %d are within the bars", inside, len(graded))
	}
}
