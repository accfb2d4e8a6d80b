package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyTree draws a tree of capacity queues, two levels deep, with limits of all kinds.
func anyTree(t *rapid.T) *queue.Tree {
	calculator := "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator"
	if rapid.Bool().Draw(t, "dominant") {
		calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
	}
	settings := map[string]string{
		"resource-calculator": calculator, "root.queues": "a,b", "root.a.queues": "x,y", "root.a.x.capacity": "50", "root.a.y.capacity": "50",
		"maximum-am-resource-percent":    fmt.Sprint(rapid.SampledFrom([]float64{0.1, 0.5, 1}).Draw(t, "masters")),
		"node-locality-delay":            fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "delay")),
		"rack-locality-additional-delay": fmt.Sprint(rapid.IntRange(-1, 2).Draw(t, "rack delay")),
		"root.ordering-policy":           rapid.SampledFrom([]string{"utilization", "priority-utilization"}).Draw(t, "policy"),
	}
	share := rapid.IntRange(1, 99).Draw(t, "share")
	settings["root.a.capacity"], settings["root.b.capacity"] = fmt.Sprint(share), fmt.Sprint(100-share)
	for _, leaf := range []string{"a.x", "a.y", "b"} {
		settings["root."+leaf+".ordering-policy"] = rapid.SampledFrom([]string{"fifo", "fair"}).Draw(t, "ordering")
		settings["root."+leaf+".user-limit-factor"] = fmt.Sprint(rapid.SampledFrom([]float64{0.5, 1, 3, -1}).Draw(t, "factor"))
		settings["root."+leaf+".minimum-user-limit-percent"] = fmt.Sprint(rapid.IntRange(1, 100).Draw(t, "least"))
		settings["root."+leaf+".max-parallel-apps"] = fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "parallel"))
		settings["root."+leaf+".priority"] = fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "priority"))
	}
	settings["root.a.maximum-capacity"] = fmt.Sprint(rapid.IntRange(share, 100).Draw(t, "maximum"))
	tree, err := queue.ParseCapacity(settings)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// anyFairTree draws a tree of fair queues.
func anyFairTree(t *rapid.T) *queue.Tree {
	parent := rapid.SampledFrom([]string{"fair", "drf"}).Draw(t, "policy")
	leaf := func(name string) string {
		policies := []string{"fair", "fifo"}
		if parent == "drf" {
			policies = append(policies, "drf")
		}
		return fmt.Sprintf("<queue name=%q><weight>%v</weight><minResources>%d mb, %d vcores</minResources>"+
			"<maxResources>%d mb, %d vcores</maxResources><maxRunningApps>%d</maxRunningApps><maxAMShare>%v</maxAMShare>"+
			"<schedulingPolicy>%s</schedulingPolicy></queue>", name,
			rapid.SampledFrom([]float64{0.5, 1, 3}).Draw(t, "weight"), 1024*rapid.IntRange(0, 4).Draw(t, "least"),
			rapid.IntRange(0, 4).Draw(t, "least"), 1024*rapid.IntRange(4, 20).Draw(t, "most"), rapid.IntRange(4, 20).Draw(t, "most"),
			rapid.IntRange(1, 4).Draw(t, "parallel"), rapid.SampledFrom([]float64{-1, 0.5, 1}).Draw(t, "masters"),
			rapid.SampledFrom(policies).Draw(t, "policy"))
	}
	tree, err := queue.ParseFair([]byte(fmt.Sprintf("<allocations><defaultQueueSchedulingPolicy>%s</defaultQueueSchedulingPolicy>"+
		"<queue name=\"a\">%s%s</queue>%s</allocations>", parent, leaf("x"), leaf("y"), leaf("b"))))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

var leaves = []string{"root.a.x", "root.a.y", "root.b"}

// anyWorks are the kinds of work that a node is open to.
func anyWorks(t *rapid.T) Works {
	return rapid.SampledFrom([]Works{AllWork, AllWork, NoWork, WorkOf(0), WorkOf(1)}).Draw(t, "open")
}

// world drives a scheduler through random events.
type world struct {
	tree  func(*rapid.T) *queue.Tree
	s     *Scheduler
	now   int64
	seq   int64
	nodes []handle.Node
	apps  []handle.App
	held  []Decision
	log   []Decision
}

func (w *world) step(t *rapid.T) {
	s := w.s
	w.now += rapid.Int64Range(0, 700).Draw(t, "ms")
	host := func() string { return fmt.Sprintf("n%d", rapid.IntRange(0, 4).Draw(t, "host")) }
	switch event := rapid.IntRange(0, 15).Draw(t, "event"); {
	case event == 0 || len(w.nodes) == 0:
		h := host()
		w.nodes = append(w.nodes, s.AddNode(NodeSpec{
			Host: h, Rack: "/r" + h[1:], Capability: res(rapid.Int64Range(1, 8).Draw(t, "gb"), rapid.Int64Range(1, 8).Draw(t, "cores")),
		}))
	case event == 1 || len(w.apps) == 0:
		w.seq++
		w.apps = append(w.apps, s.AddApp(AppSpec{
			Seq: w.seq, Priority: rapid.Int32Range(0, 2).Draw(t, "priority"), AM: res(1, 1),
			Queue: rapid.SampledFrom(leaves).Draw(t, "queue"), User: rapid.SampledFrom([]string{"u", "v"}).Draw(t, "user"),
		}))
	case event <= 6:
		s.UpdateAsks(rapid.SampledFrom(w.apps).Draw(t, "app"), []Ask{{
			Priority: rapid.Int32Range(0, 1).Draw(t, "priority"), Count: rapid.Int32Range(0, 5).Draw(t, "count"),
			Name:          rapid.SampledFrom([]string{Any, Any, Any, host(), "/r" + host()[1:]}).Draw(t, "name"),
			RelaxLocality: rapid.IntRange(0, 4).Draw(t, "relax") > 0,
			Work:          rapid.SampledFrom([]Work{0, 0, 0, 1}).Draw(t, "work"),
			Capability:    res(rapid.Int64Range(1, 5).Draw(t, "gb"), rapid.Int64Range(1, 5).Draw(t, "cores")),
		}})
	case event <= 8:
		if len(w.held) > 0 {
			i := rapid.IntRange(0, len(w.held)-1).Draw(t, "container")
			if rapid.Bool().Draw(t, "preempted for somebody") {
				s.PreemptFor(w.held[i].Container, rapid.SampledFrom(w.apps).Draw(t, "app"))
			}
			s.Free(w.held[i].Container)
			w.held = slices.Delete(w.held, i, i+1)
		}
	case event == 9:
		n := rapid.SampledFrom(w.nodes).Draw(t, "node")
		switch rapid.IntRange(0, 2).Draw(t, "change") {
		case 0:
			s.At(n).SetCapability(n, res(rapid.Int64Range(1, 8).Draw(t, "gb"), rapid.Int64Range(1, 8).Draw(t, "cores")))
		case 1:
			s.At(n).SetOpen(n, anyWorks(t))
		case 2:
			w.drop(func(d Decision) bool { return d.Node == n })
			s.At(n).RemoveNode(n)
			w.nodes = slices.DeleteFunc(w.nodes, func(h handle.Node) bool { return h == n })
		}
	case event == 10:
		a := rapid.SampledFrom(w.apps).Draw(t, "app")
		w.drop(func(d Decision) bool { return d.App == a })
		s.RemoveApp(a)
		w.apps = slices.DeleteFunc(w.apps, func(h handle.App) bool { return h == a })
	case event == 11:
		a := rapid.SampledFrom(w.apps).Draw(t, "app")
		switch rapid.IntRange(0, 2).Draw(t, "change") {
		case 0:
			s.MoveApp(a, rapid.SampledFrom(leaves).Draw(t, "queue"))
		case 1:
			s.SetPriority(a, rapid.Int32Range(0, 3).Draw(t, "priority"))
		case 2:
			s.UpdateBlacklist(a, []string{host()}, []string{host()})
		}
	case event == 14 && len(w.held) > 0:
		d := rapid.SampledFrom(w.held).Draw(t, "container")
		to := res(rapid.Int64Range(0, 5).Draw(t, "gb"), rapid.Int64Range(0, 5).Draw(t, "cores"))
		if was := s.Held(d.Container); s.Of(d.Container).SetHeld(d.Container, to) != (s.Held(d.Container) == to) || s.Held(d.Container) != was && s.Held(d.Container) != to {
			t.Fatalf("%+v takes %v, is to take %v, and takes %v", d, was, to, s.Held(d.Container))
		}
		if rapid.Bool().Draw(t, "noted") {
			s.Of(d.Container).NoteHeld(d.Container, to)
		}
	case event == 15 && len(w.held) > 0:
		h := rapid.SampledFrom(w.held).Draw(t, "container").Container
		s.Of(h).ResizeContainer(h, res(rapid.Int64Range(1, 5).Draw(t, "gb"), rapid.Int64Range(1, 5).Draw(t, "cores")))
	case event == 12:
		if err := s.SetTree(w.tree(t)); err != nil {
			t.Fatal(err)
		}
	case event == 13 && len(w.held) > 0:
		s.MakeKillable(rapid.SampledFrom(w.held).Draw(t, "container").Container)
	}
}

// schedule has decisions made until nobody has to end for them any more.
func (w *world) schedule() (all []Decision) {
	for again := true; again; {
		again = false
		list := slices.Clone(w.s.Schedule(w.now))
		for _, d := range list {
			if d.Kind == Kill {
				again = true
				w.drop(func(o Decision) bool { return o.Container == d.Container })
			}
		}
		all = append(all, list...)
		for _, d := range list {
			if d.Kind == Allocate {
				w.held = append(w.held, d)
			}
		}
	}
	return all
}

func (w *world) drop(match func(Decision) bool) {
	w.held = slices.DeleteFunc(w.held, func(d Decision) bool {
		if match(d) {
			w.s.Free(d.Container)
			return true
		}
		return false
	})
}

// After any history sums add up, orders are in order, no decision takes a queue above its maximum or fills a node beyond
// its capability, and nobody waits for what there is to be had.
func TestNothingWaitsInVain(t *testing.T) {
	for name, tree := range map[string]func(*rapid.T) *queue.Tree{"capacity": anyTree, "fair": anyFairTree} {
		t.Run(name, func(t *testing.T) { nothingWaitsInVain(t, tree) })
	}
}

func nothingWaitsInVain(t *testing.T, tree func(*rapid.T) *queue.Tree) {
	rapid.Check(t, func(t *rapid.T) {
		w := world{tree: tree, s: New(Config{Tree: tree(t), Minimum: res(1, 1), Heartbeat: time.Second})}
		w.s.core.Nodes.Names.SetLeast(rapid.IntRange(0, 8).Draw(t, "names that are kept"))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.step(t)
			s := w.s
			for _, d := range w.schedule() {
				if d.Kind != Allocate {
					continue
				}
				if n := &s.core.Nodes.At[d.Node]; n.Open == NoWork || !s.core.Calc.Measure(n.Used).FitsIn(s.core.Calc.Measure(*s.core.Nodes.Capability(n))) {
					t.Fatalf("%+v overfills node %d: %v of %v", d, d.Node, n.Used, *s.core.Nodes.Capability(n))
				}
				for q := s.core.Apps[d.App].Leaf; q != ranking.Nothing; q = s.core.Queues[q].Parent {
					if q := &s.core.Queues[q]; s.core.Limited(q) && !s.core.Calc.Measure(q.Used).FitsIn(s.core.Calc.Measure(q.Maximum)) {
						t.Fatalf("%+v takes %s above its maximum: %v of %v", d, q.Cfg.Path, q.Used, q.Maximum)
					}
				}
			}
			if err := s.core.Check(); err != nil {
				t.Fatal(err)
			}
			var together [][]explain.Reason
			s.ExplainAll(w.apps, func(r []explain.Reason) bool {
				together = append(together, r)
				return true
			})
			for i, a := range w.apps {
				if diff := cmp.Diff(s.Explain(a), together[i]); diff != "" {
					t.Fatalf("application %d is explained otherwise among others: %s", a, diff)
				}
				for _, r := range together[i] {
					if r.Limit == explain.OthersFirst && s.core.Apps[a].Active {
						t.Fatalf("application %d waits in vain: %+v", a, r)
					}
				}
			}
		}
	})
}

// Two schedulers that see the same events decide the same, also if one of them looks at all reservations each time rather
// than only at those that something has happened to.
func TestSameEventsSameDecisions(t *testing.T) {
	for name, tree := range map[string]func(*rapid.T) *queue.Tree{"capacity": anyTree, "fair": anyFairTree} {
		t.Run(name, func(t *testing.T) { sameEventsSameDecisions(t, tree) })
	}
}

func sameEventsSameDecisions(t *testing.T, tree func(*rapid.T) *queue.Tree) {
	decisions := func(thorough bool) *rapid.Generator[[]Decision] {
		return rapid.Custom(func(t *rapid.T) []Decision {
			w := world{tree: tree, s: New(Config{Tree: tree(t), Minimum: res(1, 1), Heartbeat: time.Second})}
			w.s.core.Nodes.Names.SetLeast(rapid.IntRange(0, 8).Draw(t, "names that are kept"))
			for range 60 {
				w.step(t)
				w.s.core.Recheck = w.s.core.Recheck || thorough
				w.log = append(w.log, w.schedule()...)
			}
			return w.log
		})
	}
	decided := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<20).Draw(t, "seed")
		once := decisions(false).Example(n)
		decided += len(once)
		if diff := cmp.Diff(once, decisions(true).Example(n)); diff != "" {
			t.Fatal(diff)
		}
	})
	if decided == 0 {
		t.Error("nothing was decided, so nothing is compared")
	}
}
