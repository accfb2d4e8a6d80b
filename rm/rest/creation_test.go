package rest

import (
	"encoding/json"
	"testing"
)

// The answers are those of a stock ResourceManager 3.4.2 with the same queues.
func TestCreationOfQueuesIsShown(t *testing.T) {
	const cs = "yarn.scheduler.capacity."
	c := start(t, 1, cs+"root.queues=default,plan,man,flex", cs+"root.default.capacity=10", cs+"root.plan.capacity=20", cs+"root.plan.reservable=true",
		cs+"root.man.capacity=30", cs+"root.man.auto-create-child-queue.enabled=true", cs+"root.man.leaf-queue-template.capacity=30",
		cs+"root.flex.capacity=40", cs+"root.flex.auto-queue-creation-v2.enabled=true", cs+"root.flex.auto-queue-creation-v2.template.capacity=6w")
	var got struct {
		Scheduler struct {
			Info struct {
				Queues struct {
					Queue []struct {
						QueueName    string
						Mode         string
						QueueType    string
						Eligible     string          `json:"autoCreationEligibility"`
						Legacy       bool            `json:"autoCreateChildQueueEnabled"`
						LeafTemplate json.RawMessage `json:"leafQueueTemplate"`
						Template     json.RawMessage `json:"autoQueueTemplateProperties"`
						Hidden       bool            `json:"hideReservationQueues"`
						Queues       struct {
							Queue []struct {
								QueuePath, QueueType       string
								Capacity, AbsoluteCapacity float64
								Capacities                 struct {
									By []struct{ MaxAMLimitPercentage float64 } `json:"queueCapacitiesByPartition"`
								}
							}
						}
					}
				}
			} `json:"schedulerInfo"`
		}
	}
	a := c.ask(c.leader(), "GET", "/ws/v1/cluster/scheduler", "")
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	type kind struct {
		eligible     string
		legacy       bool
		leaves, more string
		below        int
	}
	want := map[string]kind{
		"default": {"off", false, "{}", "{}", 0},
		"plan":    {"off", false, "{}", "{}", 1},
		"man":     {"legacy", true, `{"property":[{"name":"leaf-queue-template.capacity","value":"30"}]}`, "{}", 0},
		"flex":    {"flexible", false, "{}", `{"property":[{"name":"capacity","value":"6w"}]}`, 0},
	}
	if n := len(got.Scheduler.Info.Queues.Queue); n != len(want) {
		t.Fatalf("%d queues: %s", n, a.body)
	}
	for _, q := range got.Scheduler.Info.Queues.Queue {
		is := kind{q.Eligible, q.Legacy, string(q.LeafTemplate), string(q.Template), len(q.Queues.Queue)}
		if is != want[q.QueueName] {
			t.Errorf("%s: %+v, want %+v", q.QueueName, is, want[q.QueueName])
		}
		if q.QueueName == "plan" && len(q.Queues.Queue) == 1 {
			leaf := q.Queues.Queue[0]
			if !q.Hidden || leaf.QueuePath != "root.plan.plan-default" || leaf.QueueType != "leaf" || leaf.Capacity != 100 || leaf.AbsoluteCapacity != 20 ||
				len(leaf.Capacities.By) != 1 || leaf.Capacities.By[0].MaxAMLimitPercentage != 0 {
				t.Errorf("%+v", leaf)
			}
		}
	}
}
