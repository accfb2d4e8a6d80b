package probe

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// walk is what the sums of a worker should be, by a look at each probe and slot.
func walk(w *Worker) (waits map[int32]load, all int, runs load, users map[int32]int) {
	waits, users = map[int32]load{}, map[int32]int{}
	for _, c := range w.classes {
		for i := range c.users {
			u := &c.users[i]
			if u.probes > 0 {
				users[u.id] += u.probes
			}
			for _, e := range append(append([]entry{}, u.all()...), u.laidBy()...) {
				if x := w.jobs.hot[e.job]; !e.held && x.remaining >= 0 {
					one, l := x.one(), waits[c.priority]
					l.add(1+int(e.more), &one)
					waits[c.priority] = l
					all += 1 + int(e.more)
				}
			}
		}
	}
	for _, s := range w.roomless {
		users[w.slots.runs[s].user]++
	}
	for _, c := range w.claimants {
		users[c.user] += len(c.slots)
	}
	for _, r := range w.slots.runs {
		if (r.phase == asked || r.phase == running) && !w.jobs.rest[r.job].Early {
			one := w.jobs.hot[r.job].one()
			runs.add(1, &one)
		}
	}
	return waits, all, runs, users
}

func TestSumsAreThoseOfAWalk(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		jobs := &Jobs{}
		w := New(&Config{
			Ranking: Ranking(rng.IntN(2)), Bound: 5, Sticky: rng.IntN(2) == 0, Late: rng.IntN(2) == 0, Probes: 900, PerUser: 500, Reserved: 5, Suspensions: 2, Counted: true,
		}, jobs, Amount{8, 8})
		var known []Handle
		var slots []Slot
		now := time.Duration(0)
		for range 3000 {
			now += time.Duration(rng.IntN(1000))
			switch op := rng.IntN(13); {
			case op == 0 || len(known) == 0:
				known = append(known, jobs.Add(Job{
					Estimate: time.Duration(rng.Int64N(1 << rng.IntN(62))), Left: 1 + rng.IntN(5), User: int32(rng.IntN(4)), Priority: int32(rng.IntN(3)),
					Size: Amount{1 + int64(rng.IntN(2)), 1}, Early: rng.IntN(10) == 0, Long: rng.IntN(10) == 0,
				}))
			case op < 4:
				h := known[rng.IntN(len(known))]
				for range 1 + rng.IntN(9) {
					if w.Offer(h) == Accepted && !jobs.rest[h].Early {
						w.Add(h)
					} else if jobs.rest[h].Early && w.claimed < 5 {
						a, _ := w.Claim(now, h)
						slots = append(slots, a.Slot)
					}
				}
			case op == 4:
				jobs.SetLeft(known[rng.IntN(len(known))], 1+rng.IntN(5))
			case op == 12:
				w.SetEstimate(known[rng.IntN(len(known))], time.Duration(rng.Int64N(1<<rng.IntN(62))))
			case op == 5:
				jobs.SetLaunched(known[rng.IntN(len(known))])
			case op == 6 && rng.IntN(4) == 0:
				w.Cancel(known[rng.IntN(len(known))])
			case op == 7 && rng.IntN(4) == 0:
				w.Lend(Amount{int64(rng.IntN(10)), int64(rng.IntN(10))})
				w.Evict(nil)
			case op == 8 && rng.IntN(8) == 0:
				w.StealAny(nil, rng.IntN(9))
			case op == 8:
				if s, ok := w.Suspendable(); ok {
					w.Suspend(s)
					w.Expire()
				}
				w.Resume()
			case op == 9 && len(slots) > 0:
				i := rng.IntN(len(slots))
				if !w.pause.is || w.pause.slot != slots[i] {
					w.Free(now, slots[i])
					slots = append(slots[:i], slots[i+1:]...)
				}
			case op == 10:
				for _, s := range slots {
					if w.slots.runs[s].phase == asked {
						w.Bind(s, Answer(rng.IntN(3)))
						break
					}
				}
			default:
				w.SetAhead(rng.IntN(4))
				for s, ok := w.Start(now); ok; s, ok = w.Start(now) {
					if rng.IntN(2) == 0 {
						w.Began(now, s)
					}
				}
				if a, ok := w.Next(now); ok {
					slots = append(slots, a.Slot)
				}
			}
			check(t, seed, w)
		}
		jobs.Sweep(func(Handle) {})
	}
}

func check(t *testing.T, seed uint64, w *Worker) {
	t.Helper()
	waits, all, runs, users := walk(w)
	c := w.jobs.tally
	if all != c.all || runs != c.runs || len(users) != len(c.users) {
		t.Fatalf("seed %d: %d wait, %+v runs, %v users; the sums are %d, %+v and %v", seed, all, runs, users, c.all, c.runs, c.users)
	}
	for p, l := range c.waits {
		if *l != waits[p] {
			t.Fatalf("seed %d: %+v waits with priority %d; the sum is %+v", seed, waits[p], p, *l)
		}
		delete(waits, p)
	}
	for p, l := range waits {
		if l.count > 0 {
			t.Fatalf("seed %d: %+v waits with priority %d; there is no sum", seed, l, p)
		}
	}
	for u, n := range users {
		if c.users[u] != n {
			t.Fatalf("seed %d: user %d has %d probes, and %d are counted", seed, u, n, c.users[u])
		}
	}
}

// What a probe costs at a node without room whose queue others have filled: with sums, and with a look at each probe as it was before. Jobs of the others
// differ, so that each of their probes has an entry of its own.
func BenchmarkProbe(b *testing.B) {
	for _, queued := range []int{0, 100, 1000, 10000, 20000} {
		for _, sums := range []bool{false, true} {
			b.Run(fmt.Sprintf("queued=%d/sums=%v", queued, sums), func(b *testing.B) {
				cfg := &Config{Ranking: Shortest, Bound: 5, Sticky: true, Late: true, Probes: 30000, PerUser: 20000, Reserved: 100}
				if sums {
					cfg.Counted, cfg.Least = true, Amount{1, 1}
				}
				jobs := &Jobs{}
				w := New(cfg, jobs, Amount{8, 8})
				runs := jobs.Add(Job{Estimate: time.Second, Left: 99, Size: Amount{1, 1}})
				for range 8 {
					w.Add(runs)
					if _, ok := w.Next(0); !ok {
						b.Fatal("there is no room")
					}
				}
				for i := range queued {
					w.Add(jobs.Add(Job{Estimate: time.Second + time.Duration(i), Left: 1, User: int32(i % 2), Size: Amount{1, 1}}))
				}
				h := jobs.Add(Job{Estimate: time.Millisecond, Left: 1, User: 7, Size: Amount{1, 1}})
				for b.Loop() {
					if w.Offer(h) != Accepted {
						b.Fatal("the probe isn't accepted")
					}
					w.Quote(h)
					w.Add(h)
					if _, ok := w.Next(0); ok {
						b.Fatal("there is room")
					}
					w.Cancel(h)
				}
			})
		}
	}
}

// What an ask and its answer cost with so many probes in the queue.
func BenchmarkAsk(b *testing.B) {
	for _, queued := range []int{0, 100, 1000, 10000, 20000} {
		for _, sums := range []bool{false, true} {
			b.Run(fmt.Sprintf("queued=%d/sums=%v", queued, sums), func(b *testing.B) {
				jobs := &Jobs{}
				w := New(&Config{Ranking: Shortest, Bound: 5, Sticky: true, Late: true, Probes: 30000, PerUser: 20000, Reserved: 100, Counted: sums}, jobs, Amount{8, 8})
				for i := range queued {
					w.Add(jobs.Add(Job{Estimate: time.Second + time.Duration(i), Left: 1, User: int32(i % 2), Size: Amount{1, 1}}))
				}
				h := jobs.Add(Job{Estimate: time.Millisecond, Left: 1, User: 7, Priority: 1, Size: Amount{1, 1}})
				for b.Loop() {
					w.Add(h)
					a, ok := w.Next(0)
					if !ok || a.Job != h {
						b.Fatal("it isn't its turn")
					}
					w.Others()
					w.Bind(a.Slot, None)
					w.Free(0, a.Slot)
				}
			})
		}
	}
}

// A user who has filled his queue doesn't have each turn of his cost a look at all of it. What is overtaken is bounded as ever.
func TestOnlyTheOldestProbesAreCompared(t *testing.T) {
	jobs := &Jobs{}
	w := New(&Config{Ranking: Shortest, Bound: 5, Late: true, Looked: 2}, jobs, Amount{1, 1})
	var all []Handle
	for _, seconds := range []int{9, 4, 3, 2, 1} {
		all = append(all, jobs.Add(Job{Estimate: time.Duration(seconds) * time.Second, Left: 1, Size: Amount{1, 1}}))
		w.Add(all[len(all)-1])
	}
	jobs.SetLaunched(all[2])
	for _, want := range []int{1, 3, 4, 0, 2} {
		a, ok := w.Next(0)
		if !ok || a.Job != all[want] {
			t.Fatalf("job %d is asked for, and not %d", a.Job, all[want])
		}
		w.Bind(a.Slot, Task)
		w.Free(0, a.Slot)
	}
}

// What the next ask costs a node if no probe in front may be overtaken for long, so that a search ends nowhere before its limit.
func BenchmarkNextBehindAGiant(b *testing.B) {
	for _, looked := range []int{0, 512} {
		for _, queued := range []int{100, 1000, 10000} {
			b.Run(fmt.Sprintf("queued=%d/looked=%d", queued, looked), func(b *testing.B) {
				jobs := &Jobs{}
				w := New(&Config{Ranking: Shortest, Bound: 5, Sticky: true, Late: true, Looked: looked, Counted: true}, jobs, Amount{1, 1})
				for i := range queued {
					w.Add(jobs.Add(Job{Estimate: 1e6*time.Hour - time.Duration(i), Left: 1, Size: Amount{1, 1}}))
				}
				for b.Loop() {
					a, ok := w.Next(0)
					if !ok {
						b.Fatal("nothing is asked for")
					}
					w.Bind(a.Slot, Task)
					w.Free(0, a.Slot)
				}
			})
		}
	}
}

// What it costs that a job is over.
func BenchmarkCancel(b *testing.B) {
	for _, queued := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("queued=%d", queued), func(b *testing.B) {
			jobs := &Jobs{}
			w := New(&Config{Ranking: Shortest, Bound: 5, Sticky: true, Late: true, Counted: true}, jobs, Amount{1, 1})
			for i := range queued {
				w.Add(jobs.Add(Job{Estimate: time.Second + time.Duration(i), Left: 1, Size: Amount{1, 1}}))
			}
			h := jobs.Add(Job{Estimate: time.Second, Left: 1, Size: Amount{1, 1}})
			for b.Loop() {
				w.Add(h)
				if w.Cancel(h) != 1 {
					b.Fatal("nothing is canceled")
				}
			}
		})
	}
}
