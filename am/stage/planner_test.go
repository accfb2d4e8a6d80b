package stage

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fatal is what tests and properties have in common.
type fatal interface{ Fatalf(string, ...any) }

// check compares the account that a planner keeps with what there is.
func (m *Planner) check(t fatal) {
	for s := range m.tables {
		b := &m.tables[s]
		var count [3]int
		var progress, out int64
		redo, active := 0, 0
		for i := range b.all {
			x := &b.all[i]
			count[x.phase]++
			progress += x.progress
			n := 0
			for j := range x.attempts {
				if a := &x.attempts[j]; a.State == Active {
					n++
					if s := &m.slots[a.Slot]; !s.known || !s.busy || s.task != a.ID {
						t.Fatalf("%v runs, but not on slot %d", a.ID, a.Slot)
					}
				}
			}
			active += n
			if n != x.active || (x.phase == running) != (n > 0) || (x.phase == done) != (x.winner >= 0) {
				t.Fatalf("%v: phase %d, %d attempts run, noted are %d, winner %d", x.id, x.phase, n, x.active, x.winner)
			}
			if x.winner >= 0 {
				if x.attempts[x.winner].State != Succeeded {
					t.Fatalf("%v: the winner has not succeeded", x.id)
				}
				out += x.attempts[x.winner].OutBytes
			}
			if x.phase == waiting && x.again() {
				redo++
			}
			if x.phase == waiting && x.request == 0 && !slices.Contains(b.unasked, i) {
				t.Fatalf("%v waits, and nobody will ask for it", x.id)
			}
			if r := m.requests[x.request]; x.request != 0 && (!r.open || r.task != x.id || r.stale != (x.phase != waiting)) {
				t.Fatalf("%v: request %+v", x.id, r)
			}
		}
		if count != b.count || progress != b.progress || redo != b.redo || active != len(b.active) || out != b.outBytes {
			t.Fatalf("%v: %v tasks, progress %d, %d again, %d attempts, %d bytes; noted are %v, %d, %d, %d, %d", Stage(s), count, progress, redo,
				active, out, b.count, b.progress, b.redo, len(b.active), b.outBytes)
		}
	}
	var idle [stages][classes]int
	slots := make([]int, len(m.nodes))
	for _, id := range m.live {
		s := &m.slots[id]
		slots[s.host]++
		idle[s.pool][s.class]++
		if s.class != m.classify(s) || s.pool != m.poolOf(s.stage) || !s.known {
			t.Fatalf("slot %d is of class %d, not %d", id, m.classify(s), s.class)
		}
	}
	for i := range m.nodes {
		if m.nodes[i].slots != slots[i] {
			t.Fatalf("%d slots on %s, noted are %d", slots[i], m.nodes[i].name, m.nodes[i].slots)
		}
	}
	var open [stages]int
	for _, r := range m.requests {
		if r.open && !r.copy {
			open[m.poolOf(r.task.Stage)]++
		}
	}
	for p := range m.pools {
		if idle[p] != m.pools[p].idle || open[p] != m.pools[p].open {
			t.Fatalf("slots %v, %d requests; noted are %v, %d", idle[p], open[p], m.pools[p].idle, m.pools[p].open)
		}
	}
	fetching := 0
	for _, id := range m.tables[Reduce].active {
		if m.attempt(id).Phase == Shuffling {
			fetching++
		}
	}
	if fetching != m.fetching {
		t.Fatalf("%d reduces shuffle, noted are %d", fetching, m.fetching)
	}
}

// at once lets reduces begin when maps do.
type always struct{}

func (always) Due(*Facts) bool { return true }

type afterMaps struct{}

func (afterMaps) Due(f *Facts) bool { return f.Maps.Waiting == 0 }

// reckless copies whatever it is told to, and finds all worth while on hosts of even numbers.
type reckless struct{ want []bool }

func (r *reckless) Ended(Stage, int, time.Duration) {}

func (r *reckless) Round(v *Round) (out []Copy) {
	for i := range v.Running {
		if len(r.want) > 0 && r.want[i%len(r.want)] {
			out = append(out, Copy{Of: v.Running[i].ID})
		}
	}
	return out
}

func (r *reckless) Worth(_ Copy, _ time.Duration, _ Running, node int) bool {
	return node < 0 || node%2 == 0
}

// Split proposes cuts of whatever it is told to, some of which can't be.
func (r *reckless) Split(v *Round) (out []Cut) {
	for i := range v.Running {
		if len(r.want) > 0 && !r.want[i%len(r.want)] {
			out = append(out, Cut{Of: v.Running[i].ID, At: float64(i%4) / 3, Parts: i % 3})
		}
	}
	return out
}

// span is which part of the input of all maps an attempt or a task does.
type span struct{ from, to float64 }

// phases are those that an attempt of a stage may be in.
var phases = [stages][2]Phase{{Mapping, Mapping}, {Shuffling, Reducing}}

// cluster does what a planner wants, and breaks a lot.
type cluster struct {
	t        fatal
	m        *Planner
	now      time.Duration
	log      []string
	asks     []RequestID
	strict   map[RequestID][]string
	hosts    []string // of slots
	doing    map[SlotID]AttemptID
	waits    []SlotID // slots whose worker is there and does nothing
	new      []SlotID // slots whose worker has said nothing yet
	accepted map[TaskID]AttemptID
	covers   map[AttemptID]span // what attempts do, who have been told
	spans    []span             // what tasks are, by index
	rest     []span             // of which tasks are to be made
	ended    bool
	err      error

	wishes []Freeze          // that nobody has decided on
	frozen map[SlotID]Freeze // what stands still
	away   []string          // hosts that do not answer
	thawed map[SlotID]bool   // of these, what is to go on
	froze  int
	lent   int
}

func (c *cluster) step(e Event) {
	acts := slices.Clone(c.m.Step(c.now, e))
	c.log = append(c.log, fmt.Sprintf("%T%+v -> %+v", e, e, acts))
	for _, a := range acts {
		if c.ended {
			if _, ok := a.(GiveBack); !ok {
				c.t.Fatalf("%T%+v after the end", a, a)
			}
		}
		switch a := a.(type) {
		case Want:
			c.asks = append(c.asks, a.Request)
			if a.Strict {
				c.strict[a.Request] = a.Hosts
			}
		case Withdraw:
			if !slices.Contains(c.asks, a.Request) {
				c.t.Fatalf("a request is withdrawn that isn't open: %d", a.Request)
			}
			c.asks = slices.DeleteFunc(c.asks, func(r RequestID) bool { return r == a.Request })
		case Start:
			c.new = append(c.new, a.Slot)
		case GiveBack:
			c.drop(a.Slot)
		case Launch:
			if !slices.Contains(c.waits, a.Slot) {
				c.t.Fatalf("%v is launched on a slot that doesn't wait", a.Attempt)
			}
			c.waits = slices.DeleteFunc(c.waits, func(s SlotID) bool { return s == a.Slot })
			c.doing[a.Slot] = a.Attempt
			if a.Attempt.Stage == Map {
				c.covers[a.Attempt] = c.spans[a.Attempt.Index]
			}
			twins := 0
			for _, id := range c.doing {
				if id.TaskID == a.Attempt.TaskID {
					twins++
				}
			}
			if twins > 1 != a.Copy || twins > 2 {
				c.t.Fatalf("%d attempts at once: %+v", twins, a)
			}
			if n := c.m.names[c.hosts[a.Slot]]; a.Copy && n%2 != 0 {
				c.t.Fatalf("a copy on %s, where it isn't worth while", c.hosts[a.Slot])
			}
			if _, ok := c.accepted[a.Attempt.TaskID]; ok {
				c.t.Fatalf("%v is launched, and its task is done", a.Attempt)
			}
		case Cancel:
			if c.doing[a.Slot] != a.Attempt {
				c.t.Fatalf("%v is cancelled, which doesn't run there", a.Attempt)
			}
			delete(c.doing, a.Slot)
			c.waits = append(c.waits, a.Slot)
		case Stop:
			if c.doing[a.Slot] != a.Attempt || a.Attempt.Stage != Map || !(a.At > 0 && a.At < 1) || a.Parts < 1 || c.m.task(a.Attempt.TaskID).active != 1 {
				c.t.Fatalf("%+v", a)
			}
		case Divide:
			if a.First != len(c.spans) || a.Parts != len(c.rest) {
				c.t.Fatalf("%+v, but there are %d tasks, and %d are to be made", a, len(c.spans), len(c.rest))
			}
			c.spans = append(c.spans, c.rest...)
			c.spans[a.Attempt.Index] = c.covers[a.Attempt]
		case Freeze:
			if c.doing[a.Slot] != a.Attempt || !c.m.job.Freezes {
				c.t.Fatalf("%+v, but there runs %v", a, c.doing[a.Slot])
			}
			if a.For != 0 && (a.Attempt.Stage != Map || c.strict[a.For] == nil || c.m.task(a.Attempt.TaskID).active != 1 || c.m.Facts().Reduces.Running > 0) {
				c.t.Fatalf("%+v: it has no slack", a)
			}
			for _, other := range c.wishes {
				if other.Attempt == a.Attempt {
					c.t.Fatalf("%+v twice", a)
				}
			}
			c.wishes = append(c.wishes, a)
		case Thaw:
			c.wishes = slices.DeleteFunc(c.wishes, func(f Freeze) bool { return f.Slot == a.Slot })
			if _, ok := c.frozen[a.Slot]; ok {
				c.thawed[a.Slot] = true
			}
		case Accept:
			if other, ok := c.accepted[a.Attempt.TaskID]; ok {
				c.t.Fatalf("%v is accepted after %v", a.Attempt, other)
			}
			if a.Attempt.Stage == Map && c.covers[a.Attempt] != c.spans[a.Attempt.Index] {
				c.t.Fatalf("%v is accepted, which has done %v of %v", a.Attempt, c.covers[a.Attempt], c.spans[a.Attempt.Index])
			}
			c.accepted[a.Attempt.TaskID] = a.Attempt
		case Revoke:
			if c.accepted[a.Attempt.TaskID] != a.Attempt {
				c.t.Fatalf("%v is revoked, which wasn't accepted", a.Attempt)
			}
			delete(c.accepted, a.Attempt.TaskID)
		case End:
			c.ended, c.err = true, a.Err
		}
	}
	c.m.check(c.t)
}

func (c *cluster) drop(s SlotID) {
	delete(c.doing, s)
	delete(c.frozen, s)
	delete(c.thawed, s)
	c.wishes = slices.DeleteFunc(c.wishes, func(f Freeze) bool { return f.Slot == s })
	c.waits = slices.DeleteFunc(c.waits, func(o SlotID) bool { return o == s })
	c.new = slices.DeleteFunc(c.new, func(o SlotID) bool { return o == s })
}

// play plays a job to its end with choices that are drawn, and returns the cluster.
func play(t *rapid.T, j Job, most int, draw func(n int, what string) int) *cluster {
	c := &cluster{
		t: t, m: New(j), strict: map[RequestID][]string{}, doing: map[SlotID]AttemptID{}, accepted: map[TaskID]AttemptID{},
		covers: map[AttemptID]span{}, frozen: map[SlotID]Freeze{}, thawed: map[SlotID]bool{},
	}
	for i := range j.Maps {
		c.spans = append(c.spans, span{float64(i), float64(i + 1)})
	}
	c.step(Nodes{draw(5, "nodes")})
	c.step(Tick{})
	trouble := draw(most, "trouble")
	for steps := 0; !c.ended; steps++ {
		if steps > 5000 {
			t.Fatalf("no end: %+v", c.m.Facts())
		}
		c.now += time.Duration(draw(3, "seconds")) * time.Second
		c.step(Tick{})
		if c.ended {
			break
		}
		if maps := len(c.spans); len(c.asks) > 2*maps+2*j.Reduces+len(c.m.copies.pending) {
			t.Fatalf("%d requests for %d and %d tasks", len(c.asks), j.Maps, j.Reduces)
		}
		busy := make([]SlotID, 0, len(c.doing))
		for i := range c.hosts { // in order
			_, still := c.frozen[SlotID(i)]
			if _, ok := c.doing[SlotID(i)]; ok && !still {
				busy = append(busy, SlotID(i))
			}
		}
		if trouble > 0 && len(c.hosts) > 0 {
			trouble--
			s := SlotID(draw(len(c.hosts), "slot"))
			if _, still := c.frozen[s]; still {
				s = -1 // it says nothing
			}
			switch draw(9, "what") {
			case 0:
				c.drop(s)
				c.step(Gone{Slot: s, Fault: draw(2, "fault") == 0, Err: errors.New("it is gone")})
			case 1:
				if id, ok := c.doing[s]; ok {
					delete(c.doing, s)
					c.waits = append(c.waits, s)
					c.step(Failed{Slot: s, Attempt: id, Err: errors.New("it failed")})
				}
			case 2:
				c.step(Unfetchable{Slot: s, Map: draw(9, "map") - 1, Number: draw(3, "number"), Missing: draw(2, "missing") == 0, Err: errors.New("no")})
				if id, ok := c.doing[s]; ok && s >= 0 && (!c.m.slots[s].busy || c.m.slots[s].task != id) {
					delete(c.doing, s) // it learns that with its next report
					c.waits = append(c.waits, s)
				}
			case 3:
				if id, ok := c.doing[s]; ok {
					c.step(Progressed{Slot: s, Attempt: id, Phase: phases[id.Stage][draw(2, "phase")], Done: int64(draw(20, "done")) - 5, Total: int64(draw(12, "total")) - 1})
				}
			case 4: // somebody says what isn't true
				id := AttemptID{TaskID{Map, draw(max(1, j.Maps), "index")}, draw(3, "number")}
				if c.doing[s] != id {
					c.step(Finished{Slot: s, Attempt: id})
				}
			case 5:
				c.step(Granted{Slot: SlotID(len(c.hosts)), Host: "stranger", Memory: 1})
				c.hosts = append(c.hosts, "stranger")
			case 6:
				c.step(NodeLost{c.hosts[max(s, 0)]})
			case 7:
				c.stop(s, draw(11, "kept"), draw(4, "parts"))
			case 8:
				host := c.hosts[max(s, 0)]
				c.away = append(c.away, host)
				c.step(Unreachable{host})
			}
			if c.ended {
				break
			}
		}
		if len(c.away) > 0 && (trouble == 0 || draw(3, "answers") == 0) {
			host := c.away[0]
			c.away = c.away[1:]
			c.step(Reachable{host})
			if c.ended {
				break
			}
		}
		then := 3
		if j.Freezes {
			then = 6
		}
		switch draw(then, "then") {
		case 0:
			if len(c.asks) == 0 {
				continue
			}
			i := draw(len(c.asks), "request")
			id := c.asks[i]
			c.asks = slices.Delete(c.asks, i, i+1)
			h := fmt.Sprint("h", draw(4, "host"))
			if only := c.strict[id]; only != nil {
				h = only[draw(len(only), "of these")]
			}
			c.hosts = append(c.hosts, h)
			c.step(Granted{Request: id, Slot: SlotID(len(c.hosts) - 1), Host: h, Memory: int64(1 + draw(2, "memory"))})
		case 1:
			for _, s := range slices.Concat(c.new, c.waits) {
				if slices.Contains(c.new, s) {
					c.new = slices.DeleteFunc(c.new, func(o SlotID) bool { return o == s })
					c.waits = append(c.waits, s)
				}
				if slices.Contains(c.waits, s) {
					c.step(Ready{s})
				}
			}
		case 2:
			if len(busy) == 0 {
				continue
			}
			s := busy[draw(len(busy), "busy")]
			id, ok := c.doing[s]
			f := c.m.Facts()
			if !ok || id.Stage == Reduce && f.Maps.Done < f.Maps.Tasks {
				continue // it waits for maps
			}
			delete(c.doing, s)
			c.waits = append(c.waits, s)
			c.step(Finished{Slot: s, Attempt: id, OutBytes: int64(draw(100, "bytes")), Held: draw(3, "held") == 0})
		case 3, 4:
			if len(busy) > 0 {
				s := busy[draw(len(busy), "busy")]
				c.step(Progressed{Slot: s, Attempt: c.doing[s], Phase: phases[c.doing[s].Stage][1], Done: int64(draw(11, "tenths")), Total: 10})
			}
		case 5:
			c.decide(draw)
		}
	}
	return c
}

// decide has slots stand still, or go on, as the planner has wanted, or as somebody else does.
func (c *cluster) decide(draw func(n int, what string) int) {
	for s := range SlotID(len(c.hosts)) { // in order
		if c.thawed[s] || c.frozen[s].For < 0 && draw(2, "resumes") == 0 {
			if _, still := c.frozen[s]; still {
				delete(c.frozen, s)
				delete(c.thawed, s)
				c.step(Resumed{s})
			}
		}
	}
	if len(c.hosts) > 0 && draw(4, "somebody else") == 0 {
		s := SlotID(draw(len(c.hosts), "slot"))
		if _, still := c.frozen[s]; !still && c.doing[s] != (AttemptID{}) {
			c.frozen[s] = Freeze{Slot: s, For: -1}
			c.step(Suspended{s})
		}
	}
	for len(c.wishes) > 0 && !c.ended {
		f := c.wishes[0]
		c.wishes = c.wishes[1:]
		if draw(4, "refused") == 0 {
			continue
		}
		c.froze++
		c.frozen[f.Slot] = f
		c.step(Suspended{f.Slot})
		i := slices.Index(c.asks, f.For)
		if i < 0 || c.ended {
			continue
		}
		c.lent++
		c.asks = slices.Delete(c.asks, i, i+1)
		c.hosts = append(c.hosts, c.hosts[f.Slot])
		c.step(Granted{Request: f.For, Slot: SlotID(len(c.hosts) - 1), Host: c.hosts[f.Slot], Memory: 2})
	}
}

// stop has a worker say that it does only so many tenths of its map, so that the rest is for so many others; 0: it can't.
func (c *cluster) stop(s SlotID, tenths, parts int) {
	id, ok := c.doing[s]
	e := Stopped{Slot: s, Attempt: id, Kept: float64(tenths) / 10, Hosts: make([][]string, parts)}
	if ok && id.Stage == Map && parts > 0 {
		x := c.covers[id]
		at := x.from + e.Kept*(x.to-x.from)
		c.rest = c.rest[:0]
		for i := range parts {
			e.Hosts[i] = []string{fmt.Sprint("h", i)}
			c.rest = append(c.rest, span{at + float64(i)/float64(parts)*(x.to-at), at + float64(i+1)/float64(parts)*(x.to-at)})
		}
		c.covers[id] = span{x.from, at}
	}
	c.step(e)
}

// Whatever happens to slots, tasks and outputs: a job ends, each task has one output that is there, and nothing is asked for in
// vain. What attempts leave that stop early is done by others, and nothing twice. A copy runs only where it is worth while, and of attempts at a task one wins.
func TestJobsEndWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := Job{
			Maps: rapid.IntRange(0, 8).Draw(t, "maps"), Reduces: rapid.IntRange(0, 3).Draw(t, "reduces"), Tries: [2]int{1000, 1000},
			NodeFailures: 3, ReduceMemory: 1, PerTask: rapid.Bool().Draw(t, "one task for each slot"),
			NodesServe: rapid.Bool().Draw(t, "nodes serve outputs"), Starter: rapid.SampledFrom([]Starter{always{}, afterMaps{}}).Draw(t, "starter"),
			Hosts: func(i int) []string { return []string{fmt.Sprint("h", i%3)} },
		}
		want := rapid.SliceOfN(rapid.Bool(), 0, 5).Draw(t, "copies")
		if len(want) > 0 {
			j.Speculator, j.Splitter = &reckless{want}, &reckless{want}
			j.Freezes = rapid.Bool().Draw(t, "freezes")
		}
		playTwice(t, j, 100)
	})
}

// The same where copies find no slot, so that attempts stand still for their sake. Nobody stands still for ever.
func TestWhatStandsStillGoesOnOrEnds(t *testing.T) {
	froze, lent := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		j := Job{
			Maps: rapid.IntRange(4, 8).Draw(t, "maps"), Reduces: rapid.IntRange(0, 2).Draw(t, "reduces"), Tries: [2]int{1000, 1000}, NodeFailures: 1000,
			PerTask: rapid.Bool().Draw(t, "one task for each slot"), NodesServe: rapid.Bool().Draw(t, "nodes serve outputs"), Starter: afterMaps{}, Speculator: &reckless{[]bool{true, false}}, Freezes: true,
		}
		c := playTwice(t, j, 5)
		froze, lent = froze+c.froze, lent+c.lent
	})
	if lent == 0 || froze == lent {
		t.Errorf("%d attempts stood still, %d of them for others: the choices are of no use", froze, lent)
	}
}

// playTwice plays a job with at most so much trouble, and checks how it ends.
func playTwice(t *rapid.T, j Job, trouble int) *cluster {
	var choices []int
	c := play(t, j, trouble, func(n int, what string) int {
		x := rapid.IntRange(0, n-1).Draw(t, what)
		choices = append(choices, x)
		return x
	})
	if c.err == nil {
		done := 0.
		for id := range c.accepted {
			if id.Stage == Map {
				done += c.spans[id.Index].to - c.spans[id.Index].from
			}
		}
		if math.Abs(done-float64(j.Maps)) > 1e-6 && (j.Reduces == 0 || len(c.accepted) < j.Reduces) {
			t.Fatalf("%d outputs of %d and %d tasks", len(c.accepted), j.Maps, j.Reduces)
		}
		if len(c.asks) > 0 {
			t.Fatalf("%d requests at the end", len(c.asks))
		}
	}
	for s, f := range c.frozen {
		if f.For >= 0 && !c.thawed[s] {
			t.Fatalf("%+v stands still for ever", f)
		}
	}
	// The same events give the same actions.
	again := play(t, j, trouble, func(int, string) int {
		x := choices[0]
		choices = choices[1:]
		return x
	})
	if !reflect.DeepEqual(c.log, again.log) {
		for i := range c.log {
			if i >= len(again.log) || c.log[i] != again.log[i] {
				t.Fatalf("the second time after %d events:\n%s\ninstead of\n%s", i, again.log[min(i, len(again.log)-1)], c.log[i])
			}
		}
	}
	return c
}

// seeing notes what a Speculator is shown.
type seeing struct {
	reckless
	waits map[AttemptID]bool
}

func (s *seeing) Round(r *Round) []Copy {
	s.waits = map[AttemptID]bool{}
	for _, x := range r.Running {
		s.waits[x.ID] = x.Waits
	}
	return nil
}

// A reduce waits as long as it shuffles and maps aren't done, or are done again.
func TestReducesThatShuffleWaitForMaps(t *testing.T) {
	see := &seeing{}
	m := New(Job{Maps: 1, Reduces: 1, Tries: [2]int{4, 4}, NodeFailures: 3, Starter: always{}, Speculator: see})
	mapper, reducer := AttemptID{TaskID{Map, 0}, 0}, AttemptID{TaskID{Reduce, 0}, 0}
	m.Step(0, Tick{})
	for s := range SlotID(2) {
		m.Step(0, Granted{Request: RequestID(s + 1), Slot: s, Host: "h"})
		m.Step(0, Ready{s})
	}
	on := m.attempt(reducer).Slot
	look := func(when string, want bool) {
		t.Helper()
		m.Step(0, Tick{})
		if got, ok := see.waits[reducer]; !ok || got != want || see.waits[mapper] {
			t.Errorf("%s: %v", when, see.waits)
		}
	}
	look("it has begun", true)
	m.Step(0, Progressed{Slot: on, Attempt: reducer, Phase: Reducing, Done: 1, Total: 2})
	look("it has all that it needs", false)
	m.Step(0, Progressed{Slot: on, Attempt: reducer, Phase: Shuffling, Done: 1, Total: 2})
	look("it shuffles", true)
	m.Step(0, Finished{Slot: 1 - on, Attempt: mapper})
	look("the map is done", false)
	m.Step(0, Gone{Slot: 1 - on})
	look("its output is lost", true)
}

// Ticks change nothing while a planner rests: one that has had an hour of them does the same afterwards as one that has had none.
func TestAMachineThatRests(t *testing.T) {
	with := func(change func(*Job)) Job {
		j := Job{Maps: 2, Reduces: 1, Tries: [2]int{4, 4}, Starter: &patient{due: true}}
		change(&j)
		return j
	}
	for name, x := range map[string]struct {
		job   Job
		rests bool
	}{
		"maps and a reduce": {with(func(*Job) {}), true},
		"a task each":       {with(func(j *Job) { j.PerTask, j.NodesServe = true, true }), true},
		"copies":            {with(func(j *Job) { j.Speculator = &patient{} }), false},
	} {
		var after [2][]string
		for i, ticks := range []int{0, 3600} {
			m := New(x.job)
			m.Step(0, Nodes{2})
			m.Step(0, Tick{})
			if Rests(m) != x.rests {
				t.Errorf("%s: it rests: %v", name, !x.rests)
			}
			for s := range ticks {
				if acts := m.Step(time.Duration(s)*time.Second, Tick{}); len(acts) > 0 && x.rests {
					t.Errorf("%s: %+v", name, acts)
				}
			}
			for k, e := range []Event{
				Granted{Request: 1, Slot: 0, Host: "a", Memory: 1}, Ready{0}, Tick{}, Gone{Slot: 0, Fault: true}, Tick{}, Granted{Request: 2, Slot: 1, Host: "a", Memory: 1}, Ready{1}, Tick{},
			} {
				if k == 1 && Rests(m) {
					t.Errorf("%s: it rests with a container", name)
				}
				after[i] = append(after[i], fmt.Sprintf("%+v", m.Step(time.Hour+time.Duration(k)*time.Second, e)))
			}
		}
		if !slices.Equal(after[0], after[1]) {
			t.Errorf("%s: %q, and without ticks %q", name, after[1], after[0])
		}
	}
}
