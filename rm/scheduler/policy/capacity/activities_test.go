package capacity_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/schedulertest"
)

// ofQueue, ofApp, ofAsk and onNode are activities as they are expected.
func ofQueue(path string, state explain.ActivityState, why string, below ...explain.Activity) explain.Activity {
	return explain.Activity{Queue: path, App: handle.NoApp, From: handle.NoApp, State: state, Diagnostic: why, Children: below}
}

func ofApp(h handle.App, state explain.ActivityState, why string, below ...explain.Activity) explain.Activity {
	return explain.Activity{App: h, From: handle.NoApp, Priority: 7 * min(1, int32(h)), State: state, Diagnostic: why, Children: below}
}

func ofAsk(h handle.App, ask core.Ask, state explain.ActivityState, why string, below ...explain.Activity) explain.Activity {
	return explain.Activity{App: h, From: handle.NoApp, Ask: &ask, State: state, Diagnostic: why, Children: below}
}

func onNode(state explain.ActivityState, why string) explain.Activity {
	return explain.Activity{App: handle.NoApp, From: handle.NoApp, OnNode: true, State: state, Diagnostic: why}
}

const (
	skipped    = explain.ActivitySkipped
	rejected   = explain.ActivityRejected
	offSwitch  = "Node skipped because of off-switch delay"
	tooFullFor = "Node does not have sufficient resource for request, insufficient resources=[memory-mb]\nrequired=<memory:20480, vCores:20>, available=<memory:10240, vCores:10>"
)

// At a node with 10 of 50 GB left each queue, application and request says, in YARN's words, what keeps it from having room there. Queues
// come in the order in which they are served, applications by priority and submission.
func TestActivities(t *testing.T) {
	for name, x := range map[string]struct {
		settings map[string]string
		before   func(c *cluster)
		want     func(c *cluster) explain.Activity
	}{
		"a full node": {
			before: func(c *cluster) { c.app("root.b", "v", 10, 1) },
			want:   func(*cluster) explain.Activity { return ofQueue("root", rejected, explain.NodeTooFull) },
		},
		"a reserved node": {
			before: func(c *cluster) {
				c.Restore(0, 1, gb(45))
				c.UpdateAsks(0, []core.Ask{row(1, 12)})
				c.Schedule(0)
			},
			want: func(*cluster) explain.Activity { return ofQueue("root", rejected, explain.NodeReserved) },
		},
		"nobody asks": {
			want: func(*cluster) explain.Activity { return ofQueue("root", skipped, explain.QueueIdle) },
		},
		"what is asked for": {
			before: func(c *cluster) {
				c.asking("root.a", "u")
				c.asking("root.a", "u")
				c.asking("root.a", "w")
				c.UpdateAsks(2, []core.Ask{row(1, 20), at(row(1, 20), 4)})
				c.UpdateAsks(3, []core.Ask{row(1, 1), at(row(0, 1), 4), schedulertest.At(at(row(1, 1), 4), "n1")}) // that of priority 4 asks for nothing
			},
			want: func(*cluster) explain.Activity {
				return ofQueue("root", skipped, "",
					ofQueue("root.a", skipped, "",
						ofApp(1, skipped, explain.AppIdle),
						ofApp(2, skipped, "",
							ofAsk(2, row(1, 20), skipped, "", onNode(skipped, tooFullFor)),
							ofAsk(2, at(row(1, 20), 4), skipped, "", onNode(skipped, tooFullFor))),
						ofApp(3, skipped, "", ofAsk(3, row(1, 1), skipped, "", onNode(skipped, offSwitch)))),
					ofQueue("root.b", skipped, explain.QueueIdle))
			},
		},
		"a user above its limit": {
			settings: map[string]string{"root.b.user-limit-factor": "0.5"},
			before:   func(c *cluster) { c.asking("root.b", "hog", row(1, 1)); c.asking("root.b", "v", row(1, 1)) },
			want: func(*cluster) explain.Activity {
				return ofQueue("root", skipped, "", ofQueue("root.a", skipped, explain.QueueIdle),
					ofQueue("root.b", skipped, "",
						ofApp(1, rejected, explain.UserAtLimit),
						ofApp(2, skipped, "", ofAsk(2, row(1, 1), skipped, "", onNode(skipped, offSwitch))),
						ofApp(0, rejected, explain.UserAtLimit)))
			},
		},
		"a queue at its maximum": {
			settings: map[string]string{"root.b.maximum-capacity": "40"},
			before:   func(c *cluster) { c.asking("root.b", "v", row(1, 1)) },
			want: func(*cluster) explain.Activity {
				return ofQueue("root", skipped, "", ofQueue("root.a", skipped, explain.QueueIdle),
					ofQueue("root.b", rejected, explain.QueueAtMaximum, ofApp(1, rejected, explain.QueueAtMaximum)))
			},
		},
		"a request that blocks its queue": {
			settings: map[string]string{"root.b.maximum-capacity": "55"},
			before: func(c *cluster) {
				c.asking("root.b", "v", row(1, 20), at(row(1, 1), 4))
				c.asking("root.b", "w", row(1, 1))
			},
			want: func(*cluster) explain.Activity {
				b := ofQueue("root.b", rejected, explain.QueueBlocked,
					ofApp(1, rejected, "", ofAsk(1, row(1, 20), rejected, explain.QueueBlocked)))
				b.From = 1
				return ofQueue("root", skipped, "", ofQueue("root.a", skipped, explain.QueueIdle), b)
			},
		},
		"a request that is larger than the maximum": {
			settings: map[string]string{"root.b.maximum-capacity": "55"},
			before:   func(c *cluster) { c.asking("root.b", "v", row(1, 60), at(row(1, 1), 4)) },
			want: func(*cluster) explain.Activity {
				return ofQueue("root", skipped, "", ofQueue("root.a", skipped, explain.QueueIdle),
					ofQueue("root.b", skipped, "",
						ofApp(1, skipped, "", ofAsk(1, row(1, 60), rejected, explain.QueueBlocked),
							ofAsk(1, at(row(1, 1), 4), skipped, "", onNode(skipped, offSwitch))),
						ofApp(0, skipped, explain.AppIdle)))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 2, x.settings)
			c.app("root.b", "hog", 40, 0)
			if x.before != nil {
				x.before(c)
			}
			before := c.Changes
			if diff := cmp.Diff(x.want(c), c.p.Activities(0)); diff != "" {
				t.Errorf("(- wanted, + told)\n%s", diff)
			}
			if c.Changes != before {
				t.Error("who looks has changed something")
			}
		})
	}
}

// Of a queue that holds queues, and is at its maximum, no application is told.
func TestActivitiesOfAFamilyAtItsMaximum(t *testing.T) {
	c := start(t, 1, families)
	h := c.active("root.p.y", "u", 0, 60)
	c.Schedule(0)
	c.UpdateAsks(h, []core.Ask{row(1, 1)})
	want := ofQueue("root", skipped, "", ofQueue("root.c", skipped, explain.QueueIdle), ofQueue("root.p", rejected, explain.QueueAtMaximum))
	if diff := cmp.Diff(want, c.p.Activities(0)); diff != "" {
		t.Errorf("(- wanted, + told)\n%s", diff)
	}
}

// asking enters an application of priority 7, has it become active, and lets it ask for something that isn't decided on yet.
func (c *cluster) asking(path, user string, rows ...core.Ask) {
	c.apps++
	h := c.AddApp(core.AppSpec{Queue: path, User: user, Seq: c.apps, Priority: 7, AM: gb(1)})
	c.Schedule(0)
	c.UpdateAsks(h, rows)
}

// at is a row of another priority.
func at(r core.Ask, priority int32) core.Ask {
	r.Priority = priority
	return r
}
