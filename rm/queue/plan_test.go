package queue

import (
	"strings"
	"testing"
)

// Limits and names are those of a stock ResourceManager 3.4.2. There an application that names the plan's path is refused, which is a mistake.
func TestAReservableQueueHasALeaf(t *testing.T) {
	tree, err := ParseCapacity(map[string]string{
		"root.queues": "default,plan", "root.default.capacity": "80", "root.plan.capacity": "20", "root.plan.reservable": "true",
		"maximum-am-resource-percent": "0.5", "root.plan.maximum-am-resource-percent": "0.3",
		"root.plan.maximum-applications": "77", "root.plan.user-limit-factor": "0.5", "root.plan.minimum-user-limit-percent": "50",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plan", "root.plan", "plan-default", "root.plan.plan-default"} {
		path, err := tree.Place(App{ID: "it", Queue: name, User: "alice"}, nil)
		if err != nil || path != "root.plan.plan-default" {
			t.Errorf("an application in %s goes to %q: %v", name, path, err)
		}
	}
	q, _ := tree.Find("plan-default")
	if q.AbsoluteCapacity != 0.2 || q.AbsoluteMaximum != 1 || q.MaxApplications != 77 || q.MaxApplicationsPerUser != 19 || q.UserLimit != 50 ||
		q.UserLimitFactor != 0.5 || q.MaxAMShare != 0 {
		t.Errorf("%+v", q)
	}
	if len(tree.Problems) != 1 || !strings.Contains(tree.Problems[0].Message, "share the whole queue, in root.plan.plan-default") {
		t.Errorf("%v", tree.Problems)
	}
}
