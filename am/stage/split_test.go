package stage

import (
	"math"
	"reflect"
	"testing"
	"time"
)

// halving has the first map stop at a half, and notes what it is told.
type halving struct {
	told  map[TaskID]time.Duration
	shown []Running
	cuts  []Cut
}

func (h *halving) Ended(s Stage, _ int, took time.Duration) {
	h.told[TaskID{s, len(h.told)}] = took
}

func (h *halving) Round(r *Round) []Copy {
	h.shown = append(h.shown[:0], r.Running...)
	return nil
}

func (h *halving) Worth(Copy, time.Duration, Running, int) bool { return true }

func (h *halving) Split(*Round) []Cut { return h.cuts }

func (s *story) shares() (out []int64) {
	for i := range s.m.tables[Map].all {
		out = append(out, s.m.tables[Map].all[i].share)
	}
	return out
}

// An attempt that stops at a part leaves the rest to new tasks. Progress and durations are those of whole tasks.
func TestRestOfAnAttemptIsDoneByOthers(t *testing.T) {
	h := &halving{told: map[TaskID]time.Duration{}, cuts: []Cut{{Of: attempt(Map, 0, 0), At: 0.5, Parts: 2}}}
	s := tell(t, Job{Maps: 2, Starter: always{}, Speculator: h, Splitter: h})
	a, _ := s.grant(Map, "a")
	b, _ := s.grant(Map, "b")
	first := attempt(Map, 0, 0)
	s.want([]Action{Stop{Slot: a, Attempt: first, At: 0.5, Parts: 2}}, s.step(Tick{}))
	s.want(nil, s.step(Tick{})) // it isn't told again
	s.step(Progressed{Slot: a, Attempt: first, Done: 40, Total: 100})
	s.want([]Action{Divide{Attempt: first, First: 2, Parts: 2}}, s.step(Stopped{Slot: a, Attempt: first, Kept: 0.8, Hosts: [][]string{{"c"}, nil}}))
	if got := s.shares(); !reflect.DeepEqual(got, []int64{800_000, 1_000_000, 100_000, 100_000}) {
		t.Errorf("shares %v", got)
	}
	stat, _, progress := s.m.Stage(Map)
	if stat.Tasks != 4 || stat.Waiting != 2 || math.Abs(progress-0.2) > 1e-9 {
		t.Errorf("%+v, progress %v", stat, progress)
	}
	if len(s.asks[Map]) != 2 {
		t.Errorf("requests %v", s.asks)
	}
	h.cuts = nil
	s.step(Tick{})
	if x := h.shown[0]; x.Share != 0.8 || x.Fixed {
		t.Errorf("%+v", x)
	}
	s.now += 8 * time.Second
	s.step(Finished{Slot: a, Attempt: first, OutBytes: 8})
	s.want([]Action{Launch{Slot: a, Attempt: attempt(Map, 3, 0)}}, s.step(Ready{a})) // of which no host in particular has the input
	s.now += time.Second
	s.step(Finished{Slot: a, Attempt: attempt(Map, 3, 0)})
	s.step(Finished{Slot: b, Attempt: attempt(Map, 1, 0)})
	s.step(Ready{b})
	s.step(Finished{Slot: b, Attempt: attempt(Map, 2, 0)})
	// 8 s for 80 % are 10 s; what 10 % take says nothing.
	if want := map[TaskID]time.Duration{{Map, 0}: 10 * time.Second, {Map, 1}: 9 * time.Second}; !reflect.DeepEqual(h.told, want) {
		t.Errorf("durations %v", h.told)
	}
	stat, _, progress = s.m.Stage(Map)
	if over, err := s.m.Over(); !over || err != nil || stat.Mean != 9500*time.Millisecond || progress != 1 {
		t.Errorf("%v, %v, %+v, %v", over, err, stat, progress)
	}
}

// An attempt that can't stop isn't told again, nor one that doesn't answer: that one may be copied.
func TestAttemptsThatDoNotStop(t *testing.T) {
	for name, answer := range map[string]bool{"it says so": true, "it says nothing": false} {
		h := &halving{told: map[TaskID]time.Duration{}, cuts: []Cut{{Of: attempt(Map, 0, 0), At: 0.5, Parts: 99}}}
		s := tell(t, Job{Maps: 1, Starter: always{}, Speculator: h, Splitter: h})
		a, _ := s.grant(Map, "a")
		s.want([]Action{Stop{Slot: a, Attempt: attempt(Map, 0, 0), At: 0.5, Parts: MostParts}}, s.step(Tick{}))
		if answer {
			s.want(nil, s.step(Stopped{Slot: a, Attempt: attempt(Map, 0, 0), Kept: 0.5}))
		} else {
			s.now += answering - 1
			s.want(nil, s.step(Tick{}))
			if _, ok := s.m.copies.original(attempt(Map, 0, 0)); ok {
				t.Errorf("%s: it may be copied before %v have passed", name, answering)
			}
			s.now++
		}
		s.want(nil, s.step(Tick{}))
		s.want(nil, s.step(Tick{}))
		if x, ok := s.m.copies.original(attempt(Map, 0, 0)); !ok || !x.Fixed {
			t.Errorf("%s: %+v, may be copied: %v", name, x, ok)
		}
		if len(s.m.cuts.open) > 0 {
			t.Errorf("%s: %+v", name, s.m.cuts.open)
		}
	}
}

// The attempt that is done twice stops early all the same: the other one would do what is others' work by then.
func TestOtherAttemptGoesWhenOneStops(t *testing.T) {
	copying := &reckless{want: []bool{true}}
	s := tell(t, Job{Maps: 2, Starter: always{}, Speculator: copying})
	a, _ := s.grant(Map, "a")
	b, _ := s.grant(Map, "a")
	s.step(Finished{Slot: b, Attempt: attempt(Map, 1, 0)})
	s.step(Ready{b})
	s.step(Tick{})
	c, did := s.grant(Map, "a")
	s.want([]Action{Launch{Slot: c, Attempt: attempt(Map, 0, 1), Copy: true}}, did)
	s.want([]Action{
		Cancel{Slot: a, Attempt: attempt(Map, 0, 0), Why: Overtaken}, Divide{Attempt: attempt(Map, 0, 1), First: 2, Parts: 1},
	}, s.step(Stopped{Slot: c, Attempt: attempt(Map, 0, 1), Kept: 0.5, Hosts: make([][]string, 1)}))
}

// Whatever an attempt says that it keeps, tasks have some work, and together no more than before but for that.
func TestPartsOfNothing(t *testing.T) {
	for _, kept := range []float64{math.NaN(), -1, 0, 1, 2, math.Inf(1)} {
		s := tell(t, Job{Maps: 1, Starter: always{}})
		a, _ := s.grant(Map, "a")
		s.step(Progressed{Slot: a, Attempt: attempt(Map, 0, 0), Done: 1, Total: 2})
		s.step(Stopped{Slot: a, Attempt: attempt(Map, 0, 0), Kept: kept, Hosts: make([][]string, 3)})
		sum := int64(0)
		for _, x := range s.shares() {
			sum += x
			if x < 1 {
				t.Errorf("%v: shares %v", kept, s.shares())
			}
		}
		if _, _, p := s.m.Stage(Map); sum > millionths+3 || sum < millionths || p < 0 || p > 1 {
			t.Errorf("%v: shares %v, progress %v", kept, s.shares(), p)
		}
	}
}

// Parts go to nodes that they are for. If none of these takes them for a while, another one does.
func TestPartsAvoidNodes(t *testing.T) {
	for _, waits := range []time.Duration{0, elsewhere} {
		h := &halving{told: map[TaskID]time.Duration{}, cuts: []Cut{{Of: attempt(Map, 0, 0), At: 0.5, Parts: 1, Avoid: []int{-1, 0, 99}}}}
		s := tell(t, Job{Maps: 2, Starter: afterMaps{}, Speculator: h, Splitter: h})
		a, first := s.run("a")
		b, second := s.run("b")
		s.step(Tick{})
		h.cuts = nil
		s.step(Stopped{Slot: a, Attempt: first, Kept: 0.5, Hosts: [][]string{nil}})
		s.step(Finished{Slot: a, Attempt: first})
		s.want(nil, s.step(Ready{a}))
		if waits == 0 {
			s.step(Finished{Slot: b, Attempt: second})
			s.want([]Action{Launch{Slot: b, Attempt: attempt(Map, 2, 0)}, GiveBack{Slot: a}}, s.step(Ready{b}))
			continue
		}
		s.now += waits - 1
		s.want(nil, s.step(Tick{}))
		s.now++
		s.want([]Action{Launch{Slot: a, Attempt: attempt(Map, 2, 0)}}, s.step(Tick{}))
	}
}

// The parts of a task are all of its work, to the millionth, however it is divided.
func TestPartsAreTheWhole(t *testing.T) {
	for _, kept := range []float64{0, 0.3, 1. / 3, 1, math.NaN()} {
		for n := 1; n <= MostParts; n++ {
			m := New(Job{Maps: 1, Tries: [2]int{4, 4}, Starter: &scripted{}})
			m.cuts.divide(m.task(TaskID{Map, 0}), kept, make([][]string, n), nil)
			sum := int64(0)
			for i := range m.tables[Map].all {
				sum += m.tables[Map].all[i].share
			}
			if over := max(0, int64(n)-(millionths-m.tables[Map].all[0].share)); sum != millionths+over { // none is nothing
				t.Errorf("of %v and %d parts there are %d millionths", kept, n, sum)
			}
		}
	}
}
