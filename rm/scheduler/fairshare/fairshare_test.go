package fairshare_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/rm/scheduler/fairshare"
	"heddle/yarn/records"
)

const none = fairshare.Unlimited

func party(weight float64, least, most int64) fairshare.Party {
	return fairshare.Party{Weight: weight, Min: least, Max: most, Active: true}
}

func TestDivide(t *testing.T) {
	idle := party(1, 0, none)
	idle.Active = false
	for _, c := range []struct {
		name    string
		total   int64
		steady  bool
		parties []fairshare.Party
		want    []int64
	}{
		{"equal weights", 40, false, []fairshare.Party{party(1, 0, none), party(1, 0, none), party(1, 0, none), party(1, 0, none)}, []int64{10, 10, 10, 10}},
		{"weights", 45, false, []fairshare.Party{party(2, 0, none), party(1, 0, none), party(1, 0, none), party(0.5, 0, none)}, []int64{20, 10, 10, 5}},
		{"greatest shares leave more to others", 40, false, []fairshare.Party{party(1, 0, none), party(1, 0, none), party(1, 0, 11), party(1, 0, 3)}, []int64{13, 13, 11, 3}},
		{"minimum shares leave less to others", 40, false, []fairshare.Party{party(1, 20, none), party(1, 18, none), party(1, 0, none), party(1, 2, none)}, []int64{20, 18, 0, 2}},
		{"minimum shares over the total", 10, false, []fairshare.Party{party(1, 8, none), party(1, 6, none)}, []int64{8, 6}},
		{"all at their greatest", 100, false, []fairshare.Party{party(1, 0, 5), party(3, 0, 6)}, []int64{5, 6}},
		{"nobody", 100, false, nil, []int64{}},
		{"nothing to give", 0, false, []fairshare.Party{party(1, 0, none)}, []int64{0}},
		{"an idle one has nothing", 40, false, []fairshare.Party{party(1, 0, none), idle}, []int64{40, 0}},
		{"and has its steady share", 40, true, []fairshare.Party{party(1, 0, none), idle}, []int64{20, 20}},
		{"no weight: the minimum share", 40, false, []fairshare.Party{party(0, 7, none), party(1, 0, none)}, []int64{7, 33}},
		{"a greatest share of 0", 40, false, []fairshare.Party{party(5, 7, 0), party(1, 0, none)}, []int64{0, 40}},
		{"huge weights and totals", math.MaxInt64, false, []fairshare.Party{party(1e300, 0, none), party(1e-300, 0, 3)}, []int64{math.MaxInt64, 0}},
		{"as a stock FairScheduler says", 8192, false, []fairshare.Party{party(1, 0, 8192), party(3, 1024, 8192)}, []int64{2048, 6144}},
		{"and with one left over", 3, false, []fairshare.Party{party(1, 0, 8), party(1, 0, 4)}, []int64{2, 2}},
		{"and at a bound", 6144, false, []fairshare.Party{party(1, 0, 8192), party(1, 0, 1000)}, []int64{5144, 1000}},
		// 10¹⁰ ÷ 7 is looked for in steps of 2³¹ ÷ 2²⁵, and found from above.
		{"as exact as the bisection", 10_000_000_000, false, []fairshare.Party{party(1, 0, none), party(2, 0, none), party(4, 0, none)}, []int64{1428571456, 2857142912, 5714285824}},
		{"more than there are numbers for", math.MaxInt64, false, []fairshare.Party{party(1, 0, none), party(1, 0, none)}, []int64{1 << 62, 1 << 62}},
		{"no weight and no minimum share", 40, false, []fairshare.Party{party(0, 0, none), party(1, 0, none)}, []int64{0, 40}},
		{"no weight and a greatest share of 0", 40, false, []fairshare.Party{party(0, 7, 0), party(1, 0, none)}, []int64{0, 40}},
		{"bounds that a float64 can't hold", 1<<60 + 1, false, []fairshare.Party{party(1, 0, 1<<60+1)}, []int64{1<<60 + 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := make([]int64, len(c.parties))
			fairshare.Divide(c.total, c.parties, c.steady, got)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func parties(t *rapid.T) []fairshare.Party {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fairshare.Party {
		// a float, as in YARN: of a double that is small enough no ratio makes an amount
		p := fairshare.Party{Weight: float64(rapid.Float32Range(0, 16).Draw(t, "weight")), Max: none, Active: rapid.Bool().Draw(t, "active")}
		p.Min = rapid.Int64Range(0, 1000).Draw(t, "least")
		if rapid.Bool().Draw(t, "bounded") {
			p.Max = rapid.Int64Range(0, 3000).Draw(t, "most")
		}
		return p
	}), 1, 12).Draw(t, "parties")
}

func divide(total int64, parties []fairshare.Party) ([]int64, int64) {
	shares, sum := make([]int64, len(parties)), int64(0)
	fairshare.Divide(total, parties, false, shares)
	for _, s := range shares {
		sum += s
	}
	return shares, sum
}

// TestDivideProperties checks bounds, the sum, that weights order shares, and that more to divide is less for nobody.
func TestDivideProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := parties(t)
		total := rapid.Int64Range(0, 20000).Draw(t, "total")
		shares, sum := divide(total, all)
		var floor, ceiling int64
		for i, p := range all {
			if p.Active && p.Weight > 0 && p.Max > 0 {
				floor += min(p.Min, p.Max)
				ceiling += min(p.Max, 1<<40)
			} else if p.Active {
				floor += shares[i]
				ceiling += shares[i]
			} else if shares[i] != 0 {
				t.Fatalf("party %d is idle and has %d", i, shares[i])
			}
			if p.Active && p.Weight > 0 && (shares[i] > p.Max || shares[i] < min(p.Min, p.Max)) {
				t.Fatalf("party %d of %+v has %d", i, p, shares[i])
			}
		}
		slack := int64(len(all)) + 1
		if want := min(max(total, floor), ceiling); sum > want+slack || sum < want-slack {
			t.Fatalf("%d of %d are given, minimum shares are %d and greatest %d", sum, total, floor, ceiling)
		}
		for i, p := range all {
			for j, q := range all {
				same := p.Active && q.Active && p.Min == q.Min && p.Max == q.Max && q.Weight > 0
				if same && p.Weight >= q.Weight && shares[i] < shares[j] {
					t.Fatalf("party %d weighs %g and has %d; party %d weighs %g and has %d", i, p.Weight, shares[i], j, q.Weight, shares[j])
				}
			}
		}
		more, _ := divide(total+rapid.Int64Range(0, 1000).Draw(t, "more"), all)
		for i := range all {
			if more[i] < shares[i]-1 {
				t.Fatalf("with more to divide, party %d has %d instead of %d", i, more[i], shares[i])
			}
		}
	})
}

func leaf(weight float64, active bool) *fairshare.Queue {
	return &fairshare.Queue{Weight: weight, Max: fairshare.NoLimit(), Active: active}
}

// TestCompute: idle queues leave their share to their siblings, first to those under the same parent.
func TestCompute(t *testing.T) {
	a1, a2, b := leaf(1, true), leaf(1, false), leaf(1, true)
	a := &fairshare.Queue{Weight: 3, Max: fairshare.NoLimit(), Kind: fairshare.DRF, Children: []*fairshare.Queue{a1, a2}}
	root := &fairshare.Queue{Kind: fairshare.DRF, Children: []*fairshare.Queue{a, b}}
	a1.Kind, b.Kind = fairshare.Fair, fairshare.FIFO
	a1.Apps = []fairshare.App{{Weight: 1, Start: 5}, {Weight: 3, Start: 4}}
	b.Apps = []fairshare.App{{Weight: 1, Start: 5}, {Weight: 3, Start: 4}}
	root.Compute(records.NewResource(8000, 80))
	for name, c := range map[string]struct{ got, want records.Resource }{
		"a":               {a.Fair, records.NewResource(6000, 60)},
		"a1":              {a1.Fair, records.NewResource(6000, 60)},
		"a1 steady":       {a1.Steady, records.NewResource(3000, 30)},
		"a2":              {a2.Fair, records.Resource{}},
		"a2 steady":       {a2.Steady, records.NewResource(3000, 30)},
		"b":               {b.Fair, records.NewResource(2000, 20)},
		"light app of a1": {a1.Apps[0].Fair, records.NewResource(1500, 0)},
		"heavy app of a1": {a1.Apps[1].Fair, records.NewResource(4500, 0)},
		"later app of b":  {b.Apps[0].Fair, records.Resource{}},
		"first app of b":  {b.Apps[1].Fair, records.NewResource(2000, 20)},
	} {
		if c.got != c.want {
			t.Errorf("%s has %v, want %v", name, c.got, c.want)
		}
	}
}

func TestKindsByName(t *testing.T) {
	for name, want := range map[string]fairshare.Kind{"drf": fairshare.DRF, "DRF": fairshare.DRF, "Fifo": fairshare.FIFO, "fair": fairshare.Fair, "": fairshare.Fair} {
		if got := fairshare.KindOf(name); got != want {
			t.Errorf("%q is %d", name, got)
		}
	}
}

// A FIFO parent gives everything to its first child, a FIFO leaf to the application that came first, and of those that came together to
// the first in its list. What others had before is gone.
func TestFIFOGivesEverythingToTheFirst(t *testing.T) {
	all := records.NewResource(1000, 10)
	first, second, third := leaf(1, true), leaf(5, true), leaf(5, true)
	root := &fairshare.Queue{Kind: fairshare.DRF, Children: []*fairshare.Queue{first, second, third}}
	for _, q := range root.Children {
		q.Kind = fairshare.DRF
		q.Apps = []fairshare.App{{Weight: 1, Start: 8}, {Weight: 1, Start: 7}, {Weight: 1, Start: 7}, {Weight: 1, Start: 9}, {Weight: 1, Start: 9}}
	}
	root.Compute(all)
	root.Kind, first.Kind = fairshare.FIFO, fairshare.FIFO
	second.Apps = nil
	root.Compute(all)
	if first.Fair != all || second.Fair != (records.Resource{}) || third.Fair != (records.Resource{}) || second.Steady != (records.Resource{}) {
		t.Errorf("queues have %v, %v, %v", first.Fair, second.Fair, third.Fair)
	}
	for i, a := range first.Apps {
		if want := i == 1; want != (a.Fair == all) || !want && !a.Fair.IsZero() {
			t.Errorf("application %d has %v", i, a.Fair)
		}
	}
	for _, a := range third.Apps {
		if !a.Fair.IsZero() {
			t.Errorf("an application of a queue that has nothing has %v", a.Fair)
		}
	}
	empty := &fairshare.Queue{Kind: fairshare.FIFO}
	empty.Compute(all)
	if empty.Fair != all {
		t.Errorf("a queue without anybody has %v", empty.Fair)
	}
}

// The number of children and of applications varies on the way through the tree; minimum shares bind at each level, and each type is
// divided by itself. A queue that was divided by all types and is by memory now has nothing of the others left.
func TestSharesOfUnequalBranches(t *testing.T) {
	var all, each records.Resource
	for i := range all {
		all[i] = int64(1000 * (i + 1))
		each[i] = all[i] / 5
	}
	apps := func(n int) (list []fairshare.App) {
		for range n {
			list = append(list, fairshare.App{Weight: 1})
		}
		return list
	}
	many, one, last := leaf(1, true), leaf(1, true), leaf(1, true)
	many.Apps, one.Apps = apps(5), apps(1)
	many.Min, one.Max = all, records.Resource{}
	one.Min = all
	root := &fairshare.Queue{Kind: fairshare.DRF, Max: fairshare.NoLimit(), Children: []*fairshare.Queue{one, many, last}}
	many.Kind = fairshare.DRF
	root.Compute(all)
	if many.Fair != all || !one.Fair.IsZero() || !last.Fair.IsZero() || many.Apps[4].Fair != each {
		t.Errorf("%v, %v, %v, an application has %v", many.Fair, one.Fair, last.Fair, many.Apps[4].Fair)
	}
	many.Kind, root.Kind = fairshare.Fair, fairshare.Fair
	one.Max = fairshare.NoLimit()
	many.Min = records.Resource{}
	root.Compute(all)
	if want := records.NewResource(1000, 0); one.Fair != want || one.Apps[0].Fair != want || !many.Fair.IsZero() || !many.Apps[0].Fair.IsZero() {
		t.Errorf("%v, %v, applications have %v and %v", one.Fair, many.Fair, one.Apps[0].Fair, many.Apps[0].Fair)
	}
	for i, v := range fairshare.NoLimit() {
		if v != fairshare.Unlimited {
			t.Errorf("type %d is limited to %d", i, v)
		}
	}
}

// TestTreeProperties: children never have more than their parent but by their minimum shares, and names don't matter.
func TestTreeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := tree(t, 3)
		root.Kind = fairshare.DRF
		cluster := records.NewResource(rapid.Int64Range(0, 1<<30).Draw(t, "memory"), rapid.Int64Range(0, 1<<16).Draw(t, "vcores"))
		root.Compute(cluster)
		check(t, root)
	})
}

func tree(t *rapid.T, depth int) *fairshare.Queue {
	q := leaf(rapid.Float64Range(0.1, 10).Draw(t, "weight"), rapid.Bool().Draw(t, "active"))
	q.Kind = rapid.SampledFrom([]fairshare.Kind{fairshare.Fair, fairshare.DRF}).Draw(t, "kind")
	if depth > 0 {
		for range rapid.IntRange(0, 4).Draw(t, "children") {
			q.Children = append(q.Children, tree(t, depth-1))
		}
	}
	return q
}

func check(t *rapid.T, q *fairshare.Queue) {
	if q.Leaf() {
		return
	}
	var fair, steady records.Resource
	active := false
	for _, c := range q.Children {
		fair, steady = fair.Add(c.Fair), steady.Add(c.Steady)
		active = active || c.Active
		check(t, c)
	}
	if active != q.Active {
		t.Fatalf("%+v is active: %v", q, q.Active)
	}
	rest := int64(len(q.Children)) + 1<<10
	for i := range fair {
		if q.Kind == fairshare.Fair && i != records.Memory {
			continue
		}
		if fair[i] > q.Fair[i]+rest || steady[i] > q.Steady[i]+rest || steady[i] < q.Steady[i]-rest {
			t.Fatalf("children of %v and %v have %v and %v", q.Fair, q.Steady, fair, steady)
		}
		if active && fair[i] < q.Fair[i]-rest {
			t.Fatalf("active children of %v have %v", q.Fair, fair)
		}
	}
}

func BenchmarkCompute(b *testing.B) {
	root := &fairshare.Queue{Kind: fairshare.DRF, Max: fairshare.NoLimit()}
	for range 500 {
		q := leaf(1, true)
		q.Kind = fairshare.DRF
		for range 4 {
			q.Apps = append(q.Apps, fairshare.App{Weight: 1})
		}
		root.Children = append(root.Children, q)
	}
	for b.Loop() {
		root.Compute(records.NewResource(1<<30, 1<<20))
	}
}
