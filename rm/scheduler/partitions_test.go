package scheduler_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/schedulertest"
)

// labelled is a cluster whose nodes have labels, as in scenarios that were recorded of a stock ResourceManager 3.4.2: containers of 1 GB, nodes of 8.
type labelled struct {
	*scheduler.Scheduler
	t     *testing.T
	nodes map[string]scheduler.NodeHandle
	names map[scheduler.NodeHandle]string
	apps  map[string]scheduler.AppHandle
	held  map[string][]scheduler.ContainerHandle
	on    map[scheduler.ContainerHandle]scheduler.NodeHandle
	now   int64
}

func newLabelled(t *testing.T, settings ...string) *labelled {
	t.Helper()
	all := map[string]string{
		"resource-calculator":         "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
		"maximum-am-resource-percent": "1", "node-locality-delay": "-1",
	}
	for _, s := range settings {
		k, v, _ := strings.Cut(s, "=")
		all[k] = v
	}
	for k := range maps.Clone(all) {
		if path, leaf := strings.CutSuffix(k, ".capacity"); leaf && !strings.Contains(path, "labels") && all[path+".user-limit-factor"] == "" {
			all[path+".user-limit-factor"] = "10"
		}
	}
	tree, err := queue.ParseCapacity(all)
	if err != nil {
		t.Fatal(err)
	}
	return &labelled{
		Scheduler: scheduler.New(scheduler.Config{Tree: tree, Minimum: schedulertest.GB(1), Heartbeat: time.Second}), t: t,
		nodes: map[string]scheduler.NodeHandle{}, names: map[scheduler.NodeHandle]string{}, apps: map[string]scheduler.AppHandle{},
		held: map[string][]scheduler.ContainerHandle{}, on: map[scheduler.ContainerHandle]scheduler.NodeHandle{},
	}
}

// join adds nodes PREFIX1, PREFIX2 and so on.
func (l *labelled) join(count int, prefix, label string) {
	for i := range count {
		name := fmt.Sprint(prefix, i+1)
		h := l.AddNode(scheduler.NodeSpec{Host: name, Rack: "/r", Capability: schedulertest.GB(8), Label: label})
		l.nodes[name], l.names[h] = h, name
	}
	l.settle()
}

func (l *labelled) submit(name, path, user string) {
	l.apps[name] = l.AddApp(scheduler.AppSpec{Queue: "root." + path, User: user, Seq: int64(len(l.apps))})
	l.settle()
}

func row(count int32, label string) scheduler.Ask {
	r := schedulertest.Row(count, 1)
	r.Label = label
	return r
}

func (l *labelled) ask(name string, rows ...scheduler.Ask) {
	l.UpdateAsks(l.apps[name], rows)
	l.settle()
}

// settle lets the scheduler decide, and notes who gets what.
func (l *labelled) settle() {
	l.t.Helper()
	l.now += 1000
	for _, d := range l.Schedule(l.now) {
		if d.Kind != scheduler.Allocate {
			continue
		}
		for name, h := range l.apps {
			if h == d.App {
				l.held[name], l.on[d.Container] = append(l.held[name], d.Container), d.Node
			}
		}
	}
	l.check()
}

func (l *labelled) check() {
	l.t.Helper()
	if err := scheduler.CheckAll(l.Scheduler); err != nil {
		l.t.Fatal(err)
	}
}

// release frees an application's containers: so many of those on nodes whose names begin with a prefix.
func (l *labelled) release(name string, count int, prefix string) {
	var keep []scheduler.ContainerHandle
	for _, c := range l.held[name] {
		if count > 0 && strings.HasPrefix(l.names[l.on[c]], prefix) {
			l.Free(c)
			count--
		} else {
			keep = append(keep, c)
		}
	}
	l.held[name] = keep
	l.settle()
}

// end ends an application.
func (l *labelled) end(name string) {
	for _, c := range l.held[name] {
		l.Free(c)
	}
	l.RemoveApp(l.apps[name])
	delete(l.apps, name)
	delete(l.held, name)
	l.settle()
}

// has is how many containers applications have, by the first letters of their nodes' names.
func (l *labelled) has(names ...string) string {
	var out []string
	for _, name := range names {
		of := map[string]int{}
		for _, c := range l.held[name] {
			of[strings.TrimRight(l.names[l.on[c]], "0123456789")]++
		}
		one := name
		for _, prefix := range slices.Sorted(maps.Keys(of)) {
			one += fmt.Sprintf(" %s%d", prefix, of[prefix])
		}
		out = append(out, one)
	}
	return strings.Join(out, ", ")
}

func (l *labelled) expect(when, want string, names ...string) {
	l.t.Helper()
	if got := l.has(names...); got != want {
		l.t.Errorf("%s: %s, stock has %s", when, got, want)
	}
}

// used is what a queue uses and waits for in a partition, in GB.
func (l *labelled) used(path, label string) [2]int64 {
	for _, q := range scheduler.QueuesIn(l.Scheduler, label) {
		if q.Path == "root."+path {
			return [2]int64{q.Used.MemoryMB() >> 10, q.Pending.MemoryMB() >> 10}
		}
	}
	return [2]int64{-1, -1}
}

var halvesOfX = []string{
	"root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "root.accessible-node-labels.x.capacity=100",
	"root.a.accessible-node-labels=x", "root.a.accessible-node-labels.x.capacity=50", "root.b.accessible-node-labels=x", "root.b.accessible-node-labels.x.capacity=50",
}

// lab-exclusive
func TestExclusiveLabels(t *testing.T) {
	l := newLabelled(t, halvesOfX...)
	l.join(4, "d", "")
	l.join(2, "x", "x")
	l.submit("plain", "a", "alice")
	l.ask("plain", row(60, ""))
	l.expect("without the label", "plain d32", "plain")
	l.submit("ax", "a", "alice")
	l.ask("ax", row(12, "x"))
	l.submit("bx", "b", "bob")
	l.ask("bx", row(20, "x"))
	l.expect("both queues", "plain d32, ax x12, bx x4", "plain", "ax", "bx")
	l.end("ax")
	l.expect("one of them alone", "plain d32, bx x16", "plain", "bx")
	if a, b := l.used("a", ""), l.used("b", "x"); a != [2]int64{32, 28} || b != [2]int64{16, 4} {
		t.Errorf("a has %v, b %v in x", a, b)
	}
}

// lab-guarantee: all ask before the labelled nodes join.
func TestGuaranteesByPartition(t *testing.T) {
	l := newLabelled(t, "root.accessible-node-labels.x.capacity=100", "root.queues=p,q", "root.p.capacity=70", "root.p.accessible-node-labels=x",
		"root.p.accessible-node-labels.x.capacity=60", "root.p.queues=p1,p2", "root.p.p1.capacity=50", "root.p.p1.accessible-node-labels.x.capacity=25",
		"root.p.p2.capacity=50", "root.p.p2.accessible-node-labels.x.capacity=75", "root.q.capacity=30", "root.q.accessible-node-labels=x", "root.q.accessible-node-labels.x.capacity=40")
	l.join(1, "d", "")
	for name, path := range map[string]string{"p1": "p.p1", "p2": "p.p2", "q": "q"} {
		l.submit(name, path, name)
		l.ask(name, row(60, "x"))
	}
	l.expect("without nodes", "p1, p2, q", "p1", "p2", "q")
	for i := range 5 {
		l.AddNode(scheduler.NodeSpec{Host: fmt.Sprint("x", i), Rack: "/r", Capability: schedulertest.GB(8), Label: "x"})
		l.names[scheduler.NodeHandle(i+1)] = fmt.Sprint("x", i)
	}
	l.settle()
	l.expect("x has joined", "p1 x6, p2 x18, q x16", "p1", "p2", "q")
	l.end("p2")
	l.expect("p2 has left", "p1 x24, q x16", "p1", "q")
}

// lab-shared: idle nodes are shared, and come back only when containers end.
func TestLabelsThatAreNotExclusive(t *testing.T) {
	l := newLabelled(t, halvesOfX...)
	l.SetExclusive("x", false)
	l.join(4, "d", "")
	l.join(2, "x", "x")
	l.submit("plain", "a", "alice")
	l.ask("plain", row(60, ""))
	l.expect("all is shared", "plain d32 x16", "plain")
	if got := [2][2]int64{l.used("a", ""), l.used("a", "x")}; got != [2][2]int64{{32, 12}, {16, 0}} {
		t.Errorf("a has %v", got)
	}
	l.submit("bx", "b", "bob")
	l.ask("bx", row(6, "x"))
	l.expect("the owner waits", "plain d32 x16, bx", "plain", "bx")
	l.UpdateAsks(l.apps["plain"], []scheduler.Ask{row(0, "")})
	l.release("plain", 10, "d")
	l.submit("bplain", "b", "bob")
	l.ask("bplain", row(4, ""))
	l.expect("room elsewhere", "plain d22 x16, bx, bplain d4", "plain", "bx", "bplain")
	l.release("plain", 4, "x")
	l.expect("room in x", "plain d22 x12, bx x4, bplain d4", "plain", "bx", "bplain")
	if n := l.Pending(l.apps["plain"]) + l.Pending(l.apps["bplain"]); n != 0 {
		t.Errorf("they wait for %d", n)
	}
	l.join(1, "x2", "x")
	l.expect("the owner's come first", "bx x6, bplain d4", "bx", "bplain")
}

// lab-shared-order, and asks that aren't for shared nodes; a label that others' asks may go to no longer.
func TestOwnersComeFirst(t *testing.T) {
	l := newLabelled(t, halvesOfX...)
	l.SetExclusive("x", false)
	l.join(1, "d", "")
	l.submit("filler", "a", "alice")
	l.ask("filler", row(8, ""))
	l.submit("bx", "b", "bob")
	l.submit("stays", "a", "alice")
	l.submit("plain", "a", "alice")
	stays := row(3, "")
	stays.Stays = true
	l.ask("plain", row(20, ""))
	l.ask("stays", stays)
	l.ask("bx", row(10, "x"))
	for i := range 2 {
		h := l.AddNode(scheduler.NodeSpec{Host: fmt.Sprint("x", i), Rack: "/r", Capability: schedulertest.GB(8), Label: "x"})
		l.names[h] = "x"
	}
	l.settle()
	l.expect("x has joined", "bx x10, plain x6, stays", "bx", "plain", "stays")
	l.SetExclusive("x", true)
	l.release("bx", 5, "x")
	l.expect("x is exclusive", "bx x5, plain x6", "bx", "plain")
	l.SetExclusive("x", false)
	l.settle()
	l.expect("and isn't", "bx x5, plain x11, stays", "bx", "plain", "stays")
	l.join(2, "e", "")
	l.expect("other nodes", "plain e9 x11, stays e3", "plain", "stays")
}

// What is shared is bounded by no maximum and no user-limit-factor; nothing is reserved for those with whom it is shared.
func TestLimitsDontHoldGuests(t *testing.T) {
	l := newLabelled(t, append(slices.Clone(halvesOfX), "root.a.accessible-node-labels.x.maximum-capacity=50", "root.a.user-limit-factor=0.5", "root.a.maximum-capacity=50")...)
	l.SetExclusive("x", false)
	l.join(2, "d", "")
	l.join(2, "x", "x")
	l.submit("plain", "a", "alice")
	l.ask("plain", row(40, ""))
	l.expect("without a label", "plain d5 x16", "plain") // a user may pass its limit by one container
	l.UpdateAsks(l.apps["plain"], []scheduler.Ask{row(0, "")})
	l.release("plain", 3, "x1")
	l.release("plain", 3, "x2")
	large := schedulertest.Row(1, 4)
	large.Priority = 1
	l.ask("plain", large)
	if r := l.Reservations(); len(r) != 0 {
		t.Errorf("reserved: %+v", r)
	}
}

// lab-weights: three to one in x, as they are in the default partition one to one.
func TestWeightsByPartition(t *testing.T) {
	l := newLabelled(t, "root.queues=a,b", "root.a.capacity=1w", "root.b.capacity=1w", "root.a.accessible-node-labels=x", "root.b.accessible-node-labels=x",
		"root.a.accessible-node-labels.x.capacity=3w", "root.b.accessible-node-labels.x.capacity=1w")
	l.join(4, "d", "")
	for _, name := range []string{"a", "b"} {
		l.submit(name, name, name)
		l.ask(name, row(40, "x"))
	}
	h := [2]scheduler.NodeHandle{}
	for i := range h {
		h[i] = l.AddNode(scheduler.NodeSpec{Host: fmt.Sprint("x", i), Rack: "/r", Capability: schedulertest.GB(8), Label: "x"})
		l.names[h[i]] = "x"
	}
	l.settle()
	l.expect("x has joined", "a x12, b x4", "a", "b")
}

// lab-node-named: a label stands in the row for any node, and holds wherever the others prefer to be.
func TestNamedNodesAndLabels(t *testing.T) {
	l := newLabelled(t, halvesOfX...)
	l.join(4, "d", "")
	l.join(2, "x", "x")
	strict := func(label, host string) []scheduler.Ask {
		r := row(2, label)
		return []scheduler.Ask{schedulertest.Only(r), schedulertest.At(r, host)}
	}
	loose := func(label, host string) []scheduler.Ask {
		r := row(2, label)
		return []scheduler.Ask{schedulertest.At(r, host), schedulertest.At(r, "/r"), r}
	}
	for _, x := range []struct {
		name string
		rows []scheduler.Ask
	}{{"no-label", strict("", "x1")}, {"right", strict("x", "x2")}, {"wrong", strict("x", "d1")}, {"relaxed", loose("", "x1")}, {"relaxed-x", loose("x", "d2")}} {
		l.submit(x.name, "a", "alice")
		l.ask(x.name, x.rows...)
	}
	for range 3 {
		l.settle()
	}
	l.expect("all", "no-label, right x2, wrong, relaxed d2, relaxed-x x2", "no-label", "right", "wrong", "relaxed", "relaxed-x")
}

// lab-relabel: nothing ends; what runs on the node counts in its new partition.
func TestNodesThatChangeTheirLabels(t *testing.T) {
	l := newLabelled(t, "root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "root.a.accessible-node-labels.x.capacity=50", "root.b.accessible-node-labels.x.capacity=50",
		"root.a.accessible-node-labels.y.capacity=50", "root.b.accessible-node-labels.y.capacity=50")
	l.join(4, "d", "")
	l.join(2, "x", "x")
	l.join(2, "y", "y")
	l.submit("ax", "a", "alice")
	l.ask("ax", row(20, "x"))
	l.SetLabel(l.nodes["x1"], "y")
	l.settle()
	l.submit("by", "b", "bob")
	l.ask("by", row(30, "y"))
	l.expect("one is of y", "ax x16, by y16", "ax", "by")
	is := func(when string, want [3][2]int64) {
		t.Helper()
		if got := [3][2]int64{l.used("a", ""), l.used("a", "x"), l.used("a", "y")}; got != want {
			t.Errorf("%s: a has %v, stock %v", when, got, want)
		}
	}
	is("one is of y", [3][2]int64{{0, 0}, {8, 4}, {8, 0}})
	l.release("ax", 2, "x1")
	l.expect("room there", "ax x14, by x2 y16", "ax", "by")
	l.UpdateAsks(l.apps["ax"], []scheduler.Ask{row(0, "x")})
	l.SetLabel(l.nodes["x2"], "")
	l.settle()
	is("the other one has none", [3][2]int64{{8, 0}, {0, 0}, {6, 0}})
	l.SetLabel(l.nodes["d1"], "x")
	l.ask("ax", row(30, "x"))
	l.expect("another one is of x", "ax d8 x14, by x2 y16", "ax", "by")
	is("another one is of x", [3][2]int64{{8, 0}, {8, 22}, {6, 0}})
	if s := l.AppState(l.apps["ax"]); s.Running != 22 || s.Used != schedulertest.GB(22) || l.Pending(l.apps["ax"]) != 22 {
		t.Errorf("%+v, and waits for %d", s, l.Pending(l.apps["ax"]))
	}
	n := empty(l)
	l.At(n).RemoveNode(n)
	l.end("ax")
	l.end("by")
}

// empty is a node without containers.
func empty(l *labelled) scheduler.NodeHandle {
	for _, h := range l.nodes {
		used := false
		for _, held := range l.held {
			used = used || slices.ContainsFunc(held, func(c scheduler.ContainerHandle) bool { return l.on[c] == h })
		}
		if !used {
			return h
		}
	}
	return -1
}

// lab-am-limit: 20 % of a's half in x, the queue's 40 % in y; each leaves two of six masters of 2 GB. Where they run the limit of other
// partitions matters to nobody.
func TestLimitsOnMastersByPartition(t *testing.T) {
	l := newLabelled(t, "maximum-am-resource-percent=0.5", "root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "root.a.maximum-am-resource-percent=0.4",
		"root.a.accessible-node-labels.x.capacity=50", "root.b.accessible-node-labels.x.capacity=50", "root.a.accessible-node-labels.y.capacity=50",
		"root.b.accessible-node-labels.y.capacity=50", "root.a.accessible-node-labels.x.maximum-am-resource-percent=0.2")
	l.join(4, "d", "")
	l.join(4, "x", "x")
	l.join(2, "y", "y")
	for i := range 6 {
		for _, label := range []string{"x", "y"} {
			name := fmt.Sprint(label, i)
			l.apps[name] = l.AddApp(scheduler.AppSpec{Queue: "root.a", User: "alice", Seq: int64(len(l.apps)), AM: schedulertest.GB(2), Label: label})
			master := schedulertest.Row(1, 2)
			master.Label = label
			l.ask(name, master)
		}
	}
	running := func() (n [2]int) {
		for i, label := range []string{"x", "y"} {
			for j := range 6 {
				n[i] += len(l.held[fmt.Sprint(label, j)])
			}
		}
		return n
	}
	if got := running(); got != [2]int{2, 2} {
		t.Errorf("%v masters run, stock has 2 and 2", got)
	}
	for label, want := range map[string]int64{"x": 4, "y": 4} {
		for _, q := range scheduler.QueuesIn(l.Scheduler, label) {
			if q.Path == "root.a" && (q.AMLimit.MemoryMB()>>10 != want || q.AMUsed.MemoryMB()>>10 != 4 || q.Waiting != 4) {
				t.Errorf("masters of a have %v of %v in %s, %d wait", q.AMUsed, q.AMLimit, label, q.Waiting)
			}
		}
	}
	l.end("x0")
	if got := running(); got != [2]int{2, 2} {
		t.Errorf("after one has ended %v masters run", got)
	}
	if s := l.AppState(l.apps["x2"]); !s.Active || l.AppState(l.apps["x3"]).Active {
		t.Errorf("the next one: %+v", s)
	}
	l.ask("x2", row(3, "")) // now it may ask for other nodes as well
	if got := l.has("x2"); got != "x2 d3 x1" {
		t.Error(got)
	}
}

// Applications beyond a limit on how many run at once wait for that, wherever their ApplicationMasters are to count.
// A user counts as active in all partitions by what it wants in one: of y bob gets 3, as recorded, though no other user wants anything there.
func TestUsersAreActiveInAllPartitions(t *testing.T) {
	l := newLabelled(t, "root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "root.a.user-limit-factor=1", "root.a.minimum-user-limit-percent=25",
		"root.accessible-node-labels.x.capacity=100", "root.accessible-node-labels.y.capacity=100", "root.a.accessible-node-labels.x.capacity=50",
		"root.b.accessible-node-labels.x.capacity=50", "root.a.accessible-node-labels.y.capacity=50", "root.b.accessible-node-labels.y.capacity=50")
	l.join(4, "d", "")
	l.join(4, "x", "x")
	l.join(2, "y", "y")
	for _, app := range []struct{ name, user, label string }{{"u1x", "alice", "x"}, {"u10", "alice", ""}, {"u2x", "bob", "x"}, {"u2y", "bob", "y"}} {
		l.submit(app.name, "a", app.user)
		l.ask(app.name, row(40, app.label))
	}
	l.expect("two users", "u1x x17, u10 d17, u2x x15, u2y y3", "u1x", "u10", "u2x", "u2y")
	l.end("u1x")
	l.end("u10")
	l.expect("one user", "u2x x17, u2y y9", "u2x", "u2y")
	l.submit("u3", "a", "carol")
	l.MoveApp(l.apps["u3"], "root.b")
	l.settle()
	l.ask("u3", row(1, "x"))
	l.MoveApp(l.apps["u3"], "root.a")
	l.settle()
	l.end("u3")
}

// An ApplicationMaster counts for the limits of the partition that its node gets when it changes its label, and the next one where it is asked
// for again, as recorded.
func TestMastersCountWhereTheirNodesAre(t *testing.T) {
	l := newLabelled(t, append([]string{"root.a.accessible-node-labels.x.maximum-am-resource-percent=0.1"}, halvesOfX...)...)
	l.join(4, "x", "x")
	l.join(2, "y", "y")
	for _, name := range []string{"m1", "m2", "m3"} {
		l.apps[name] = l.AddApp(scheduler.AppSpec{Queue: "root.a", User: "u", Seq: int64(len(l.apps)), AM: schedulertest.GB(1), Label: "x"})
		l.ask(name, row(1, "x"))
		for _, c := range l.held[name] {
			l.NoteMaster(l.apps[name], c)
		}
	}
	l.expect("two are within the limit", "m1 x1, m2 x1, m3", "m1", "m2", "m3")
	at := l.names[l.on[l.held["m1"][0]]]
	l.SetLabel(l.nodes[at], "y")
	l.settle()
	l.expect("one counts among y", "m1 x1, m2 x1, m3 x1", "m1", "m2", "m3")
	if uses := l.UsesOf(l.apps["m1"]); len(uses) != 3 || uses[1].Master || !uses[2].Master {
		t.Errorf("%+v", uses)
	}
	l.release("m1", 1, "")
	if uses := l.UsesOf(l.apps["m1"]); !uses[1].Master {
		t.Errorf("the next one counts elsewhere: %+v", uses)
	}
}

// An ApplicationMaster without a label that runs on a node of a label that isn't exclusive counts for the limits of the default partition, as in YARN.
func TestMastersOnLentNodesCountWhereTheyAreAsked(t *testing.T) {
	l := newLabelled(t, append([]string{"maximum-am-resource-percent=0.1"}, halvesOfX...)...)
	l.SetExclusive("x", false)
	l.join(1, "d", "")
	l.join(2, "x", "x")
	l.submit("full", "b", "v")
	l.ask("full", row(8, ""))
	for _, name := range []string{"m1", "m2"} {
		l.apps[name] = l.AddApp(scheduler.AppSpec{Queue: "root.a", User: "u", Seq: int64(len(l.apps)), AM: schedulertest.GB(1)})
		l.ask(name, row(1, ""))
		for _, c := range l.held[name] {
			l.NoteMaster(l.apps[name], c)
		}
	}
	l.expect("one is within the limit", "full d8, m1 x1, m2", "full", "m1", "m2")
	if uses := l.UsesOf(l.apps["m1"]); !uses[0].Master || uses[1].Master {
		t.Errorf("%+v", uses)
	}
}

// What a queue had of a partition is shown further where a configuration doesn't name that any more, with the amounts of before, as recorded. So it is where no node
// has had the label.
func TestSharesThatQueuesHad(t *testing.T) {
	tree := func(settings ...string) *queue.Tree {
		all := map[string]string{"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "maximum-am-resource-percent": "1"}
		for _, s := range settings {
			k, v, _ := strings.Cut(s, "=")
			all[k] = v
		}
		out, err := queue.ParseCapacity(all)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	l := newLabelled(t, append([]string{"root.a.accessible-node-labels.z.capacity=100"}, halvesOfX...)...)
	l.join(2, "x", "x")
	former := func(label, path string) *scheduler.Former {
		for _, v := range l.ByLabel()[label] {
			if v.Path == path {
				return v.Former
			}
		}
		return nil
	}
	if f := former("x", "root.a"); f != nil {
		t.Fatalf("%+v", f)
	}
	if err := l.SetTree(tree()); err != nil {
		t.Fatal(err)
	}
	half := schedulertest.GB(8)
	for _, path := range []string{"root.a", "root.b"} {
		if f := former("x", path); f == nil || *f != (scheduler.Former{Guaranteed: half, Maximum: half.Times(2), AMLimit: half, AMShare: 1, Share: true}) {
			t.Errorf("%s had %+v of x", path, f)
		}
	}
	if f := former("z", "root.a"); f == nil || *f != (scheduler.Former{AMShare: 1, Share: true}) {
		t.Errorf("root.a had %+v of z", f)
	}
	l.SetLabel(l.nodes["x1"], "")
	if f := former("x", "root"); f == nil || f.Guaranteed != half.Times(2) {
		t.Errorf("root had %+v of x", f)
	}
	again := tree("root.accessible-node-labels.x.capacity=100", "root.a.accessible-node-labels=y", "root.a.accessible-node-labels.x.capacity=0", "root.b.accessible-node-labels.x.capacity=100")
	if err := l.SetTree(again); err != nil {
		t.Fatal(err)
	}
	if f := former("x", "root.a"); f == nil || f.Share || f.AMLimit != half {
		t.Errorf("root.a, which may not use x, had %+v of it", f)
	}
	if f := former("x", "root.b"); f != nil {
		t.Errorf("root.b has a share again, and had %+v", f)
	}
}

func TestParallelApplicationsAcrossPartitions(t *testing.T) {
	l := newLabelled(t, append(slices.Clone(halvesOfX), "root.a.max-parallel-apps=2")...)
	l.join(1, "d", "")
	l.join(2, "x", "x")
	for i, label := range []string{"x", "", "x"} {
		name := fmt.Sprint("app", i)
		l.apps[name] = l.AddApp(scheduler.AppSpec{Queue: "root.a", User: "alice", Seq: int64(i), AM: schedulertest.GB(1), Label: label})
		l.ask(name, row(1, label))
	}
	l.expect("two may run", "app0 x1, app1 d1, app2", "app0", "app1", "app2")
	l.MoveApp(l.apps["app2"], "root.b")
	l.settle()
	l.expect("in another queue", "app0 x1, app1 d1, app2 x1", "app0", "app1", "app2")
	l.MoveApp(l.apps["app2"], "root.a")
	l.end("app1")
	if s := l.AppState(l.apps["app2"]); !s.Active || s.Queue != "root.a" {
		t.Errorf("%+v", s)
	}
}

// A request whose label changes is asked for in the other partition; taken back, whatever label it says then.
func TestLabelsOfRequestsThatChange(t *testing.T) {
	l := newLabelled(t, halvesOfX...)
	l.SetExclusive("x", false)
	l.submit("a", "a", "alice")
	r := row(4, "")
	l.ask("a", schedulertest.At(r, "h1"), r)
	for _, label := range []string{"x", "", "x"} {
		l.ask("a", row(4, label))
		if rows := l.Asks(l.apps["a"]); l.Pending(l.apps["a"]) != 4 || rows[0].Label != label || rows[0].Count != 4 {
			t.Errorf("asked with %q: %+v", label, rows)
		}
	}
	if n, places := l.Requests(l.apps["a"]); n != 1 || places != 0 {
		t.Errorf("%d requests, %d places", n, places)
	}
	l.ask("a", row(0, ""))
	if n := l.Pending(l.apps["a"]); n != 0 {
		t.Errorf("it waits for %d", n)
	}
	l.join(1, "x", "x")
	l.expect("taken back", "a", "a")
}

// Who waits in which partition is told with its label; a full partition isn't the fault of others.
func TestExplanationsNameTheLabel(t *testing.T) {
	l := newLabelled(t, halvesOfX...)
	l.join(2, "d", "")
	l.submit("a", "a", "alice")
	l.ask("a", row(3, "x"))
	l.UpdateAsks(l.apps["a"], []scheduler.Ask{{Priority: 5, Name: scheduler.Any, Count: 1, Capability: schedulertest.GB(9), RelaxLocality: true}})
	var got []string
	for _, r := range l.Explain(l.apps["a"]) {
		got = append(got, fmt.Sprintf("%d %q %s", r.Ask.Count, r.Ask.Label, r.Limit))
	}
	if len(got) != 2 || !strings.HasPrefix(got[0], `1 "" `) || !strings.HasPrefix(got[1], `3 "x" `) {
		t.Errorf("%q", got)
	}
}

// Whatever happens: sums add up in each partition, and the same events lead to the same decisions.
func TestPartitionsAtRandom(t *testing.T) {
	for seed := range uint64(30) {
		if first, second := randomLabels(t, seed), randomLabels(t, seed); first != second {
			t.Fatalf("seed %d: decisions differ", seed)
		}
	}
}

func randomLabels(t *testing.T, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7))
	l := newLabelled(t, "root.queues=a,b,c", "root.a.capacity=50", "root.b.capacity=30", "root.c.capacity=20", "root.c.accessible-node-labels= ",
		"root.a.accessible-node-labels.x.capacity=20", "root.b.accessible-node-labels.x.capacity=80", "root.b.accessible-node-labels.x.maximum-capacity=80",
		"root.a.accessible-node-labels.y.capacity=100", "root.b.accessible-node-labels.y.maximum-capacity=50", "root.a.ordering-policy=fair", "root.b.max-parallel-apps=3")
	labels := []string{"", "x", "y"}
	exclusive := map[string]bool{"x": true}
	l.SetExclusive("y", false)
	asked := map[scheduler.AppHandle]map[int32]string{} // labels by priority
	var log strings.Builder
	var containers []scheduler.ContainerHandle
	owner, at := map[scheduler.ContainerHandle]scheduler.AppHandle{}, map[scheduler.ContainerHandle]scheduler.NodeHandle{}
	var nodes []scheduler.NodeHandle
	var apps []scheduler.AppHandle
	drop := func(i int) {
		l.Free(containers[i])
		containers = slices.Delete(containers, i, i+1)
	}
	seq := int64(0)
	for range 150 {
		switch k := r.IntN(10); {
		case k == 0 || len(nodes) == 0:
			nodes = append(nodes, l.AddNode(scheduler.NodeSpec{Host: fmt.Sprint("h", r.IntN(9)), Rack: "/r", Capability: schedulertest.GB(4 + r.Int64N(9)), Label: labels[r.IntN(3)]}))
		case k == 1 || len(apps) == 0:
			seq++
			am := schedulertest.GB(r.Int64N(2))
			apps = append(apps, l.AddApp(scheduler.AppSpec{
				Queue: []string{"root.a", "root.b", "root.c"}[r.IntN(3)], User: fmt.Sprint("u", r.IntN(3)), Seq: seq, AM: am, Label: labels[r.IntN(3)],
			}))
		case k == 2:
			l.SetLabel(nodes[r.IntN(len(nodes))], labels[r.IntN(3)])
		case k == 3 && r.IntN(3) == 0:
			of := labels[1+r.IntN(2)]
			exclusive[of] = r.IntN(2) == 0
			l.SetExclusive(of, exclusive[of])
		case k == 3:
			i := r.IntN(len(apps))
			for j := len(containers) - 1; j >= 0; j-- {
				if owner[containers[j]] == apps[i] {
					drop(j)
				}
			}
			l.RemoveApp(apps[i])
			delete(asked, apps[i])
			apps = slices.Delete(apps, i, i+1)
		case k == 4 && len(nodes) > 1:
			i := r.IntN(len(nodes))
			for j := len(containers) - 1; j >= 0; j-- {
				if at[containers[j]] == nodes[i] {
					drop(j)
				}
			}
			l.At(nodes[i]).RemoveNode(nodes[i])
			nodes = slices.Delete(nodes, i, i+1)
		case k == 5 && len(containers) > 0:
			drop(r.IntN(len(containers)))
		case k == 6:
			l.MoveApp(apps[r.IntN(len(apps))], []string{"root.a", "root.b", "root.c"}[r.IntN(3)])
		default:
			ask := schedulertest.Row(int32(r.IntN(8)), 1+r.Int64N(3))
			ask.Priority, ask.Label = int32(r.IntN(3)), labels[r.IntN(3)]
			rows := []scheduler.Ask{ask}
			if r.IntN(3) == 0 {
				rows = append(rows, schedulertest.At(ask, fmt.Sprint("h", r.IntN(9))))
			}
			h := apps[r.IntN(len(apps))]
			if asked[h] == nil {
				asked[h] = map[int32]string{}
			}
			asked[h][ask.Priority] = ask.Label
			l.UpdateAsks(h, rows)
		}
		l.now += 500
		for _, d := range l.Schedule(l.now) {
			fmt.Fprintln(&log, d)
			if d.Kind == scheduler.Allocate {
				if on, of := l.LabelOf(d.Node), asked[d.App][d.Priority]; on != of && (of != "" || exclusive[on]) {
					t.Fatalf("seed %d: a node with label %q serves a stranger, who asked for %q", seed, on, of)
				}
				if _, twice := owner[d.Container]; twice && slices.Contains(containers, d.Container) {
					t.Fatalf("seed %d: container %d is granted twice", seed, d.Container)
				}
				containers, owner[d.Container], at[d.Container] = append(containers, d.Container), d.App, d.Node
			}
		}
		l.check()
	}
	return log.String()
}

// Fair leaves order applications by what they have in all partitions, in however many these are. The ones behind the 63rd share a bit.
func TestFairOrderCountsAllPartitions(t *testing.T) {
	settings := []string{"root.queues=a", "root.a.capacity=100", "root.a.ordering-policy=fair", "root.a.user-limit-factor=-1"}
	for i := range 70 {
		settings = append(settings, fmt.Sprintf("root.accessible-node-labels.l%d.capacity=100", i), fmt.Sprintf("root.a.accessible-node-labels.l%d.capacity=100", i))
	}
	l := newLabelled(t, settings...)
	for i := range 70 {
		l.join(1, fmt.Sprintf("n%d_", i), fmt.Sprintf("l%d", i))
	}
	l.join(1, "d", "")
	l.submit("full", "a", "u")
	l.ask("full", row(8, ""))
	for i, label := range []string{"l3", "l69"} {
		has, has0 := fmt.Sprintf("has%d", i), fmt.Sprintf("hasn't%d", i)
		l.submit(has, "a", "u")
		l.ask(has, row(2, label))
		l.submit(has0, "a", "u")
		l.ask(has, row(1, ""))
		l.ask(has0, row(1, ""))
		l.release("full", 1, "d")
		l.expect("one place for the one that has less", fmt.Sprintf("%s n%s_2, %s d1", has, label[1:], has0), has, has0)
		l.release("full", 1, "d")
	}
}
