package leaf_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

// spy writes down what it is told. It holds what is asked for at priority 10 for ever, lets applications have at most cap, and says with each
// tick that all of them have changed.
type spy struct {
	cap     records.Resource
	granted []leaf.Grant
	noted   []leaf.Note // that it gets back as containers end
	asked   []leaf.Ask
	outputs int
	left    []handle.App
	queue   leaf.Queue
}

func (*spy) Ratio(leaf.App) float64          { return 0 }
func (p *spy) Cap(leaf.App) records.Resource { return p.cap }
func (*spy) Hold(k leaf.Ask) (bool, int64)   { return k.Priority == 10, math.MaxInt64 }

func (p *spy) Granted(_ leaf.App, g leaf.Grant) {
	*g.Note, g.Note = leaf.Note(g.Container)+100, nil
	g.Ask.App = copied(g.Ask.App)
	p.granted = append(p.granted, g)
}

func (p *spy) Asked(k leaf.Ask) {
	k.App = copied(k.App)
	p.asked = append(p.asked, k)
}

// copied is an application as it is now: what it has and asks for changes later.
func copied(a leaf.App) leaf.App {
	if a.Used != nil {
		a.Used, a.Pending = new(*a.Used), new(*a.Pending)
	}
	return a
}

func (p *spy) Ended(_ leaf.App, _ leaf.Node, o leaf.Outcome) {
	p.noted = append(p.noted, o.Note-leaf.Note(o.Container))
}
func (p *spy) Left(a handle.App)                       { p.left = append(p.left, a) }
func (p *spy) Outputs(leaf.App, int64, int64)          { p.outputs++ }
func (p *spy) Tick(_ int64, q leaf.Queue) []handle.App { p.queue = q; return []handle.App{0, 1} }

var watching *spy

func init() {
	leaf.Register("spy", func() leaf.Policy {
		watching = &spy{cap: leaf.Uncapped()}
		return watching
	})
}

// A policy is told of each container with the application, the request and the node that it is for, also by a leader that comes later.
func TestWhatAPolicyIsToldOfContainers(t *testing.T) {
	d := driver(t, "spy", 20)
	h := app(d, 7)
	d.UpdateAsks(h, []scheduler.Ask{row(3, 2, 2)})
	_, held := grants(d, 5)
	if len(held) != 2 {
		t.Fatalf("%d containers were granted", len(held))
	}
	node := leaf.Node{}
	has := func(containers int32, used, pending int64) leaf.App {
		return leaf.App{Handle: h, Seq: 7, User: "u", Weight: 1, Containers: containers, Used: new(gb(used)), Pending: new(gb(pending))}
	}
	of := func(a leaf.App, count int32) leaf.Ask {
		return leaf.Ask{App: a, Priority: 3, Count: count, Capability: gb(2), Work: nodeset.WorkOf(0)}
	}
	want := []leaf.Grant{
		{Container: held[0], Node: node, Resource: gb(2), Since: 5, Ask: of(has(1, 2, 2), 1)},
		{Container: held[1], Node: node, Resource: gb(2), Since: 5, Ask: of(has(2, 4, 0), 0)},
	}
	if diff := cmp.Diff(want, watching.granted); diff != "" {
		t.Errorf("(- wanted, + told)\n%s", diff)
	}
	watching.granted = nil
	restored := d.Scheduler.Restore(h, 0, gb(3), 4, 1234)
	a := has(3, 7, 0)
	want = []leaf.Grant{{
		Container: restored, Node: node, Resource: gb(3), Since: 1234, Restored: true, Ask: leaf.Ask{App: a, Priority: 4, Capability: gb(3)},
	}}
	if diff := cmp.Diff(want, watching.granted); diff != "" {
		t.Errorf("(- wanted, + told of a restored one)\n%s", diff)
	}
	for _, c := range append(held, restored) {
		d.Scheduler.Free(c)
	}
	if diff := cmp.Diff([]leaf.Note{100, 100, 100}, watching.noted); diff != "" {
		t.Errorf("(- noted, + told at the end)\n%s", diff)
	}
}

// A policy is told what the leaf has, in as many types of resources as are measured.
func TestWhatAPolicyIsToldOfItsLeaf(t *testing.T) {
	for calculator, types := range map[string]int{"DefaultResourceCalculator": 1, "DominantResourceCalculator": 2} {
		x, err := queue.ParseCapacity(map[string]string{
			"root.queues": "a", "root.a.capacity": "100", "root.a.ordering-policy": "spy", "root.a.user-limit-factor": "100",
			"resource-calculator": "org.apache.hadoop.yarn.util.resource." + calculator,
		})
		if err != nil {
			t.Fatal(err)
		}
		d := driver(t, "spy", 20)
		if err := d.SetTree(x); err != nil {
			t.Fatal(err)
		}
		h := app(d, 1)
		d.UpdateAsks(h, []scheduler.Ask{row(3, 2, 2), row(10, 1, 1)})
		grants(d, 1)
		grants(d, 2)
		got := watching.queue
		if got.Path != "root.a" || got.Types != types || got.Used[records.Memory] != 4<<10 || got.Pending[records.Memory] != 1<<10 || got.Active != 1 {
			t.Errorf("by %s the policy was told %+v", calculator, got)
		}
	}
}

// A policy that comes to a leaf is told what is asked for there, and what maps have put out only if they have put out anything.
func TestWhatANewPolicyIsTold(t *testing.T) {
	d := driver(t, "fifo", 4)
	quiet, busy := app(d, 1), app(d, 2)
	for _, h := range []handle.App{quiet, busy} {
		d.UpdateAsks(h, []scheduler.Ask{row(3, 9, 1)})
	}
	d.Scheduler.NoteOutputs(busy, 3, 100)
	grants(d, 1)
	if err := d.SetTree(tree(t, "spy")); err != nil {
		t.Fatal(err)
	}
	grants(d, 2)
	var of []handle.App
	for _, k := range watching.asked {
		of = append(of, k.App.Handle)
	}
	if !slices.Equal(of, []handle.App{quiet, busy}) || watching.outputs != 1 {
		t.Errorf("the policy was told of requests of %v, and %d times of outputs", of, watching.outputs)
	}
}

// served returns when an application gets what it waits for.
func served(t *testing.T, step func(now int64) int, from int64) int64 {
	t.Helper()
	for now := from; now <= from+3*leaf.Bound; now += leaf.Interval {
		if step(now) > 0 {
			return now
		}
	}
	t.Fatal("it is never served")
	return 0
}

// A request is held for the bound, counted from when it was held first, though the policy is asked about it all the time, and its
// application gets other containers meanwhile. That it waited for a cap before doesn't count.
func TestTheBoundOfARequestCountsFromItsFirstHold(t *testing.T) {
	d := driver(t, "spy", 20)
	h := app(d, 1)
	d.UpdateAsks(h, []scheduler.Ask{row(10, 1, 1)})
	const from = 1000
	step := func(now int64) int { got, _ := grants(d, now); return len(got) }
	for now := int64(from); now < from+leaf.Bound/2; now += leaf.Interval {
		if step(now) > 0 {
			t.Fatalf("it is served at %d", now)
		}
	}
	d.UpdateAsks(h, []scheduler.Ask{row(20, 1, 1)})
	if step(from+leaf.Bound/2) != 1 {
		t.Fatal("what isn't held waits")
	}
	if at := served(t, step, from+leaf.Bound/2+leaf.Interval); at < from+leaf.Bound || at > from+leaf.Bound+leaf.Interval {
		t.Errorf("a request held at %d is served at %d", from, at)
	}
}

// An application waits for the bound at most, counted from its last container, which may be one that is restored.
func TestTheBoundOfAnApplicationCountsFromItsLastContainer(t *testing.T) {
	d := driver(t, "spy", 20)
	watching.cap = records.Resource{}
	h := app(d, 1)
	d.UpdateAsks(h, []scheduler.Ask{row(3, 1, 1)})
	const from, restored = 1000, 1000 + leaf.Bound/2
	step := func(now int64) int { got, _ := grants(d, now); return len(got) }
	for now := int64(from); now <= restored; now += leaf.Interval {
		if step(now) > 0 {
			t.Fatalf("it is served at %d", now)
		}
	}
	d.Scheduler.Restore(h, 0, gb(1), 3, 1)
	if at := served(t, step, restored+leaf.Interval); at < restored+leaf.Bound || at > restored+leaf.Bound+leaf.Interval {
		t.Errorf("an application that got a container at %d is served at %d", restored, at)
	}
}
