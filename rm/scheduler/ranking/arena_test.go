package ranking_test

import (
	"math"
	"math/bits"
	"strings"
	"testing"

	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/ranking"
)

// filled is a ranking by place of so many elements, entered from the first to the last, and their numbers.
func filled(e *ranking.Arena, n int64) (ranking.Ranking, []int32) {
	o := ranking.New(ranking.ByPlace)
	var all []int32
	for seq := range n {
		i := e.Take(int32(seq))
		e.Reset(i, seq)
		e.SetMask(i, 1)
		e.Enter(&o, i)
		all = append(all, i)
	}
	return o, all
}

// collect returns what elements of a ranking stand for.
func collect(e *ranking.Arena, o *ranking.Ranking) (refs []int32) {
	e.All(o, func(i int32) bool {
		refs = append(refs, e.Ref(i))
		return true
	})
	return refs
}

// deepest is how many elements a search for one looks at, at most.
func deepest(e *ranking.Arena, o *ranking.Ranking) (most int) {
	for seq := range int32(len(collect(e, o))) {
		looks, at := 0, int64(-1)
		e.All(o, func(i int32) bool {
			if seq--; seq < 0 {
				at = e.Key(i).Seq
			}
			return seq >= 0
		})
		e.Search(o, func(i int32) int {
			looks++
			return int(e.Key(i).Seq - at)
		})
		most = max(most, looks)
	}
	return most
}

// Searches take logarithmic time, whether elements came from the first to the last, or most have left.
func TestSearchesLookAtFewElements(t *testing.T) {
	var e ranking.Arena
	o, all := filled(&e, 1024)
	if got, bound := deepest(&e, &o), 4*bits.Len(1024); got > bound {
		t.Errorf("a search among 1024 elements looks at %d of them, want at most %d", got, bound)
	}
	for i, x := range all {
		if i%4 > 0 {
			e.Leave(&o, x)
		}
	}
	if got, bound := deepest(&e, &o), 4*bits.Len(256); got > bound {
		t.Errorf("a search among the 256 that are left looks at %d of them, want at most %d", got, bound)
	}
	if got := e.Search(&o, func(int32) int { return 1 }); got != ranking.Nothing {
		t.Errorf("found %d, which isn't there", got)
	}
}

// However many there are, and in whatever order they come, none is lost.
func TestManyElements(t *testing.T) {
	var e ranking.Arena
	o := ranking.New(ranking.ByPlace)
	const n = 3001
	at := make([]int32, n)
	for k := range int64(n) {
		seq := k * 1009 % n
		i := e.Take(int32(seq))
		e.Reset(i, seq)
		e.Enter(&o, i)
		at[seq] = i
	}
	check := func(want func(seq int) bool) {
		t.Helper()
		refs := collect(&e, &o)
		for seq := range n {
			if want(seq) && (len(refs) == 0 || refs[0] != int32(seq)) {
				t.Fatalf("%d is missing", seq)
			} else if want(seq) {
				refs = refs[1:]
			}
		}
		if err := e.Check(&o); err != nil || len(refs) > 0 {
			t.Fatalf("%v; %d more than there are", err, len(refs))
		}
	}
	check(func(int) bool { return true })
	for seq := 0; seq < n; seq += 3 {
		e.Leave(&o, at[seq])
	}
	check(func(seq int) bool { return seq%3 != 0 })
}

func TestKeysThatAreTheSame(t *testing.T) {
	k := ranking.Key{Ratio: 1, Capacity: 2, Seq: 3, Priority: 4, Rank: 5}
	if o := k; !k.Same(&o) {
		t.Error("a key isn't the same as itself")
	}
	for name, change := range map[string]func(*ranking.Key){
		"ratio":    func(k *ranking.Key) { k.Ratio++ },
		"capacity": func(k *ranking.Key) { k.Capacity++ },
		"seq":      func(k *ranking.Key) { k.Seq++ },
		"priority": func(k *ranking.Key) { k.Priority++ },
		"rank":     func(k *ranking.Key) { k.Rank++ },
	} {
		o := k
		if change(&o); k.Same(&o) {
			t.Errorf("another %s is the same", name)
		}
	}
}

// Whoever has nothing to serve comes behind everybody else, however late that one is, and two of them are told apart.
func TestNeverComesBehindAll(t *testing.T) {
	var e ranking.Arena
	take := func(ref int32, k ranking.Key) int32 {
		i := e.Take(ref)
		*e.Key(i) = k
		return i
	}
	never, again := take(7, ranking.Never), take(8, ranking.Never)
	for name, k := range map[string]ranking.Key{
		"rank":     {Rank: math.MaxUint8, Seq: math.MaxInt64},
		"priority": {Rank: math.MaxUint8, Priority: math.MinInt32, Seq: math.MaxInt64},
		"ratio":    {Rank: math.MaxUint8, Priority: math.MinInt32, Ratio: math.MaxFloat64, Seq: math.MaxInt64},
		"seq":      {Rank: math.MaxUint8, Priority: math.MinInt32, Ratio: math.Inf(1), Seq: math.MaxInt64 - 1},
	} {
		if i := take(9, k); !e.Less(ranking.ByPriority, i, never) || e.Less(ranking.ByPriority, never, i) {
			t.Errorf("an extreme %s comes behind", name)
		}
	}
	if !e.Less(ranking.ByPriority, never, again) || e.Less(ranking.ByPriority, again, never) || e.Less(ranking.ByPriority, never, never) {
		t.Error("two that have nothing aren't ordered by what they stand for")
	}
}

// An element that is given back and taken again has nothing of what it was.
func TestElementsAreTakenAgain(t *testing.T) {
	var e ranking.Arena
	i := e.Take(3)
	e.Key(i).Ratio, e.Shares(i)[0] = 1, 1
	e.SetMask(i, 5)
	e.Give(i)
	if j := e.Take(4); j != i || e.Ref(j) != 4 || e.Own(j) != 0 || *e.Key(j) != (ranking.Key{}) || *e.Shares(j) != (measure.Shares{}) || e.In(j) {
		t.Errorf("%d, taken after %d, stands for %d: %v, mask %b", j, i, e.Ref(j), *e.Key(j), e.Own(j))
	}
	e.Key(i).Rank, e.Shares(i)[0] = 1, 1
	if e.Reset(i, 9); *e.Key(i) != (ranking.Key{Seq: 9}) || *e.Shares(i) != (measure.Shares{}) {
		t.Errorf("reset it is %v, with %v", *e.Key(i), *e.Shares(i))
	}
}

// What is cleared is empty; elements keep their keys and masks, and can be entered again.
func TestClear(t *testing.T) {
	var e ranking.Arena
	o, all := filled(&e, 20)
	e.SetMask(all[3], 4)
	e.Clear()
	o.Clear()
	if refs := collect(&e, &o); len(refs) != 0 || e.Offers(&o) != 0 || e.In(all[0]) || e.Own(all[3]) != 4 || e.Key(all[3]).Seq != 3 {
		t.Fatalf("%v are left, offering %b", refs, e.Offers(&o))
	}
	for _, i := range all[:5] {
		e.Enter(&o, i)
	}
	if refs := collect(&e, &o); len(refs) != 5 || e.Check(&o) != nil || e.Offers(&o) != 5 {
		t.Errorf("%v were entered again, offering %b: %v", refs, e.Offers(&o), e.Check(&o))
	}
}

func TestMasks(t *testing.T) {
	var e ranking.Arena
	o, all := filled(&e, 9)
	if e.SetMask(all[4], 1) || !e.SetMask(all[4], 6) || e.Own(all[4]) != 6 || e.Offers(&o) != 7 {
		t.Errorf("an element offers %b, all %b", e.Own(all[4]), e.Offers(&o))
	}
	e.Leave(&o, all[4])
	if e.Offers(&o) != 1 || !e.SetMask(all[4], 8) || e.SetMask(all[4], 8) || e.Own(all[4]) != 8 || e.Offers(&o) != 1 {
		t.Errorf("one that has left offers %b, the others %b", e.Own(all[4]), e.Offers(&o))
	}
}

// Check finds an element in the wrong place, be it the first or the last one.
func TestCheckFindsElementsInTheWrongPlace(t *testing.T) {
	for _, wrong := range []int{0, 5, 9} {
		var e ranking.Arena
		o, all := filled(&e, 10)
		if err := e.Check(&o); err != nil {
			t.Fatal(err)
		}
		e.Key(all[wrong]).Seq = int64(9-wrong)*2 - 5
		if err := e.Check(&o); err == nil || !strings.Contains(err.Error(), "stands before") {
			t.Errorf("%d stands in the wrong place: %v", wrong, err)
		}
	}
}

func TestAllStops(t *testing.T) {
	var e ranking.Arena
	o, _ := filled(&e, 10)
	seen := 0
	e.All(&o, func(int32) bool { seen++; return seen < 4 })
	if seen != 4 {
		t.Errorf("%d elements were seen", seen)
	}
}
