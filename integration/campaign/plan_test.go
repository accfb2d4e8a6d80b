package campaign

import (
	"reflect"
	"testing"
)

// A campaign that begins in its middle strikes with the same faults as one that was there from the beginning.
func TestReplayedCampaignsStrikeTheSame(t *testing.T) {
	all := plan(7, 0, 300)
	if got := plan(7, 0, 300); !reflect.DeepEqual(got, all) {
		t.Error("the same seed makes different campaigns")
	}
	if got := plan(7, 120, 300); !reflect.DeepEqual(got, all[12:]) {
		t.Errorf("from fault 120 on: %v", got)
	}
	if got := plan(8, 0, 300); reflect.DeepEqual(got, all) {
		t.Error("another seed makes the same campaign")
	}
	count, machines, witnesses := 0, 0, 0
	for i, ep := range all {
		if ep.machine {
			machines++
		}
		if ep.witness {
			witnesses++
		}
		for k, f := range ep.faults {
			if f.Number != i*perEpisode+k {
				t.Errorf("fault %d of episode %d has the number %d", k, i, f.Number)
			}
			count++
		}
	}
	if count != 300 || machines != 3 || witnesses != 10 {
		t.Errorf("%d faults, %d episodes in virtual machines, %d with a witness; there should be 300, 3 and 10", count, machines, witnesses)
	}
}

func TestEveryKindIsDrawn(t *testing.T) {
	seen := map[string]int{}
	for _, ep := range plan(1, 0, 20000) {
		for _, f := range ep.faults {
			seen[f.Kind]++
		}
	}
	for _, k := range kinds {
		if seen[k.name] == 0 {
			t.Errorf("%q never happens", k.name)
		}
		delete(seen, k.name)
	}
	for _, k := range machineKinds {
		if seen[k.name] == 0 {
			t.Errorf("%q never happens", k.name)
		}
		delete(seen, k.name)
	}
	for name := range seen {
		t.Errorf("nobody knows what %q is", name)
	}
}
