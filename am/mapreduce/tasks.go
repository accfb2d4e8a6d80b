package mapreduce

import (
	"container/heap"
	"slices"
	"time"

	"heddle/am"
	"heddle/am/mapreduce/job"
)

type taskState struct {
	kind     job.Kind
	index    int
	phase    phase
	attempt  int // the current one, if it isn't waiting
	begun    int // attempts
	failed   int // attempts that count
	lost     int // times that its output was lost
	worker   *workerState
	progress int64 // in millionths
	counters job.Counters
	part     string // of the output
	ask      am.RequestID
	avoid    map[string]bool // hosts on which it has failed
	failedAt time.Time
	// Of a map task that is done: how often reduce tasks couldn't fetch its output, by their hosts. Of a reduce task that
	// runs: the hosts that it couldn't fetch from.
	blamed map[string]int
}

type phase int

const (
	waiting phase = iota
	running
	done
)

func (t *taskState) id() job.TaskID {
	return job.TaskID{Kind: t.kind, Index: t.index, Attempt: t.attempt}
}

// millionths is all of a task's progress.
const millionths = 1_000_000

// table is the tasks of a kind. It keeps account of them, so that no decision looks at all of them.
type table struct {
	all      []*taskState
	count    [3]int // by phase
	failed   int    // attempts
	progress int64  // of all, in millionths

	// Tasks that wait, the lowest number first. Those that don't wait any more are dropped when they are met.
	local    map[string]*queue // by the hosts that have their input
	anywhere queue             // those whose input is on no host in particular
	remote   queue             // those whose input is on some hosts
	unasked  queue             // those for which no container was asked for
	picky    []*taskState      // those that have failed somewhere; few
}

// queue is a heap of tasks by number.
type queue []*taskState

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].index < q[j].index }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*taskState)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return t
}

// first returns the first task that good approves of, and drops those before it; nil if there is none.
func (q *queue) first(good func(*taskState) bool) *taskState {
	if q == nil {
		return nil
	}
	for len(*q) > 0 {
		if t := (*q)[0]; good(t) {
			return t
		}
		heap.Pop(q)
	}
	return nil
}

func newTable(k job.Kind, n int, hosts func(i int) []string) *table {
	b := &table{local: map[string]*queue{}, count: [3]int{waiting: n}}
	for i := range n {
		t := &taskState{kind: k, index: i}
		b.all = append(b.all, t)
		b.await(t, hosts(i))
	}
	return b
}

// await queues a task that waits.
func (b *table) await(t *taskState, hosts []string) {
	if t.ask == 0 {
		heap.Push(&b.unasked, t)
	}
	if len(t.avoid) > 0 {
		b.picky = append(slices.DeleteFunc(b.picky, func(o *taskState) bool { return o == t }), t)
		return
	}
	if len(hosts) == 0 {
		heap.Push(&b.anywhere, t)
		return
	}
	heap.Push(&b.remote, t)
	for _, h := range hosts {
		if b.local[h] == nil {
			b.local[h] = &queue{}
		}
		heap.Push(b.local[h], t)
	}
}

// unask notes that no container is asked for any more for a task that waits.
func (b *table) unask(t *taskState) { heap.Push(&b.unasked, t) }

// plain reports whether a task waits and may go to any host.
func plain(t *taskState) bool { return t.phase == waiting && len(t.avoid) == 0 }

// next returns the task to begin with on a host: one that has failed elsewhere, if it may, or one whose input is there, or any.
func (b *table) next(host string, may func(*taskState) bool) *taskState {
	b.picky = slices.DeleteFunc(b.picky, func(t *taskState) bool { return t.phase != waiting })
	for _, t := range b.picky {
		if may(t) {
			return t
		}
	}
	for _, q := range []*queue{b.local[host], &b.anywhere, &b.remote} {
		if t := q.first(plain); t != nil {
			return t
		}
	}
	return nil
}

// advance sets how far a task is.
func (b *table) advance(t *taskState, to int64) {
	b.progress += to - t.progress
	t.progress = to
}

func (c *coordinator) table(k job.Kind) *table {
	if k == job.Map {
		return c.maps
	}
	return c.reduces
}

func (c *coordinator) hostsOf(t *taskState) []string {
	if t.kind == job.Map {
		return c.splits[t.index].Hosts
	}
	return nil
}

// move brings a task into another phase.
func (c *coordinator) move(t *taskState, to phase) {
	b := c.table(t.kind)
	if t.phase == done {
		c.finals.AddTimes(t.counters, -1)
		t.counters, t.part = nil, ""
	}
	b.count[t.phase]--
	b.count[to]++
	t.phase = to
	switch to {
	case waiting:
		b.advance(t, 0)
		delete(c.stale, t.ask)
		b.await(t, c.hostsOf(t))
		c.stirred = true
	case running:
		b.advance(t, 0)
		t.blamed = nil
		if t.ask != 0 {
			c.stale[t.ask] = t
		}
	case done:
		b.advance(t, millionths)
		t.blamed = nil
		c.finals.AddAll(t.counters)
	}
}
