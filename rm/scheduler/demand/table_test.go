package demand

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

func gb(n int64) records.Resource { return records.NewResource(1024*n, 1) }

// bench is a table with one application, whose demands the test knows too.
type bench struct {
	t       *testing.T
	table   Table
	set     Set
	classes class.Table
	all     []*Demand
}

func newBench(t *testing.T) *bench { return &bench{t: t, set: NewSet(), classes: class.New()} }

// add enters a demand for so many containers of a size.
func (b *bench) add(priority int32, id int64, count int32, size records.Resource) *Demand {
	d := b.table.Add(0, &b.set, priority, id)
	d.Resize(size, size, &b.classes)
	d.Pending = count
	b.table.Show(d)
	b.all = append(b.all, d)
	return d
}

func (b *bench) drop(d *Demand) {
	b.table.Drop(&b.set, d, &b.classes)
	b.all = slices.DeleteFunc(b.all, func(x *Demand) bool { return x == d })
}

// sorted are the demands for which a condition holds, by urgency.
func (b *bench) sorted(of func(*Demand) bool) (list []*Demand) {
	for _, d := range b.all {
		if of(d) {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(x, y *Demand) int {
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(x.RequestID, y.RequestID))
	})
	return list
}

// check compares the table with the test's own list.
func (b *bench) check() {
	b.t.Helper()
	if err := b.table.Check(&b.set); err != nil {
		b.t.Fatal(err)
	}
	every := b.sorted(func(*Demand) bool { return true })
	if got := slices.Collect(b.table.All(&b.set)); !slices.Equal(got, every) {
		b.t.Fatalf("%d demands, or in another order than %d", len(got), len(every))
	}
	var stepped []*Demand
	for d := b.table.Front(&b.set); d != nil; d = b.table.After(d) {
		stepped = append(stepped, d)
	}
	if !slices.Equal(stepped, every) {
		b.t.Fatalf("from the front one comes to %d of %d", len(stepped), len(every))
	}
	var offered ranking.Mask
	blocked := 0
	for _, d := range every {
		if d.Pending > 0 && d.Why == Untried {
			offered |= 1 << d.Class
		}
		if d.Why == Waits || d.Why == BehindOwn {
			blocked++
		}
		if b.table.Find(&b.set, d.Priority, d.RequestID) != d {
			b.t.Fatalf("the request of priority %d, id %d isn't found", d.Priority, d.RequestID)
		}
	}
	if got := b.table.Offers(&b.set); got != offered {
		b.t.Fatalf("offers %b, not %b", got, offered)
	}
	if int(b.set.Blocked) != blocked || int(b.set.Requests) != len(every) || (b.set.Sole != nil) != (len(every) == 1) {
		b.t.Fatalf("%+v of %d requests, %d of them blocked", b.set, len(every), blocked)
	}
	for left := offered | 1<<5; left != 0; left &= left - 1 {
		of := left & -left
		want := b.sorted(func(d *Demand) bool { return d.Pending > 0 && d.Why == Untried && of&(1<<d.Class) != 0 })
		var got []*Demand
		for d := b.table.First(&b.set, of); d != nil; d = b.table.Next(&b.set, d, of) {
			got = append(got, d)
		}
		if !slices.Equal(got, want) {
			b.t.Fatalf("%d of class %b may be tried, not %d", len(got), of, len(want))
		}
	}
}

// Whatever is entered, taken out, blocked and tried again: order, sums and what may be tried agree with a plain list.
func TestTableAgreesWithAList(t *testing.T) {
	for seed := range uint64(20) {
		b, r := newBench(t), rand.New(rand.NewPCG(seed, 1))
		for range 200 {
			var one *Demand
			if len(b.all) > 0 {
				one = b.all[r.IntN(len(b.all))]
			}
			switch k := r.IntN(6); {
			case one == nil || k == 0:
				if p, id := int32(r.IntN(4)), int64(r.IntN(5)-1); b.table.Find(&b.set, p, id) == nil {
					b.add(p, id, int32(r.IntN(3)), gb(1+r.Int64N(3)))
				}
			case k == 1:
				b.drop(one)
			case k == 2:
				one.Pending = int32(r.IntN(3))
				b.table.Show(one)
			case k == 3:
				one.Resize(gb(1+r.Int64N(3)), gb(1+r.Int64N(3)), &b.classes)
				b.table.Show(one)
			default:
				b.table.SetWhy(&b.set, one, Blocked(r.IntN(int(BehindOwn)+1)))
			}
			b.check()
		}
		b.table.Clear(&b.set, &b.classes)
		b.all = nil
		b.check()
		if b.classes.Taken() != 0 {
			t.Errorf("classes %b are still held", b.classes.Taken())
		}
		b.add(1, 1, 1, gb(1))
		b.check()
	}
}

// Applications share a table, and see nothing of each other.
func TestSetsAreApart(t *testing.T) {
	a := newBench(t)
	one := a.add(2, 7, 1, gb(1))
	other := NewSet()
	two := a.table.Add(1, &other, 1, 7)
	a.check()
	if a.table.Find(&other, 2, 7) != nil || a.table.Find(&other, 1, 7) != two || a.table.After(one) != nil || two.App != 1 {
		t.Error("an application's demands are among another's")
	}
	a.table.Clear(&a.set, &a.classes)
	if other.Requests != 1 || a.table.Front(&other) != two {
		t.Error("an application's demands went with another's")
	}
}

// What Check looks at is found when it is wrong.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(b *bench)
		want  string
	}{
		"nothing":                   {func(*bench) {}, ""},
		"the order":                 {func(b *bench) { b.all[0].Priority = 9 }, "the request of priority 9, id 1 stands before that of priority 2, id 1"},
		"twice the same":            {func(b *bench) { b.all[0].Priority = 2 }, "stands before"},
		"why one waits":             {func(b *bench) { b.all[0].Why = NoRoom }, "the request of priority 1, id 1 shows 1 of 0"},
		"how many one asks for":     {func(b *bench) { b.all[0].Pending = 0 }, "shows 1 of 0"},
		"how many there are":        {func(b *bench) { b.set.Requests++ }, "2 requests, 1 of them blocked; the sums say 3 and 1"},
		"how many are blocked":      {func(b *bench) { b.set.Blocked-- }, "the sums say 2 and 0"},
		"that there is just one":    {func(b *bench) { b.set.Sole = b.all[0] }, "the sums say 2 and 1"},
		"what the sum of all shows": {func(b *bench) { b.table.arena.SetMask(b.all[1].el, 2) }, "the request of priority 2, id 1 shows 10 of 0"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.add(1, 1, 1, gb(1))
			b.table.SetWhy(&b.set, b.add(2, 1, 1, gb(2)), Waits)
			test.spoil(b)
			err := b.table.Check(&b.set)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, not %q", err, test.want)
			}
		})
	}
}

// Going over all demands is counted, finding one isn't.
func TestPassedCountsDemandsGoneThrough(t *testing.T) {
	b := newBench(t)
	for i := range int64(100) {
		b.add(1, i, 1, gb(1))
	}
	b.table.Passed = 0
	b.table.First(&b.set, 1)
	b.table.Find(&b.set, 1, 50)
	if b.table.Passed != 0 {
		t.Errorf("%d were gone through to find one", b.table.Passed)
	}
	for range b.table.All(&b.set) {
		continue
	}
	if b.table.Passed != 100 {
		t.Errorf("%d of 100 were gone through", b.table.Passed)
	}
}
