package leafpolicy

import (
	"strings"
	"testing"

	"heddle/conf/conftest"
)

func TestOrders(t *testing.T) {
	AddOrdering("added")
	defer delete(policies, "added")
	for given, want := range map[string]string{
		"fifo": "fifo", "fair": "fair", "added": "added", policyPackage + "FairOrderingPolicy": "fair",
		policyPackage + "FifoOrderingPolicyForPendingApps": "fifo-for-pending-apps",
	} {
		if got, err := ParseOrdering(given); got != want || err != nil {
			t.Errorf("%s: got %q, %v", given, got, err)
		}
	}
	for _, given := range []string{"", "FAIR", "FairOrderingPolicy", policyPackage} { // an order that isn't YARN's has no class
		if got, err := ParseOrdering(given); got != "fifo" || err == nil || !strings.Contains(err.Error(), "added, fair, fifo, fifo-for-pending-apps") {
			t.Errorf("%q: got %q, %v", given, got, err)
		}
	}
}

func TestStages(t *testing.T) {
	was := stages
	defer func() { stages = was }()
	AddStage("fresh")
	if got, err := ParseStage(" fresh "); got != "fresh" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := ParseStage("other"); got != NoStages || err == nil || !strings.Contains(err.Error(), "fresh, none") {
		t.Errorf("got %q, %v", got, err)
	}
	for policy, want := range map[string]bool{"": false, NoStages: false, "fresh": true} {
		if got := IsStage(policy); got != want {
			t.Errorf("%q regards stages: %v", policy, got)
		}
	}
	if got := StageOf(conftest.With(t, map[string]string{"heddle.scheduler.stage-policy": "fresh"})); got != "fresh" {
		t.Errorf("configured is %q", got)
	}
	if got := StageOf(conftest.With(t, nil)); got != NoStages {
		t.Errorf("by default it is %q", got)
	}
}
