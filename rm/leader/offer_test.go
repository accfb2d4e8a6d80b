package leader

import (
	"math"
	"testing"
	"time"

	"heddle/yarn/records"
)

// Two nodes that offered 2^62 of a type, or three with 2^62 MB, had less than nothing together, and nothing was scheduled any more.
func TestNodesWithoutLimitsDontStopScheduling(t *testing.T) {
	types, err := records.NewResourceTypes(records.ResourceType{Name: "licenses"})
	if err != nil {
		t.Fatal(err)
	}
	runWorld(t, func(s *Settings) {
		s.Types = types
		s.MaxAllocation = records.Resource{8192, 4, math.MaxInt64}
	}, func(w *world) {
		for i := range 3 {
			w.nodeOf(i+1, records.Resource{1 << 62, 1 << 62, math.MaxInt64})
		}
		usual := records.Resource{4096, 4}
		n := &peer{w: w, node: w.nodeOf(4, usual)}
		p := w.am(nil)
		if got := len(p.allocate(AllocateCall{Asks: ask(5)}).Grants); got != 5 {
			t.Errorf("%d containers were granted", got)
		}
		if sum := w.state().Capacity(); sum != (records.Resource{3*records.MaxAmount + 4096, 3*records.MaxAmount + 4, 3 * records.MaxAmount}) {
			t.Errorf("the nodes have %v", sum)
		}
		w.same()
		w.depose() // the next leader counts the same
		w.lead()
		if sum := w.state().Capacity(); sum[0] != 3*records.MaxAmount+4096 {
			t.Errorf("the nodes have %v with the next leader", sum)
		}
		n = &peer{w: w, node: w.nodeOf(4, usual)}
		for range 200 { // the large ones expire
			time.Sleep(time.Second)
			n.heartbeat()
		}
		if sum := w.state().Capacity(); sum != usual {
			t.Errorf("without them the nodes have %v", sum)
		}
	})
}
