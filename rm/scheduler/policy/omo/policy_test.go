package omo

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/stages"
	"heddle/yarn/records"
)

// bench is a leaf of 20 slots of one size under a policy.
type bench struct {
	*Policy
	t    rapid.TB
	now  int64
	next handle.Container
	free int64
	asks map[handle.App]map[int32]int32
	runs map[handle.App]map[int32][]handle.Container
}

var slot = records.NewResource(1024, 1)

func newBench(t rapid.TB) *bench {
	b := &bench{Policy: New(), t: t, free: 20, asks: map[handle.App]map[int32]int32{}, runs: map[handle.App]map[int32][]handle.Container{}}
	b.tick(0)
	return b
}

func app(h handle.App) leaf.App {
	return leaf.App{Handle: h, Seq: int64(h), Type: stages.Type, Used: &records.Resource{}}
}

func (b *bench) tick(now int64) []handle.App {
	b.now = now
	return b.Tick(now, leaf.Queue{Free: slot.Times(b.free), Types: 2})
}

func (b *bench) request(h handle.App, priority int32) leaf.Ask {
	a := app(h)
	for _, list := range b.runs[h] {
		*a.Used = a.Used.Add(slot.Times(int64(len(list))))
	}
	return leaf.Ask{App: a, Priority: priority, Count: b.asks[h][priority], Capability: slot}
}

func (b *bench) ask(h handle.App, priority, count int32) {
	if b.asks[h] == nil {
		b.asks[h], b.runs[h] = map[int32]int32{}, map[int32][]handle.Container{}
	}
	b.asks[h][priority] = count
	b.Asked(b.request(h, priority))
}

func (b *bench) grant(h handle.App, priority int32, n int) {
	b.hand(h, priority, n)
	b.tick(b.now)
}

// hand grants between two ticks.
func (b *bench) hand(h handle.App, priority int32, n int) {
	for range n {
		b.asks[h][priority]--
		b.runs[h][priority] = append(b.runs[h][priority], b.next)
		b.free--
		k := b.request(h, priority)
		b.Granted(k.App, leaf.Grant{Container: b.next, Resource: slot, Since: b.now, Ask: k})
		b.next++
	}
}

func (b *bench) end(h handle.App, priority int32, n int) {
	for _, c := range b.runs[h][priority][:n] {
		b.free++
		b.Ended(app(h), leaf.Node{}, leaf.Outcome{Container: c, Resource: slot})
	}
	b.runs[h][priority] = b.runs[h][priority][n:]
	b.tick(b.now)
}

func (b *bench) held(h handle.App) bool {
	held, _ := b.Hold(b.request(h, 10))
	return held
}

func (b *bench) ratio(h handle.App) float64 { return b.Ratio(b.request(h, 10).App) }

// A job of 60 maps and 2 reduces on 20 slots, of which 2 are released a second. A map takes 10 s, and makes 640 MB, so that a reduce fetches
// for 300 s at 64 MB/s.
func lazy(t *testing.T) *bench {
	b := newBench(t)
	b.ask(0, 20, 60)
	b.ask(0, 10, 2)
	b.tick(0)
	b.grant(0, 20, 20)
	return b
}

// While a leaf has nothing, nobody can tell how long maps take.
func TestLeafThatHasLostAllItsNodes(t *testing.T) {
	b := lazy(t)
	b.tick(9_999)
	b.end(0, 20, 20)
	b.Outputs(app(0), 20, 20*42<<20)
	b.tick(10_000)
	b.free = 0
	b.tick(11_000)
	if want := "the maps need more than can be told"; !strings.Contains(b.Why(b.request(0, 10)), want) || !b.held(0) {
		t.Errorf("reduces wait: %v; it says %q, not %q", b.held(0), b.Why(b.request(0, 10)), want)
	}
}

// Equation 4.3 and algorithm 4.3.1, with its correction: reduces begin once the maps take no longer than the shuffle.
func TestLazyStartOfSection432(t *testing.T) {
	b := lazy(t)
	if !b.held(0) {
		t.Error("reduces begin before it is known how long maps take")
	}
	b.tick(9_999)
	b.end(0, 20, 20)
	b.Outputs(app(0), 20, 20*42<<20) // 42 MB of each: the shuffle takes 20 s
	b.tick(10_000)
	b.grant(0, 20, 20)
	// 20 of 20 slots were released in 10 s: F_o is 2. With 2 reduces, 20 pending maps take 20·20/(2·18) + 10 s.
	if want := "20 maps are pending, the shuffle needs 20 s, the maps need 21 s"; !strings.Contains(b.whyAfter(12_000), want) || !b.held(0) {
		t.Errorf("reduces wait: %v; it says %q, not %q", b.held(0), b.Why(b.request(0, 10)), want)
	}
	if want := "(the outputs of 20 maps have 840.0 MB, each reduce is taken to fetch 64 MB/s)"; !strings.Contains(b.Why(b.request(0, 10)), want) {
		t.Errorf("it says %q, not %q", b.Why(b.request(0, 10)), want)
	}
	b.Bandwidth(128 << 20)
	if want := "the shuffle needs 10 s, the maps need 21 s (the outputs of 20 maps have 840.0 MB, each reduce fetches 128.0 MB/s, as nodes have measured)"; !strings.Contains(b.whyAfter(12_000), want) {
		t.Errorf("it says %q, not %q", b.Why(b.request(0, 10)), want)
	}
	b.Bandwidth(0)
	b.Outputs(app(0), 20, 20*48<<20) // the shuffle takes 22.5 s
	if b.tick(12_000); b.held(0) {
		t.Errorf("reduces wait, though the shuffle takes longer: %q", b.Why(b.request(0, 10)))
	}
	if r := b.ratio(0); r < -3 || r >= -2 {
		t.Errorf("its ratio is %v", r)
	}
}

// whyAfter is what the policy says when it is told the time.
func (b *bench) whyAfter(now int64) string {
	b.tick(now)
	return b.Why(b.request(0, 10))
}

// Where nobody knows of outputs, reduces begin when no map waits any more.
func TestLazyStartWithoutSizes(t *testing.T) {
	b := lazy(t)
	b.tick(10_000)
	b.end(0, 20, 20)
	b.tick(10_000)
	b.grant(0, 20, 20)
	b.tick(20_000)
	b.end(0, 20, 20)
	b.tick(20_000)
	if b.grant(0, 20, 19); !b.held(0) {
		t.Error("reduces begin while a map is pending")
	}
	b.grant(0, 20, 1)
	if b.tick(20_001); b.held(0) {
		t.Error("reduces wait though no map is pending")
	}
}

// Algorithm 4.3.3: a job whose reduces are to begin comes first, then one whose maps are to be finished in a batch, then the one that holds
// least.
func TestOrderOfTheRulesOfSection434(t *testing.T) {
	b := newBench(t)
	for h := range handle.App(4) {
		b.ask(h, 20, 20)
		b.ask(h, 10, 2)
	}
	b.tick(0)
	for h, n := range []int{10, 4, 4, 2} {
		b.grant(handle.App(h), 20, n)
	}
	b.tick(9_999)
	for h, n := range []int{10, 4, 4, 2} {
		b.end(handle.App(h), 20, n)
	}
	for h := range handle.App(2) { // their shuffles take long
		b.Outputs(app(h), 1, 1<<40)
	}
	b.tick(10_000)
	b.grant(0, 10, 2) // its reduces run; those of 1 are to
	b.grant(3, 20, 6)
	b.grant(2, 20, 4)
	b.tick(12_000)
	if b.held(0) || b.held(1) || !b.held(2) || !b.held(3) {
		t.Errorf("reduces that wait: %v %v %v %v", b.held(0), b.held(1), b.held(2), b.held(3))
	}
	if r := []float64{b.ratio(1), b.ratio(0), b.ratio(2), b.ratio(3)}; !(r[0] < -2 && r[0] < r[1] && r[1] < -1 && r[1] < r[2] && r[2] >= 0 && r[2] < r[3]) {
		t.Errorf("ratios of lazy start, batch finish and the rest: %v", r)
	}
	b.grant(1, 10, 2)
	if r := b.ratio(1); r < -2 {
		t.Errorf("when its reduces have begun, its ratio is still %v", r)
	}
}

// Why reduces wait: nobody knows how long maps take, or the maps take longer than the shuffle, also when all of them run.
func TestWhyReducesWait(t *testing.T) {
	b := lazy(t)
	const unknown = "its reduces wait: 40 maps are pending, and none of 60 has ended yet"
	if got := b.whyAfter(1000); got != unknown {
		t.Errorf("at first it says %q", got)
	}
	b.tick(9_999)
	b.end(0, 20, 20)
	b.tick(10_000)
	b.grant(0, 20, 20)
	b.tick(20_000)
	b.end(0, 20, 20)
	b.Outputs(app(0), 40, 40<<20) // 1 MB of each: the shuffle takes half a second
	b.tick(20_000)
	b.grant(0, 20, 20)
	for i, want := range []string{"the last maps need 8 s", "the last maps need 5 s"} {
		now := 22_000 + int64(i)*3000
		if got := b.whyAfter(now); !strings.Contains(got, "its reduces wait: no map is pending, the shuffle needs 0 s, "+want) || !b.held(0) {
			t.Errorf("after %d ms they wait: %t; it says %q, not %q", now, b.held(0), got, want)
		}
	}
	b.tick(29_900)
	if b.held(0) {
		t.Errorf("they wait, though the last maps need no longer than the shuffle: %q", b.Why(b.request(0, 10)))
	}
	if got := b.Why(leaf.Ask{App: leaf.App{Handle: 5, Type: "SPARK"}, Priority: 10}); got != "" {
		t.Errorf("of an application without stages it says %q", got)
	}
}

// Applications without stages are served by what they hold, and never wait. One that has gone is forgotten.
func TestApplicationsWithoutStages(t *testing.T) {
	b := newBench(t)
	other := leaf.App{Handle: 1, Seq: 1, Type: "SPARK", Used: new(slot.Times(5))}
	k := leaf.Ask{App: other, Priority: 10, Count: 1, Capability: slot}
	b.Asked(k)
	b.tick(1000)
	if held, _ := b.Hold(k); held || b.Ratio(other) != 0.25 {
		t.Errorf("held: %t; the ratio is %v", held, b.Ratio(other))
	}
	b.ask(0, 20, 2)
	b.ask(0, 10, 1)
	b.tick(2000)
	b.grant(0, 20, 2)
	b.end(0, 20, 2)
	b.tick(3000)
	b.grant(0, 10, 1)
	if x := b.jobs[0]; !x.begun {
		t.Error("its reduces haven't begun")
	}
	b.Left(0)
	b.Left(7)
	if x := b.jobs[0]; x.begun {
		t.Error("the next one with its handle has begun its reduces")
	}
}

// Reduces whose maps haven't ended leave room for a map.
func TestReducesLeaveRoomForMaps(t *testing.T) {
	b := newBench(t)
	b.ask(0, 20, 30)
	b.ask(0, 10, 30)
	b.tick(0)
	b.grant(0, 20, 1)
	b.tick(10_000)
	b.end(0, 20, 1)
	b.Outputs(app(0), 1, 1<<50)
	b.tick(10_000)
	b.jobs[0].begun = true // as after others have gone: eq. 4.3 alone never starts so many
	b.grant(0, 10, 18)
	if b.held(0) {
		t.Error("the 19th reduce waits, though there is room for a map")
	}
	b.grant(0, 10, 1)
	if !b.held(0) || !strings.Contains(b.Why(b.request(0, 10)), "no room would be left for a map") {
		t.Errorf("the last slot goes to a reduce: %q", b.Why(b.request(0, 10)))
	}
	if held, _ := b.Hold(b.request(0, 20)); held {
		t.Error("maps wait")
	}
}

// Whatever is told, reduces never wait once all maps have ended, maps never do, and answers are in order.
func TestLazyStartIsNeverAfterTheLastMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		draw := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
		for range draw("events", 1, 60) {
			h := handle.App(draw("job", 0, 2))
			p := []int32{20, 10}[draw("stage", 0, 1)]
			switch draw("event", 0, 4) {
			case 0:
				b.ask(h, p, int32(draw("count", 0, 9)))
			case 1:
				if n := min(int(b.asks[h][p]), int(b.free)); n > 0 {
					b.grant(h, p, draw("grants", 1, n))
				}
			case 2:
				if n := len(b.runs[h][p]); n > 0 {
					b.end(h, p, draw("ends", 1, n))
				}
			case 3:
				b.Outputs(app(h), int64(draw("maps", -1, 9)), rapid.Int64().Draw(t, "bytes"))
			default:
				b.tick(b.now + int64(draw("ms", 0, 20_000)))
			}
		}
		b.tick(b.now)
		for h := range handle.App(3) {
			if j := b.book.Job(h); j != nil && !j.MapsLeft() && b.held(h) {
				t.Errorf("reduces of job %d wait, though its maps have ended", h)
			}
			if held, _ := b.Hold(b.request(h, 20)); held {
				t.Errorf("maps of job %d wait", h)
			}
			if r := b.ratio(h); math.IsNaN(r) || r < -4 {
				t.Errorf("the ratio of job %d is %v", h, r)
			}
			_ = b.Why(b.request(h, 10))
		}
	})
}
