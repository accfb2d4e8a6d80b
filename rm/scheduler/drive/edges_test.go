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
	"heddle/yarn/pb"
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
	d.Refused(h, true)
	d.Refused(h, false)
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
	if d.WasSuspended(h, gb(5), 10, "root.a") {
		t.Error("it was suspended with more than it claims")
	}
	d.Refused(h, false)
	if times, _, later := d.Past(h); times != 0 || later != 6000 {
		t.Errorf("it was suspended %d times, and is left alone until %d", times, later)
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

// Without an interval a round is due each ms, and not without end at the same time.
func TestRoundsWithoutInterval(t *testing.T) {
	tree := suspendingQueue(t)
	tree.Settings.Preemption.Interval = 0
	d := drive.New(scheduler.Config{Tree: tree, Minimum: gb(1), Heartbeat: time.Second})
	if d.Step(1000); d.NextRound() != 1001 {
		t.Errorf("a round is due at %d", d.NextRound())
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
	d.Refused(h, false)
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

// Whether there is room is tried with each heartbeat of nodes, or each second where nothing is said of heartbeats.
func TestTriesFollowTheHeartbeat(t *testing.T) {
	for heartbeat, every := range map[time.Duration]int64{0: 1000, -time.Second: 1000, 250 * time.Millisecond: 250, time.Millisecond: 1} {
		tree := suspendingQueue(t)
		tree.Settings.Preemption.Interval = time.Hour
		d := drive.New(scheduler.Config{Tree: tree, Minimum: gb(1), Heartbeat: heartbeat})
		x := granted(t, d, "root.a", 2)
		d.Identify(1, 1, true, x[0].Container, x[1].Container)
		d.Step(1500)
		d.WasSuspended(x[1].Container, records.Resource{}, 1500, "root.b")
		var tries []int64
		for len(tries) < 3 {
			if since, by, ok := d.Suspended(x[1].Container); !ok || since != 1500 || by != "root.b" {
				t.Fatalf("heartbeats of %v: after %v it is suspended: %t, since %d for %s", heartbeat, tries, ok, since, by)
			}
			tries = append(tries, d.NextRound())
			d.Step(d.NextRound())
		}
		if want := []int64{1500 + every, 1500 + 2*every, 1500 + 3*every}; !slices.Equal(tries, want) {
			t.Errorf("heartbeats of %v: it is tried at %v, want %v", heartbeat, tries, want)
		}
		if since, by, ok := d.Suspended(x[1].Container); ok || since != 0 || by != "" {
			t.Errorf("heartbeats of %v: after %v it is suspended since %d for %q", heartbeat, tries, since, by)
		}
	}
}

// What is granted for opportunistic requests is told from what is guaranteed.
func TestGrantsNameTheirExecution(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1)})
	d.AddNode(scheduler.NodeSpec{Host: "n1", Rack: "/r", Capability: gb(2)})
	a := d.AddApp(drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 1, Queue: "root.a", User: "u", AM: gb(1)}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: 1}})
	d.UpdateAsks(a, []scheduler.Ask{{Priority: 1, Name: scheduler.Any, Capability: gb(1), Count: 1, RelaxLocality: true, ExecutionType: pb.ExecutionType_OPPORTUNISTIC}})
	out := d.Step(1000)
	if i := slices.IndexFunc(out, func(x drive.Decision) bool { return x.Kind == drive.Allocate }); i < 0 || out[i].ExecutionType != pb.ExecutionType_OPPORTUNISTIC {
		t.Errorf("%+v was decided", out)
	}
}

// Of a container without memory no MB is left out when its room is set aside, but a vcore. It goes on like others, also where its node becomes too
// small for it meanwhile, and nobody else runs there.
func TestSuspensionWithoutMemory(t *testing.T) {
	for shrinks, want := range map[bool]string{false: "its node had room for it 3 times in a row", true: "nothing else runs where it lacks room"} {
		core := records.NewResource(0, 1)
		d := drive.New(scheduler.Config{
			Tree: suspendingQueue(t, "resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"), Minimum: core, Heartbeat: time.Second,
		})
		x := granted(t, d, "root.a", 2)
		d.Free(x[1].Container)
		h := d.Restore(x[0].App, 0, core, drive.Container{Attempt: 1, ID: 2, Since: 1000})
		if !d.WasSuspended(h, records.Resource{}, 1000, "root.a") {
			t.Fatal("it can't be suspended")
		}
		if shrinks {
			d.At(0).SetCapability(0, records.Resource{})
			d.Free(x[0].Container)
		}
		var reasons []string
		for now := int64(2000); now < 8000; now += 1000 {
			for _, s := range d.Step(now) {
				if s.Kind > drive.Kill {
					reasons = append(reasons, s.Reason)
				}
			}
		}
		if !slices.Equal(reasons, []string{want}) || d.Held(h) != core {
			t.Errorf("it holds %v, as %q", d.Held(h), reasons)
		}
	}
}

// Two containers that run with part of their claims on a node that has become too small for each of them make room for each other some day. When they
// have been so for as long as may be, nobody waits for that any more: one has its claim, and then the other.
func TestPartsOfClaims(t *testing.T) {
	tree := suspendingQueue(t, "resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	tree.Settings.Suspension.Longest, tree.Settings.Suspension.Tries, tree.Settings.Preemption.Interval = 10*time.Second, 2, time.Hour
	d := drive.New(scheduler.Config{Tree: tree, Minimum: gb(1), Heartbeat: time.Second})
	x := granted(t, d, "root.a", 6)
	for i := range x {
		d.Free(x[i].Container)
	}
	var all []scheduler.ContainerHandle
	for i := range int64(2) {
		h := d.Restore(x[0].App, 0, gb(3), drive.Container{Attempt: 1, ID: 10 + i, Since: 1000})
		if !d.WasSuspended(h, records.NewResource(64, 1), 1000, "root.a") {
			t.Fatal("it can't be shrunk")
		}
		all = append(all, h)
	}
	d.At(0).SetCapability(0, records.NewResource(2048, 6))
	step := func(now int64, want ...drive.Kind) {
		t.Helper()
		out := d.Step(now)
		got := make([]drive.Kind, len(out))
		for i := range out {
			got[i] = out[i].Kind
		}
		if !slices.Equal(got, want) {
			t.Fatalf("at %d ms it was decided %+v", now, out)
		}
	}
	step(2000)
	step(10_999)
	if d.Return(all[0], false) {
		t.Error("one goes on, and the other could make room")
	}
	step(11_000, drive.Shrink, drive.Shrink, drive.Charge)
	if d.Return(all[0], false) || d.Return(all[1], false) {
		t.Error("one goes on, and the other runs with what it has")
	}
	step(12_000)
	step(13_000, drive.Resume)
	if d.Held(all[0]) != gb(3) || d.Held(all[1]) == gb(3) {
		t.Errorf("they hold %v and %v", d.Held(all[0]), d.Held(all[1]))
	}
	step(20_000)
	d.Free(all[0])
	step(21_000, drive.Shrink, drive.Charge)
	step(22_000, drive.Resume)
}

// Whom somebody else has run with little makes room some day. Whom somebody else has stand still doesn't, so nobody waits for that.
func TestLittleIsNotNothing(t *testing.T) {
	tree := suspendingQueue(t, "resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	tree.Settings.Preemption.Interval = time.Hour
	d := drive.New(scheduler.Config{Tree: tree, Minimum: gb(1), Heartbeat: time.Second})
	x := granted(t, d, "root.a", 2)
	d.Identify(1, 1, false, x[0].Container, x[1].Container)
	other, h := x[0].Container, x[1].Container
	d.At(0).SetCapability(0, records.NewResource(512, 2))
	d.WasSuspended(other, records.Resource{}, 1000, "root.a")
	if out := d.Step(1500); len(out) > 0 || !d.Return(other, true) {
		t.Fatalf("it was decided %+v", out)
	}
	d.Of(other).NoteHeld(other, records.NewResource(0, 1)) // it has stood still before
	d.WasSuspended(h, records.Resource{}, 1000, "root.a")
	for now := int64(2000); now < 10_000; now += 1000 {
		if out := d.Step(now); len(out) > 0 {
			t.Fatalf("at %d ms it was decided %+v", now, out)
		}
	}
	d.Of(other).NoteHeld(other, records.Resource{})
	if out := d.Step(10_000); len(out) != 1 || out[0].Kind != drive.Charge || out[0].Container != h {
		t.Errorf("it was decided %+v", out)
	}
}

// What is suspended stands still, also where its claim was made as small as what it holds.
func TestClaimsOfTheSuspended(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1)})
	x := granted(t, d, "root.a", 2)
	d.Identify(1, 1, true, x[0].Container, x[1].Container)
	h := x[1].Container
	if !d.WasSuspended(h, records.NewResource(512, 1), 1000, "root.b") || !d.Of(h).ResizeContainer(h, records.NewResource(512, 1)) {
		t.Fatal("it isn't suspended, or can't claim less")
	}
	if err := d.Swap(h, 1, drive.AnyRequest); err == nil {
		t.Error("it can be suspended twice")
	}
}

// Who was suspended for an application of another queue can't be taken back by its own, after that has moved to that queue.
func TestMovesTakeNothingBack(t *testing.T) {
	tree, err := queue.ParseCapacity(map[string]string{
		"maximum-am-resource-percent": "1", "root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "root.a.user-limit-factor": "9", "root.b.user-limit-factor": "9",
		"root.a.heddle-preemption": "suspend-immediate", "root.b.heddle-preemption": "suspend-immediate",
	})
	if err != nil {
		t.Fatal(err)
	}
	preempt(tree, time.Hour, wait, false)
	d := drive.New(scheduler.Config{Tree: tree, Minimum: gb(1), Heartbeat: time.Second})
	x := granted(t, d, "root.a", 2)
	d.Identify(1, 1, true, x[0].Container, x[1].Container)
	other := d.AddApp(drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 2, Queue: "root.b", User: "u", AM: gb(1)}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: 2}})
	d.UpdateAsks(other, []scheduler.Ask{{Priority: 1, Name: scheduler.Any, Capability: gb(1), Count: 1, RelaxLocality: true}})
	var got drive.Decision
	for _, s := range d.Step(2000) {
		if s.Kind == drive.Allocate {
			got = s
		}
	}
	if _, by, ok := d.Suspended(x[1].Container); !ok || by != "root.b" || got.App != other {
		t.Fatalf("it is suspended: %t, for %s; %+v was granted", ok, by, got)
	}
	d.MoveApp(x[0].App, "root.b")
	d.Unswap(x[1].Container)
	d.Free(got.Container)
	for _, s := range d.Step(2010) {
		if s.Kind == drive.Resume {
			t.Errorf("it goes on at once: %+v", s)
		}
	}
}

// The more containers there are, the longer is the pause between two rounds for requests that find no room: a ms for each 200 of them.
func TestPausesOfRounds(t *testing.T) {
	for many, pause := range map[int32]int64{199: 50, 200: 51, 399: 51, 400: 52, 995: 54, 1000: 55} {
		tree := suspendingQueue(t, "root.queues", "a,b", "root.a.capacity", "50", "root.b.capacity", "50")
		tree.Settings.Preemption.Interval, tree.Settings.Suspension.MinimumAge = time.Hour, time.Hour
		d := drive.New(scheduler.Config{Tree: tree, Minimum: gb(1), Heartbeat: time.Second})
		granted(t, d, "root.a", many)
		a := d.AddApp(drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 2, Queue: "root.b", User: "u", AM: gb(1)}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: 2}})
		for i := range int32(2) {
			d.UpdateAsks(a, []scheduler.Ask{{Priority: 1, Name: scheduler.Any, Capability: gb(1), Count: 1 + i, RelaxLocality: true}})
			d.Step(2000 + int64(i))
		}
		if got := d.NextRound() - 2000; got != pause {
			t.Errorf("with %d containers it is %d ms, want %d", many, got, pause)
		}
	}
}

// A log in which rounds stand as events of their own is replayed without rounds.
func TestPlaceRunsNoRounds(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1)})
	n := d.AddNode(scheduler.NodeSpec{Host: "n1", Rack: "/r", Capability: gb(1)})
	a := d.AddApp(drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 1, Queue: "root.a", User: "u", AM: gb(1)}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: 1}})
	d.UpdateAsks(a, []scheduler.Ask{{Priority: 1, Name: scheduler.Any, Capability: gb(1), Count: 1, RelaxLocality: true}})
	got := slices.DeleteFunc(slices.Clone(d.Place(1000)), func(x drive.Decision) bool { return x.Kind != drive.Allocate })
	if len(got) != 1 || got[0].App != a || got[0].Node != n {
		t.Fatalf("it was decided %+v", got)
	}
	if again := d.Place(2000); len(again) > 0 || d.NextRound() != 0 {
		t.Errorf("it was decided %+v, and a round is due at %d", again, d.NextRound())
	}
	d.Identify(1, 1, true, got[0].Container)
	if !d.WasSuspended(got[0].Container, records.Resource{}, 2000, "root.a") || d.NextRound() != 3000 {
		t.Errorf("it is tried whether there is room at %d", d.NextRound())
	}
}

// An application that was entered anew under its name stays known when the old one goes.
func TestApplicationsEnteredAnew(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1)})
	spec := drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 1, Queue: "root.a", User: "u", AM: gb(1)}, ID: records.ApplicationID{ClusterTimestamp: 1, ID: 1}}
	old, now := d.AddApp(spec), d.AddApp(spec)
	d.RemoveApp(old)
	if n := d.Remembered()["applications"]; n != 1 {
		t.Errorf("%d applications are known", n)
	}
	d.RemoveApp(now)
	if n := d.Remembered()["applications"]; n != 0 {
		t.Errorf("%d applications are known when all have gone", n)
	}
}

// A container that fails while it is suspended is forgotten as one that ends. The container of an ApplicationMaster is known as such to a new leader.
func TestFailuresAndMasters(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1)})
	x := granted(t, d, "root.a", 2)
	d.Identify(1, 1, true, x[0].Container, x[1].Container)
	d.WasSuspended(x[1].Container, records.Resource{}, 1000, "root.a")
	d.Grow(x[1].Container, gb(2))
	d.Fail(x[1].Container)
	d.Step(2000)
	if left := d.Remembered(); left["suspended"]+left["past"]+left["growing"] > 0 {
		t.Errorf("%v are remembered", left)
	}
	h := d.Restore(x[0].App, 0, gb(1), drive.Container{Attempt: 2, ID: 1, AM: true})
	if err := d.Swap(h, 1, drive.AnyRequest); err == nil || err.Error() != "it runs the ApplicationMaster" {
		t.Errorf("%v", err)
	}
}

// Bounds are reached at their values, and not after them.
func TestBoundsAreReached(t *testing.T) {
	tree := suspendingQueue(t)
	tree.Settings.Suspension.Longest, tree.Settings.Preemption.Interval = 10*time.Second, time.Hour
	d := drive.New(scheduler.Config{Tree: tree, Minimum: gb(1), Heartbeat: time.Second})
	x := granted(t, d, "root.a", 2)
	d.Identify(1, 1, true, x[0].Container, x[1].Container)
	h := x[1].Container
	d.SetPast(h, 1, 10_000)
	if d.Swap(h, 1, drive.AnyRequest) == nil {
		t.Error("it was suspended for as long as may be, and can be suspended")
	}
	d.SetPast(h, 1, 9999)
	if err := d.Swap(h, 1, drive.AnyRequest); err != nil {
		t.Error(err)
	}
	d.Unswap(h)
	d.SetPast(h, 1, 20_000)
	d.WasSuspended(h, records.Resource{}, 2000, "root.a")
	if out := d.Step(2000); len(out) != 1 || out[0].Kind != drive.Resume {
		t.Errorf("it was suspended for more than may be before, and it was decided %+v", out)
	}
}

// A container that waits to grow, and is entered anew before its old place is free, waits on.
func TestGrowthsMove(t *testing.T) {
	d := drive.New(scheduler.Config{Tree: suspendingQueue(t), Minimum: gb(1)})
	x := granted(t, d, "root.a", 3)
	d.Identify(1, 1, true, x[0].Container, x[1].Container)
	d.Free(x[2].Container)
	d.Grow(x[1].Container, gb(3))
	h := d.Restore(x[0].App, 0, gb(1), drive.Container{Attempt: 1, ID: 2, Since: 1000})
	if !d.Growing(h) || d.Growing(x[1].Container) {
		t.Errorf("the new one waits: %t; the old one: %t", d.Growing(h), d.Growing(x[1].Container))
	}
	d.Free(x[1].Container)
	if !d.Growing(h) {
		t.Error("it doesn't wait any more")
	}
}

// Where an earlier leader has set the room of a container aside, there is nothing to charge.
func TestRoomThatWasSetAside(t *testing.T) {
	tree := suspendingQueue(t)
	tree.Settings.Preemption.Interval = time.Hour
	d := drive.New(scheduler.Config{Tree: tree, Minimum: gb(1), Heartbeat: time.Second})
	x := granted(t, d, "root.a", 2)
	d.Identify(1, 1, true, x[0].Container, x[1].Container)
	d.WasSuspended(x[1].Container, records.NewResource(1023, 1), 1000, "root.a")
	for now := int64(1100); now < 4000; now += 100 {
		for _, s := range d.Step(now) {
			if s.Kind != drive.Resume || now < 3000 {
				t.Errorf("at %d ms it was decided %+v", now, s)
			}
		}
	}
}
