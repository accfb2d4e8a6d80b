package fresh

import (
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/stages"
	"heddle/yarn/records"
)

// Priorities at which Hadoop's MapReduce asks.
const (
	reruns  = 5
	reduces = 10
	maps    = 20
)

var slot = records.NewResource(1024, 1)

// bench is a leaf of 10 slots of one size under a policy.
type bench struct {
	*Policy
	now  int64
	free int64
	next handle.Container
	asks map[handle.App]map[int32]int32
	size map[int32]records.Resource // by priority, if it isn't a slot's
}

func newBench(now int64) *bench {
	b := &bench{Policy: New(), free: 10, asks: map[handle.App]map[int32]int32{}, size: map[int32]records.Resource{}}
	b.tick(now)
	return b
}

func app(h handle.App) leaf.App { return leaf.App{Handle: h, Seq: int64(h), Type: stages.Type} }

func (b *bench) tick(now int64) []handle.App {
	b.now = now
	return slices.Clone(b.Tick(now, leaf.Queue{Free: slot.Times(b.free), Types: 2}))
}

func (b *bench) request(h handle.App, priority int32) leaf.Ask {
	size, ok := b.size[priority]
	if !ok {
		size = slot
	}
	return leaf.Ask{App: app(h), Priority: priority, Count: b.asks[h][priority], Capability: size}
}

func (b *bench) ask(h handle.App, priority, count int32) {
	if b.asks[h] == nil {
		b.asks[h] = map[int32]int32{}
	}
	b.asks[h][priority] = count
	b.Asked(b.request(h, priority))
}

// grant returns the last of so many containers.
func (b *bench) grant(h handle.App, priority int32, n int) handle.Container {
	for range n {
		b.asks[h][priority]--
		b.free--
		k := b.request(h, priority)
		b.Granted(k.App, leaf.Grant{Container: b.next, Resource: slot, Since: b.now, Ask: k})
		b.next++
	}
	return b.next - 1
}

func (b *bench) end(c handle.Container) {
	b.free++
	b.Ended(leaf.App{}, leaf.Node{}, leaf.Outcome{Container: c, Resource: slot})
}

func (b *bench) held(h handle.App, priority int32) bool {
	held, _ := b.Hold(b.request(h, priority))
	return held
}

// turns compares what is held: of job 0, which has reduces only, and of job 1, which has maps only.
func (b *bench) turns(t *testing.T, when string, want stages.Stage) {
	t.Helper()
	heldReduces, heldMaps := want == stages.Map, want == stages.Reduce
	if b.turn != want || b.held(0, reduces) != heldReduces || b.held(1, maps) != heldMaps {
		t.Errorf("%s: reduces are held: %t, maps: %t; want the turn of %v", when, b.held(0, reduces), b.held(1, maps), want)
	}
}

// both is a leaf in which 10 reduces of job 0 wait and 30 maps of job 1. Nobody knows how long any take, so that maps are to have 3/4.
func both(now int64) *bench {
	b := newBench(now)
	b.ask(0, reduces, 10)
	b.ask(1, maps, 30)
	b.tick(now)
	return b
}

// Algorithm 3.3.2: the next slot goes to maps while they have less than they should, and to reduces otherwise.
func TestStagesTakeTurns(t *testing.T) {
	b := both(1000)
	b.turns(t, "at first", stages.Map)
	b.grant(1, maps, 7)
	b.turns(t, "maps have 7 of 10 slots", stages.Map)
	last := b.grant(1, maps, 1)
	b.turns(t, "maps have 8", stages.Reduce)
	if _, until := b.Hold(b.request(1, maps)); until != math.MaxInt64 {
		t.Errorf("held until %d", until)
	}
	const why = "it is the turn of reduces: of the queue maps have 80 % and should have 75 %, as what is left of all maps is 75 % of the work"
	if got := b.Why(b.request(1, maps)); got != why {
		t.Errorf("it says %q", got)
	}
	b.tick(1500)
	b.turns(t, "by new sums", stages.Reduce)
	b.end(last)
	b.tick(2000)
	b.turns(t, "one has ended after 1 s", stages.Map) // 29 of 39 are left
	b.ask(0, reduces, 0)
	b.tick(2001)
	b.turns(t, "no reduce waits", stages.None)
	if b.ask(0, 0, 1); b.held(0, 0) {
		t.Error("an ApplicationMaster waits for nobody's turn")
	}
	b.ask(0, reduces, 1)
	b.tick(2002)
	b.turns(t, "one waits", stages.Map)
	b.grant(0, reduces, 1) // what waits is known without new sums
	b.turns(t, "none waits", stages.None)
}

// A stage that takes nothing loses its turn: when there has been room for 3 s that the other could take, and after 120 s in any case. It gets
// none again until it takes something.
func TestTurnsAreLost(t *testing.T) {
	b := both(1000)
	b.tick(3999)
	b.turns(t, "2.999 s of room", stages.Map)
	b.tick(4000)
	b.turns(t, "3 s of room", stages.None)
	b.tick(8000)
	b.turns(t, "later", stages.None)
	b.grant(1, maps, 1)
	b.turns(t, "it takes something", stages.Map)
	b.tick(10_999)
	b.turns(t, "2.999 s after that", stages.Map)
	b.tick(11_000)
	b.turns(t, "3 s after it", stages.None)
	b.grant(0, reduces, 1) // the other stage takes something
	b.tick(11_001)
	b.turns(t, "the other stage took something", stages.None)

	b = both(1000)
	b.free = 0
	b.tick(1001)
	b.tick(50_000)
	b.turns(t, "there is no room", stages.Map)
	b.free = 1
	b.tick(51_000)
	b.tick(53_999)
	b.turns(t, "2.999 s after there is room", stages.Map)
	b.free = 0
	b.tick(53_999)
	b.free = 1
	b.tick(54_000)
	b.tick(56_999)
	b.turns(t, "that was taken meanwhile", stages.Map)
	b.tick(57_000)
	b.turns(t, "3 s after that", stages.None)

	b = both(1000)
	b.free = 0
	b.tick(1001)
	b.tick(120_999)
	b.turns(t, "119.999 s without room", stages.Map)
	b.tick(121_000)
	b.turns(t, "120 s", stages.None)

	b = both(1000)
	b.size[reduces] = slot.Times(4)
	b.ask(0, reduces, 10)
	b.free = 3
	b.tick(1001)
	b.tick(60_000)
	b.turns(t, "no reduce fits in", stages.Map)
}

// Room that nobody takes is free for both stages after 3 s, whoever's turn it was meanwhile. A turn that comes back lasts from then on.
func TestTurnsChangeWhileThereIsRoom(t *testing.T) {
	b := both(1000)
	c := b.grant(1, maps, 8)
	b.turns(t, "maps have 8 slots", stages.Reduce)
	b.tick(2000)
	b.end(c)
	b.tick(2000)
	b.turns(t, "one has ended", stages.Map)
	b.tick(3999)
	b.turns(t, "2.999 s after the last grant", stages.Map)
	b.tick(4000)
	b.turns(t, "3 s after it", stages.None)
}

// Reduces of a job with maps left wait for these and for nothing else. Reruns of maps and what is of no stage never wait.
func TestWhoNeverWaitsForATurn(t *testing.T) {
	b := both(1000)
	b.ask(1, reduces, 2)
	b.ask(1, reruns, 1)
	b.ask(0, 0, 1)
	b.grant(1, maps, 9)
	b.tick(1001)
	b.turns(t, "maps have 9 slots", stages.Reduce)
	if !b.held(1, reduces) || b.held(1, reruns) || b.held(0, 0) {
		t.Errorf("held are reduces with maps: %t, reruns: %t, ApplicationMasters: %t", b.held(1, reduces), b.held(1, reruns), b.held(0, 0))
	}
	if until := func() int64 { _, until := b.Hold(b.request(1, reduces)); return until }(); until != math.MaxInt64 {
		t.Errorf("held until %d", until)
	}
	const why = "its reduces wait for its maps: 31 of 30 haven't ended, and 22 of these are pending"
	if got := b.Why(b.request(1, reduces)); got != why {
		t.Errorf("it says %q", got)
	}
	other := leaf.Ask{App: leaf.App{Handle: 7, Seq: 7, Type: "SPARK"}, Priority: maps, Count: 1, Capability: slot}
	unknown := b.request(9, maps)
	for _, k := range []leaf.Ask{other, unknown} {
		if held, until := b.Hold(k); held || until != 0 || b.Why(k) != "" || b.Ratio(k.App) != 0 {
			t.Errorf("application %d: held %t by %q with ratio %v", k.App.Handle, held, b.Why(k), b.Ratio(k.App))
		}
	}
	if !strings.Contains(b.Why(b.request(1, maps)), "turn of reduces") {
		t.Errorf("it says %q", b.Why(b.request(1, maps)))
	}
}

// Equation 3.1: who has had least by time comes first. Rates are computed anew each interval, and all are looked at again then.
func TestRatesAreOfEachInterval(t *testing.T) {
	b := newBench(1000)
	b.ask(0, maps, 3)
	b.ask(1, maps, 3)
	if got := b.tick(1000 + leaf.Interval); !slices.Equal(got, []handle.App{0, 1}) {
		t.Errorf("looked at again: %v", got)
	}
	begun := b.now
	b.grant(0, maps, 2)
	if got := b.tick(begun + leaf.Interval - 1); !slices.Equal(got, []handle.App{0}) || b.Ratio(app(0)) != 0 {
		t.Errorf("looked at again: %v; the ratio is %v", got, b.Ratio(app(0)))
	}
	if got := b.tick(begun + leaf.Interval); !slices.Equal(got, []handle.App{0, 1}) {
		t.Errorf("looked at again after an interval: %v", got)
	}
	if r := [2]float64{b.Ratio(app(0)), b.Ratio(app(1))}; math.Abs(r[0]-0.2) > 1e-9 || r[1] != 0 {
		t.Errorf("rates are %v", r)
	}
	if got := b.tick(begun + leaf.Interval); len(got) != 0 {
		t.Errorf("looked at again without a reason: %v", got)
	}
	b.Left(0)
	if b.Ratio(app(0)) != 0 {
		t.Errorf("an application that has gone has the ratio %v", b.Ratio(app(0)))
	}
}

// What goes into algorithm 3.3.3: the work that is left of jobs with maps and of those without, in parts of the leaf times seconds, of the
// former the one with the least map work left, and how fast reduce slots are released. Other applications count for nothing.
func TestWorkIsSummedUp(t *testing.T) {
	b := both(1000)
	b.ask(2, maps, 8)
	b.ask(2, reduces, 6)
	b.ask(3, maps, 20)
	spark := leaf.App{Handle: 4, Seq: 4, Type: "SPARK"}
	b.Asked(leaf.Ask{App: spark, Priority: maps, Count: 7, Capability: slot})
	first := b.grant(2, maps, 4) // the first to end its maps has index 2 of 4
	reduce := b.grant(0, reduces, 4)
	b.tick(3000)
	b.end(reduce)
	b.tick(5000)
	b.end(first)
	b.end(first - 1)
	b.tick(6000)
	if got := b.ready; got != [2]int64{30 + 4 + 20, 6} {
		t.Errorf("%v wait", got)
	}
	w := b.work
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v, not %v", what, got, want)
		}
	}
	near("S", w.total, 1)
	near("k", w.jobs, 3)
	near("s_m", w.mapSlots, 0.2) // of 10
	near("the maps' work", w.maps, (30+6+20)*0.1*5)
	near("how long a reduce takes", b.book.Mean(b.book.Job(0), stages.Reduce), 4)
	near("the reduces' work", w.reduces, 9*0.1*4)
	near("the progress of the first job", w.first.progress, 0.25)
	near("the map work of the first job", w.first.left, 6*0.1*5)
	near("its slots", w.first.slots, 0.2)
	near("its reduces' work", w.first.reduces, 6*0.1*b.book.Mean(b.book.Job(2), stages.Reduce))
	near("reduce slots released per second", w.releasing, 0.3/4)
	near("the maps' share", b.share, w.expected())
	if !w.hasMaps {
		t.Error("no job has maps")
	}
	b.Left(1)
	b.Left(2)
	b.Left(3)
	b.tick(8000)
	if w := b.work; w.hasMaps || w.jobs != 0 || w.maps != 0 || !math.IsInf(w.first.left, 1) || b.ready != [2]int64{0, 6} {
		t.Errorf("without jobs in their map phase: %+v, %v wait", w, b.ready)
	}
}

// Room has been there since it came first, whoever's it was and however much comes later. Reduces whose job has maps left have no use for it. And
// applications have no maximum.
func TestSinceWhenThereIsRoom(t *testing.T) {
	b := both(1000)
	b.free = 0
	b.tick(1500)
	b.ask(1, reduces, 1)
	b.ask(0, reduces, 0)
	for _, now := range []int64{2000, 3000} {
		b.free++
		b.Ended(leaf.App{}, leaf.Node{}, leaf.Outcome{Container: handle.Container(now), Resource: slot})
		b.tick(now)
		if b.room != [2]int64{stages.Map: 2000} {
			t.Errorf("at %d: room has been there since %v", now, b.room)
		}
	}
	if got := b.Cap(app(1)); got != leaf.Uncapped() {
		t.Errorf("an application may have %v", got)
	}
}

// A stage keeps its turn for 120 s after it took something, and not after the other one did.
func TestTurnsLastFromWhatAStageTakes(t *testing.T) {
	for takes, want := range map[int32]stages.Stage{maps: stages.Map, reduces: stages.None} {
		b := both(1000)
		b.size[reduces] = slot.Times(20) // for which there is no room
		b.ask(0, reduces, 10)
		b.tick(100_000)
		b.grant(map[int32]handle.App{maps: 1, reduces: 0}[takes], takes, 1)
		b.tick(121_000)
		b.turns(t, "120 s after its turn began", want)
		b.tick(219_999)
		b.turns(t, "119.999 s after the grant", want)
		b.tick(220_000)
		b.turns(t, "120 s after the grant", stages.None)
	}
}

// A turn that begins isn't lost for what was before it.
func TestTurnsThatBeginAreNotLost(t *testing.T) {
	b := newBench(1000)
	b.ask(1, maps, 30)
	b.tick(1000)
	b.grant(1, maps, 8)
	b.tick(1001)
	b.ask(0, reduces, 10)
	b.tick(6000)
	b.turns(t, "the first reduces ask while maps have had room for 5 s", stages.Reduce)
}

// It is nobody's turn unless requests of both stages wait, of which those count that were granted since the sums.
func TestTurnsAreOfStagesThatBothWait(t *testing.T) {
	b := both(1000)
	b.ask(0, reduces, 2)
	b.tick(2000)
	b.grant(0, reduces, 1)
	b.turns(t, "one of two reduces waits", stages.Map)
	b.ask(1, maps, 0)
	b.tick(3000)
	b.turns(t, "no map waits", stages.None)
}

// All applications are looked at again as soon as it is another stage's turn, and told why they wait; what is of no stage isn't.
func TestWhoIsLookedAtWhenTheTurnChanges(t *testing.T) {
	b := both(1000)
	b.tick(1000 + leaf.Interval)
	now := b.now
	b.grant(1, maps, 8)
	if got := b.tick(now + 1); !slices.Equal(got, []handle.App{0, 1}) {
		t.Errorf("looked at again: %v", got)
	}
	if got := b.tick(now + 2); len(got) != 0 {
		t.Errorf("looked at again without a reason: %v", got)
	}
	b = both(1000)
	const why = "it is the turn of maps: of the queue maps have 0 % and should have 75 %, as what is left of all maps is 75 % of the work"
	if got := b.Why(b.request(0, reduces)); got != why {
		t.Errorf("it says %q", got)
	}
	b.ask(0, 0, 1)
	b.grant(0, 0, 1)
	if got := b.Why(b.request(0, 0)); got != "" {
		t.Errorf("of an ApplicationMaster it says %q", got)
	}
}

// Leaves find the policy by its name.
func TestPolicyIsRegistered(t *testing.T) {
	if g := leaf.New(Name); g.Name != Name || !g.Watches() {
		t.Errorf("%q watches: %t", g.Name, g.Watches())
	}
}
