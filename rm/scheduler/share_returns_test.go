package scheduler

import (
	"slices"
	"testing"

	"heddle/rm/scheduler/handle"
)

// halves is two queues that are guaranteed half of a cluster each, of ten nodes with 10 GB and 12 processors. The first one has an application
// of containers with 1 GB and 4 processors and one with 4 and 1, the second one with 1 and 3 and with 5 and 1. Each asks for 60.
type halves struct {
	s                    *Scheduler
	cpu, mem, bcpu, bmem handle.App
	held                 map[handle.App][]handle.Container
	byAge                []Decision
}

func newHalves(t *testing.T, calculator string) *halves {
	s := New(Config{Tree: capacityTree(t, map[string]string{
		"root.queues": "a,b", "maximum-am-resource-percent": "1", "root.a.capacity": "50", "root.b.capacity": "50",
		"root.a.minimum-user-limit-percent": "50", "root.a.user-limit-factor": "10", "root.b.user-limit-factor": "10",
		"resource-calculator": "org.apache.hadoop.yarn.util.resource." + calculator,
	}), Minimum: res(1, 1)})
	for _, name := range []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"} {
		s.AddNode(NodeSpec{Host: name, Rack: "/r", Capability: res(10, 12)})
	}
	app := func(queue, user string, seq, gb, cores int64) handle.App {
		h := s.AddApp(AppSpec{Queue: queue, User: user, Seq: seq, AM: res(1, 1)})
		s.UpdateAsks(h, []Ask{{Priority: 1, Name: Any, Count: 60, RelaxLocality: true, Capability: res(gb, cores)}})
		return h
	}
	return &halves{
		s: s, held: map[handle.App][]handle.Container{},
		cpu: app("root.a", "alice", 1, 1, 4), mem: app("root.a", "bob", 2, 4, 1),
		bcpu: app("root.b", "carol", 3, 1, 3), bmem: app("root.b", "carol", 4, 5, 1),
	}
}

func (x *halves) run() {
	for _, d := range x.s.Schedule(0) {
		if d.Kind == Allocate {
			x.held[d.App] = append(x.held[d.App], d.Container)
			x.byAge = append(x.byAge, d)
		}
	}
}

// leave ends an application with all of its containers.
func (x *halves) leave(h handle.App) {
	for _, c := range x.held[h] {
		x.s.Free(c)
	}
	x.byAge = slices.DeleteFunc(x.byAge, func(d Decision) bool { return d.App == h })
	delete(x.held, h)
	x.s.RemoveApp(h)
	x.run()
}

// endOldest ends the oldest container of all, and tells whose it was.
func (x *halves) endOldest() handle.App {
	d := x.byAge[0]
	x.byAge = x.byAge[1:]
	x.held[d.App] = slices.DeleteFunc(x.held[d.App], func(c handle.Container) bool { return c == d.Container })
	x.s.Free(d.Container)
	x.run()
	return d.App
}

// gigabytes is what the two queues have.
func (x *halves) gigabytes() [2]int {
	n := func(h handle.App) int { return len(x.held[h]) }
	return [2]int{n(x.cpu) + 4*n(x.mem), n(x.bcpu) + 5*n(x.bmem)}
}

// Where small containers of one queue end, there may be room for the other's smaller containers only, so that it
// gets more than its half and the first one less. That lasts until containers end: a node is reserved for the queue that has less, and each
// that ends brings its share nearer. (A stock ResourceManager with the same load gives the two 6 and 14 containers at
// first, and Heddle 3 and 17.)
func TestAQueueGetsItsShareBackAsContainersEnd(t *testing.T) {
	x := newHalves(t, "DominantResourceCalculator")
	x.run()
	x.leave(x.cpu)
	x.leave(x.bcpu)
	if len(x.held[x.mem]) != 17 || len(x.held[x.bmem]) != 3 {
		t.Errorf("mem has %d and bmem %d: describe the new numbers", len(x.held[x.mem]), len(x.held[x.bmem]))
	}
	ended := 0
	for ; len(x.held[x.bmem]) < 9 && ended < 20; ended++ {
		before := len(x.held[x.bmem])
		if whose := x.endOldest(); whose == x.mem && len(x.held[x.bmem]) < before {
			t.Errorf("after %d ends bmem has %d, fewer than before", ended, len(x.held[x.bmem]))
		}
	}
	if ended != 8 || len(x.held[x.mem]) > 12 {
		t.Errorf("after %d ends bmem has %d and mem %d; want 45 of the 50 GB after 8, fewer than half of all containers", ended, len(x.held[x.bmem]), len(x.held[x.mem]))
	}
}

// Containers of 4 GB find room between those of 1 GB that a stock ResourceManager leaves empty: it gives each node one
// container a heartbeat. In each phase, both queues have at least what they have there, and the poorer one is never poorer.
func TestPackingTakesNothingFromThePoorerQueue(t *testing.T) {
	for _, c := range []struct {
		calculator string
		phase      string
		stock      [2]int // GB of the queues' containers on a stock 3.4.2
		leave      func(x *halves)
	}{
		{"DefaultResourceCalculator", "all", [2]int{34, 50}, func(*halves) {}},
		{"DefaultResourceCalculator", "the first leaves", [2]int{28, 52}, func(x *halves) { x.leave(x.cpu) }},
		{"DefaultResourceCalculator", "two leave", [2]int{48, 40}, func(x *halves) { x.leave(x.cpu); x.leave(x.bcpu) }},
		{"DominantResourceCalculator", "all", [2]int{47, 20}, func(*halves) {}},
		{"DominantResourceCalculator", "the first leaves", [2]int{52, 24}, func(x *halves) { x.leave(x.cpu) }},
	} {
		x := newHalves(t, c.calculator)
		x.run()
		c.leave(x)
		if got := x.gigabytes(); got[0] < c.stock[0] || got[1] < c.stock[1] {
			t.Errorf("%s, %s: the queues have %d GB, less than stock's %d", c.calculator, c.phase, got, c.stock)
		}
	}
}
