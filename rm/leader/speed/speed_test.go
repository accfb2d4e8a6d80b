package speed

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/yarn/records"
)

// bench is Speeds with a clock, and what an ApplicationMaster that asks each time knows of them.
type bench struct {
	*Speeds
	at    time.Time
	known map[string]int32
	upTo  int64
}

func newBench(nodes int) *bench {
	b := &bench{at: time.Unix(1e9, 0), known: map[string]int32{}}
	b.Speeds = New(func() time.Time { return b.at })
	for i := range nodes {
		b.Joined(hostName(i))
	}
	return b
}

func hostName(i int) string { return fmt.Sprint("n", i) }

func appID(n int) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: 1, ID: int32(n)}
}

// ran tells that an application has run tasks on nodes, which took so long there.
func (b *bench) ran(id int, user string, kind Type, took map[int]float64) {
	var list []Report
	for _, i := range slices.Sorted(maps.Keys(took)) {
		list = append(list, Report{hostName(i), kind, 10, took[i]})
	}
	b.Take(appID(id), user, list)
}

// classes are those of nodes from 0 on, as one knows who asks each time.
func (b *bench) classes(nodes int) (out []int32) {
	b.at = b.at.Add(interval)
	if b.Due() {
		b.Sort()
	}
	var news []Class
	news, b.upTo = b.Since(b.upTo)
	for _, l := range news {
		b.known[l.Host] = l.Class
	}
	for i := range nodes {
		out = append(out, b.known[hostName(i)])
	}
	return out
}

func (b *bench) check(t *testing.T, when string, want ...int32) {
	t.Helper()
	if got := b.classes(len(want)); !slices.Equal(got, want) {
		t.Errorf("%s: levels %v, want %v", when, got, want)
	}
}

// Two applications that have no node in common but one, with tasks of quite different lengths, together order all nodes.
func TestApplicationsComplementEachOther(t *testing.T) {
	b := newBench(5)
	b.check(t, "nothing is known", 0, 0, 0, 0, 0)
	b.ran(1, "alice", Map, map[int]float64{0: 10, 1: 10, 2: 20})
	b.check(t, "one has told", 2, 2, 1, 0, 0)
	b.ran(2, "bob", Map, map[int]float64{2: 400, 3: 200, 4: 800})
	b.check(t, "both have", 3, 3, 2, 3, 1)
	if news, upTo := b.Since(b.upTo); len(news) > 0 || upTo != b.upTo {
		t.Errorf("told again: %v", news)
	}
	if all, upTo := b.Since(0); len(all) != 5 || upTo != b.upTo {
		t.Errorf("told to somebody new: %v", all)
	}
	b.Left(hostName(4))
	b.Joined(hostName(4))
	b.check(t, "another machine has come", 2, 2, 1, 2, 0)
}

// One user can't make others take slow nodes for fast ones, with whatever many applications, where two others have run tasks.
func TestHostileUser(t *testing.T) {
	honest := map[int]float64{0: 10, 1: 10, 2: 20, 3: 20}
	b := newBench(4)
	b.ran(1, "alice", Map, honest)
	b.ran(2, "bob", Map, map[int]float64{0: 33, 1: 33, 2: 66, 3: 66})
	b.check(t, "before", 2, 2, 1, 1)
	for i := range 100 {
		b.ran(10+i, "mallory", Map, map[int]float64{0: maxMean, 1: maxMean, 2: minMean, 3: minMean})
	}
	b.check(t, "after", 2, 2, 1, 1)
	for i := range maxApps + 5 { // the last ones drive out what others have told, but not what these tell anew
		b.ran(1000+i, "mallory", Map, map[int]float64{0: maxMean, 2: minMean})
	}
	b.at = b.at.Add(time.Second)
	b.ran(1, "alice", Map, honest)
	b.ran(2, "bob", Map, honest)
	b.check(t, "when they tell again", 2, 2, 1, 1)
	if len(b.apps) > maxApps {
		t.Errorf("%d applications are kept", len(b.apps))
	}
}

func TestReportsOutOfBounds(t *testing.T) {
	b := newBench(2)
	for _, r := range []Report{
		{hostName(0), Map, 0, 1},
		{hostName(0), Map, -5, 1},
		{hostName(0), Map, 1, 0},
		{hostName(0), Map, 1, -1},
		{hostName(0), Map, 1, math.NaN()},
		{hostName(0), Map, 1, math.Inf(1)},
		{hostName(0), Map, 1, 2 * maxMean},
		{hostName(0), types, 1, 1},
		{"nowhere", Map, 1, 1},
		{"", Map, 1, 1},
	} {
		b.Take(appID(1), "alice", []Report{r})
	}
	b.check(t, "nothing good", 0, 0)
	b.Take(appID(1), "alice", append(slices.Repeat([]Report{{"nowhere", Map, 1, 1}}, MaxPerCall), Report{hostName(0), Map, 1, 1}))
	b.check(t, "too much", 0, 0)
	for i := range 1_000_000 / MaxPerCall { // of nodes that aren't there
		million := make([]Report, MaxPerCall)
		for k := range million {
			million[k] = Report{hostName(2 + i*MaxPerCall + k), Type(k), 1, 1}
		}
		b.Take(appID(1), "alice", million)
	}
	if kept := len(b.apps); kept > 0 || len(b.hosts) != 2 || len(b.index) != 2 {
		t.Errorf("%d applications and %d hosts are kept", kept, len(b.hosts))
	}
	b.Left("nowhere")
}

// What was said fades: newer word of a node that has become slow wins.
func TestReportsFade(t *testing.T) {
	b := newBench(2)
	b.ran(1, "alice", Reduce, map[int]float64{0: 10, 1: 20})
	b.check(t, "at first", 2, 1)
	b.at = b.at.Add(5 * halfLife)
	b.ran(2, "alice", Reduce, map[int]float64{0: 20, 1: 10})
	b.check(t, "after hours", 1, 2)
	b.at = b.at.Add(2 * lifetime)
	b.ran(3, "alice", Reduce, map[int]float64{0: 20})
	b.check(t, "long after", 1, 0)
	if len(b.apps) != 1 {
		t.Errorf("%d applications are kept", len(b.apps))
	}
}

// Whatever is reported, classes are within bounds, the same calls give the same ones, and changes lead to what somebody new is told.
func TestAnyReports(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, twin := newBench(4), newBench(4)
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			node := rapid.IntRange(0, 5).Draw(t, "node")
			r := Report{hostName(node), Type(rapid.IntRange(0, 2).Draw(t, "type")), rapid.Int64().Draw(t, "tasks"), rapid.Float64().Draw(t, "mean")}
			id, user, what := rapid.IntRange(0, 5).Draw(t, "app"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "user"), rapid.IntRange(0, 9).Draw(t, "what")
			if rapid.Bool().Draw(t, "sane") {
				r.Tasks, r.Mean = 3, rapid.Float64Range(1, 100).Draw(t, "seconds")
			}
			for _, x := range []*bench{b, twin} {
				switch what {
				case 0:
					x.Joined(r.Host)
				case 1:
					x.Left(r.Host)
				default:
					x.Take(appID(id), user, []Report{r})
				}
			}
			got, again := b.classes(6), twin.classes(6)
			if !slices.Equal(got, again) {
				t.Fatalf("the same calls give %v and %v", got, again)
			}
			fresh := map[string]int32{}
			all, _ := b.Since(0)
			for _, l := range all {
				if l.Class < 1 || l.Class > 4 {
					t.Fatalf("level %d", l.Class)
				}
				fresh[l.Host] = l.Class
			}
			for i := range 6 {
				if _, there := b.index[hostName(i)]; there && fresh[hostName(i)] != got[i] {
					t.Fatalf("%s: %d by changes, %d at once", hostName(i), got[i], fresh[hostName(i)])
				}
			}
		}
	})
}

// A machine that comes while nodes are sorted doesn't get the class of the one that had its place; it has none until it has run tasks.
func TestMachinesComeWhileNodesAreSorted(t *testing.T) {
	b := newBench(3)
	b.ran(1, "alice", Map, map[int]float64{0: 10, 1: 20, 2: 20})
	b.at = b.at.Add(interval)
	if !b.Due() || b.Due() {
		t.Fatal("one sorting is due")
	}
	version := b.sorter.estimate(b.Speeds, b.at)
	b.Left(hostName(0))
	b.Joined(hostName(7))
	b.Left(hostName(1))
	if b.Due() {
		t.Error("another sorting is due before this one has ended")
	}
	b.publish(b.sorter.classes(), version)
	if all, _ := b.Since(0); !slices.Equal(all, []Class{{hostName(2), 1}}) {
		t.Errorf("levels %v", all)
	}
	b.sorting = false
	b.ran(1, "alice", Map, map[int]float64{2: 20, 7: 40})
	b.check(t, "when it has run tasks", 0, 0, 2, 0, 0, 0, 0, 1)
}

// Nobody has to wait for a sorting: all methods may be called meanwhile.
func TestSortingBesideHeartbeats(t *testing.T) {
	b := newBench(4)
	var all sync.WaitGroup
	for id := range 3 {
		all.Go(func() {
			for range 200 {
				b.ran(id, "alice", Map, map[int]float64{0: 10, 1: 10, 2: 40, 3: 40})
				b.Left(hostName(4 + id))
				b.Joined(hostName(4 + id))
				b.Since(0)
			}
		})
	}
	for range 200 {
		b.Sort()
	}
	all.Wait()
	b.check(t, "after all", 2, 2, 1, 1)
}

// The bound of a sorting: 10,000 nodes, of which 100 applications have seen all.
func BenchmarkSort(b *testing.B) {
	x := seenByAll()
	for b.Loop() {
		x.Sort()
	}
}

// The bound of a heartbeat: an ApplicationMaster hears of the classes of 10,000 nodes for the first time.
func BenchmarkSince(b *testing.B) {
	x := seenByAll()
	x.Sort()
	for b.Loop() {
		if all, _ := x.Since(0); len(all) != 10_000 {
			b.Fatal(len(all))
		}
	}
}

// seenByAll are 10,000 nodes of which 100 applications have seen all.
func seenByAll() *bench {
	x := newBench(10_000)
	for a := range 100 {
		var list []Report
		for i := range 10_000 {
			if list = append(list, Report{hostName(i), Map, 10, float64(10*(1+i%4)) * (1 + float64((i*7+a)%13)/100)}); len(list) == MaxPerCall {
				x.Take(appID(a), fmt.Sprint("u", a%10), list)
				list = list[:0]
			}
		}
	}
	return x
}
