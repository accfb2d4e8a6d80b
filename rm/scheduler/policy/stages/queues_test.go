package stages_test

import (
	"strings"
	"testing"

	"heddle/conf"
	"heddle/rm/queue"
	"heddle/rm/queue/leafpolicy"
)

func configured(t *testing.T, keys map[string]string) *conf.Config {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range keys {
		c.Set(key, value)
	}
	return c
}

const stagePolicy = "heddle.scheduler.stage-policy"

// Queues inherit the stage policy, which takes the place of a leaf's order.
func TestQueuesInheritTheStagePolicy(t *testing.T) {
	const p = queue.Prefix
	capacity, err := queue.CapacityFromConf(configured(t, map[string]string{
		stagePolicy: "omo", p + "root.queues": "a,b", p + "root.a.capacity": "50", p + "root.b.capacity": "50", p + "root.a.queues": "x,y",
		p + "root.a.x.capacity": "50", p + "root.a.y.capacity": "50", p + "root.a.heddle-stage-policy": "fresh", p + "root.a.y.heddle-stage-policy": "none",
		p + "root.a.y.ordering-policy": "fair",
	}))
	if err != nil {
		t.Fatal(err)
	}
	fair, err := queue.FairFromText(configured(t, map[string]string{stagePolicy: "omo"}), `<allocations><queue name="b"/>
		<queue name="a"><heddle-stage-policy>fresh</heddle-stage-policy>
			<queue name="x"/><queue name="y"><heddle-stage-policy>none</heddle-stage-policy></queue></queue></allocations>`)
	if err != nil {
		t.Fatal(err)
	}
	for name, tree := range map[string]*queue.Tree{"capacity": capacity, "fair": fair} {
		for path, want := range map[string]string{"root.a.x": "fresh", "root.a.y": "fair", "root.b": "omo"} {
			if q, ok := tree.Find(path); !ok || q.LeafPolicy() != want {
				t.Errorf("%s: %s has %s", name, path, q.LeafPolicy())
			}
		}
	}
	above, _ := fair.Find("root.a")
	if q := fair.Make(above, "z", true); q.LeafPolicy() != "fresh" {
		t.Errorf("a queue that is made has %s", q.LeafPolicy())
	}
	if fallback, err := queue.CapacityFromConf(configured(t, map[string]string{stagePolicy: "fresh"})); err != nil || fallback.Queues()[1].LeafPolicy() != "fresh" {
		t.Errorf("without a file: %v, %v", fallback.Queues()[1].LeafPolicy(), err)
	}
}

// A word that is none is refused with those that are.
func TestUnknownStagePolicy(t *testing.T) {
	_, err := queue.ParseCapacity(map[string]string{"root.queues": "a", "root.a.capacity": "100", "root.a." + leafpolicy.StageKey: "lazy"})
	_, fair := queue.ParseFair([]byte("<allocations><queue name='a'><heddle-stage-policy>lazy</heddle-stage-policy></queue></allocations>"))
	for _, err := range []error{err, fair} {
		if err == nil || !strings.Contains(err.Error(), "one of fresh, none, omo") || !strings.Contains(err.Error(), leafpolicy.StageKey) {
			t.Errorf("%v", err)
		}
	}
	_, err = queue.ParseCapacity(map[string]string{"root.queues": "a", "root.a.capacity": "100", "root.a.ordering-policy": "fresh"})
	if err == nil || !strings.Contains(err.Error(), "one of choosy, eunomia, fair, fifo, fifo-for-pending-apps, fifo-with-partitions, hopper, tsf") {
		t.Errorf("an order that is a stage policy: %v", err)
	}
	report := configured(t, map[string]string{stagePolicy: "lazy"}).Validate()
	if text := problemsText(report.Problems); !strings.Contains(text, "fresh") || !strings.Contains(text, "omo") {
		t.Errorf("%q", text)
	}
}

func problemsText(problems []conf.Problem) (text string) {
	for _, p := range problems {
		if p.Key == stagePolicy && p.Severity == conf.Error {
			text += p.Message
		}
	}
	return text
}
