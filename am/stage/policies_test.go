package stage_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/am/slowstart"
	"heddle/am/speculate"
	. "heddle/am/stage"
)

// liar is a cluster that does what a Planner wants, and whose workers and clocks say what they like about it.
type liar struct {
	t        *rapid.T
	m        *Planner
	asks     []Want
	on       []string             // by slot
	doing    map[SlotID]AttemptID // what runs
	ready    []SlotID
	accepted map[TaskID]int
	launched int
	copies   int
	moved    int // reduces that made room for maps
	over     bool
}

func (l *liar) step(at time.Duration, e Event) {
	for _, a := range slices.Clone(l.m.Step(at, e)) {
		switch a := a.(type) {
		case Want:
			l.asks = append(l.asks, a)
		case Withdraw:
			l.asks = slices.DeleteFunc(l.asks, func(w Want) bool { return w.Request == a.Request })
		case Start:
			l.ready = append(l.ready, a.Slot)
		case Launch:
			l.doing[a.Slot] = a.Attempt
			l.launched++
			if a.Copy {
				l.copies++
			}
		case Cancel:
			delete(l.doing, a.Slot)
			l.ready = append(l.ready, a.Slot)
			if a.Why == InTheWay {
				l.moved++
			}
		case GiveBack:
			delete(l.doing, a.Slot)
			l.ready = slices.DeleteFunc(l.ready, func(s SlotID) bool { return s == a.Slot })
		case Accept:
			if l.accepted[a.Attempt.TaskID]++; l.accepted[a.Attempt.TaskID] > 1 {
				l.t.Fatalf("%v is accepted, and another attempt was before", a.Attempt)
			}
		case Fault, Revoke:
			l.t.Fatalf("%+v, though nothing has failed", a)
		case End:
			if l.over = true; a.Err != nil {
				l.t.Fatal(a.Err)
			}
		}
	}
}

// Whatever workers tell of their progress (that it goes backwards, stands still, has no total, is more than all), and wherever the clocks
// are that events are told with: with each policy a job ends, each output is taken once, and there is one copy of a task at most and
// not more than one for each second.
func TestDecisionsStaySaneWhateverIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, least, most int64) int64 { return rapid.Int64Range(least, most).Draw(t, name) }
		maps, reduces, nodes := int(number("maps", 1, 12)), int(number("reduces", 0, 3)), number("nodes", 1, 4)
		l := &liar{t: t, doing: map[SlotID]AttemptID{}, accepted: map[TaskID]int{}}
		j := Job{
			Maps: maps, Reduces: reduces, Tries: [2]int{4, 4}, NodeFailures: 3, PerTask: rapid.Bool().Draw(t, "one task for each container"),
			NodesServe: rapid.Bool().Draw(t, "nodes serve outputs"),
			Starter:    rapid.SampledFrom([]func() Starter{func() Starter { return &slowstart.OMO{} }, func() Starter { return slowstart.Fraction(0.5) }}).Draw(t, "starter")(),
			Speculator: rapid.SampledFrom([]func() Speculator{func() Speculator { return &speculate.ESplash{} }, func() Speculator { return &speculate.Late{} }}).Draw(t, "speculator")(),
		}
		l.m = New(j)
		truth, ticks := time.Duration(0), 0
		clock := func() time.Duration { // of some node
			return truth + time.Duration(number("skew", -300, 300))*time.Second*time.Duration(number("skewed", 0, 1))
		}
		wild := []int64{0, -1, math.MaxInt64, math.MinInt64, 1, 100}
		odd := func(name string) int64 { return rapid.SampledFrom(wild).Draw(t, name) }
		for n := 0; !l.over; n++ {
			if n > 3000 {
				t.Fatalf("it doesn't end: %+v", l.m.Facts())
			}
			truth += time.Second
			ticks++
			l.step(clock(), Tick{})
			if len(l.asks) > 0 {
				w := l.asks[0]
				l.asks = l.asks[1:]
				h := fmt.Sprint("h", number("host", 1, nodes))
				if w.Strict {
					h = w.Hosts[0]
				}
				l.on = append(l.on, h)
				l.step(clock(), Granted{Request: w.Request, Slot: SlotID(len(l.on) - 1), Host: h})
			}
			for _, s := range slices.Clone(l.ready) {
				l.ready = slices.DeleteFunc(l.ready, func(o SlotID) bool { return o == s })
				if l.step(clock(), Ready{s}); !l.over {
					if _, busy := l.doing[s]; !busy {
						l.ready = append(l.ready, s)
					}
				}
			}
			for s := range SlotID(len(l.on)) {
				id, ok := l.doing[s]
				if !ok || l.over {
					continue
				}
				phase := Mapping
				if id.Stage == Reduce {
					phase = Phase(number("phase", int64(Shuffling), int64(Reducing)))
				}
				l.step(clock(), Progressed{Slot: s, Attempt: id, Phase: phase, Done: odd("done"), Total: odd("total")})
				f := l.m.Facts()
				if number("ends", 0, 20) == 0 && (id.Stage == Map || f.Maps.Done == f.Maps.Tasks) {
					delete(l.doing, s)
					l.ready = append(l.ready, s)
					l.step(clock(), Finished{Slot: s, Attempt: id, OutBytes: odd("bytes")})
				}
			}
		}
		if len(l.accepted) != maps+reduces || l.copies > ticks || l.launched-l.copies > maps+reduces+l.moved {
			t.Fatalf("%d outputs of %d tasks; %d attempts, of which %d are copies, in %d rounds", len(l.accepted), maps+reduces, l.launched, l.copies, ticks)
		}
	})
}

// BenchmarkRound is a second of a job of which 10,000 maps run on 1,000 nodes: one is looked for to be copied.
func BenchmarkRound(b *testing.B) {
	const maps, nodes = 10_000, 1_000
	m := New(Job{Maps: 2 * maps, Tries: [2]int{4, 4}, NodeFailures: 3, Starter: slowstart.Fraction(1), Speculator: &speculate.ESplash{}})
	now := time.Duration(0)
	m.Step(now, Tick{})
	for s := range SlotID(maps) {
		m.Step(now, Granted{Request: RequestID(s + 1), Slot: s, Host: fmt.Sprint("h", s%nodes)})
		m.Step(now, Ready{s})
	}
	now += 20 * time.Second
	for s := range SlotID(maps) {
		m.Step(now, Finished{Slot: s, Attempt: AttemptID{TaskID{Map, int(s)}, 0}})
		m.Step(now, Ready{s})
	}
	done := int64(0)
	for b.Loop() {
		b.StopTimer()
		now += time.Second
		done++
		for s := range SlotID(maps) {
			m.Step(now, Progressed{Slot: s, Attempt: AttemptID{TaskID{Map, maps + int(s)}, 0}, Done: done, Total: 1 << 20})
		}
		b.StartTimer()
		m.Step(now, Tick{})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/round")
}
