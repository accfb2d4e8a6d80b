package hopper_test

import (
	"strings"
	"testing"

	"heddle/conf"
	"heddle/conf/conftest"
	"heddle/rm/queue"
)

// A wrong setting of a queue is refused with its key and what is allowed, also where the queue has another order now.
func TestWrongSettingsOfQueues(t *testing.T) {
	for setting, want := range map[string]string{
		"hopper.epsilon=-0.1":         "a number from 0 to 1",
		"hopper.epsilon=1.1":          "a number from 0 to 1",
		"hopper.epsilon=ten":          "a number from 0 to 1",
		"hopper.epsilon=NaN":          "a number from 0 to 1",
		"hopper.beta=1":               "a number from 1.05 to 1.95",
		"hopper.beta=2":               "a number from 1.05 to 1.95",
		"hopper.alpha=-1":             "a number from 0.1 to 10",
		"hopper.alpha-dampening=-0.5": "a number from 0 to 1",
		"hopper.locality-percent=101": "a number from 0 to 100",
	} {
		for _, order := range []string{"hopper", "fifo"} {
			key, value, _ := strings.Cut(setting, "=")
			_, err := queue.ParseCapacity(map[string]string{
				"root.queues": "a", "root.a.capacity": "100", "root.a.ordering-policy": order, "root.a.ordering-policy." + key: value,
			})
			if err == nil || !strings.Contains(err.Error(), "root.a.ordering-policy."+key) || !strings.Contains(err.Error(), "it must be "+want) {
				t.Errorf("%s in a queue with %s: %v", setting, order, err)
			}
		}
	}
}

// So is a wrong one for all queues.
func TestWrongSettingsOfAllQueues(t *testing.T) {
	for _, setting := range []string{"epsilon=-0.1", "epsilon=2", "beta=1", "beta=2", "alpha=-1", "alpha-dampening=-1", "alpha-dampening=1.5", "locality-percent=-3"} {
		name, value, _ := strings.Cut(setting, "=")
		key := "heddle.scheduler.hopper." + name
		c := conftest.With(t, map[string]string{key: value})
		problems := c.Validate().Problems
		found := false
		for _, p := range problems {
			found = found || p.Severity == conf.Error && p.Key == key
		}
		if !found {
			t.Errorf("%s is accepted: %v", setting, problems)
		}
	}
}

// A queue has the settings for all queues, unless it sets them.
func TestSettingsOfQueues(t *testing.T) {
	c := conftest.With(t, map[string]string{
		"heddle.scheduler.hopper.epsilon": "0.3", "heddle.scheduler.hopper.beta": "1.5",
		queue.Prefix + "root.queues": "a,b", queue.Prefix + "root.a.capacity": "50", queue.Prefix + "root.b.capacity": "50",
		queue.Prefix + "root.a.ordering-policy": "hopper", queue.Prefix + "root.a.ordering-policy.hopper.beta": "1.7",
	})
	tree, err := queue.CapacityFromConf(c)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := tree.Find("root.a")
	b, _ := tree.Find("root.b")
	if s := a.OrderingSettings; s["epsilon"] != .3 || s["beta"] != 1.7 || s["locality-percent"] != 3 || s["alpha-dampening"] != .3 || s["alpha"] != 1 {
		t.Errorf("a has %v", s)
	}
	if len(b.OrderingSettings) != 0 {
		t.Errorf("b has %v", b.OrderingSettings)
	}
}

// Ordering policies of Fair queues are YARN's. Another one is refused with the queue, the element and what it may be.
func TestFairQueuesHaveTheirOwnOrders(t *testing.T) {
	for _, order := range []string{"hopper", "eunomia", "choosy", "tsf"} {
		_, err := queue.ParseFair([]byte("<allocations><queue name='a'><schedulingPolicy>" + order + "</schedulingPolicy></queue></allocations>"))
		if err == nil || !strings.Contains(err.Error(), "schedulingPolicy") || !strings.Contains(err.Error(), "it must be fair, drf or fifo") {
			t.Errorf("%s: %v", order, err)
		}
		_, err = queue.ParseFair([]byte("<allocations><queue name='a'><heddle-stage-policy>" + order + "</heddle-stage-policy></queue></allocations>"))
		if err == nil || !strings.Contains(err.Error(), "heddle-stage-policy") {
			t.Errorf("%s as a stage policy: %v", order, err)
		}
	}
}
