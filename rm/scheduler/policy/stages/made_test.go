package stages_test

import (
	"testing"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/eventlog/eventlogtest"
	"heddle/rm/scheduler/policy/stages"
)

// A queue that an application makes by naming it has the policy of those above it, and that knows what it would know in a configured one:
// the time, the outputs of maps, and how fast they are fetched. Here the shuffle takes so long that reduces begin while maps wait.
func TestPolicyOfQueuesThatAreMade(t *testing.T) {
	for name, fetches := range map[string]struct {
		rate  float64
		begin bool
	}{"slowly": {1 << 20, true}, "fast": {1 << 40, false}} {
		for _, queue := range []string{"root.a", "root.made", "root.moved"} {
			t.Run(name+" in "+queue, func(t *testing.T) {
				tree, _, err := source("fair", "omo").Tree()
				if err != nil {
					t.Fatal(err)
				}
				d, err := eventlog.New(scheduler.Config{Tree: tree, Minimum: gb(1)}, nil, nil, eventlog.Header{})
				if err != nil {
					t.Fatal(err)
				}
				d.Apply(&eventlog.Event{Op: eventlog.NoteBandwidth, Part: fetches.rate})
				eventlogtest.AddNode(d, scheduler.NodeSpec{Host: "n", Rack: "/r", Capability: gb(4)})
				at := queue
				if queue == "root.moved" {
					at = "root.a"
				}
				a := eventlogtest.AddApp(d, drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 1, Queue: at, User: "u", Type: stages.Type}})
				d.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: a, Asks: []scheduler.Ask{
					{Priority: 20, Name: scheduler.Any, Capability: gb(1), Count: 60, RelaxLocality: true},
					{Priority: 10, Name: scheduler.Any, Capability: gb(1), Count: 1, RelaxLocality: true},
				}})
				var running []scheduler.ContainerHandle
				begun := false
				step := func(now int64) {
					for _, x := range d.Step(now) {
						if x.Kind == drive.Allocate {
							running, begun = append(running, x.Container), begun || x.Priority == 10
						}
					}
				}
				step(1)
				d.Apply(&eventlog.Event{Op: eventlog.NoteOutputs, App: a, Maps: 2, Bytes: 2 << 30})
				if queue == "root.moved" {
					d.Apply(&eventlog.Event{Op: eventlog.MoveApp, App: a, Queue: queue})
				}
				for now := int64(1000); now <= 6000; now += 1000 {
					done := running
					running = nil
					for _, c := range done {
						d.Apply(&eventlog.Event{Op: eventlog.Free, Container: c})
					}
					step(now)
				}
				if begun != fetches.begin {
					t.Errorf("reduces have begun: %v", begun)
				}
			})
		}
	}
}
