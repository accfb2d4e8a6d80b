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
		cfg := &Config{Order: Shortest, Bound: float64(rng.IntN(6)), Strict: rng.IntN(2) == 0, Sticky: rng.IntN(2) == 0, Late: rng.IntN(2) == 0}
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
					ask, ok := w.Next(now)
					if !ok {
						ask = Ask{-1, -1, false}
					}
					got := []int32{int32(ask.Slot), int32(ask.Job), w.queued, w.held}
					for _, h := range w.Dropped() {
						got = append(got, int32(h))
					}
					if ok {
						w.Bind(now, ask.Slot, Answer(n%3))
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
	w := New(&Config{Order: Shortest, Bound: 5}, &known, Amount{MemoryMB: 1})
	a, b := known.Add(Job{Left: 1}), known.Add(Job{Left: 1})
	for range 2_000 {
		for range few {
			w.Add(a)
			w.Add(b)
		}
		w.StealAny(nil, few)
		w.StealAny(nil, few-1)
	}
	if n := len(known.watchers[a]); n > 4*int(known.refs[a]) {
		t.Errorf("%d probes are watched, %d wait", n, known.refs[a])
	}
}
