package queue

import (
	"strings"
	"testing"

	"heddle/conf/conftest"
	"heddle/rm/queue/suspension"
)

// Queues inherit how preemption takes from them.
func TestQueuesInheritMeansOfPreemption(t *testing.T) {
	capacity, err := CapacityFromConf(conftest.With(t, map[string]string{
		"heddle.scheduler.preemption": "suspend", Prefix + "root.queues": "a,b", Prefix + "root.a.capacity": "50", Prefix + "root.b.capacity": "50",
		Prefix + "root.a.queues": "x,y", Prefix + "root.a.x.capacity": "50", Prefix + "root.a.y.capacity": "50",
		Prefix + "root.a.heddle-preemption": "none", Prefix + "root.a.y.heddle-preemption": "suspend-immediate",
		Prefix + "root.a.heddle-preemption-unable": "kill",
	}))
	if err != nil {
		t.Fatal(err)
	}
	fair, err := ParseFair([]byte(`<allocations>
		<queue name="a"><heddle-preemption>none</heddle-preemption><heddle-preemption-unable>kill</heddle-preemption-unable>
			<queue name="x"/><queue name="y"><heddle-preemption>suspend-immediate</heddle-preemption></queue></queue>
		<queue name="b"><heddle-preemption>suspend</heddle-preemption></queue></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tree := range map[string]*Tree{"capacity": capacity, "fair": fair} {
		for path, want := range map[string][2]suspension.Means{
			"root.a": {suspension.Spare, suspension.Kill}, "root.a.x": {suspension.Spare, suspension.Kill}, "root.a.y": {suspension.Immediate, suspension.Kill}, "root.b": {suspension.Graceful, suspension.Spare},
		} {
			if q, ok := tree.Find(path); !ok || q.Means != want[0] || q.Unable != want[1] {
				t.Errorf("%s: %s has %v, and %v where nodes can't suspend", name, path, q.Means, q.Unable)
			}
		}
	}
	above, _ := fair.Find("root.a")
	if q := fair.Make(above, "z", true); q.Means != suspension.Spare || q.Unable != suspension.Kill {
		t.Errorf("a queue that is made has %v and %v", q.Means, q.Unable)
	}
}

// A word that is none is refused with those that are.
func TestUnknownMeansOfPreemption(t *testing.T) {
	for want, key := range map[string]string{"kill, suspend, suspend-immediate, none": suspension.MeansKey, "one of kill, none": suspension.UnableKey} {
		_, err := ParseCapacity(map[string]string{"root.queues": "a", "root.a.capacity": "100", "root.a." + key: "suspends"})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "root.a."+key) {
			t.Errorf("%s: %v", key, err)
		}
		_, err = ParseFair([]byte("<allocations><queue name='a'><" + key + ">suspends</" + key + "></queue></allocations>"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := ParseCapacity(map[string]string{"root.queues": "a", "root.a.capacity": "100", "root.a." + suspension.UnableKey: "suspend"}); err == nil {
		t.Error("what can't suspend is to suspend")
	}
}
