package leader

import (
	"slices"
	"testing"
	"time"

	"heddle/rm/leader/hints"
	"heddle/rm/leader/speed"
	"heddle/yarn/records"
)

// ApplicationMasters that want to know are told once how often containers of their queue are released, and which levels nodes have by what
// all of them have reported.
func TestHintsAndLevels(t *testing.T) {
	run(t, func(w *world) {
		n1 := &peer{w: w, node: w.nodeOf(1, records.NewResource(32768, 32))}
		w.nodeOf(2, records.NewResource(256, 1)) // too small for a container
		one, other := w.am(nil), w.am(nil)
		mine := one.allocate(AllocateCall{Asks: ask(4), WantsHints: true}).Grants
		theirs := other.allocate(AllocateCall{Asks: ask(2)}).Grants
		var here []NodeContainer
		for _, g := range slices.Concat(mine, theirs) {
			if g.Node == n1.node {
				here = append(here, runs(g.ID))
			}
		}
		n1.heartbeat(here...)
		time.Sleep(11 * time.Second) // a window begins
		for range 5 {                // both go on saying that they live
			n1.heartbeat(here...)
			one.allocate(AllocateCall{WantsHints: true})
		}
		other.allocate(AllocateCall{Releases: []records.ContainerID{theirs[0].ID}})
		one.allocate(AllocateCall{Stages: &StageReport{Containers: hints.Report{Released: 9, Available: 4}}, WantsHints: true})
		time.Sleep(11 * time.Second)
		r := one.allocate(AllocateCall{WantsHints: true})
		// One has ended in 10 s, and nine have become free, after a window in which nothing happened.
		if r.Hints.Jobs != 2 || r.Hints.Frequency < 0.4 || r.Hints.Frequency > 0.55 || r.Hints.Available < 4 || r.Hints.Available > 6 {
			t.Errorf("hints %+v", r.Hints)
		}
		if again := one.allocate(AllocateCall{WantsHints: true}); again.Hints != (hints.Hints{}) {
			t.Errorf("told again: %+v", again.Hints)
		}
		if r := other.allocate(AllocateCall{}); r.Hints != (hints.Hints{}) || r.Classes != nil {
			t.Errorf("told who doesn't ask: %+v", r)
		}

		one.allocate(AllocateCall{Performance: []speed.Report{{Host: "n1", Tasks: 4, Mean: 10}, {Host: "n2", Tasks: 4, Mean: 30}, {Host: "n9", Tasks: 4, Mean: 1}}})
		time.Sleep(11 * time.Second)
		want := []speed.Class{{Host: "n1", Class: 2}, {Host: "n2", Class: 1}}
		if r := other.allocate(AllocateCall{WantsClasses: true}); !slices.Equal(r.Classes, want) {
			t.Errorf("levels %v, want %v", r.Classes, want)
		}
		if r := other.allocate(AllocateCall{WantsClasses: true}); r.Classes != nil {
			t.Errorf("told again: %v", r.Classes)
		}
		if err := w.UnregisterNode(nodeID(2), atHome); err != nil {
			t.Fatal(err)
		}
		w.nodeOf(2, records.NewResource(256, 1))
		time.Sleep(11 * time.Second)
		if r := other.allocate(AllocateCall{WantsClasses: true}); !slices.Contains(r.Classes, speed.Class{Host: "n2"}) {
			t.Errorf("levels when another machine has come: %v", r.Classes)
		}
	})
}
