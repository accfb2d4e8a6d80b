package admission

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"heddle/yarn/records"
)

// opportunist returns a place of an opportunistic container, and whether it was told to make way.
func opportunist(r *Room, size records.Resource) (*Place, *bool) {
	told := new(bool)
	p := r.Place(size, false)
	p.Yields(func() { *told = true })
	return p, told
}

// The last ones that came make way, no more of them than needed, for memory or for vcores.
func TestTheLastMakeWay(t *testing.T) {
	for name, c := range map[string]struct {
		guaranteed records.Resource
		want       string
	}{
		"it fits":            {records.NewResource(100, 1), "false false false"},
		"memory of one":      {records.NewResource(400, 1), "false false true"},
		"memory of two":      {records.NewResource(600, 1), "false true true"},
		"vcores of one":      {records.NewResource(10, 6), "false false true"},
		"more than there is": {records.NewResource(1000, 9), "true true true"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := New(records.NewResource(1000, 8))
			r.SetOpportunism(5)
			var all []*bool
			for range 3 {
				p, told := opportunist(r, records.NewResource(300, 1))
				all = append(all, told)
				if err := p.Enter(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			entering(ctx, t, r.Place(c.guaranteed, false))
			if got := fmt.Sprint(*all[0], *all[1], *all[2]); got != c.want {
				t.Errorf("%s: %s make way, want %s", name, got, c.want)
			}
		})
	}
}

// Opportunistic containers wait for memory and vcores that are idle, and for all guaranteed ones. The queue takes so many; Shed takes some out.
func TestTheQueueOfOpportunisticOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(records.NewResource(1000, 2))
		r.SetOpportunism(2)
		busy := r.Place(records.NewResource(100, 2), false)
		if err := busy.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		first, _ := opportunist(r, mb(50))
		second, _ := opportunist(r, mb(50))
		third, _ := opportunist(r, mb(50))
		firstIn, _ := entering(t.Context(), t, first)
		secondIn, result := entering(t.Context(), t, second)
		if firstIn() || secondIn() {
			t.Error("one is in without a vcore")
		}
		if err := third.Enter(t.Context()); !errors.Is(err, ErrQueueFull) {
			t.Errorf("a third one: %v", err)
		}
		if r.Shed(-1); r.Opportunities().Queued != 2 {
			t.Error("no limit sheds")
		}
		if r.Shed(1); !secondIn() || !errors.Is(<-result, ErrShed) {
			t.Error("the second one stays")
		}
		large := r.Place(mb(950), false)
		largeIn, _ := entering(t.Context(), t, large)
		if busy.Leave(); !largeIn() || !firstIn() {
			t.Error("they don't get in together")
		}
		if o := r.Opportunities(); o.Running != 1 || o.Waiting != 0 || o.Used != mb(50) || o.Capacity != 2 {
			t.Errorf("%+v", o)
		}
	})
}

// One that has run goes before those that have not, and takes no place of the queue; promoted, it goes before all, and others make way for it.
func TestWhoHasMadeWayReturnsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(mb(100))
		r.vcores = 100
		r.SetOpportunism(1)
		paused, _ := opportunist(r, mb(80))
		if err := paused.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		paused.Stand(mb(80), records.Resource{}, true)
		other, told := opportunist(r, mb(90))
		if err := other.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		next, _ := opportunist(r, mb(10))
		nextIn, _ := entering(t.Context(), t, next)
		in, _ := entering(t.Context(), t, paused)
		if !nextIn() {
			t.Error("what fits before anything waits is not in")
		}
		third, _ := opportunist(r, mb(10))
		thirdIn, _ := entering(t.Context(), t, third)
		if in() || thirdIn() {
			t.Error("they are in")
		}
		paused.Yields(nil)
		if !*told {
			t.Error("none makes way for the one that is promoted")
		}
		if other.Leave(); !in() || !thirdIn() {
			t.Errorf("in: %v, %v", in(), thirdIn())
		}
		if !paused.Guaranteed() || third.Guaranteed() {
			t.Error("the wrong one is guaranteed")
		}
	})
}

// A node without a queue treats all alike.
func TestNoQueue(t *testing.T) {
	r := New(mb(100))
	r.SetOpportunism(0)
	p, told := opportunist(r, mb(90))
	if err := p.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Place(mb(50), false).Enter(ctx); err == nil || *told {
		t.Errorf("%v, told %v", err, *told)
	}
}

// Whatever comes at once, promotions and demotions too: nothing is left counted, and each that waits gets an answer.
func TestAllOpportunityIsGivenBack(t *testing.T) {
	r := New(records.NewResource(1000, 16))
	r.SetOpportunism(3)
	var running sync.WaitGroup
	for n := range 16 {
		random := rand.New(rand.NewPCG(uint64(n), 2))
		running.Go(func() {
			for range 200 {
				p := r.Place(records.NewResource(1+random.Int64N(200), 1+random.Int64N(4)), false)
				way := make(chan struct{}, 1)
				yield := func() {
					select {
					case way <- struct{}{}:
					default:
					}
				}
				if random.IntN(2) == 0 {
					p.Yields(yield)
				}
				if p.Enter(context.Background()) == nil {
					switch random.IntN(3) {
					case 0:
						p.Yields(nil)
					case 1:
						p.Yields(yield)
					}
					p.Stand(mb(100), mb(random.Int64N(50)), random.IntN(2) == 0)
					r.Shed(random.IntN(4) - 1)
				}
				p.Leave()
			}
		})
	}
	running.Wait()
	if o := r.Opportunities(); !r.Used().IsZero() || r.busy != 0 || r.run != 0 || len(r.lenders) > 0 || o.Waiting != 0 {
		t.Errorf("used %v, %d vcores by %d, %d make way, %+v", r.Used(), r.busy, r.run, len(r.lenders), o)
	}
}
