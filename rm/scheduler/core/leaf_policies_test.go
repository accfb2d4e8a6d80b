package core_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/schedulertest"
	"heddle/yarn/records"
)

// listener is a leaf policy that writes down what it is told. It holds requests of priority 7 back for ever.
type listener struct {
	granted  []leaf.Grant
	ended    []leaf.Outcome
	asked    []leaf.Ask
	outputs  [][2]int64
	queues   []leaf.Queue
	rate     float64
	endedOn  leaf.Node
	most     records.Resource
	askAgain []handle.App
}

func (p *listener) Ratio(a leaf.App) float64 { return float64(a.Used[records.Memory]) }
func (p *listener) Cap(leaf.App) records.Resource {
	if p.most == (records.Resource{}) {
		return leaf.Uncapped()
	}
	return p.most
}

func (p *listener) Hold(k leaf.Ask) (bool, int64) { return k.Priority == 7, math.MaxInt64 }

func (p *listener) Granted(_ leaf.App, g leaf.Grant) {
	g.Note = nil
	p.granted = append(p.granted, g)
}

func (p *listener) Left(handle.App)  {}
func (p *listener) Asked(k leaf.Ask) { p.asked = append(p.asked, k) }
func (p *listener) Outputs(_ leaf.App, maps, bytes int64) {
	p.outputs = append(p.outputs, [2]int64{maps, bytes})
}
func (p *listener) Bandwidth(rate float64) { p.rate = rate }
func (p *listener) Ended(_ leaf.App, n leaf.Node, o leaf.Outcome) {
	p.endedOn, p.ended = n, append(p.ended, o)
}

func (p *listener) Tick(_ int64, q leaf.Queue) (changed []handle.App) {
	p.queues = append(p.queues, q)
	changed, p.askAgain = p.askAgain, nil
	return changed
}

// listeners are those that were made, the latest last.
var listeners []*listener

func init() {
	leaf.Register("listener", func() leaf.Policy {
		listeners = append(listeners, &listener{})
		return listeners[len(listeners)-1]
	})
}

// listen starts a cluster in which a policy listens in queue a.
func listen(t *testing.T, hosts ...string) (*cluster, *listener) {
	c := start(t, map[string]string{"root.a.ordering-policy": "listener"}, hosts...)
	return c, listeners[len(listeners)-1]
}

// A policy hears of a container that another leader granted: where it is, what it has, since when, and for which priority.
func TestPoliciesHearOfRestoredContainers(t *testing.T) {
	c, p := listen(t, "n0", "n1")
	c.AddApp(core.AppSpec{Queue: "root.b", User: "v", Seq: 3})
	h := c.AddApp(core.AppSpec{Queue: "root.a", User: "u", Seq: 41, Priority: 5, Type: "MAPREDUCE", AM: gb(1)})
	c.UpdateAsks(h, []core.Ask{row(2, 1)})
	k := c.RestoreGrant(h, 1, gb(3), 20, 12345)
	view := leaf.App{Handle: h, Seq: 41, Priority: 5, Type: "MAPREDUCE", Containers: 1, User: "u", Weight: 1, Used: new(gb(3)), Pending: new(gb(2))}
	want := []leaf.Grant{{
		Container: k, Node: leaf.Node{Handle: 1}, Resource: gb(3), Since: 12345, Restored: true,
		Ask: leaf.Ask{App: view, Priority: 20, Capability: gb(3)},
	}}
	if diff := cmp.Diff(want, p.granted); diff != "" {
		t.Errorf("(- wanted, + told)\n%s", diff)
	}
	c.Free(k)
	if diff := cmp.Diff([]leaf.Outcome{{Container: k, Resource: gb(3)}}, p.ended); diff != "" || p.endedOn.Handle != 1 {
		t.Errorf("on %v (- wanted, + told)\n%s", p.endedOn, diff)
	}
}

// A policy hears of each grant with the request as it is then, and the grant's time.
func TestPoliciesHearOfGrants(t *testing.T) {
	c, p := listen(t, "n0")
	r := row(3, 2)
	r.Priority, r.AllocationRequestID = 4, 9
	h := c.app("root.a", "u", 2, r)
	_, granted := c.run(700)
	if len(p.granted) != 3 || len(granted[h]) != 3 {
		t.Fatalf("told of %d of %d", len(p.granted), len(granted[h]))
	}
	view := leaf.App{Handle: h, Seq: 1, Priority: 2, Containers: 3, User: "u", Weight: 1, Used: new(gb(6)), Pending: new(gb(0))}
	want := leaf.Grant{
		Container: granted[h][2], Node: leaf.Node{}, Resource: gb(2), Since: 700,
		Ask: leaf.Ask{App: view, Priority: 4, RequestID: 9, Capability: gb(2), Work: p.granted[2].Ask.Work},
	}
	if diff := cmp.Diff(want, p.granted[2]); diff != "" {
		t.Errorf("(- wanted, + told)\n%s", diff)
	}
}

// The leaf's policy hears how large the leaf is and what it could get, in as many resources as the calculator measures.
func TestPoliciesSeeTheirLeaf(t *testing.T) {
	const dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
	for calculator, types := range map[string]int{"": 1, dominant: 2} {
		c := &cluster{t: t}
		more := map[string]string{"root.a.ordering-policy": "listener"}
		if calculator != "" {
			more["resource-calculator"] = calculator
		}
		c.Core = start(t, more, "n0").Core
		p := listeners[len(listeners)-1]
		c.app("root.b", "v", 0, row(1, 3))
		c.app("root.a", "u", 0, row(1, 2), func() core.Ask { r := row(1, 1); r.Priority = 7; return r }())
		c.run(0)
		c.run(leaf.Interval)
		q := p.queues[len(p.queues)-1]
		if q.Path != "root.a" || q.Guaranteed[0] != 5<<10 || q.Maximum[0] != 10<<10 || q.Used[0] != 2<<10 || q.Pending[0] != 1<<10 || q.Active != 1 ||
			q.Free[0] != 5<<10 || q.Types != types {
			t.Errorf("calculator %q: %+v", calculator, q)
		}
	}
}

// A policy that comes to a leaf hears of all that its applications ask for and have put out.
func TestPoliciesThatComeLaterHearOfAll(t *testing.T) {
	c := start(t, nil, "n0")
	first, other := c.app("root.a", "u", 0, row(2, 20)), c.app("root.a", "u", 0, row(3, 20))
	c.NoteFacts(other, func(f *leaf.Facts) { f.Outputs, f.Maps, f.Bytes = true, 4, 4000 })
	c.NoteBandwidth(1e6)
	if err := c.SetTree(schedulertest.Halves(t, map[string]string{"root.a.ordering-policy": "listener"})); err != nil {
		t.Fatal(err)
	}
	p := listeners[len(listeners)-1]
	counts := map[handle.App]int32{}
	for _, k := range p.asked {
		counts[k.App.Handle] += k.Count
	}
	if diff := cmp.Diff(map[handle.App]int32{first: 2, other: 3}, counts); diff != "" {
		t.Errorf("(- wanted, + asked)\n%s", diff)
	}
	if diff := cmp.Diff([][2]int64{{4, 4000}}, p.outputs); diff != "" {
		t.Errorf("(- wanted, + put out)\n%s", diff)
	}
	if p.rate != 1e6 {
		t.Errorf("fetches at %v", p.rate)
	}
	c.NoteFacts(first, func(f *leaf.Facts) { f.Outputs, f.Maps, f.Bytes = true, 1, 10 })
	if diff := cmp.Diff([][2]int64{{4, 4000}, {1, 10}}, p.outputs); diff != "" {
		t.Errorf("(- wanted, + put out)\n%s", diff)
	}
	p.asked = nil
	c.UpdateAsks(first, []core.Ask{row(0, 20)})
	if len(p.asked) != 1 || p.asked[0].Count != 0 || p.asked[0].App.Handle != first || p.asked[0].Capability != gb(20) {
		t.Errorf("told of a withdrawn request as %+v", p.asked)
	}
}

// A request that a policy holds goes on when it has waited for the bound since it was held first, however often it was looked at.
func TestHeldRequestsWaitFromTheirFirstRefusal(t *testing.T) {
	c, p := listen(t, "n0")
	r := row(2, 1)
	r.Priority = 7
	h := c.app("root.a", "u", 0, r, row(2, 1)) // the second is granted at once
	if _, got := c.run(1000); len(got[h]) != 2 {
		t.Fatalf("granted %v", got)
	}
	p.askAgain = []handle.App{h, -1, 99}
	for now := int64(2000); now < 1000+leaf.Bound; now += 99_000 {
		p.askAgain = []handle.App{h}
		if _, got := c.run(now); len(got) > 0 {
			t.Fatalf("granted %v at %d", got, now)
		}
	}
	if _, got := c.run(1000 + leaf.Bound); len(got[h]) != 1 { // and the next one waits anew
		t.Errorf("granted %v after the bound", got)
	}
}

// A container that shrinks makes room below its application's cap.
func TestRoomBelowACapIsFoundAfterAResize(t *testing.T) {
	c, p := listen(t, "n0")
	p.most = gb(4)
	h := c.app("root.a", "u", 0, row(1, 4))
	_, got := c.run(0)
	c.UpdateAsks(h, []core.Ask{row(1, 2)})
	if _, more := c.run(500); len(more) > 0 {
		t.Fatalf("granted %v above the cap", more)
	}
	if !c.ResizeContainer(got[h][0], gb(1)) {
		t.Fatal("it can't be resized")
	}
	if _, more := c.run(600); len(more[h]) != 1 {
		t.Errorf("granted %v", more)
	}
}

// Policies of leaves that stay aren't forgotten when another leaf goes, and one that is gone isn't told the time.
func TestLeavesThatGoTakeTheirPoliciesAlong(t *testing.T) {
	c := start(t, map[string]string{"root.a.ordering-policy": "listener", "root.b.ordering-policy": "listener"}, "n0")
	of := listeners[len(listeners)-2:]
	c.app("root.a", "u", 0, row(1, 20))
	c.app("root.b", "u", 0, row(1, 20))
	c.run(0)
	tree := schedulertest.Halves(t, map[string]string{"root.a.ordering-policy": "fifo", "root.b.ordering-policy": "listener"})
	if err := c.SetTree(tree); err != nil {
		t.Fatal(err)
	}
	before := [2]int{len(of[0].queues), len(of[1].queues)}
	c.run(5 * leaf.Interval)
	a, b := len(of[0].queues)-before[0], len(of[1].queues)-before[1]
	if a+b == 0 || a > 0 && b > 0 {
		t.Errorf("told the time %d and %d times", a, b)
	}
}

// The kinds of work of a request are known to its policy.
func TestPoliciesKnowTheKindOfWork(t *testing.T) {
	c, p := listen(t, "n0")
	r := row(1, 1)
	r.Work = 1
	c.app("root.a", "u", 0, r)
	c.run(0)
	if len(p.granted) != 1 || p.granted[0].Ask.Work != nodeset.WorkOf(1) {
		t.Errorf("%+v", p.granted)
	}
}

// An application waits for its policy from when it asks, not from when it came.
func TestIdleApplicationsDoNotWait(t *testing.T) {
	c, _ := listen(t, "n0")
	h := c.app("root.a", "u", 0)
	c.run(0)
	const late = leaf.Bound + 5000
	c.run(late)
	r := row(1, 1)
	r.Priority = 7
	c.UpdateAsks(h, []core.Ask{r})
	for _, now := range []int64{late, late + 1000, late + leaf.Bound - 1} {
		if _, got := c.run(now); len(got) > 0 {
			t.Fatalf("granted %v at %d", got, now)
		}
	}
	if _, got := c.run(late + leaf.Bound); len(got[h]) != 1 {
		t.Errorf("granted %v after the bound", got)
	}
}

// deaf is a policy that doesn't watch what applications ask for.
type deaf struct{ leaf.Policy }

func init() { leaf.Register("deaf", func() leaf.Policy { return deaf{&listener{}} }) }

// A policy need not hear of requests and outputs.
func TestPoliciesThatDoNotWatch(t *testing.T) {
	c := start(t, map[string]string{"root.a.ordering-policy": "deaf"}, "n0")
	h := c.app("root.b", "u", 0, row(1, 20))
	c.NoteFacts(h, func(f *leaf.Facts) { f.Outputs, f.Maps, f.Bytes = true, 1, 10 })
	c.MoveApp(h, "root.a")
	c.NoteFacts(h, func(f *leaf.Facts) { f.Outputs, f.Maps, f.Bytes = true, 2, 20 })
	c.UpdateAsks(h, []core.Ask{row(1, 3)})
	if _, got := c.run(0); len(got[h]) != 1 {
		t.Errorf("granted %v", got)
	}
	c.ClearAsks(h)
	c.NoteBandwidth(1e6)
	c.run(1000)
}

// A policy hears that an application withdraws all that it asks for, request by request.
func TestPoliciesHearOfWithdrawnRequests(t *testing.T) {
	c, p := listen(t, "n0")
	first, second := row(2, 20), row(3, 30)
	second.Priority = 5
	h := c.app("root.a", "u", 0, first, second)
	p.asked = nil
	c.ClearAsks(h)
	if len(p.asked) != 2 {
		t.Fatalf("told of %+v", p.asked)
	}
	for i, want := range []leaf.Ask{{Capability: gb(20)}, {Priority: 5, Capability: gb(30)}} {
		if k := p.asked[i]; k.App.Handle != h || k.Count != 0 || k.Priority != want.Priority || k.Capability != want.Capability {
			t.Errorf("told %+v", k)
		}
	}
}

// A policy that comes to a leaf hears nothing of applications that have left it.
func TestPoliciesHearNothingOfWhoIsGone(t *testing.T) {
	c := start(t, nil, "n0")
	h := c.app("root.a", "u", 0, row(1, 1))
	c.NoteFacts(h, func(f *leaf.Facts) { f.Outputs, f.Maps, f.Bytes = true, 3, 3000 })
	c.RemoveApp(h)
	if err := c.SetTree(schedulertest.Halves(t, map[string]string{"root.a.ordering-policy": "listener"})); err != nil {
		t.Fatal(err)
	}
	if p := listeners[len(listeners)-1]; len(p.asked) != 0 || len(p.outputs) != 0 {
		t.Errorf("told of requests %+v and outputs %v", p.asked, p.outputs)
	}
}

// pairs is a policy that lets an application's requests of priority 7 go on when it has got another container.
type pairs struct {
	listener
	got map[handle.App]bool
}

func (p *pairs) Hold(k leaf.Ask) (bool, int64) {
	return k.Priority == 7 && !p.got[k.App.Handle], math.MaxInt64
}

func (p *pairs) Granted(a leaf.App, _ leaf.Grant) {
	p.got[a.Handle], p.askAgain = true, append(p.askAgain, a.Handle)
}

func init() { leaf.Register("pairs", func() leaf.Policy { return &pairs{got: map[handle.App]bool{}} }) }

// What a policy lets go on as something else was granted gets what is left in the same call.
func TestWhatAPolicyLetsGoOnIsServedAtOnce(t *testing.T) {
	c := start(t, map[string]string{"root.a.ordering-policy": "pairs"}, "n0")
	held, free := row(1, 1), row(1, 1)
	held.Priority, free.Priority = 7, 9
	h := c.app("root.a", "u", 0, held)
	if _, got := c.run(1000); len(got) > 0 {
		t.Fatalf("granted %v, though the policy holds it", got)
	}
	c.UpdateAsks(h, []core.Ask{free})
	if _, got := c.run(1000); len(got[h]) != 2 {
		t.Errorf("granted %v, want two containers", got)
	}
}
