package stage

import (
	"errors"
	"slices"
	"testing"
	"time"
)

var errBroken = errors.New("it is broken")

// run grants a slot for a map on a host, and returns it with what it runs.
func (s *story) run(host string) (SlotID, AttemptID) {
	s.t.Helper()
	slot, did := s.grant(Map, host)
	if l, ok := did[0].(Launch); ok {
		return slot, l.Attempt
	}
	s.t.Fatalf("%+v instead of a map on %s", did, host)
	return 0, AttemptID{}
}

// avoided lists the hosts that are to be avoided from now on.
func avoided(did []Action) (out []string) {
	for _, a := range did {
		if x, ok := a.(Avoid); ok {
			out = append(out, x.Host)
		}
	}
	return out
}

// fail lets maps fail on a host, each on a slot of its own, and returns what the last failure brings.
func (s *story) fail(host string, times int) (slots []SlotID, did []Action) {
	s.t.Helper()
	for range times {
		slot, id := s.run(host)
		slots = append(slots, slot)
		did = s.step(Failed{Slot: slot, Attempt: id, Err: errBroken})
	}
	return slots, did
}

// A node on which three tasks have failed gets no more: its slots go, and so do containers that come from there. It is used again when
// nothing could run without it for a while.
func TestNodeOnWhichTasksFailIsAvoided(t *testing.T) {
	s := tell(t, Job{Maps: 4, Starter: afterMaps{}})
	slots, did := s.fail("bad", 2)
	if got := avoided(did); got != nil {
		t.Fatalf("%v is avoided after two failures", got)
	}
	if got := Describe(s.m).Nodes; len(got) != 1 || got[0].Failures != 2 || got[0].Avoided {
		t.Errorf("after two failures it is described as %+v", got)
	}
	third, did := s.fail("bad", 1)
	if got := avoided(did); !slices.Equal(got, []string{"bad"}) {
		t.Fatalf("%v is avoided after three failures", got)
	}
	if got := Describe(s.m).Nodes; len(got) != 1 || got[0].Failures != 3 || !got[0].Avoided {
		t.Errorf("after three failures it is described as %+v", got)
	}
	for _, x := range append(slots, third...) {
		s.want([]Action{GiveBack{Slot: x}}, s.step(Ready{x}))
	}
	r := s.asks[Map][0]
	s.asks[Map] = s.asks[Map][1:]
	s.want([]Action{GiveBack{Slot: s.slots}}, s.step(Granted{Request: r, Slot: s.slots, Host: "bad"}))
	s.slots++
	s.want(nil, s.step(Tick{}))
	s.now += forgiving - 1
	s.want(nil, s.step(Tick{}))
	s.now++
	s.want([]Action{Forgive{Hosts: []string{"bad"}}}, s.step(Tick{}))
	s.run("bad")
	if _, did := s.fail("bad", 1); avoided(did) != nil {
		t.Error("a node that was forgiven is avoided again, though there are no others")
	}
}

// As long as something runs elsewhere, a node is avoided; and at least half of the nodes stay in use.
func TestHalfOfTheNodesStayInUse(t *testing.T) {
	s := tell(t, Job{Maps: 9, Starter: afterMaps{}})
	s.run("good")
	for _, x := range []struct {
		host string
		want []string
	}{{"a", []string{"a"}}, {"b", []string{"b"}}, {"c", nil}} {
		if _, did := s.fail(x.host, 3); !slices.Equal(avoided(did), x.want) {
			t.Errorf("%v is avoided after three failures on %s, of four nodes", avoided(did), x.host)
		}
	}
	for range 2 {
		s.now += forgiving
		for _, a := range s.step(Tick{}) {
			t.Errorf("%+v, while a map runs", a)
		}
	}
}

// Containers that don't start are their node's fault, unless somebody took them.
func TestNodeOnWhichContainersDoNotStartIsAvoided(t *testing.T) {
	for _, fault := range []bool{true, false} {
		s := tell(t, Job{Maps: 4, Starter: afterMaps{}})
		var did []Action
		for range 3 {
			r := s.asks[Map][0]
			s.asks[Map] = s.asks[Map][1:]
			s.step(Granted{Request: r, Slot: s.slots, Host: "bad"})
			did = s.step(Gone{Slot: s.slots, Fault: fault, Err: errBroken})
			s.slots++
		}
		if got := avoided(did); (got != nil) != fault {
			t.Errorf("fault %v: %v is avoided", fault, got)
		}
	}
}

// A slot that says nothing for longer than it may is given up, with its task; one whose worker hasn't begun has twice as long.
func TestSilentSlotsAreGivenUp(t *testing.T) {
	const silence = 10 * time.Second
	s := tell(t, Job{Maps: 2, Starter: afterMaps{}, Silence: silence})
	slot, id := s.run("a")
	r := s.asks[Map][0]
	s.asks[Map] = nil
	late := s.slots
	s.want([]Action{Start{late}}, s.step(Granted{Request: r, Slot: late, Host: "b"}))
	s.slots++
	s.now += 5 * time.Second
	s.step(Heard{slot})
	s.now += silence
	s.want(nil, s.step(Tick{}))
	s.now++
	did := s.step(Tick{})
	var silent *SilenceError
	if f, ok := did[len(did)-1].(Fault); len(did) != 2 || did[0] != (GiveBack{Slot: slot, Lost: true}) || !ok || f.ID != id || !errors.As(f.Err, &silent) {
		t.Fatalf("%+v", did)
	}
	s.now = 2 * silence
	s.want(nil, s.step(Tick{}))
	s.now++
	s.want([]Action{GiveBack{Slot: late, Lost: true}}, s.step(Tick{}))
}

// A task that has failed on a host waits for a slot on another one for a while, where there are such.
func TestTaskThatHasFailedGoesElsewhere(t *testing.T) {
	s := tell(t, Job{Maps: 2, Starter: afterMaps{}})
	s.run("b")
	slot, id := s.run("a")
	s.step(Failed{Slot: slot, Attempt: id, Err: errBroken})
	s.want(nil, s.step(Ready{slot}))
	s.now += elsewhere - 1
	s.want(nil, s.step(Tick{}))
	s.now++
	s.want([]Action{Launch{Slot: slot, Attempt: AttemptID{id.TaskID, 1}}}, s.step(Tick{}))

	s = tell(t, Job{Maps: 1, Starter: afterMaps{}})
	slot, id = s.run("a")
	s.step(Failed{Slot: slot, Attempt: id, Err: errBroken})
	s.want([]Action{Launch{Slot: slot, Attempt: AttemptID{id.TaskID, 1}}}, s.step(Ready{slot}))
}

// Slots that are too small for reduces count for maps alone.
func TestSmallSlotsAreForMaps(t *testing.T) {
	s := tell(t, Job{Maps: 2, Reduces: 1, ReduceMemory: int64(Reduce), Starter: afterMaps{}})
	a, first := s.run("a")
	b, second := s.run("a")
	s.step(Finished{Slot: a, Attempt: first})
	if len(s.asks[Reduce]) != 1 {
		t.Fatalf("%d containers are asked for a reduce: a small one is there", len(s.asks[Reduce]))
	}
	s.want(nil, s.step(Ready{a}))
	did := s.step(Failed{Slot: b, Attempt: second, Err: errBroken})
	if len(s.asks[Map]) > 0 {
		t.Errorf("a container is asked for, and a small one could do the map: %+v", did)
	}
}

// A container whose worker doesn't start while others' did in a second: another one is asked for after ten, where slow tasks are copied. If
// it starts nevertheless, and nothing is to be done, it goes.
func TestContainerThatDoesNotStartIsReplaced(t *testing.T) {
	for name, p := range map[string]Speculator{"nothing is copied": nil, "slow tasks are": &reckless{}} {
		s := tell(t, Job{Maps: 2, Starter: always{}, Speculator: p})
		late := s.asks[Map][0]
		s.asks[Map] = s.asks[Map][1:]
		s.step(Granted{Request: late, Slot: 0, Host: "gone", Memory: 1})
		s.step(Tick{})
		s.slots = 1
		a := SlotID(1)
		s.step(Granted{Request: s.asks[Map][0], Slot: a, Host: "a", Memory: 1})
		s.asks[Map], s.slots = nil, 2
		s.now += 2 * time.Second
		s.step(Ready{a})
		s.now += startLeast - 2*time.Second - 1
		s.step(Tick{})
		if len(s.asks[Map]) > 0 {
			t.Errorf("%s: another one is asked for at once", name)
		}
		s.now++
		s.step(Tick{})
		if got := len(s.asks[Map]); got != 1 && p != nil || got != 0 && p == nil {
			t.Errorf("%s: %d containers are asked for", name, got)
		}
		if p == nil {
			continue
		}
		b, did := s.grant(Map, "b")
		s.want([]Action{Launch{Slot: b, Attempt: attempt(Map, 1, 0)}}, did)
		s.want([]Action{GiveBack{Slot: 0}}, s.step(Ready{0}))
		if n := s.m.nodes[s.m.names["gone"]]; n.strikes != 1 {
			t.Errorf("%d strikes", n.strikes)
		}
	}
}

// Where all take long to start nothing is overdue: three times as long as the others is.
func TestSlowStartsAreNotOverdue(t *testing.T) {
	s := tell(t, Job{Maps: 3, Starter: always{}, Speculator: &reckless{}})
	for i := range SlotID(3) {
		s.step(Granted{Request: s.asks[Map][0], Slot: i, Host: "a", Memory: 1})
		s.asks[Map] = s.asks[Map][1:]
	}
	s.slots = 3
	for _, x := range []struct {
		at    time.Duration
		event Event
		asks  int
	}{{20, Ready{0}, 0}, {39, Tick{}, 0}, {40, Ready{1}, 0}, {89, Tick{}, 0}, {90, Tick{}, 1}} { // 3·(20 + 40)/2
		s.now = x.at * time.Second
		if s.step(x.event); len(s.asks[Map]) != x.asks {
			t.Errorf("after %v s %d containers are asked for", int(x.at), len(s.asks[Map]))
		}
	}
}
