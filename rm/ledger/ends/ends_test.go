package ends

import (
	"slices"
	"testing"
)

// What ends is kept without a copy of all for each, and without garbage.
func TestKeptThingsAreNotCopied(t *testing.T) {
	var p Of[[100]int64]
	x := &[100]int64{}
	for range Max {
		p.Keep(x)
	}
	if n := testing.AllocsPerRun(10*Max, func() { p.Keep(x) }); n > 0.1 {
		t.Errorf("%v allocations for each", n)
	}
}

// Who has a copy sees nothing of what is kept later, also where room is left behind it.
func TestOwners(t *testing.T) {
	numbers := func(p Of[int64]) (all []int64) {
		for x := range p.All() {
			all = append(all, *x)
		}
		return all
	}
	last := func(p Of[int64]) int64 {
		for x := range p.Newest() {
			return *x
		}
		return 0
	}
	keep := func(p *Of[int64], n int64) { p.Keep(&n) }
	var p Of[int64]
	for i := range int64(3 * Max) {
		keep(&p, i+1)
		seen := p.Shared()
		before := numbers(seen)
		other := seen.Shared()
		for j := range i % (Max + 2) { // until all that both had is gone, and own ones take the places of own ones
			keep(&p, 3_000_000+j)
			keep(&other, 4_000_000+j)
		}
		keep(&p, 1_000_000+i)
		keep(&other, 2_000_000+i)
		if !slices.Equal(before, numbers(seen)) {
			t.Fatalf("after %d a copy changed", i)
		}
		if a, b := last(p), last(other); a != 1_000_000+i || b != 2_000_000+i {
			t.Fatalf("the owners' last ones are %d and %d", a, b)
		}
	}
}
