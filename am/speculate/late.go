package speculate

import (
	"cmp"
	"slices"
	"time"

	"heddle/am/stage"
)

// Settings of Late: Hadoop's mapreduce.job.speculative.…
const (
	retryAfter  = 15 * time.Second // retry-after-speculate
	leastCopies = 10               // minimum-allowed-tasks
	ofRunning   = 0.1              // speculative-cap-running-tasks
	leastDone   = 0.05             // MINIMUM_COMPLETE_PROPORTION_TO_SPECULATE of its StartEndTimesBase: of a stage's tasks, before any is copied
)

// Late follows Hadoop's speculator: a task is copied if it is expected to end later than a copy that begins now and takes
// the mean time of its kind, whatever nodes they run on (equations 5.1 and 5.2). Hadoop makes a copy each 15 s at most; where the ResourceManager has
// containers for copies, it makes as many as these, at once. Its zero value is ready.
type Late struct {
	done  [stages]struct{ n, sum float64 }
	next  time.Duration
	found []stage.Copy
}

// Ended implements stage.Speculator.
func (l *Late) Ended(s stage.Stage, _ int, took time.Duration) {
	if int(s) < stages {
		l.done[s].n++
		l.done[s].sum += took.Seconds()
	}
}

// Round implements stage.Speculator.
func (l *Late) Round(r *stage.Round) []stage.Copy {
	if r.Now < l.next && r.Copies == 0 {
		return nil
	}
	var total [stages]float64 // tasks of a stage, as far as they are known
	for s := range total {
		total[s] = l.done[s].n + float64(r.Waiting[s])
	}
	for i := range r.Running {
		x := &r.Running[i]
		total[x.ID.Stage] += 1 / float64(max(1, x.Attempts))
	}
	copies := 0
	l.found = l.found[:0]
	for i := range r.Running {
		x := &r.Running[i]
		if x.Attempts > 1 {
			copies++
			continue
		}
		if x.Waits {
			continue // a copy would wait as well
		}
		d := l.done[x.ID.Stage]
		if d.n == 0 || d.n < leastDone*total[x.ID.Stage] {
			continue
		}
		// EstEnd − EstRepEnd
		elapsed := x.Elapsed(r.Now)
		if win := estimate(elapsed, sane(x.Progress)) - elapsed.Seconds() - d.sum/d.n*share(x); win > 0 {
			l.found = append(l.found, stage.Copy{Of: x.ID, Value: win})
		}
	}
	if r.Copies == 0 && float64(copies/2) >= max(leastCopies, ofRunning*float64(len(r.Running))) {
		return nil
	}
	best := most(l.found, r.Copies-copies/2, r.Copies)
	if len(best) > 0 {
		l.next = r.Now + retryAfter
	}
	return best
}

// most returns the copies of a list that may win most: as many as there are containers left for them, or one if the ResourceManager has none for
// copies in particular.
func most(list []stage.Copy, left, granted int) []stage.Copy {
	if granted == 0 {
		left = 1
	}
	slices.SortStableFunc(list, func(a, b stage.Copy) int { return cmp.Compare(b.Value, a.Value) })
	if list = list[:min(len(list), max(0, left))]; len(list) == 0 {
		return nil
	}
	return list
}

// Detects implements stage.Detector.
func (*Late) Detects() time.Duration { return retryAfter }

// Worth implements stage.Speculator: Hadoop doesn't ask again, and any node will do.
func (*Late) Worth(stage.Copy, time.Duration, stage.Running, int) bool { return true }
