package stage

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// Where nodes serve outputs, a slot goes as soon as nothing waits for it, long before a reduce has fetched. The output is there as long as
// its node is. When that is lost, the map is made again, and reduces hear of it.
func TestSlotGoesAtOnceWhereNodesServe(t *testing.T) {
	p := &scripted{}
	s := tell(t, Job{Maps: 2, Reduces: 1, NodesServe: true, Starter: p})
	p.m = s.m
	a, _ := s.grant(Map, "a")
	b, _ := s.grant(Map, "b")
	first := attempt(Map, 0, 0)
	s.want([]Action{Accept{a, first}}, s.step(Finished{Slot: a, Attempt: first}))
	s.want([]Action{GiveBack{Slot: a}}, s.step(Ready{a}))
	s.want(nil, s.step(Gone{Slot: a}))
	if f := s.m.Facts(); f.Maps.Done != 1 || f.Slots != 1 {
		t.Fatalf("the output has gone with its slot: %+v", f)
	}
	s.want([]Action{Revoke{first}}, s.step(NodeLost{"a"}))
	s.want(nil, s.step(NodeLost{"a"}))
	if len(s.asks[Map]) != 1 {
		t.Errorf("asked for: %v", s.asks)
	}
	again := attempt(Map, 0, 1)
	s.step(Finished{Slot: b, Attempt: attempt(Map, 1, 0)})
	s.want([]Action{Launch{Slot: b, Attempt: again}}, s.step(Ready{b}))
	if len(s.asks[Map]) != 0 {
		t.Errorf("asked for: %v", s.asks)
	}
}

// A slot whose node doesn't serve holds its output as slots do where no node serves: until all reduces have fetched it, and no longer than
// it lives itself. That a node is lost doesn't matter for it.
func TestSlotHoldsWhatItsNodeDoesNotServe(t *testing.T) {
	s := tell(t, Job{Maps: 2, Reduces: 1, ReduceMemory: int64(Reduce), NodesServe: true, Starter: always{}})
	a, _ := s.grant(Map, "a") // too small for a reduce
	b, _ := s.grant(Map, "b")
	held, served := attempt(Map, 0, 0), attempt(Map, 1, 0)
	s.step(Finished{Slot: a, Attempt: held, Held: true})
	s.step(Finished{Slot: b, Attempt: served})
	s.want(nil, s.step(Ready{a}))
	s.want([]Action{GiveBack{Slot: b}}, s.step(Ready{b}))
	s.want(nil, s.step(NodeLost{"a"}))
	r, _ := s.grant(Reduce, "c")
	if e := (Unfetchable{Slot: r, Map: 1, Number: 0}); !s.m.Disputed(e) {
		t.Error("a reduce can't complain about what a node serves whose slot has gone")
	}
	s.want([]Action{Revoke{held}}, s.step(Gone{Slot: a, Err: errors.New("it is gone")}))
	if e := (Unfetchable{Slot: r, Map: 0, Number: 0}); s.m.Disputed(e) {
		t.Error("a reduce complains about what has gone")
	}
	again := attempt(Map, 0, 1)
	c, did := s.grant(Map, "d")
	s.want([]Action{Launch{Slot: c, Attempt: again}}, did)
	s.step(Finished{Slot: c, Attempt: again, Held: true})
	s.want(nil, s.step(Ready{c}))
	did = s.step(Progressed{Slot: r, Attempt: attempt(Reduce, 0, 0), Phase: Reducing, Done: 1, Total: 2})
	s.want([]Action{GiveBack{Slot: c}}, did)
}

// That the slot which has made it stands still doesn't matter for an output that its node serves: it isn't there. What the slot serves
// itself can't be fetched for the time being.
func TestComplaintsWhereSlotsStandStill(t *testing.T) {
	for _, held := range []bool{false, true} {
		s := tell(t, Job{Maps: 2, Reduces: 1, NodesServe: true, Starter: &scripted{}})
		a, _ := s.grant(Map, "a")
		r, _ := s.grant(Map, "b")
		first := attempt(Map, 0, 0)
		s.step(Finished{Slot: a, Attempt: first, Held: held})
		s.step(Finished{Slot: r, Attempt: attempt(Map, 1, 0)})
		if did := s.step(Ready{r}); !slices.Contains(did, Action(Launch{Slot: r, Attempt: attempt(Reduce, 0, 0)})) {
			t.Fatalf("%+v", did)
		}
		s.step(Suspended{a})
		var did []Action
		for range complaintsOfOne {
			did = append(did, s.step(Unfetchable{Slot: r, Map: 0, Number: 0, Err: errors.New("no answer")})...)
		}
		if slices.Contains(did, Action(Revoke{first})) == held {
			t.Errorf("held by its slot: %v, and %+v", held, did)
		}
	}
}

// Where no slot has an output, reduces are copied to the very end: their copies can fetch.
func TestReducesAreCopiedWhereNodesServe(t *testing.T) {
	p := &scripted{due: true}
	s := tell(t, Job{Maps: 1, Reduces: 1, NodesServe: true, Starter: p, Speculator: p})
	p.m = s.m
	m, _ := s.grant(Map, "a")
	s.step(Finished{Slot: m, Attempt: attempt(Map, 0, 0)})
	s.want([]Action{Launch{Slot: m, Attempt: attempt(Reduce, 0, 0)}}, s.step(Ready{m}))
	progress := func(done int64) {
		s.step(Progressed{Slot: m, Attempt: attempt(Reduce, 0, 0), Phase: Reducing, Done: done, Total: 100})
	}
	s.now = time.Second
	progress(1)
	s.now += 10 * time.Second
	progress(90)
	s.step(Tick{})
	p.copies = []Copy{{Of: attempt(Reduce, 0, 0)}}
	s.step(Tick{})
	if len(s.asks[Reduce]) != 1 {
		t.Errorf("no container is asked for a copy: %v", s.asks)
	}
}
