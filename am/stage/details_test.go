package stage

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
)

// A Speculator sees where attempts run, since when, and how far they are.
func TestSpeculatorsSeeWhatRuns(t *testing.T) {
	h := &halving{told: map[TaskID]time.Duration{}}
	s := tell(t, Job{Maps: 2, Starter: always{}, Speculator: h})
	s.grant(Map, "a")
	s.now = 2 * time.Second
	b, _ := s.grant(Map, "b")
	s.step(Progressed{Slot: b, Attempt: attempt(Map, 1, 0), Done: 30, Total: 120})
	s.step(Suspended{b})
	s.now = 5 * time.Second
	s.step(Resumed{b})
	s.step(Tick{})
	want := []Running{
		{ID: attempt(Map, 0, 0), Attempts: 1, Share: 1},
		{ID: attempt(Map, 1, 0), Node: 1, Begun: 2 * time.Second, Paused: 3 * time.Second, Progress: 0.25, Attempts: 1, Share: 1},
	}
	if !reflect.DeepEqual(h.shown, want) {
		t.Errorf("%+v instead of %+v", h.shown, want)
	}
}

// limited lets so many reduces run while maps wait.
type limited struct{ always }

func (limited) Most(*Facts) int { return 1 }

// Containers are asked for as many reduces as may begin, and else for maps.
func TestRequestsForReducesAreLimited(t *testing.T) {
	s := tell(t, Job{Maps: 3, Reduces: 3, Starter: limited{}})
	if maps, reduces := len(s.asks[Map]), len(s.asks[Reduce]); maps != 3 || reduces != 1 {
		t.Errorf("%d maps and %d reduces are asked for", maps, reduces)
	}
}

// A slot without a task looks for one when something changes, and at each Tick: not at each word of another.
func TestSlotsLookForTasksAtTicks(t *testing.T) {
	s := tell(t, Job{Maps: 2, Starter: afterMaps{}})
	other, _ := s.run("b")
	slot, id := s.run("a")
	s.step(Failed{Slot: slot, Attempt: id, Err: errBroken})
	s.step(Ready{slot})
	s.now += elsewhere
	s.want(nil, s.step(Heard{other}))
	s.want([]Action{Launch{Slot: slot, Attempt: AttemptID{id.TaskID, 1}}}, s.step(Tick{}))
}

// What a task has done stays done when it keeps a part of its work only, but it isn't done as a whole. To the millionth.
func TestProgressOfWhatIsKept(t *testing.T) {
	for _, x := range []struct {
		done       int64 // of 100
		kept, want float64
	}{{40, 0.8, 0.4}, {50, 1, 0.5}, {60, 0.5, 0.475}, {95, 0.99999, 0.94999}, {0, 0, 0}} {
		s := tell(t, Job{Maps: 1, Starter: always{}})
		a, _ := s.grant(Map, "a")
		s.step(Progressed{Slot: a, Attempt: attempt(Map, 0, 0), Done: x.done, Total: 100})
		s.step(Stopped{Slot: a, Attempt: attempt(Map, 0, 0), Kept: x.kept, Hosts: make([][]string, 1)})
		if _, _, got := s.m.Stage(Map); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%d %% are done and %v is kept: progress %v, not %v", x.done, x.kept, got, x.want)
		}
	}
}

// Of the hosts whose slots have room enough for a reduce, or else of all, the first of those with the fewest outputs makes room.
func TestWhichSlotsMakeRoom(t *testing.T) {
	for name, x := range map[string]struct {
		hosts    [][]int // outputs of each slot
		want     []SlotID
		suffices bool
	}{
		"the fewest":                 {[][]int{{2, 2}, {1, 1}, {2, 1}}, []SlotID{2, 3}, true},
		"the first of equals":        {[][]int{{1, 2}, {2, 1}}, []SlotID{0, 1}, true},
		"room enough comes first":    {[][]int{{1}, {2, 2}}, []SlotID{1, 2}, true},
		"and stays":                  {[][]int{{2, 2}, {1}}, []SlotID{0, 1}, true},
		"more outputs don't":         {[][]int{{1, 1}, {2, 2}}, []SlotID{0, 1}, true},
		"nobody has room enough":     {[][]int{{1}, {2}}, []SlotID{0}, false},
		"the fewest of these":        {[][]int{{2}, {1}}, []SlotID{1}, false},
		"no more than are needed":    {[][]int{{3, 1, 2}}, []SlotID{1, 2}, true},
		"a host without slots":       {[][]int{{}, {1, 1}}, []SlotID{0, 1}, true},
		"nobody has any to spare":    {[][]int{{}}, nil, false},
		"one that has no outputs":    {[][]int{{0}, {0, 0}}, []SlotID{1, 2}, true},
		"fewer, but not room enough": {[][]int{{0}, {0}, {5, 5}}, []SlotID{2, 3}, true},
	} {
		m := New(Job{Maps: 1, Reduces: 1, ReduceMemory: 2, Starter: always{}})
		for i, slots := range x.hosts {
			h := m.host(string(rune('a' + i)))
			for _, outputs := range slots {
				m.live = append(m.live, SlotID(len(m.slots)))
				m.slots = append(m.slots, slot{host: h, memory: 1, known: true, ready: true, outputs: make([]AttemptID, outputs)})
			}
		}
		if got, suffices := inTheWay(m); !slices.Equal(got, x.want) || suffices != x.suffices {
			t.Errorf("%s: %v go, which suffices: %v", name, got, suffices)
		}
	}
}

// failures are those that a host is blamed for.
func (s *story) failures(host string) int {
	for _, n := range Describe(s.m).Nodes {
		if n.Name == host {
			return n.Failures
		}
	}
	return 0
}

// A container that ends without a task is its host's fault if its worker never started, and once.
func TestFaultsOfContainersWithoutTasks(t *testing.T) {
	s := tell(t, Job{Maps: 3, Reduces: 1, Starter: afterMaps{}, Speculator: &reckless{}})
	s.run("a")
	late := s.slots
	s.slots++
	s.step(Granted{Request: s.asks[Map][0], Slot: late, Host: "late"})
	s.asks[Map] = s.asks[Map][1:]
	s.now += startLeast
	s.step(Tick{}) // it is overdue
	s.step(Gone{Slot: late, Fault: true, Err: errBroken})
	if got := s.failures("late"); got != 1 {
		t.Errorf("a container that didn't start, and then ended, is %d failures", got)
	}
	s = tell(t, Job{Maps: 2, Reduces: 1, Starter: &scripted{}})
	s.run("a")
	b, id := s.run("b")
	s.step(Finished{Slot: b, Attempt: id})
	s.step(Ready{b})
	s.step(Gone{Slot: b, Fault: true, Err: errBroken})
	if got := s.failures("b"); got != 0 {
		t.Errorf("a container that ended after its task is %d failures", got)
	}
}

// A planner rests again once it has forgiven the nodes on which containers didn't start.
func TestPlannerRestsWhenItHasForgiven(t *testing.T) {
	s := tell(t, Job{Maps: 1, Starter: afterMaps{}})
	for range 3 {
		r := s.asks[Map][0]
		s.asks[Map] = s.asks[Map][1:]
		s.step(Granted{Request: r, Slot: s.slots, Host: "bad"})
		s.step(Gone{Slot: s.slots, Fault: true, Err: errBroken})
		s.slots++
	}
	s.step(Tick{})
	if Rests(s.m) {
		t.Error("it rests before it has forgiven")
	}
	s.now += forgiving
	s.want([]Action{Forgive{Hosts: []string{"bad"}}}, s.step(Tick{}))
	if !Rests(s.m) {
		t.Error("it doesn't rest, and nothing is to be forgiven")
	}
}

// How long workers take to start is from the grant to their first word.
func TestHowLongWorkersTakeToStart(t *testing.T) {
	s := tell(t, Job{Maps: 1, Reduces: 1, Starter: afterMaps{}})
	s.now = 2 * time.Second
	s.step(Granted{Request: s.asks[Map][0], Slot: 0, Host: "a"})
	s.now = 5 * time.Second
	s.step(Ready{0})
	s.step(Finished{Slot: 0, Attempt: attempt(Map, 0, 0)})
	s.now = 9 * time.Second
	s.step(Ready{0})
	if got := s.m.Facts().Start; got != 3*time.Second {
		t.Errorf("a worker took %v, not 3 s", got)
	}
}

// A job fails whose map's output is lost time and again.
func TestOutputsThatAreLostTooOften(t *testing.T) {
	s := tell(t, Job{Maps: 1, Reduces: 1, Starter: afterMaps{}})
	for n := 1; ; n++ {
		slot, id := s.run("a")
		s.step(Finished{Slot: slot, Attempt: id, Held: true})
		did := s.step(Gone{Slot: slot})
		i := slices.IndexFunc(did, func(a Action) bool { _, ends := a.(End); return ends })
		if want := n > lostLimit; (i >= 0) != want {
			t.Fatalf("when it was lost %d times: %+v", n, did)
		}
		if i >= 0 {
			if err := did[i].(End).Err; err == nil || err.Error() != "the output of map task 0 was lost 21 times" {
				t.Error(err)
			}
			return
		}
	}
}

// A complaint about an output counts if a reduce that runs has it, of a map that the job relies on.
func TestComplaintsThatCount(t *testing.T) {
	s := tell(t, Job{Maps: 2, Reduces: 1, Starter: always{}})
	maps, id := s.run("a")
	reduces, _ := s.grant(Reduce, "b")
	s.step(Finished{Slot: maps, Attempt: id, Held: true})
	s.step(Ready{maps}) // gets the second map
	for e, want := range map[Unfetchable]bool{
		{Slot: reduces}: true, {Slot: 99}: false, {Slot: maps}: false, {Slot: reduces, Map: 2}: false, {Slot: reduces, Map: 1, Number: -1}: false, {Slot: reduces, Map: -1}: false, {Slot: reduces, Number: 1}: false,
	} {
		if got := s.m.Disputed(e); got != want {
			t.Errorf("%+v counts: %t", e, got)
		}
	}
}

// Only a container that stands still is suspended.
func TestWhichSlotsAreSuspended(t *testing.T) {
	s := tell(t, Job{Maps: 2, Starter: afterMaps{}})
	a, _ := s.run("a")
	b, _ := s.run("b")
	s.step(Suspended{b})
	for slot, want := range map[SlotID]bool{a: false, b: true, 9: false} {
		if IsSuspended(s.m, slot) != want {
			t.Errorf("slot %d is suspended: %t", slot, !want)
		}
	}
}
