package receipt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"heddle/yarn/records"
)

// slowLate is late as it is described: by the medians of the others' times, sorted anew for each one.
func slowLate(one ran, others []ran) (why Kind, usual int64) {
	times := func(wanted func(ran) bool) (all []int64) {
		for _, x := range others {
			if wanted(x) {
				all = append(all, x.ms)
			}
		}
		slices.Sort(all)
		return all
	}
	on := func(x ran) bool { return x.node == one.node }
	here, elsewhere := append(times(on), one.ms), times(func(x ran) bool { return !on(x) })
	slices.Sort(here)
	if len(here) >= leastOnNode && len(elsewhere) >= leastOnNode {
		if usual = median(elsewhere); beyond(here[(len(here)-1)/2], usual) && beyond(one.ms, usual) {
			return SlowNode, usual
		}
	}
	if near := times(func(x ran) bool { return !x.far }); one.far && len(near) >= leastOthers && beyond(one.ms, median(near)) {
		return RemoteInput, median(near)
	}
	if all := times(func(ran) bool { return true }); len(all) >= leastOthers && beyond(one.ms, median(all)) {
		return Straggling, median(all)
	}
	return "", 0
}

// What is sorted once says of each one what sorting the others for it says.
func TestLateIsByTheMediansOfTheOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := map[Kind]int{}
	for range 20_000 {
		list := make([]ran, 1+r.IntN(9))
		for i := range list {
			list[i] = ran{records.NodeID{Host: string(rune('a' + r.IntN(3)))}, r.IntN(3) == 0, int64(r.IntN(1 + r.IntN(12)))}
		}
		k := kinOf(list)
		for i, one := range list {
			why, usual := k.late(one, true)
			if want, ms := slowLate(one, slices.Delete(slices.Clone(list), i, i+1)); why != want || usual != ms {
				t.Fatalf("%+v among %+v: %q, %d, want %q, %d", one, list, why, usual, want, ms)
			}
			found[why]++
		}
		one := ran{records.NodeID{Host: "b"}, r.IntN(2) == 0, int64(r.IntN(12))}
		why, usual := k.late(one, false)
		if want, ms := slowLate(one, list); why != want || usual != ms {
			t.Fatalf("%+v beside %+v: %q, %d, want %q, %d", one, list, why, usual, want, ms)
		}
	}
	for _, kind := range []Kind{SlowNode, RemoteInput, Straggling, ""} {
		if found[kind] < 100 {
			t.Errorf("%q was found %d times", kind, found[kind])
		}
	}
}
