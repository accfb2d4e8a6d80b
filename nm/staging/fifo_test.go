package staging

import (
	"math/rand/v2"
	"testing"
)

// What waits long keeps its order, and a queue that is never empty doesn't keep what was taken.
func TestFIFO(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	var f fifo[int]
	first, next := 0, 0
	for i := range 20000 {
		if n := next - first; n < 50 || n < 100 && r.IntN(2) == 0 {
			f.push(next)
			next++
		} else {
			if got := f.pop(); got != first {
				t.Fatalf("%d instead of %d after %d steps", got, first, i)
			}
			first++
		}
		if f.len() != next-first {
			t.Fatalf("%d instead of %d wait", f.len(), next-first)
		}
		if len(f.items) > 300 {
			t.Fatalf("%d places for %d", len(f.items), f.len())
		}
	}
	for ; first < next; first++ {
		if got := f.pop(); got != first {
			t.Fatalf("%d instead of %d", got, first)
		}
	}
	if f.head != 0 || len(f.items) != 0 {
		t.Errorf("head %d of %d places in an empty queue", f.head, len(f.items))
	}
}
