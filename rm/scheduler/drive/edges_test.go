package drive_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

// granted has an application get containers of a GB each on a node of its own, and returns what was decided.
func granted(t *testing.T, d *drive.Driver, queue string, count int32) []drive.Decision {
	t.Helper()
	n := d.AddNode(scheduler.NodeSpec{Host: "n1", Rack: "/r", Capability: gb(int64(count))})
	d.SetAbility(n, drive.Ability{Suspend: true, Shrink: true, Reclaim: true})
	a := d.AddApp(drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 1, Queue: queue, User: "u", AM: gb(1)}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: 1}})
	d.UpdateAsks(a, []scheduler.Ask{{Priority: 1, Name: scheduler.Any, Capability: gb(1), Count: count, RelaxLocality: true, AllocationRequestID: 7}})
	got := slices.DeleteFunc(slices.Clone(d.Step(1000)), func(x drive.Decision) bool { return x.Kind != drive.Allocate })
	if len(got) != int(count) {
		t.Fatalf("it was granted %v", got)
	}
	return got
}

func suspendingQueue(t *testing.T, settings ...string) *queue.Tree {
	t.Helper()
	all := map[string]string{
		"maximum-am-resource-percent": "1", "root.queues": "a", "root.a.capacity": "100", "root.a.user-limit-factor": "9", "root.a.heddle-preemption": "suspend",
	}
	for i := 0; i < len(settings); i += 2 {
		all[settings[i]] = settings[i+1]
	}
	tree, err := queue.ParseCapacity(all)
	if err != nil {
		t.Fatal(err)
	}
	preempt(tree, every, wait, false)
	return tree
}

// Whoever carries out a decision hears which request it answers, and with how much.
func TestGrantsNameTheirRequests(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1)})
	for _, x := range granted(t, d, "root.a", 2) {
		want := drive.Decision{Kind: drive.Allocate, Container: x.Container, Resource: gb(1), Priority: 1, AllocationRequestID: 7, ExecutionType: x.ExecutionType, Locality: scheduler.OffSwitch}
		if x != want {
			t.Errorf("%+v was decided, and not %+v", x, want)
		}
	}
}

// Orders refer to containers by their names. Until its leader has given it one, nothing is done to a container.
func TestContainersWithoutNames(t *testing.T) {
	tree := suspendingQueue(t)
	tree.Settings.Suspension.Most = 1
	d := drive.New(scheduler.Config{Tree: tree, Minimum: gb(1)})
	c := granted(t, d, "root.a", 2)
	h := c[1].Container
	if err := d.Swap(h, 1, drive.AnyRequest); err == nil {
		t.Error("it is to stand still")
	}
	if d.Grow(h, gb(2)) || d.Growing(h) {
		t.Error("it is to grow")
	}
	if d.WasSuspended(h, records.Resource{}, 10, "root.a") {
		t.Error("it was suspended by an earlier leader")
	}
	d.SetPast(h, 9, 9)
	d.Refused(h)
	if left := d.Remembered(); left["past"]+left["suspended"]+left["swaps"] > 0 {
		t.Errorf("of containers without names %v are remembered", left)
	}
	d.Identify(3, 5, true, c[0].Container, h)
	if id := d.ContainerID(h); id.Attempt.Attempt != 3 || id.ID != 6 {
		t.Errorf("the second container of the third attempt's fifth and sixth is called %v", id)
	}
	if err := d.Swap(h, 1, drive.AnyRequest); err != nil {
		t.Errorf("it has a name now, and can't stand still: %v", err)
	}
}

// Without queues there is one for all, and nothing is taken from anybody.
func TestWithoutQueues(t *testing.T) {
	d := drive.New(scheduler.Config{Minimum: gb(1)})
	c := granted(t, d, "default", 2)
	d.Identify(1, 1, true, c[0].Container, c[1].Container)
	if d.Suspends() {
		t.Error("containers are suspended")
	}
	if _, _, ok := d.Loss(c[0].Container); ok {
		t.Error("a container is to go")
	}
	if !d.WasSuspended(c[1].Container, records.Resource{}, 500, "root.a") {
		t.Error("what an earlier leader had suspended can't be taken over")
	}
	returned := int64(0)
	for now := int64(1000); now < 6000; now += 1000 {
		for _, x := range d.Step(now) {
			if x.Kind == drive.Resume {
				returned = now
			}
		}
	}
	if returned != 4000 || d.NextRound() != 0 {
		t.Errorf("what was suspended returns at %d ms, and a round is due at %d", returned, d.NextRound())
	}
}

// There is nothing to divide between queues of YARN's FifoScheduler, whatever is configured for preemption.
func TestRoundsNeedQueues(t *testing.T) {
	tree := queue.Default(queue.FIFO)
	tree.Settings.Preemption.Enabled, tree.Settings.Fair.Preemption, tree.Settings.Suspension.Means = true, true, suspension.Graceful
	d := drive.New(scheduler.Config{Tree: tree, Minimum: gb(1)})
	granted(t, d, "default", 2)
	for now := int64(1000); now < 5000; now += 1000 {
		if out := d.Step(now); len(out) > 0 {
			t.Errorf("at %d ms it was decided %v", now, out)
		}
		if d.NextRound() != 0 {
			t.Errorf("a round is due at %d", d.NextRound())
		}
	}
}

// A round is due only where the scheduler's own preemption is on, whatever is set for the other one's.
func TestRoundsNeedPreemption(t *testing.T) {
	fair, err := queue.ParseFair([]byte(`<allocations><queue name="a"/></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	capacity := suspendingQueue(t)
	for name, x := range map[string]struct {
		tree                        *queue.Tree
		ofCapacity, ofFair, isItDue bool
	}{
		"capacity queues":                        {capacity, true, false, true},
		"capacity queues, and the other is on":   {capacity, false, true, false},
		"Fair queues":                            {fair, false, true, true},
		"Fair queues, where the other is on":     {fair, true, false, false},
		"Fair queues, where no preemption is on": {fair, false, false, false},
	} {
		x.tree.Settings.Preemption.Enabled, x.tree.Settings.Fair.Preemption = x.ofCapacity, x.ofFair
		d := drive.New(scheduler.Config{Tree: x.tree, Minimum: gb(1), Heartbeat: time.Second})
		if d.Step(1000); (d.NextRound() > 1000) != x.isItDue {
			t.Errorf("%s: a round is due at %d", name, d.NextRound())
		}
	}
}

// Queues that can't take what runs are refused, and those that there were stay.
func TestQueuesThatAreRefused(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1)})
	granted(t, d, "root.a", 1)
	fair, err := queue.ParseFair([]byte(`<allocations><queue name="a"/></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SetTree(fair); err == nil || !d.Suspends() {
		t.Errorf("%v; containers are suspended as before: %t", err, d.Suspends())
	}
	if err := d.SetTree(suspendingQueue(t, "root.a.heddle-preemption", "kill")); err != nil || d.Suspends() {
		t.Errorf("%v; containers are suspended: %t", err, d.Suspends())
	}
}

// A node that can't do anything any more is as one of which nothing was said.
func TestAbilitiesAreForgotten(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1)})
	granted(t, d, "root.a", 1)
	if n := d.Remembered()["abilities"]; n != 1 {
		t.Fatalf("%d nodes can do something", n)
	}
	d.SetAbility(0, drive.Ability{})
	if n := d.Remembered()["abilities"]; n != 0 {
		t.Errorf("%d nodes can do something", n)
	}
}

// Who waits to grow is told from who doesn't. A growth says whose container has grown, to what.
func TestGrowthsNameTheirContainers(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1)})
	d.AddApp(drive.AppSpec{AppSpec: scheduler.AppSpec{Queue: "root.a", User: "v", AM: gb(1)}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: 2}})
	x := granted(t, d, "root.a", 3)
	d.Identify(1, 1, true, x[0].Container, x[1].Container, x[2].Container)
	d.Step(2000)
	if !d.Grow(x[1].Container, gb(2)) || !d.Growing(x[1].Container) || d.Growing(x[0].Container) || d.Growing(x[2].Container) {
		t.Errorf("it waits: %t; others do: %t, %t", d.Growing(x[1].Container), d.Growing(x[0].Container), d.Growing(x[2].Container))
	}
	d.Free(x[2].Container)
	want := drive.Decision{Kind: drive.Grow, Container: x[1].Container, App: x[1].App, Resource: gb(2), Priority: 1}
	if got := d.Step(3000); len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// With thousands that wait to grow each is tried but seldom. Those that are new are tried at once.
func TestManyWaitToGrow(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1), Heartbeat: time.Second})
	const many = 1000
	var all []scheduler.ContainerHandle
	for _, x := range granted(t, d, "root.a", many+1) {
		all = append(all, x.Container)
	}
	d.Identify(1, 1, true, all...)
	grown := func(now int64) (out []scheduler.ContainerHandle) {
		for _, x := range d.Step(now) {
			if x.Kind == drive.Grow {
				out = append(out, x.Container)
			}
		}
		return out
	}
	for _, h := range all[:many-1] {
		d.Grow(h, gb(2))
	}
	if got := grown(2000); got != nil {
		t.Fatalf("%v grow without room", got)
	}
	d.Free(all[many]) // there is room for one now
	if got := grown(2003); got != nil {
		t.Errorf("after 3 ms %v grow: all were tried again", got)
	}
	d.Grow(all[many-1], gb(2))
	if got := grown(2003); !slices.Equal(got, all[many-1:many]) {
		t.Errorf("%v grow, and not the new one", got)
	}
	d.Free(all[0])
	if got := grown(2004); !slices.Equal(got, all[1:2]) {
		t.Errorf("after 4 ms %v grow, and not the first one", got)
	}
}

// failures is a leaf policy that counts them.
type failures struct{ ended, failed int }

func (*failures) Ratio(leaf.App) float64                  { return 0 }
func (*failures) Cap(leaf.App) records.Resource           { return leaf.Uncapped() }
func (*failures) Hold(leaf.Ask) (bool, int64)             { return false, math.MaxInt64 }
func (*failures) Granted(leaf.App, leaf.Grant)            {}
func (*failures) Left(handle.App)                         {}
func (*failures) Tick(int64, leaf.Queue) (a []handle.App) { return nil }

func (f *failures) Ended(_ leaf.App, _ leaf.Node, o leaf.Outcome) {
	f.ended++
	if o.Failed {
		f.failed++
	}
}

var counts *failures

func init() {
	leaf.Register("counts-failures", func() leaf.Policy {
		counts = &failures{}
		return counts
	})
}

// Leaf policies learn from containers that end, and less from those that fail.
func TestPoliciesLearnOfFailures(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t, "root.a.ordering-policy", "counts-failures"), Minimum: gb(1)})
	c := granted(t, d, "root.a", 3)
	d.Fail(c[1].Container)
	d.Free(c[2].Container)
	d.Step(2000)
	if *counts != (failures{ended: 2, failed: 1}) {
		t.Errorf("it has learned %+v", *counts)
	}
}

// For how long a container was suspended adds up from one suspension to the next. One that hadn't begun isn't counted, and is left alone for 5 s.
func TestSuspensionsAddUp(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1)})
	x := granted(t, d, "root.a", 2)
	d.Identify(1, 1, true, x[0].Container, x[1].Container)
	h := x[1].Container
	for _, c := range []struct{ at, since, total int64 }{{3000, 500, 2500}, {3000, 3000, 2500}, {4000, 3990, 2510}} {
		d.Step(c.at)
		if !d.WasSuspended(h, records.Resource{}, c.since, "root.a") || !d.Return(h, true) {
			t.Fatalf("at %d it wasn't suspended, or doesn't return", c.at)
		}
		if _, total, _ := d.Past(h); total != c.total {
			t.Errorf("at %d ms it was suspended for %d ms, want %d", c.at, total, c.total)
		}
	}
	before, _, _ := d.Past(h)
	d.WasSuspended(h, records.Resource{}, 4000, "root.a")
	d.NotBegun(h)
	if times, _, later := d.Past(h); times != before || later != 9000 {
		t.Errorf("it was suspended %d times after %d, and is left alone until %d", times, before, later)
	}
}

// A container that an earlier leader granted is as old as it was then.
func TestRestoredContainersKeepTheirAge(t *testing.T) {
	tree := suspendingQueue(t)
	tree.Settings.Suspension.Most, tree.Settings.Suspension.MinimumAge = 1, 10*time.Second
	d := drive.New(scheduler.Config{Tree: tree, Minimum: gb(1)})
	x := granted(t, d, "root.a", 1)
	d.Free(x[0].Container)
	h := d.Restore(x[0].App, 0, gb(1), drive.Container{Attempt: 1, ID: 2, Since: 5000})
	d.Step(14_999)
	if d.Swap(h, 1, drive.AnyRequest) == nil {
		t.Error("a container that is too young is to stand still")
	}
	d.Step(15_000)
	if err := d.Swap(h, 1, drive.AnyRequest); err != nil {
		t.Error(err)
	}
}
