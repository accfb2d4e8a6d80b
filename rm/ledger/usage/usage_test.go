package usage

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"heddle/rm/ledger/ledgerpb"
)

// model is a history without any art: all samples of all series.
type model map[int64]map[string]Figures

func (m model) sum(name string, from, to int64) (out Figures, samples int64) {
	for step, all := range m {
		if at := step * Step; at >= from && at < to {
			f := all[name]
			out.Add(&f)
			samples++
		}
	}
	return out, samples
}

type failing interface {
	Helper()
	Fatal(args ...any)
}

// recorded are the bytes of a history in a snapshot.
func recorded(t failing, h *History) (out [][]byte) {
	t.Helper()
	for r := range h.Freeze().Records() {
		b, err := (proto.MarshalOptions{Deterministic: true}).Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func restored(t failing, records [][]byte) *History {
	t.Helper()
	h := New()
	for _, b := range records {
		r := &ledgerpb.History{}
		if err := proto.Unmarshal(b, r); err != nil {
			t.Fatal(err)
		}
		if err := h.Restore(r); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// The sums of any part of the history are those of the samples that the log had, over gaps, restarts from a snapshot at any moment, and from fine steps to coarse ones. A member
// that has restarted keeps the same history as one that hasn't.
func TestSumsAreThoseOfTheSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, other, m := New(), New(), model{}
		names := []string{Cluster, Queue("root"), Queue("root.a"), User("ann")}
		now, sent := map[string]Figures{}, map[string]Figures{}
		step := int64(1_000_000)
		for range rapid.IntRange(1, 60).Draw(t, "stretches") {
			step += rapid.SampledFrom([]int64{1, 1, 1, 2, 89, 90, 91, 400}).Draw(t, "gap")
			all := rapid.Bool().Draw(t, "a new leader")
			for _, name := range names {
				if rapid.IntRange(0, 2).Draw(t, "changes") == 0 {
					now[name] = Figures{UsedMB: rapid.Int64Range(0, 3).Draw(t, "used"), SuspendedContainers: rapid.Int64Range(0, 1<<40).Draw(t, "suspended")}
				}
			}
			for range rapid.IntRange(1, 40).Draw(t, "samples") {
				c := &ledgerpb.UsageSampled{All: all}
				for _, name := range names {
					if f := now[name]; f != sent[name] || all && f != (Figures{}) {
						c.Rows = append(c.Rows, Row(name, &f))
						sent[name] = f
					}
				}
				all = false
				h.Apply(step*Step+rapid.Int64Range(0, Step-1).Draw(t, "ms"), c)
				other.Apply(step*Step, c)
				m[step] = map[string]Figures{}
				for name, f := range now {
					m[step][name] = f
				}
				step++
			}
			if rapid.IntRange(0, 4).Draw(t, "restart") == 0 {
				records := recorded(t, h)
				h = restored(t, records)
				if again := recorded(t, h); !slices.EqualFunc(records, again, slices.Equal) {
					t.Fatal("a snapshot of what a snapshot has differs from it")
				}
			}
		}
		if !slices.EqualFunc(recorded(t, h), recorded(t, other), slices.Equal) {
			t.Fatal("a member that has restarted has another history")
		}
		for _, name := range names {
			for _, part := range []int64{Step, 7 * Step, CoarseStep, 4 * CoarseStep} {
				for p := range h.Read(name, 1_000_000*Step, step*Step, part) {
					want, samples := m.sum(name, p.Time, p.Time+p.Span)
					if p.Sum != want || p.Samples != samples {
						t.Fatalf("%q at %d in parts of %d ms: %v of %d samples, and they were %v of %d", name, p.Time, p.Span, p.Sum, p.Samples, want, samples)
					}
				}
			}
			var sum Figures
			for p := range h.Read(name, 1_000_000*Step, step*Step, 24*3600*1000) {
				sum.Add(&p.Sum)
			}
			if want, _ := m.sum(name, 0, step*Step); sum != want {
				t.Fatalf("%q has %v in all, and should have %v", name, sum, want)
			}
		}
	})
}

// fill samples so many series, all of which change each time, for some steps.
func fill(h *History, from, steps int64, series int) {
	for step := from; step < from+steps; step++ {
		c := &ledgerpb.UsageSampled{}
		for i := range series {
			f := Figures{}
			for j := range f {
				f[j] = (step*7919 + int64(i+j)*104729) % 1_000_003
			}
			c.Rows = append(c.Rows, Row(User(fmt.Sprint(i)), &f))
		}
		h.Apply(step*Step, c)
	}
}

// A day is kept in steps of 10 s, 30 days in quarters of an hour, and no more.
func TestOldHistoryIsThinned(t *testing.T) {
	h := New()
	const days = 40
	fill(h, 8640, days*8640, 1)
	end := int64(8640 + days*8640)
	fine, all := h.Begins()
	if got := end - fine/Step; got < FineKeep-perCoarse || got > FineKeep+2*perCoarse {
		t.Errorf("%d fine steps are kept", got)
	}
	if got := end*Step/CoarseStep - all/CoarseStep; got < CoarseKeep-1 || got > CoarseKeep+1 {
		t.Errorf("%d coarse steps are kept", got)
	}
	n := 0
	for p := range h.Read(User("0"), 0, end*Step, CoarseStep) {
		if n++; p.Samples != perCoarse {
			t.Fatalf("at %d there are %d samples", p.Time, p.Samples)
		}
	}
	if n < CoarseKeep-1 {
		t.Errorf("%d parts", n)
	}
}

// However many users there are and however much they change, the history takes no more bytes than it may, and begins later instead.
func TestHistoryIsBounded(t *testing.T) {
	h := New()
	h.bytes = 1 << 20
	fill(h, 8640, 3*8640, 20)
	if size := h.fine.size() + h.coarse.size(); size > 2<<20 {
		t.Errorf("%d bytes", size)
	}
	if fine, all := h.Begins(); fine < 2*8640*Step || all > 9000*Step {
		t.Errorf("it begins at %d, and at %d in coarse steps", fine, all)
	}
	h = New()
	fill(h, 8640, 2, MaxSeries+100)
	if n := len(h.Series()); n != MaxSeries || !h.Refused() {
		t.Errorf("%d series, refused: %v", n, h.Refused())
	}
	h.Apply(1<<40, &ledgerpb.UsageSampled{All: true, Rows: []*ledgerpb.UsageRow{{Name: "", Figures: slices.Repeat([]uint64{1 << 63}, 99)}}})
	for p := range h.Read(Cluster, 1<<40-Step, 1<<40+Step, Step) {
		if p.Sum[UsedMB] != most {
			t.Errorf("a figure that can't be is %d", p.Sum[UsedMB])
		}
	}
}

// A sample that is late, or of a clock that went back, counts once or not at all.
func TestSamplesOfOneStep(t *testing.T) {
	h := New()
	used := func(n int64) *ledgerpb.UsageSampled {
		return &ledgerpb.UsageSampled{Rows: []*ledgerpb.UsageRow{Row(Cluster, &Figures{UsedMB: n})}}
	}
	h.Apply(1_000_000, used(5))
	h.Apply(1_009_999, used(7))
	h.Apply(500_000, used(9))
	for p := range h.Read(Cluster, 0, 2_000_000, Step) {
		if p.Time != 1_000_000 || p.Sum[UsedMB] != 5 || p.Seconds(UsedMB) != 50 || p.Mean(UsedMB) != 5 {
			t.Errorf("%+v", p)
		}
	}
	var none *History
	none.Apply(1, used(1))
	if none.Series() != nil || none.Freeze() != nil || none.Refused() {
		t.Error("a clone has a history")
	}
}

// FuzzRestore: any record is refused, or read, and can be recorded again.
func FuzzRestore(f *testing.F) {
	h := New()
	fill(h, 8640, 200, 2)
	for _, b := range recorded(f, h) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, h := &ledgerpb.History{}, New()
		if proto.Unmarshal(b, r) != nil || h.Restore(r) != nil {
			return
		}
		for range h.Read(r.GetName(), 0, 1<<40, CoarseStep) {
			break
		}
		for r := range h.Records() {
			if err := New().Restore(r); err != nil {
				t.Errorf("what was read can't be read again: %v", err)
			}
		}
	})
}

func BenchmarkSample(b *testing.B) {
	h, step := New(), int64(8640)
	b.ReportAllocs()
	for b.Loop() {
		fill(h, step, 1, 200)
		step++
	}
}

// The history began up to a quarter of an hour before its first sample: charts had an empty part in front.
func TestHistoryBeginsWithItsFirstSample(t *testing.T) {
	h := New()
	first := int64(8640 + perCoarse/2)
	fill(h, first, 2*perCoarse, 1)
	if fine, all := h.Begins(); fine != first*Step || all != fine {
		t.Errorf("it begins at %d, and at %d in any steps, and not at %d", fine, all, first*Step)
	}
}
