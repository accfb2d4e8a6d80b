package omo

import (
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
)

// says verifies that a job's reduces wait, and what the policy says of them.
func (b *bench) says(t *testing.T, h handle.App, want string) {
	t.Helper()
	if got := b.Why(b.request(h, 10)); !strings.Contains(got, want) || !b.held(h) {
		t.Errorf("reduces of job %d wait: %t; it says %q, not %q", h, b.held(h), got, want)
	}
}

// Queues find the policy by its name. It sets no limits. What it holds, it holds until it says otherwise.
func TestQueuesFindThePolicy(t *testing.T) {
	p := leaf.New(Name)
	if p.Name != "omo" {
		t.Errorf("the policy is %q", p.Name)
	}
	b := lazy(t)
	if b.Cap(app(0)) != leaf.Uncapped() {
		t.Errorf("a job may have %v", b.Cap(app(0)))
	}
	if held, until := b.Hold(b.request(0, 10)); !held || until != math.MaxInt64 {
		t.Errorf("reduces wait: %t, until %d", held, until)
	}
	if held, until := b.Hold(b.request(0, 20)); held || until != 0 {
		t.Errorf("maps wait: %t, until %d", held, until)
	}
	if held, _ := b.Hold(b.request(9, 10)); held {
		t.Error("a job waits of which nothing is known")
	}
}

// Until a window has passed, slots that are busy with maps, and with reduces that wait for none, are released as often as maps end.
func TestRateBeforeAWindowHasPassed(t *testing.T) {
	b := newBench(t)
	b.ask(0, 20, 40)
	b.ask(0, 10, 4)
	b.grant(0, 20, 10)
	b.ask(1, 20, 20)
	b.ask(1, 10, 2)
	b.grant(1, 20, 10)
	b.tick(5000)
	b.end(0, 20, 10)
	// The 10 maps of job 1 are 1/2 of the leaf, and last 5 s like those of job 0: F_o is 1/10. 30 maps are 3/2 and 4 reduces 1/5 of it:
	// 3/2·1/2/(1/10·(1/2 − 1/5)) + 5 s.
	b.says(t, 0, "its reduces wait: 30 maps are pending, the shuffle needs 5 s, the maps need 30 s (no map's output is known: it is taken to last as long as a map)")
	b.says(t, 1, "its reduces wait: 10 maps are pending, and none of 20 has ended yet")

	// 5 reduces of a job without maps are 1/4 of the leaf: F_o is 3/20, and the maps take 3/2·3/4/(3/20·(3/4 − 1/5)) + 5 s.
	b.ask(2, 10, 5)
	b.grant(2, 10, 5)
	b.says(t, 0, "the maps need 19 s")

	// What has no stages takes no part.
	other := leaf.Ask{App: leaf.App{Handle: 3, Seq: 3, Type: "SPARK"}, Priority: 20, Count: 7, Capability: slot}
	b.Asked(other)
	b.Granted(other.App, leaf.Grant{Container: 100, Resource: slot, Ask: other})
	b.tick(b.now)
	b.says(t, 0, "the maps need 19 s")
}

// rated is a leaf of 2 slots a second: 20 maps of 10 s have ended, of jobs 0 and 1 half each. Each has 2 reduces, and pending maps.
func rated(t *testing.T, pending0, pending1 int32) *bench {
	b := newBench(t)
	for h, pending := range []int32{pending0, pending1} {
		b.ask(handle.App(h), 20, 10+pending)
		b.ask(handle.App(h), 10, 2)
		b.grant(handle.App(h), 20, 10)
	}
	b.tick(9_999)
	b.end(0, 20, 10)
	b.end(1, 20, 10)
	b.tick(10_000)
	return b
}

// K of equation 4.3: a job waits for the maps of jobs whose reduces have begun, but no longer than if all took turns.
func TestTurnsOfJobsThatHaveBegun(t *testing.T) {
	b := rated(t, 5, 10)
	b.says(t, 1, "the maps need 16 s") // 1/2/(1/10·(1 − 1/10)) + 10 s
	b.grant(0, 10, 2)
	b.says(t, 1, "the maps need 18 s") // 1/4 of the leaf comes before 1/2: K is 3/2
	b.Left(0)
	b.tick(b.now)
	b.says(t, 1, "the maps need 16 s")

	b = rated(t, 30, 10)
	b.grant(0, 10, 2)
	b.says(t, 1, "the maps need 21 s") // K is 2, the number of jobs
	b.Outputs(app(1), 10, 10<<20)
	b.grant(1, 20, 10) // no map waits any more: the last one has just begun, and lasts 10 s
	b.says(t, 1, "no map is pending, the shuffle needs 0 s, the last maps need 10 s")
}

// Equations 4.4 and 4.5, with 1/4 of the leaf pending, 2 jobs, and reduces of 1/10: t_fair is 2·1/4/(1/10) + 10 s, t_batch
// (1/4 + 1/10·10/2)/(1/10·11/10) s. Jobs are ordered by the difference of 8.2 s.
func TestMapsThatComeFirst(t *testing.T) {
	b := rated(t, 5, 10)
	if r := b.ratio(0); r != 0 {
		t.Errorf("before its reduces have begun the ratio of job 0 is %v", r)
	}
	b.grant(0, 10, 2)
	want := 15 - 0.75/0.11
	if r := b.ratio(0); math.Abs(r-(-1-want/(1+want))) > 1e-3 {
		t.Errorf("the ratio is %v, by a gain of %v s", r, want)
	}
	b.hand(0, 20, 5)
	for range 2 { // between two ticks, and when all is estimated anew
		if r := b.ratio(0); r != 7./20 {
			t.Errorf("when no map waits any more, the ratio is %v", r)
		}
		b.tick(b.now)
	}
	b.end(0, 20, 5)
	b.end(0, 10, 2)
	if r := b.ratio(0); r != 0 {
		t.Errorf("when all has ended, the ratio is %v", r)
	}
}

// Jobs that have no reduces never come first, whatever their maps put out. When they ask for reduces, these wait.
func TestMapsWithoutReduces(t *testing.T) {
	b := newBench(t)
	b.ask(0, 20, 30)
	b.grant(0, 20, 10)
	b.tick(9_999)
	b.end(0, 20, 10)
	b.Outputs(app(0), 10, 1<<40)
	b.tick(10_000)
	b.grant(0, 20, 10)
	b.tick(20_000)
	if r := b.ratio(0); r != 0.5 {
		t.Errorf("the ratio is %v", r)
	}
	b.ask(0, 10, 1)
	b.says(t, 0, "its reduces wait")
	b.Outputs(app(0), 0, 0)
	if b.tick(20_000); b.held(0) {
		b.says(t, 0, "no map's output is known")
	}
}

// However slowly nodes say that outputs are fetched, lazy starters come before all others.
func TestShuffleWithoutEnd(t *testing.T) {
	b := lazy(t)
	b.tick(9_999)
	b.end(0, 20, 20)
	b.Outputs(app(0), 20, 1<<60)
	b.Bandwidth(math.SmallestNonzeroFloat64)
	b.tick(10_000)
	if r := b.ratio(0); b.held(0) || r != -2 {
		t.Errorf("reduces wait: %t; the ratio is %v", b.held(0), r)
	}
}

// What people read of large outputs and quick networks is in MB of 1,048,576 bytes.
func TestUnitsOfOutputs(t *testing.T) {
	b := newBench(t)
	b.ask(0, 20, 1<<30)
	b.ask(0, 10, 1<<30)
	b.grant(0, 20, 1)
	b.tick(10_000)
	b.end(0, 20, 1)
	b.Outputs(app(0), 1, 1<<40)
	b.Bandwidth(1 << 42)
	b.tick(b.now)
	b.says(t, 0, "(the outputs of 1 maps have 1048576.0 MB, each reduce fetches 4194304.0 MB/s, as nodes have measured)")
}

// Reduces wait while all maps run and none has ended, as nobody knows how long they take.
func TestAllMapsRunAndNoneHasEnded(t *testing.T) {
	b := newBench(t)
	b.ask(0, 20, 5)
	b.ask(0, 10, 1)
	b.grant(0, 20, 5)
	b.tick(3000)
	b.says(t, 0, "its reduces wait: 0 maps are pending, and none of 5 has ended yet")
}

// Of two jobs whose reduces are to begin the one comes first whose shuffle ends sooner after its maps, and of two with the same gap the
// one that holds less.
func TestOrderOfLazyStarters(t *testing.T) {
	b := newBench(t)
	for h := range handle.App(3) {
		b.ask(h, 20, 4)
		b.ask(h, 10, 1)
		b.grant(h, 20, 2)
	}
	b.tick(10_000)
	for h, mb := range []int64{64 * 10, 64 * 14, 64 * 10} { // of 4 maps: shuffles of 20, 28 and 20 s
		b.end(handle.App(h), 20, 1)
		b.Outputs(app(handle.App(h)), 2, mb<<20)
	}
	for h := range handle.App(3) {
		b.grant(h, 20, 2) // the last maps take 10 s
	}
	for h, gap := range []float64{10, 18, 10} {
		x := gap + 3./23 // it holds 3 of 20 slots
		if r := b.ratio(handle.App(h)); b.held(handle.App(h)) || math.Abs(r-(-3+x/(1+x))) > 1e-9 {
			t.Errorf("reduces of job %d wait: %t; its ratio is %v by a gap of %v s", h, b.held(handle.App(h)), r, gap)
		}
	}
	b.end(2, 20, 1)
	if !(b.ratio(2) < b.ratio(0) && b.ratio(0) < b.ratio(1)) {
		t.Errorf("the order is %v, %v, %v", b.ratio(0), b.ratio(1), b.ratio(2))
	}
}

// Reduces begin in the moment in which the maps take as long as the shuffle.
func TestReducesBeginWhenMapsTakeAsLongAsTheShuffle(t *testing.T) {
	b := newBench(t)
	b.ask(0, 20, 2)
	b.ask(0, 10, 1)
	b.grant(0, 20, 1)
	b.tick(10_000)
	b.end(0, 20, 1)
	b.Outputs(app(0), 2, 256<<20) // 4 s
	b.grant(0, 20, 1)
	b.tick(15_999)
	b.says(t, 0, "the shuffle needs 4 s")
	if changed := b.tick(16_000); b.held(0) || !slices.Equal(changed, []handle.App{0}) {
		t.Errorf("reduces wait: %t; changed are %v", b.held(0), changed)
	}
}

// The leaf looks again at the jobs that were told of, and at those whose turn has changed. No others are named.
func TestWhatHasChanged(t *testing.T) {
	b := rated(t, 5, 10)
	named := func(when string, want ...handle.App) {
		t.Helper()
		if got := b.tick(b.now); !slices.Equal(got, want) {
			t.Errorf("%s: %v are named, not %v", when, got, want)
		}
	}
	named("nothing has happened")
	b.Asked(b.request(1, 20))
	named("job 1 has asked", 1)
	b.Outputs(app(1), 1, 1<<20)
	named("of job 1 an output is known", 1)
	b.hand(0, 10, 2)
	named("job 0 has got reduces, by which its maps come first", 0)
	b.hand(1, 20, 1)
	named("job 1 has got a map", 1)
	b.Ended(app(1), leaf.Node{}, leaf.Outcome{Container: b.runs[1][20][0], Resource: slot})
	named("a map of job 1 has ended", 1)
	b.hand(1, 20, 1)
	b.Left(1)
	if got := b.tick(b.now); !slices.Contains(got, 0) {
		t.Errorf("with nobody else, batches gain nothing; named are %v", got)
	}
}

// Reduces that are granted between two ticks leave room for a map, too.
func TestRoomForMapsBetweenTicks(t *testing.T) {
	b := lazy(t)
	b.tick(9_999)
	b.end(0, 20, 20)
	b.Outputs(app(0), 20, 1<<50)
	b.ask(0, 10, 30)
	b.jobs[0].begun = true // as in TestReducesLeaveRoomForMaps
	b.tick(10_000)
	b.hand(0, 20, 5)
	b.hand(0, 10, 14)
	if b.hand(0, 10, 4); b.held(0) {
		t.Error("the 19th reduce waits, though there is room for a map")
	}
	b.hand(0, 10, 1)
	if b.waits < 0.95-1e-9 {
		t.Errorf("reduces that wait for maps have %v of the leaf", b.waits)
	}
	b.says(t, 0, "reduces that wait for maps have 95 % of the queue, and no room would be left for a map")
}

// With more than 64 jobs estimates are made each 100 ms.
func TestEstimatesOfManyJobs(t *testing.T) {
	b := lazy(t)
	for h := range handle.App(64) {
		b.ask(h+1, 20, 1)
	}
	b.tick(9_999)
	b.end(0, 20, 20)
	b.Outputs(app(0), 20, 20<<26) // 60 s
	b.tick(10_100)
	b.says(t, 0, "the shuffle needs 30 s")
	b.Outputs(app(0), 20, 20<<25)
	b.tick(10_150)
	b.says(t, 0, "the shuffle needs 30 s")
	b.tick(10_200)
	b.says(t, 0, "the shuffle needs 15 s")
}
