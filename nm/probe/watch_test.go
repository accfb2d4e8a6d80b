package probe

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestLongQueue compares queues that are told of launched jobs with queues that look at each probe each time.
func TestLongQueue(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cfg := &Config{Ranking: Shortest, Bound: float64(rng.IntN(6)), Strict: rng.IntN(2) == 0, Sticky: rng.IntN(2) == 0, Late: rng.IntN(2) == 0}
		var known [2]Jobs
		var queues [2]*Worker
		for i := range queues {
			queues[i] = New(cfg, &known[i], Amount{MemoryMB: 2})
		}
		both := func(do func(w *Worker, jobs *Jobs)) {
			for _, c := range queues[1].classes {
				for u := range c.users {
					if m := c.users[u].more; m != nil {
						m.least = 0 // so that it looks at all
					}
				}
			}
			for i := range queues {
				do(queues[i], &known[i])
			}
		}
		var jobs []Handle
		var slots []Slot
		for step := range 3000 {
			now := time.Duration(step) * time.Second
			draw, of, n := rng.IntN(20), rng.Int(), rng.IntN(4)
			same := func(what string, f func(w *Worker, jobs *Jobs) []int32) {
				var got [2][]int32
				i := 0
				both(func(w *Worker, jobs *Jobs) { got[i] = f(w, jobs); i++ })
				if !slices.Equal(got[0], got[1]) {
					t.Fatalf("seed %d, step %d: %s: %v, but %v when all are looked at", seed, step, what, got[0], got[1])
				}
			}
			switch {
			case draw == 0 || len(jobs) == 0:
				j := Job{Estimate: time.Duration(1+of%50) * time.Second, Left: 1 + of%9, Long: of%23 == 0, User: int32(of % 2), Size: Amount{MemoryMB: 1}}
				both(func(_ *Worker, jobs *Jobs) { jobs.Add(j) })
				jobs = append(jobs, Handle(len(jobs)))
			case draw < 10 && seed%2 == 0 && queues[0].queued > 3*few: // half of the queues become long again and again
				both(func(w *Worker, _ *Jobs) { w.StealAny(nil, few+of%(2*few)) })
			case draw < 10:
				both(func(w *Worker, _ *Jobs) {
					for range n {
						w.Add(jobs[of%len(jobs)])
					}
				})
			case draw < 12:
				both(func(_ *Worker, known *Jobs) { known.SetLaunched(jobs[of%len(jobs)]) })
			case draw == 12:
				both(func(_ *Worker, known *Jobs) { known.SetLeft(jobs[of%len(jobs)], n) })
			case draw == 13:
				same("stolen", func(w *Worker, _ *Jobs) []int32 {
					var stolen []int32
					for _, h := range w.Steal(nil, n) {
						stolen = append(stolen, int32(h))
					}
					return stolen
				})
			case draw < 17 || len(slots) == 0:
				same("asks", func(w *Worker, _ *Jobs) []int32 {
					ask, ok := w.Next(0)
					if !ok {
						ask = Ask{-1, -1, false}
					}
					got := []int32{int32(ask.Slot), int32(ask.Job), w.queued, w.held}
					for _, h := range w.Dropped() {
						got = append(got, int32(h))
					}
					if ok {
						w.Bind(ask.Slot, Answer(n%3))
						if w == queues[0] {
							slots = append(slots, ask.Slot)
						}
					}
					return got
				})
			default:
				both(func(w *Worker, _ *Jobs) { w.Free(now, slots[0]) })
				slots = slots[1:]
			}
		}
	}
}

// TestWatchersLeave checks that a job whose probes come and go for long doesn't keep all of them.
func TestWatchersLeave(t *testing.T) {
	var known Jobs
	w := New(&Config{Ranking: Shortest, Bound: 5}, &known, Amount{MemoryMB: 1})
	a, b := known.Add(Job{Left: 1}), known.Add(Job{Left: 1})
	left := New(&Config{Ranking: Shortest, Bound: 5}, &known, Amount{MemoryMB: 1})
	for range few {
		left.Add(a)
		left.Add(b)
	}
	left.StealAny(nil, 2*few)
	left.Add(known.Add(Job{Left: 1, User: 1})) // takes the user's place
	for i := range 2_000 {
		for range few {
			w.Add(a)
			w.Add(b)
		}
		w.StealAny(nil, few)
		w.StealAny(nil, few-1)
		if i%100 > 0 {
			continue
		}
		u := &w.classes[0].users[0]
		for _, e := range u.all() {
			if x := (watcher{w, e.number}); u.more.watches(&e) && !slices.Contains(known.watchers[e.job], x) {
				t.Fatalf("probe %d isn't watched any more", e.number)
			}
		}
	}
	if n := len(known.watchers[a]); n > 4*int(known.refs[a]) {
		t.Errorf("%d probes are watched, %d wait", n, known.refs[a])
	}
	if slices.ContainsFunc(known.watchers[a], func(x watcher) bool { return x.worker == left }) {
		t.Error("probes are watched of a user who has left")
	}
}

// longQueue is a queue that is told of launched jobs. Its first probes are of a job whose tasks of 10 s may be overtaken by so much; those behind it take 20 s.
type longQueue struct {
	*Worker
	t     *testing.T
	known *Jobs
	first Handle
}

func newLongQueue(t *testing.T, cfg Config) *longQueue {
	q := &longQueue{t: t, known: &Jobs{}}
	cfg.Ranking = Shortest
	q.Worker = New(&cfg, q.known, Amount{MemoryMB: 9})
	q.first = q.comes(10*time.Second, 1)
	for range 8 {
		q.Add(q.first)
	}
	for range few + 1 {
		q.comes(20*time.Second, 9)
	}
	return q
}

// comes adds a probe of a job that has so many tasks left.
func (q *longQueue) comes(estimate time.Duration, left int) Handle {
	h := q.known.Add(Job{Estimate: estimate, Left: left, Size: Amount{MemoryMB: 1}})
	q.Add(h)
	return h
}

// next binds what is next, which must be of a job.
func (q *longQueue) next(want Handle, a Answer) Slot {
	q.t.Helper()
	ask, ok := q.Next(0)
	if !ok || ask.Job != want {
		q.t.Fatalf("%+v is next (%v), not one of job %d", ask, ok, want)
	}
	q.Bind(ask.Slot, a)
	if a == None {
		q.Free(0, ask.Slot)
	}
	return ask.Slot
}

// A probe of a short task that waits again, or comes, is found where others need not be looked at.
func TestShortTasksAreFoundInLongQueues(t *testing.T) {
	q := newLongQueue(t, Config{Bound: .5, Late: true})
	short := q.comes(time.Second, 1)
	for range 3 {
		q.comes(20*time.Second, 9)
	}
	q.known.SetLaunched(short)
	q.next(q.first, None) // short is laid by
	q.next(q.first, None) // now it is known that nothing else has tasks as short
	q.known.SetLeft(short, 1)
	q.next(short, None)
	q.next(q.first, None)
	q.next(q.first, None)
	short = q.comes(time.Second, 1)
	q.next(short, None)
}

// A probe whose job is launched while its task runs is dropped when the task has ended, though it isn't looked at.
func TestStickyProbesInLongQueues(t *testing.T) {
	q := newLongQueue(t, Config{Bound: 4.5, Sticky: true})
	q.known.SetLeft(q.first, 9)
	one, two := q.comes(20*time.Second, 1), q.comes(20*time.Second, 1)
	slot := q.next(one, Task)
	q.next(two, Task) // no other one may overtake the first
	q.known.SetLaunched(one)
	q.next(q.first, None)
	q.Free(time.Second, slot)
	q.next(q.first, None)
	if d := q.Dropped(); !slices.Equal(d, []Handle{one}) {
		t.Errorf("%v are dropped, not %d", d, one)
	}
}
