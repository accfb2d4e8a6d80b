package stage

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
)

// story steps a planner through a script, with slots that are granted for its latest requests.
type story struct {
	t     *testing.T
	m     *Planner
	now   time.Duration
	slots SlotID
	asks  map[Stage][]RequestID
}

func tell(t *testing.T, j Job) *story {
	j.Tries, j.NodeFailures = [2]int{4, 4}, 3
	s := &story{t: t, m: New(j), asks: map[Stage][]RequestID{}}
	s.step(Nodes{4})
	s.step(Tick{})
	return s
}

// step returns what is done except for requests, which it notes.
func (s *story) step(e Event) (rest []Action) {
	for _, a := range slices.Clone(s.m.Step(s.now, e)) {
		switch a := a.(type) {
		case Want:
			s.asks[a.Task.Stage] = append(s.asks[a.Task.Stage], a.Request)
		case Withdraw:
			for st, list := range s.asks {
				s.asks[st] = slices.DeleteFunc(list, func(r RequestID) bool { return r == a.Request })
			}
		default:
			rest = append(rest, a)
		}
	}
	s.m.check(s.t)
	return rest
}

// grant gives a slot for a request of a stage, whose worker is ready at once, and returns what it does first.
func (s *story) grant(of Stage, host string) (SlotID, []Action) {
	s.t.Helper()
	if len(s.asks[of]) == 0 {
		s.t.Fatalf("nothing was asked for %vs", of)
	}
	r := s.asks[of][0]
	s.asks[of] = s.asks[of][1:]
	id := s.slots
	s.slots++
	s.want([]Action{Start{id}}, s.step(Granted{Request: r, Slot: id, Host: host, Memory: int64(of)}))
	return id, s.step(Ready{id})
}

func (s *story) want(want, got []Action) {
	s.t.Helper()
	if !reflect.DeepEqual(want, got) {
		s.t.Fatalf("%+v instead of %+v", got, want)
	}
}

func attempt(s Stage, index, number int) AttemptID { return AttemptID{TaskID{s, index}, number} }

// A slot that is for one task does one of the stage that it was asked for, and goes. Its output stays on its node, until that is lost.
func TestSlotsForOneTask(t *testing.T) {
	s := tell(t, Job{Maps: 2, Reduces: 1, PerTask: true, NodesServe: true, Starter: always{}})
	if len(s.asks[Map]) != 2 || len(s.asks[Reduce]) != 1 {
		t.Fatalf("requests: %v", s.asks)
	}
	r, did := s.grant(Reduce, "b")
	s.want([]Action{Launch{Slot: r, Attempt: attempt(Reduce, 0, 0)}}, did)
	m, did := s.grant(Map, "a")
	first := attempt(Map, 0, 0)
	s.want([]Action{Launch{Slot: m, Attempt: first}}, did)
	s.want([]Action{Accept{m, first}}, s.step(Finished{Slot: m, Attempt: first}))
	s.want([]Action{GiveBack{Slot: m}}, s.step(Ready{m}))
	s.want(nil, s.step(Gone{Slot: m}))
	if f := s.m.Facts(); f.Maps.Done != 1 {
		t.Fatalf("the output has gone with its slot: %+v", f.Maps)
	}
	s.want([]Action{Revoke{first}}, s.step(NodeLost{"a"}))
	if len(s.asks[Map]) != 2 {
		t.Errorf("the map isn't asked for again: %v", s.asks)
	}
}

// Where all slots are with reduces that wait for a map, one of them goes over to it.
func TestReduceMakesRoomForAMapInItsOwnSlot(t *testing.T) {
	s := tell(t, Job{Maps: 1, Reduces: 1, PerTask: true, NodesServe: true, Starter: always{}})
	r, _ := s.grant(Reduce, "a")
	s.step(Tick{})
	s.now += starving
	s.want([]Action{Cancel{r, attempt(Reduce, 0, 0), InTheWay}}, s.step(Tick{}))
	s.want([]Action{Launch{Slot: r, Attempt: attempt(Map, 0, 0)}}, s.step(Ready{r}))
	s.step(Finished{Slot: r, Attempt: attempt(Map, 0, 0)})
	s.want([]Action{GiveBack{Slot: r}}, s.step(Ready{r}))
}

// A slot that waits only because it has an output goes when all reduces have fetched that. If one of these fails nevertheless, the
// output is made again.
func TestSlotGoesWhenItsOutputIsFetched(t *testing.T) {
	s := tell(t, Job{Maps: 1, Reduces: 2, ReduceMemory: int64(Reduce), Starter: always{}})
	m, _ := s.grant(Map, "a") // too small for a reduce
	s.step(Finished{Slot: m, Attempt: attempt(Map, 0, 0)})
	a, _ := s.grant(Reduce, "b")
	b, _ := s.grant(Reduce, "c")
	s.want(nil, s.step(Ready{m}))
	phase := func(slot SlotID, index int, p Phase) []Action {
		return s.step(Progressed{Slot: slot, Attempt: attempt(Reduce, index, 0), Phase: p, Done: 1, Total: 2})
	}
	s.want(nil, phase(a, 0, Reducing))
	s.want(nil, phase(b, 1, Shuffling))
	s.want([]Action{GiveBack{Slot: m}}, phase(b, 1, Reducing))
	s.step(Finished{Slot: a, Attempt: attempt(Reduce, 0, 0)})
	s.want([]Action{GiveBack{Slot: a}}, s.step(Ready{a}))
	did := s.step(Failed{Slot: b, Attempt: attempt(Reduce, 1, 0), Err: errors.New("it failed")})
	if !slices.Contains(did, Action(Revoke{attempt(Map, 0, 0)})) || s.m.Facts().Maps.Waiting != 1 {
		t.Errorf("%+v, and %+v", did, s.m.Facts())
	}
}

// Where tasks are copied, a slot keeps its output for copies of reduces until none of these could gain by one. From then on reduces
// get no copies, as long as none has failed.
func TestSlotGoesWhenNoReduceIsWorthACopy(t *testing.T) {
	p := &scripted{due: true}
	s := tell(t, Job{Maps: 1, Reduces: 2, ReduceMemory: int64(Reduce), Starter: p, Speculator: p})
	p.m = s.m
	m, _ := s.grant(Map, "a") // too small for a reduce
	s.step(Finished{Slot: m, Attempt: attempt(Map, 0, 0)})
	a, _ := s.grant(Reduce, "b")
	b, _ := s.grant(Reduce, "c")
	s.step(Ready{m})
	s.now = time.Second
	progress := func(slot SlotID, index int, done int64) []Action {
		return s.step(Progressed{Slot: slot, Attempt: attempt(Reduce, index, 0), Phase: Reducing, Done: done, Total: 100})
	}
	s.want(nil, progress(a, 0, 1))
	s.want(nil, progress(b, 1, 0))
	s.want(nil, s.step(Tick{}))
	s.now += 10 * time.Second
	s.want(nil, progress(a, 0, 80))
	s.want(nil, progress(b, 1, 40)) // 16.5 s to go after 10 s
	s.want(nil, s.step(Tick{}))
	if len(s.asks[Reduce]) != 0 {
		t.Fatalf("asked for: %v", s.asks)
	}
	s.now += 5 * time.Second
	s.want(nil, progress(b, 1, 60)) // 10.7 s to go after 15 s
	p.copies = []Copy{{Of: attempt(Reduce, 1, 0)}}
	s.want([]Action{GiveBack{Slot: m}}, s.step(Tick{}))
	if len(s.asks[Reduce]) != 0 {
		t.Errorf("a reduce is copied whose inputs have gone: %v", s.asks)
	}
	s.want(nil, s.step(Gone{Slot: m}))
	did := s.step(Failed{Slot: b, Attempt: attempt(Reduce, 1, 0), Err: errors.New("it failed")})
	if !slices.Contains(did, Action(Revoke{attempt(Map, 0, 0)})) || s.m.Facts().Maps.Waiting != 1 {
		t.Errorf("%+v, and %+v", did, s.m.Facts())
	}
}

// shown is what policies were shown last.
type shown struct {
	reckless
	hints   Hints
	classes []int
}

func (s *shown) Due(f *Facts) bool { s.hints = f.Hints; return false }

func (s *shown) Round(r *Round) []Copy {
	s.classes = slices.Clone(r.Classes)
	return nil
}

// Policies see what the ResourceManager knows, classes by the numbers of nodes; nothing if it knows nothing any more.
func TestHintsReachThePolicies(t *testing.T) {
	p := &shown{}
	s := tell(t, Job{Maps: 2, Reduces: 1, Starter: p, Speculator: p})
	s.grant(Map, "slow")
	h := Hints{Frequency: 2, Available: 30, Jobs: 3, Bandwidth: 1e6}
	classes, want := map[string]int{"fast": 2, "slow": 1, "fastest": 3}, []int{1, 2, 3}
	for i := range 20 { // new nodes have numbers in the order of their names, whatever order a map has
		classes[fmt.Sprintf("node%02d", i)] = i + 4
		want = append(want, i+4)
	}
	s.step(Hinted{h, classes})
	s.step(Tick{})
	s.step(Tick{})
	if p.hints != h || !slices.Equal(p.classes, want) {
		t.Errorf("%+v, levels %v", p.hints, p.classes)
	}
	s.step(Hinted{})
	s.step(Tick{})
	if p.hints != (Hints{}) || p.classes != nil {
		t.Errorf("%+v, levels %v", p.hints, p.classes)
	}
}
