package probe_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"heddle/nm/probe"
)

func TestQuotesOfANodeWithRoom(t *testing.T) {
	n := newNode(t, probe.Config{}, 2).knows("a", 10, 9).knows("big", 10, 9, func(j *probe.Job) { j.Size.VCores = 3 })
	n.add("a")
	if q := n.Quote(n.of["a"]); q != (probe.Quote{}) {
		t.Errorf("there is room: %+v", q)
	}
	n.next(probe.Task)
	n.add("a")
	if q := n.Quote(n.of["a"]); q.P50 <= 0 || q.P95 <= q.P50 {
		t.Errorf("there is no room: %+v", q)
	}
	if q := n.Quote(n.of["big"]); q.P50 != math.MaxInt64 || q.P95 != math.MaxInt64 {
		t.Errorf("it never fits: %+v", q)
	}
}

func TestQuotesCountWhatGoesFirst(t *testing.T) {
	n := newNode(t, probe.Config{}, 1).knows("a", 10, 9).knows("high", 10, 9, func(j *probe.Job) { j.Priority = 1 }).add("a")
	n.next(probe.Task)
	before := n.Quote(n.of["high"])
	n.add("a", "a", "a")
	if q := n.Quote(n.of["high"]); q != before {
		t.Errorf("lower priorities count: %+v", q)
	}
	if q := n.Quote(n.of["a"]); q.P50 < 30*second || q.P50 > 40*second {
		t.Errorf("with 40 s of work in front: %+v", q)
	}
}

// Of many quotes half hold at P50, and 95 of 100 at P95, for exponential durations and probes of which half get tasks.
func TestQuotesHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, slots := range []int64{1, 4} {
		early, kept, all := 0, 0, 0
		for range 150 {
			n := newNode(t, probe.Config{}, slots).knows("x", 10, 9).knows("y", 4, 9).knows("mine", 5, 9)
			now := time.Duration(0)
			type end struct {
				at   time.Duration
				slot probe.Slot
			}
			var ends []end
			mine := time.Duration(-1)
			pump := func() {
				for {
					ask, ok := n.Next(0)
					if !ok {
						return
					}
					if n.name[ask.Job] == "mine" {
						mine = now
					}
					if n.name[ask.Job] != "mine" && rng.IntN(2) > 0 {
						n.Bind(ask.Slot, probe.None)
						n.Free(now, ask.Slot)
						continue
					}
					n.Bind(ask.Slot, probe.Task)
					d := time.Duration(rng.ExpFloat64() * float64(n.jobs.Of(ask.Job).Estimate))
					ends = append(ends, end{now + d, ask.Slot})
				}
			}
			var quote probe.Quote
			from := time.Duration(0)
			for i := 0; mine < 0; i++ {
				if i < 120 {
					for range 1 + 2*slots {
						n.add([]string{"x", "y"}[rng.IntN(2)])
					}
				} else if i == 120 {
					quote, from = n.Quote(n.of["mine"]), now
					n.add("mine")
				}
				pump()
				if i >= 60 && len(ends) > 0 {
					first := 0
					for k := range ends {
						if ends[k].at < ends[first].at {
							first = k
						}
					}
					now = ends[first].at
					n.Free(now, ends[first].slot)
					ends = append(ends[:first], ends[first+1:]...)
				}
			}
			all++
			if wait := mine - from; wait <= quote.P50 {
				early++
				kept++
			} else if wait <= quote.P95 {
				kept++
			}
		}
		if early < all*35/100 || early > all*70/100 || kept < all*89/100 {
			t.Errorf("%d slots: of %d quotes %d hold at P50, and %d at P95", slots, all, early, kept)
		}
	}
}

// Users may say anything of how long their tasks take. What others are quoted then is long, and not before now.
func TestQuotesOfAbsurdEstimates(t *testing.T) {
	jobs := &probe.Jobs{}
	w := probe.New(&probe.Config{}, jobs, probe.Amount{MemoryMB: 1, VCores: 1})
	absurd := jobs.Add(probe.Job{Estimate: math.MaxInt64, Left: 1000, Size: probe.Amount{MemoryMB: 1, VCores: 1}})
	other := jobs.Add(probe.Job{Estimate: time.Millisecond, Left: 1, Size: probe.Amount{MemoryMB: 1, VCores: 1}})
	for range 1000 {
		w.Add(absurd)
	}
	if q := w.Quote(other); q.P50 < 100*365*24*time.Hour || q.P95 < q.P50 {
		t.Errorf("%+v", q)
	}
}

// Quotes are in proportion to estimates, down to the nanosecond.
func TestQuotesAreInProportion(t *testing.T) {
	const times = 1_000_000
	of := func(estimate time.Duration) (quotes []probe.Quote) {
		n := newNode(t, probe.Config{}, 1).knows("a", 0, 9, func(j *probe.Job) { j.Estimate = estimate })
		n.add("a")
		_, slot := n.next(probe.Task)
		quotes = append(quotes, n.Quote(n.of["a"]))
		n.Free(0, slot)
		for range 20 { // so that nobody is sure how many get tasks
			n.add("a")
			_, slot := n.next(probe.None)
			n.Free(0, slot)
		}
		for range 2000 {
			n.add("a")
			quotes = append(quotes, n.Quote(n.of["a"]))
		}
		return quotes
	}
	small, large := of(3), of(3*times)
	for i := range small {
		if s, l := small[i], large[i]; s.P50 != l.P50/times || s.P95 != l.P95/times {
			t.Fatalf("%d probes wait: %v and %v, but %v and %v of estimates that are %d times as long", i, s.P50, s.P95, l.P50, l.P95, times)
		}
	}
}
