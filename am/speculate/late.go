package speculate

import (
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

// Late is what Hadoop's speculator does: a task is copied if it is expected to end later than a copy that begins now and takes
// the mean time of its kind, whatever nodes they run on (equations 5.1 and 5.2). Its zero value is ready.
type Late struct {
	done [stages]struct{ n, sum float64 }
	next time.Duration
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
	if r.Now < l.next {
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
	var best stage.Copy
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
		if win := estimate(elapsed, sane(x.Progress)) - elapsed.Seconds() - d.sum/d.n*share(x); win > best.Value {
			best = stage.Copy{Of: x.ID, Value: win}
		}
	}
	if best.Value <= 0 || float64(copies/2) >= max(leastCopies, ofRunning*float64(len(r.Running))) {
		return nil
	}
	l.next = r.Now + retryAfter
	return []stage.Copy{best}
}

// Worth implements stage.Speculator: Hadoop doesn't ask again, and any node will do.
func (*Late) Worth(stage.Copy, time.Duration, stage.Running, int) bool { return true }
