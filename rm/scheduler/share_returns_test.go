package scheduler

import (
	"slices"
	"testing"

	"heddle/rm/scheduler/handle"
)

// Two queues are guaranteed half of the cluster each. Where small containers of one end, there may be room for the other's smaller containers only, so that it
// gets more than its half and the first one less. That lasts until containers end: a node is reserved for the queue that has less, and each
// that ends brings its share nearer. (A stock ResourceManager with the same load gives the two 6 and 14 containers at
// first, and Heddle 3 and 17.)
func TestAQueueGetsItsShareBackAsContainersEnd(t *testing.T) {
	s := New(Config{Tree: capacityTree(t, map[string]string{
		"root.queues": "a,b", "maximum-am-resource-percent": "1", "root.a.capacity": "50", "root.b.capacity": "50",
		"root.a.minimum-user-limit-percent": "50", "root.a.user-limit-factor": "10", "root.b.user-limit-factor": "10",
		"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	}), Minimum: res(1, 1)})
	for _, name := range []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"} {
		s.AddNode(NodeSpec{Host: name, Rack: "/r", Capability: res(10, 12)})
	}
	app := func(queue, user string, seq, gb, cores int64) handle.App {
		h := s.AddApp(AppSpec{Queue: queue, User: user, Seq: seq, AM: res(1, 1)})
		s.UpdateAsks(h, []Ask{{Priority: 1, Name: Any, Count: 60, RelaxLocality: true, Capability: res(gb, cores)}})
		return h
	}
	cpu, mem := app("root.a", "alice", 1, 1, 4), app("root.a", "bob", 2, 4, 1)
	bcpu, bmem := app("root.b", "carol", 3, 1, 3), app("root.b", "carol", 4, 5, 1)
	held := map[handle.App][]handle.Container{}
	var byAge []Decision
	run := func() {
		for _, d := range s.Schedule(0) {
			if d.Kind == Allocate {
				held[d.App] = append(held[d.App], d.Container)
				byAge = append(byAge, d)
			}
		}
	}
	leave := func(h handle.App) {
		for _, c := range held[h] {
			s.Free(c)
		}
		byAge = slices.DeleteFunc(byAge, func(d Decision) bool { return d.App == h })
		delete(held, h)
		s.RemoveApp(h)
		run()
	}
	run()
	leave(cpu)
	leave(bcpu)
	if len(held[mem]) != 17 || len(held[bmem]) != 3 {
		t.Errorf("mem has %d and bmem %d: describe the new numbers", len(held[mem]), len(held[bmem]))
	}
	ended := 0
	for ; len(held[bmem]) < 9 && ended < 20; ended++ {
		d, before := byAge[0], len(held[bmem])
		byAge = byAge[1:]
		held[d.App] = slices.DeleteFunc(held[d.App], func(c handle.Container) bool { return c == d.Container })
		s.Free(d.Container)
		run()
		if d.App == mem && len(held[bmem]) < before {
			t.Errorf("after %d ends bmem has %d, fewer than before", ended, len(held[bmem]))
		}
	}
	if ended != 8 || len(held[mem]) > 12 {
		t.Errorf("after %d ends bmem has %d and mem %d; want 45 of the 50 GB after 8, fewer than half of all containers", ended, len(held[bmem]), len(held[mem]))
	}
}
