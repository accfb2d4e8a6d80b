package hybrid

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"heddle/sim"
)

// Draws are those of rand.Rand, so that results of a seed stay as they were. Those left out are passed.
func TestDrawsAreThoseOfRand(t *testing.T) {
	mine, theirs := &pcg{wide{1, 2}}, rand.New(rand.NewPCG(1, 2))
	for _, n := range []uint64{9, 5, 1<<63 + 1} { // of the last, half are drawn again
		for range 1000 {
			if got, want := below(mine, n), theirs.Uint64N(n); got != want {
				t.Fatalf("%d is drawn below %d, not %d", got, n, want)
			}
		}
	}
	for _, n := range []uint32{0, 1, 2, 1000, 1<<17 + 5} {
		mine.skip(n)
		for range n {
			theirs.Uint64()
		}
		if got, want := mine.Uint64(), theirs.Uint64(); got != want {
			t.Fatalf("after %d that are left out %d is drawn, not %d", n, got, want)
		}
	}
}

// Blocks of workers that are passed over change nothing: tasks go where they go if each worker is looked at.
func TestPassingOverWorkers(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 5))
		p := []knowledge{current, late}[seed%2]
		c := newCentral(300, 7, p)
		all := newCentral(300, 7, p)
		mine, theirs := &pcg{wide{seed, 1}}, &pcg{wide{seed, 1}}
		const second = sim.Time(time.Second)
		for now := sim.Time(1); now < 400*second; now += sim.Time(rng.Int64N(int64(second))) {
			for i := range all.blocks {
				all.blocks[i] = block{} // nothing is known of any
			}
			tasks, estimate := 1+rng.IntN(40), sim.Time(rng.IntN(30))*second
			got, want := []int32(nil), []int32(nil)
			if p == late {
				got, want = c.placeLate(now, 7, tasks, estimate, 8*second, mine), all.placeLate(now, 7, tasks, estimate, 8*second, theirs)
			} else {
				got, want = c.place(now, 7, tasks, estimate), all.place(now, 7, tasks, estimate)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d at %v: %d tasks go to %v, not to %v", seed, now, tasks, got, want)
			}
			for _, x := range []*central{c, all} {
				x.sent(want, estimate)
			}
			for range rng.IntN(40) {
				w := int32(7 + rng.IntN(293))
				if rng.IntN(2) == 0 && c.queued[w] > 0 {
					c.runsSince(w, now, c.queued[w]/2)
					all.runsSince(w, now, c.queued[w]/2)
				} else {
					ends := c.queued[w]
					c.done(w, ends)
					c.runsSince(w, -1, 0)
					all.done(w, ends)
					all.runsSince(w, -1, 0)
				}
			}
			if p == late && rng.IntN(5) == 0 {
				c.beat()
				all.beat()
			}
		}
	}
}
