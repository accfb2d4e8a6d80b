package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"heddle/yarn/records"
)

func mb(n int64) records.Resource { return records.NewResource(n, 1) }

// entering calls Enter in the background. It returns when that waits or has ended.
func entering(ctx context.Context, t *testing.T, p *Place) (in func() bool, result chan error) {
	t.Helper()
	result = make(chan error, 1)
	go func() { result <- p.Enter(ctx) }()
	synctest.Wait()
	return func() bool {
		synctest.Wait()
		return len(result) == 1
	}, result
}

// First come first served: what would fit waits behind what doesn't.
func TestALargeOneIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(mb(100))
		first, large, small := r.Place(mb(60), false), r.Place(mb(50), false), r.Place(mb(10), false)
		if err := first.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		largeIn, _ := entering(t.Context(), t, large)
		smallIn, _ := entering(t.Context(), t, small)
		if largeIn() || smallIn() {
			t.Errorf("in: large %v, small %v", largeIn(), smallIn())
		}
		first.Leave()
		if !largeIn() || !smallIn() || r.Used().MemoryMB() != 60 {
			t.Errorf("in: large %v, small %v, used %v", largeIn(), smallIn(), r.Used())
		}
	})
}

// Who has room elsewhere takes nothing, not even when he is resized, stands still or is restored. He neither waits behind others, nor do they wait for him.
func TestRoomElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(mb(100))
		first, second, aside := r.Place(mb(60), false), r.Place(mb(60), false), r.Place(records.Resource{}, false)
		if err := first.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		secondIn, _ := entering(t.Context(), t, second)
		if in, _ := entering(t.Context(), t, aside); !in() {
			t.Error("it waits behind another one")
		}
		aside.Restore()
		aside.Change(mb(70), mb(70))
		aside.Stand(mb(70), mb(70), false)
		if r.Used() != counted(mb(60)) {
			t.Errorf("%v is used", r.Used())
		}
		r.Resize(mb(50))
		if first.Leave(); !secondIn() {
			t.Error("one that is too large waits for it") // others make no room
		}
		second.Leave()
		aside.Leave()
		if !r.Used().IsZero() {
			t.Errorf("%v is used in the end", r.Used())
		}
	})
}

// Who gives up waiting lets the next one go on.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(mb(100))
		first, large, small := r.Place(mb(60), false), r.Place(mb(50), false), r.Place(mb(10), false)
		if err := first.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, result := entering(ctx, t, large)
		smallIn, _ := entering(t.Context(), t, small)
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if !smallIn() || r.Used().MemoryMB() != 70 {
			t.Errorf("small in: %v, used %v", smallIn(), r.Used())
		}
		large.Leave() // it isn't in
		if r.Used().MemoryMB() != 70 {
			t.Errorf("used %v", r.Used())
		}
	})
}

// A container that holds less than its grant makes room, and waits for it like one that starts.
func TestAResumeWaitsLikeAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(mb(100))
		suspended, other, next := r.Place(mb(80), false), r.Place(mb(70), false), r.Place(mb(20), false)
		if err := suspended.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		otherIn, _ := entering(t.Context(), t, other)
		if otherIn() {
			t.Error("both are in")
		}
		suspended.Change(mb(80), mb(5))
		if !otherIn() || r.Used().MemoryMB() != 75 {
			t.Errorf("other in: %v, used %v", otherIn(), r.Used())
		}
		resumed, result := entering(t.Context(), t, suspended)
		nextIn, _ := entering(t.Context(), t, next)
		if resumed() || nextIn() {
			t.Errorf("resumed %v, next in %v", resumed(), nextIn())
		}
		other.Leave()
		if err := <-result; err != nil {
			t.Error(err)
		}
		if !nextIn() || r.Used().MemoryMB() != 100 {
			t.Errorf("next in: %v, used %v", nextIn(), r.Used())
		}
	})
}

// A container that the node has become too small for runs when it is alone.
func TestWhatNeverFitsGetsInAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(mb(100))
		small, large := r.Place(mb(10), false), r.Place(mb(90), false)
		if err := small.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Resize(mb(50))
		largeIn, _ := entering(t.Context(), t, large)
		if largeIn() {
			t.Error("it is in")
		}
		small.Leave()
		if !largeIn() {
			t.Error("it is not in")
		}
		large.Change(mb(90), mb(10)) // suspended
		if err := large.Enter(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A container that the node has become too small for runs beside those that stand still: they may have to wait for it. As long as memory is
// taken from one of them, it waits.
func TestWhatNeverFitsGetsInBesideThoseWhoStandStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(mb(100))
		first, second, third := r.Place(mb(90), false), r.Place(mb(90), false), r.Place(mb(80), false)
		for _, p := range []*Place{first, second} {
			if err := p.Enter(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.Stand(mb(90), mb(10), true)
		}
		third.Stand(mb(80), mb(80), true) // it isn't in
		if err := third.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Resize(mb(50))
		firstIn, _ := entering(t.Context(), t, first)
		secondIn, _ := entering(t.Context(), t, second)
		if firstIn() || secondIn() {
			t.Errorf("in beside one that runs: %v, %v", firstIn(), secondIn())
		}
		third.Change(mb(80), mb(40))
		if firstIn() {
			t.Error("it is in while memory is taken from another one")
		}
		third.Stand(mb(80), mb(40), true)
		if !firstIn() || secondIn() {
			t.Errorf("the first one in: %v, the second one beside it: %v", firstIn(), secondIn())
		}
		third.Leave()
		if first.Leave(); !secondIn() || r.Used().MemoryMB() != 90 {
			t.Errorf("the second one in: %v, used %v", secondIn(), r.Used())
		}
	})
}

// One that resumes where it never fits doesn't wait for an ApplicationMaster, which waits for others to end. One that starts does.
func TestWhatResumesWaitsForNoMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(mb(100))
		master, other, suspended, next := r.Place(mb(10), true), r.Place(mb(10), false), r.Place(mb(80), false), r.Place(mb(50), false)
		for _, p := range []*Place{master, other, suspended} {
			if err := p.Enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		suspended.Stand(mb(80), mb(5), true)
		r.Resize(mb(50))
		in, _ := entering(t.Context(), t, suspended)
		if in() {
			t.Error("it is in beside one that may end")
		}
		if other.Leave(); !in() || r.Used().MemoryMB() != 90 {
			t.Errorf("it is in: %v, used %v", in(), r.Used())
		}
		suspended.Leave()
		nextIn, _ := entering(t.Context(), t, next)
		if nextIn() {
			t.Error("one that starts doesn't wait for the ApplicationMaster")
		}
		if master.Leave(); !nextIn() {
			t.Error("one that starts waits for nobody")
		}
		next.Leave()
	})
}

// A size that changes while its container waits counts once it is let in. vcores don't count.
func TestChangeWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(mb(100))
		first, second := r.Place(mb(90), false), r.Place(mb(50), false)
		first.Restore()
		secondIn, _ := entering(t.Context(), t, second)
		second.Change(records.NewResource(10, 1000), mb(10))
		if !secondIn() || r.Used() != (records.Resource{records.Memory: 100}) {
			t.Errorf("in: %v, used %v", secondIn(), r.Used())
		}
	})
}

// Whatever comes at once: what is used is what those who are in hold, and all of it is given back. All that wait hold so little that the
// first of them fits once the others have left.
func TestAllIsGivenBack(t *testing.T) {
	r := New(mb(1000))
	var running sync.WaitGroup
	for n := range 16 {
		random := rand.New(rand.NewPCG(uint64(n), 1))
		running.Go(func() {
			for range 200 {
				p := r.Place(mb(1+random.Int64N(200)), random.IntN(4) == 0)
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(3) == 0 {
					cancel()
				}
				if p.Enter(ctx) == nil {
					p.Stand(mb(200), mb(random.Int64N(50)), random.IntN(2) == 0)
					_ = p.Enter(ctx)
				}
				cancel()
				p.Leave()
			}
		})
	}
	running.Wait()
	if !r.Used().IsZero() || len(r.queue) > 0 || r.run != 0 || r.last != 0 {
		t.Errorf("used %v by %d, %d wait", r.Used(), r.run, len(r.queue))
	}
}
