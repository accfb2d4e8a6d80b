package burst

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"heddle/internal/timeline"
)

// Outcome is what came out of a run. Times are in seconds.
type Outcome struct {
	FromAsk    []float64       // by short job: from when its ApplicationMaster asked to its first container's process
	FromSubmit []float64       // the same from the submission
	Short      []float64       // from each short job's submission to its last task's end
	Killed     int             // processes of long jobs that ended before their work was done
	Lost       float64         // for how long those had run
	Took       float64         // from the beginning of each long task to its end, together
	Work       float64         // what these would have taken undisturbed
	Suspended  float64         // for how long they were suspended or shrunk, together
	Makespan   float64         // from the first long task's beginning to the last one's end
	Spans      []timeline.Span `json:"-"`
}

func (x Outcome) String() string {
	return fmt.Sprintf("first containers %.0f ms after they were asked for, %d processes killed, %.1f s lost, %.1f s suspended, long jobs %.1f s",
		1000*percentile(x.FromAsk, 50), x.Killed, x.Lost, x.Suspended, x.Makespan)
}

// longer is by how much long tasks took longer than undisturbed and than they were suspended, as a part of their work.
func (x *Outcome) longer() (all, rest float64) {
	all = (x.Took - x.Work) / x.Work
	return all, all - x.Suspended/x.Work
}

// Use of queues, as it is drawn.
const (
	useLong timeline.Kind = iota
	useLost
	useShort
)

var uses = []timeline.Look{useLong: {Name: "queue long", Color: "#4f81bd"}, useLost: {Name: "work that is lost", Color: "#333333"}, useShort: {Name: "queue short", Color: "#c0504d"}}

// outcome returns the figures of a load that has ended.
func (l *loaded) outcome() (x Outcome, err error) {
	l.ear.mu.Lock()
	defer l.ear.mu.Unlock()
	long := l.options.LongJobs
	first, last := map[int]time.Time{}, map[int]time.Time{} // by job
	tasks := map[[2]int]*[2]time.Time{}                     // of long jobs: the first beginning and the last end
	var begin, end time.Time
	for _, a := range l.ear.attempts {
		if a.Error != "" {
			return x, fmt.Errorf("job %d, task %d, %s: %s", a.Job, a.Task, a.Container, a.Error)
		}
		if begin.IsZero() || a.Begun.Before(begin) {
			begin = a.Begun
		}
		if a.Job >= long && a.Task > 0 {
			if f, known := first[a.Job]; !known || a.Begun.Before(f) {
				first[a.Job] = a.Begun
			}
			last[a.Job] = later(last[a.Job], a.Ended)
		}
		if a.Job >= long {
			continue
		}
		end = later(end, a.Ended)
		if !a.Done {
			x.Killed++
			x.Lost += a.Ended.Sub(a.Begun).Seconds()
		}
		if a.Task == 0 {
			continue
		}
		t := tasks[[2]int{a.Job, a.Task}]
		if t == nil {
			t = &[2]time.Time{a.Begun, a.Ended}
			tasks[[2]int{a.Job, a.Task}] = t
		}
		t[1] = later(t[1], a.Ended)
	}
	for job := long; job < len(l.jobs); job++ {
		f, known := first[job]
		if !known {
			return x, fmt.Errorf("short job %d had no container", job)
		}
		x.FromAsk = append(x.FromAsk, f.Sub(l.ear.asked[job]).Seconds())
		x.FromSubmit = append(x.FromSubmit, f.Sub(l.submitted[job]).Seconds())
		x.Short = append(x.Short, last[job].Sub(l.submitted[job]).Seconds())
	}
	for _, t := range tasks {
		x.Took += t[1].Sub(t[0]).Seconds()
		x.Work += l.options.LongWork.Seconds()
	}
	x.Makespan = end.Sub(begin).Seconds()
	l.draw(&x, begin)
	return x, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// draw makes the spans of a run, and counts for how long containers were suspended.
func (l *loaded) draw(x *Outcome, begin time.Time) {
	cuts := map[string][]cut{}
	for _, c := range l.cuts {
		if !c.Refused {
			cuts[c.Container] = append(cuts[c.Container], c)
		}
	}
	for _, a := range l.ear.attempts {
		kind, size := useLong, longSize.VCores()
		switch {
		case a.Job >= l.options.LongJobs:
			kind, size = useShort, shortSize.VCores()
		case !a.Done:
			kind = useLost
		}
		span := func(from, to time.Time, vcores int64) {
			if vcores > 0 && to.After(from) {
				x.Spans = append(x.Spans, timeline.Span{Kind: kind, From: from.Sub(begin).Seconds(), To: to.Sub(begin).Seconds(), Amount: float64(vcores)})
			}
		}
		from, held := a.Begun, size
		list := cuts[a.Container]
		slices.SortStableFunc(list, func(p, q cut) int { return cmp.Compare(p.Time, q.Time) })
		for i, c := range list {
			at := time.UnixMilli(c.Time)
			span(from, at, held)
			from, held = at, c.Held.VCores
			until := a.Ended
			switch {
			case c.Lasted != nil:
				until = at.Add(time.Duration(*c.Lasted) * time.Millisecond)
			case i+1 < len(list):
				until = time.UnixMilli(list[i+1].Time)
			}
			if a.Task > 0 && kind == useLong {
				x.Suspended += until.Sub(at).Seconds()
			}
			if span(from, until, held); c.Lasted != nil {
				held = size
			}
			from = until
		}
		span(from, a.Ended, held)
	}
}
