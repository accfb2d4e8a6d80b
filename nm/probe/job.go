package probe

import (
	"math"
	"time"
)

// Handle is a job at a node: its number in a Jobs table.
type Handle int32

// Amount is a part of a node: memory in MiB, and virtual cores.
type Amount struct{ MemoryMB, VCores int64 }

// Fits reports whether the amount is within what is free.
func (a Amount) Fits(free Amount) bool { return a.MemoryMB <= free.MemoryMB && a.VCores <= free.VCores }

func (a Amount) add(b Amount) Amount { return Amount{a.MemoryMB + b.MemoryMB, a.VCores + b.VCores} }

func (a Amount) sub(b Amount) Amount { return Amount{a.MemoryMB - b.MemoryMB, a.VCores - b.VCores} }

// times returns how many of a size there is room for.
func (a Amount) times(size Amount) int {
	n := int64(math.MaxInt32)
	if size.MemoryMB > 0 {
		n = min(n, a.MemoryMB/size.MemoryMB)
	}
	if size.VCores > 0 {
		n = min(n, a.VCores/size.VCores)
	}
	return int(n)
}

// Job describes a job, as its probes do.
type Job struct {
	Estimate time.Duration // mean duration of its tasks, as far as known; without one it counts as a millisecond
	Left     int           // tasks that haven't been launched; the order by remaining work uses it
	Long     bool          // long work: it isn't stolen, doesn't stick, and keeps short probes off where Config.AvoidLong says so
	Priority int32         // higher goes first, strictly
	User     int32         // whose share it takes
	Weight   float64       // the user's weight; values that aren't positive numbers stand for 1. The latest that a probe of the user has is valid
	Size     Amount        // of one task
	// Early has tasks bound as soon as its probes come (Claim). They share the processors: of Size only the memory is taken.
	Early bool
}

// room returns what one of its tasks takes of what is lent.
func (j *Job) room() Amount {
	if j.Early {
		return Amount{MemoryMB: j.Size.MemoryMB}
	}
	return j.Size
}

// Jobs are the jobs that a node knows. In a simulation all nodes may share one. The zero value has none.
type Jobs struct {
	hot  []hot
	rest []Job
	refs []int32 // probes in queues and slots; −1: the handle is free
	free []Handle
	// watchers are the probes in long queues, by job: these are told when all tasks are launched (watch.go).
	watchers [][]watcher
	// revived is how often a job of which all tasks were launched had one again that waits.
	revived uint32
	tally   *tally // nil: sums aren't kept
}

// hot has the fields of a job that a search through a queue reads.
type hot struct {
	remaining float64 // ns of work that wasn't launched; −1: all was
	estimate  time.Duration
	long      bool
}

// Add takes a job in, and returns its handle.
func (t *Jobs) Add(j Job) Handle {
	if !(j.Weight > 0) || math.IsInf(j.Weight, 1) { // NaN isn't above 0 either
		j.Weight = 1
	}
	if j.Estimate <= 0 {
		j.Estimate = shortest // tasks that are expected to take no time would overtake others for ever
	}
	var h Handle
	if n := len(t.free); n > 0 {
		h = t.free[n-1]
		t.free = t.free[:n-1]
		t.rest[h], t.refs[h], t.watchers[h] = j, 0, t.watchers[h][:0]
	} else {
		h = Handle(len(t.rest))
		t.hot, t.rest, t.refs, t.watchers = append(t.hot, hot{}), append(t.rest, j), append(t.refs, 0), append(t.watchers,
			nil)
	}
	t.hot[h] = hot{estimate: j.Estimate, long: j.Long}
	t.SetLeft(h, j.Left)
	return h
}

// SetLeft says how many tasks of a job haven't been launched yet.
func (t *Jobs) SetLeft(h Handle, left int) {
	t.rest[h].Left = left
	if t.hot[h].remaining < 0 {
		t.revived++
		t.recount(h, 1)
	}
	t.hot[h].remaining = float64(left) * float64(t.hot[h].estimate)
}

// SetLaunched says that all tasks of a job were launched. The order by remaining work drops its probes.
func (t *Jobs) SetLaunched(h Handle) {
	t.rest[h].Left = 0
	if t.hot[h].remaining < 0 {
		return
	}
	t.recount(h, -1)
	t.hot[h].remaining = -1
	for _, x := range t.watchers[h] {
		x.tell(&t.rest[h])
	}
}

// Launched reports whether all tasks of a job were launched, as far as known.
func (t *Jobs) Launched(h Handle) bool { return t.hot[h].remaining < 0 }

// Of returns what is known of a job.
func (t *Jobs) Of(h Handle) Job { return t.rest[h] }

// Sweep forgets the jobs of which no probe is queued and nothing runs, and calls f with the handle of each. Handles are used again.
func (t *Jobs) Sweep(f func(Handle)) {
	for h, n := range t.refs {
		if n == 0 {
			t.refs[h] = -1
			t.free = append(t.free, Handle(h))
			f(Handle(h))
		}
	}
}
