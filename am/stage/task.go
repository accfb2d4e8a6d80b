package stage

import (
	"container/heap"
	"slices"
	"time"
)

// Phase is the current step of an attempt.
type Phase uint8

// Phases of attempts: those of a map are Mapping only.
const (
	Mapping Phase = iota
	Shuffling
	Sorting
	Reducing
)

// State tells whether an attempt runs, and how it has ended.
type State uint8

// States of attempts.
const (
	Active State = iota
	Succeeded
	Unsuccessful
	Cancelled
)

// Attempt is an attempt at a task.
type Attempt struct {
	ID          AttemptID
	Slot        SlotID
	Phase       Phase
	State       State
	Copy        bool // another one ran when it began
	Begun       time.Duration
	Seen        time.Duration // when its progress was told
	Fetched     time.Duration // when a reduce had all that it had to fetch; 0: it hasn't
	Ended       time.Duration
	Done, Total int64
	Paused      time.Duration
	OutBytes    int64

	stopping bool    // it was told to stop, and hasn't answered
	fixed    bool    // it can't be told to stop
	tried    bool    // it was to be suspended once
	onNode   bool    // its output is its node's to serve
	blamed   []blame // of a reduce: hosts that it couldn't fetch from
}

// Progress returns how far the attempt is, as it has said.
func (a *Attempt) Progress() float64 {
	if a.Total <= 0 {
		return 0
	}
	return float64(a.Done) / float64(a.Total)
}

// millionths is all of a task's progress, and almost that of one which isn't done: its command may work on when it has read
// everything.
const (
	millionths = 1_000_000
	almost     = 950_000
)

func (a *Attempt) millionths() int64 { return int64(max(0, min(a.Progress()*millionths, almost))) }

// task is a task with all of its attempts. It waits if none of them runs and none has won.
type task struct {
	id       TaskID
	phase    phase
	attempts []Attempt
	active   int   // attempts that run
	winner   int   // attempt; -1 if it isn't done
	failed   int   // attempts that count
	lost     int   // times that its output was lost
	share    int64 // of the work of a task as it was submitted, in millionths
	progress int64 // millionths of that
	request  RequestID
	avoid    []host        // on which it has failed, or that it isn't for as a part of another one
	avoids   time.Duration // since when
	blamed   []blame       // of a map that is done: hosts of reduces that couldn't fetch its output
}

type phase uint8

const (
	waiting phase = iota
	running
	done
)

// blame is how often a host couldn't do something, or was to blame.
type blame struct {
	host  host
	times int
}

func addBlame(list []blame, h host) ([]blame, int) {
	for i := range list {
		if list[i].host == h {
			list[i].times++
			return list, list[i].times
		}
	}
	return append(list, blame{h, 1}), 1
}

// again reports whether the task waits to be done once more.
func (t *task) again() bool { return len(t.attempts) > 0 }

// table is the tasks of a stage. It keeps account of them, so that no decision looks at all of them.
type table struct {
	all      []task
	count    [3]int // by phase
	failed   int    // attempts
	progress int64  // of all, in millionths
	begun    int    // tasks as they were submitted
	redo     int    // that wait to be done once more
	outBytes int64
	took     moments
	active   []AttemptID // attempts that run, in the order in which they began

	// Tasks that wait, the lowest number first. Those that don't wait any more are dropped when they are met.
	local    []queue // by host
	anywhere queue   // those whose input is on no host in particular
	remote   queue   // those whose input is on some hosts
	unasked  queue   // those for which no container was asked for
	picky    []int   // those that avoid hosts; few
}

// queue is a heap of tasks by number.
type queue []int

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i] < q[j] }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(int)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	*q = (*q)[:last]
	return t
}

// firstOf returns the first task of a queue that good approves of, and drops those before it; nil if there is none.
func (b *table) firstOf(q *queue, good func(*task) bool) *task {
	for len(*q) > 0 {
		if t := &b.all[(*q)[0]]; good(t) {
			return t
		}
		heap.Pop(q)
	}
	return nil
}

// await queues a task that waits. hosts have its input.
func (b *table) await(t *task, hosts []host) {
	i := t.id.Index
	if t.request == 0 {
		heap.Push(&b.unasked, i)
	}
	if len(t.avoid) > 0 {
		b.picky = append(slices.DeleteFunc(b.picky, func(o int) bool { return o == i }), i)
		return
	}
	if len(hosts) == 0 {
		heap.Push(&b.anywhere, i)
		return
	}
	heap.Push(&b.remote, i)
	for _, h := range hosts {
		for int(h) >= len(b.local) {
			b.local = append(b.local, nil)
		}
		heap.Push(&b.local[h], i)
	}
}

// plain reports whether a task waits and may go to any host.
func plain(t *task) bool { return t.phase == waiting && len(t.avoid) == 0 }

func unasked(t *task) bool { return t.phase == waiting && t.request == 0 }

// next returns the task to begin with on a host: one that avoids others, if it may, or one whose input is there, or any.
func (b *table) next(h host, may func(*task) bool) *task {
	b.picky = slices.DeleteFunc(b.picky, func(i int) bool { return b.all[i].phase != waiting })
	for _, i := range b.picky {
		if t := &b.all[i]; may(t) {
			return t
		}
	}
	if int(h) < len(b.local) {
		if t := b.firstOf(&b.local[h], plain); t != nil {
			return t
		}
	}
	if t := b.firstOf(&b.anywhere, plain); t != nil {
		return t
	}
	return b.firstOf(&b.remote, plain)
}

// advance sets how far a task is, in millionths of its own.
func (b *table) advance(t *task, to int64) {
	to = to * t.share / millionths
	b.progress += to - t.progress
	t.progress = to
}

// moments are mean and deviation of durations.
type moments struct {
	n       float64
	sum, sq float64
}

func (m *moments) add(d time.Duration) {
	x := d.Seconds()
	m.n, m.sum, m.sq = m.n+1, m.sum+x, m.sq+x*x
}

func (m *moments) mean() time.Duration {
	if m.n == 0 {
		return 0
	}
	return time.Duration(m.sum / m.n * float64(time.Second))
}
