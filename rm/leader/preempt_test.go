package leader

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/rm/leader/preemption"
	"heddle/rm/queue"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// halves are two queues with half of the cluster each, of which either may take all.
func halves(t *testing.T) *queue.Tree {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"yarn.resourcemanager.scheduler.monitor.enable":                               "true",
		"yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round": "1",
		"yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor": "1",
		"yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill":       "15000",
		"yarn.scheduler.capacity.maximum-am-resource-percent":                         "1",
		"yarn.scheduler.capacity.root.queues":                                         "a,b",
		"yarn.scheduler.capacity.root.a.capacity":                                     "50",
		"yarn.scheduler.capacity.root.b.capacity":                                     "50",
		"yarn.scheduler.capacity.root.a.user-limit-factor":                            "4",
		"yarn.scheduler.capacity.root.b.user-limit-factor":                            "4",
	} {
		c.Set(key, value)
	}
	tree, err := queue.CapacityFromConf(c)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func to(queue string) func(*pb.ApplicationSubmissionContext) {
	return func(ctx *pb.ApplicationSubmissionContext) { ctx.SetQueue(queue) }
}

// crowd has an application of the first queue fill the cluster, and one of the second wait for a container. It returns both,
// and the node.
func (w *world) crowd() (rich, starved, node *peer, held []records.ContainerID) {
	w.t.Helper()
	node = &peer{w: w, node: w.nodeOf(1, records.NewResource(4096, 8))}
	rich = w.am(to("root.a"))
	for _, g := range rich.allocate(AllocateCall{Asks: ask(3)}).Grants {
		held = append(held, g.ID)
	}
	starved = w.am(to("root.b"))
	if r := starved.allocate(AllocateCall{Asks: ask(1)}); len(held) != 3 || len(r.Grants) != 0 {
		w.t.Fatalf("the rich have %v, the starved %+v", held, r.Grants)
	}
	return rich, starved, node, held
}

// losses is what an application is said to be about to lose.
func (w *world) losses(p *peer) []preemption.Loss {
	w.t.Helper()
	list, err := w.Losses(p.attempt.App)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// TestPreemption: who has more than its guarantee is told, loses the latest container when nothing is given back in time, and
// the other gets it.
func TestPreemption(t *testing.T) {
	runWorld(t, func(s *Settings) { s.Queues = halves(t) }, func(w *world) {
		rich, starved, node, held := w.crowd()
		node.heartbeat(runs(held[0]), runs(held[1]), runs(held[2]))
		time.Sleep(4 * time.Second)
		r := rich.allocate(AllocateCall{})
		last := held[2]
		if p := r.Preemption; p.Strict || !slices.Equal(p.Containers, []records.ContainerID{last}) || p.Count != 4 || p.Minimum != records.NewResource(256, 1) {
			t.Fatalf("told: %+v", p)
		}
		if r := rich.allocate(AllocateCall{}); len(r.Preemption.Containers) != 0 {
			t.Errorf("told twice: %+v", r.Preemption)
		}
		if l := w.losses(rich); len(l) != 1 || l[0].Container != last || l[0].Until < w.Now().UnixMilli() || !strings.Contains(l[0].Reason, "root.a uses") {
			t.Errorf("explained as %+v", l)
		}
		time.Sleep(16 * time.Second)
		r = rich.allocate(AllocateCall{})
		if len(r.Completed) != 1 || r.Completed[0].ID != last || r.Completed[0].ExitStatus != records.ExitPreempted ||
			!strings.Contains(r.Completed[0].Diagnostics, "preempted by scheduler") {
			t.Fatalf("lost: %+v", r.Completed)
		}
		if app := w.app(rich.attempt.App); app.PreemptedContainers != 1 || app.PreemptedAMs != 0 || app.Preempted != records.NewResource(1024, 1) {
			t.Errorf("%d containers with %v and %d masters count as preempted", app.PreemptedContainers, app.Preempted, app.PreemptedAMs)
		}
		if r := starved.allocate(AllocateCall{}); len(r.Grants) != 1 {
			t.Errorf("the starved get %+v", r.Grants)
		}
		if reply := node.heartbeat(runs(held[0]), runs(held[1]), runs(last)); !slices.Contains(reply.Cleanup, last) {
			t.Errorf("the node is told %+v", reply)
		}
	})
}

// TestPreemptionGivenBack: an application that gives back what it is told of loses nothing.
func TestPreemptionGivenBack(t *testing.T) {
	runWorld(t, func(s *Settings) { s.Queues = halves(t) }, func(w *world) {
		rich, starved, _, held := w.crowd()
		time.Sleep(4 * time.Second)
		if r := rich.allocate(AllocateCall{}); len(r.Preemption.Containers) != 1 {
			t.Fatalf("told: %+v", r.Preemption)
		}
		rich.allocate(AllocateCall{Releases: held[:1]})
		if r := starved.allocate(AllocateCall{}); len(r.Grants) != 1 {
			t.Errorf("the starved get %+v", r.Grants)
		}
		time.Sleep(40 * time.Second)
		for _, c := range rich.allocate(AllocateCall{}).Completed {
			if c.ExitStatus == records.ExitPreempted {
				t.Errorf("%v is preempted", c.ID)
			}
		}
	})
}

// TestLazyPreemption: a container whose time is up lives on while nobody can have its room, and ends as soon as somebody can.
func TestLazyPreemption(t *testing.T) {
	lazy := func(s *Settings) {
		s.Queues = halves(t)
		s.Queues.Settings.Preemption.Lazy = true
	}
	runWorld(t, lazy, func(w *world) {
		rich, starved, node, held := w.crowd()
		host := node.node.Host
		starved.allocate(AllocateCall{BlacklistAdd: []string{host}})
		time.Sleep(40 * time.Second)
		if r := rich.allocate(AllocateCall{}); len(r.Preemption.Containers) != 1 || len(r.Completed) != 0 {
			t.Fatalf("told %+v, lost %+v", r.Preemption, r.Completed)
		}
		if l := w.losses(rich); len(l) != 1 || l[0].Container != held[2] || l[0].Until != 0 {
			t.Errorf("explained as %+v", l)
		}
		if r := starved.allocate(AllocateCall{BlacklistRemove: []string{host}}); len(r.Grants) != 1 {
			t.Errorf("the starved get %+v", r.Grants)
		}
		r := rich.allocate(AllocateCall{})
		if len(r.Completed) != 1 || r.Completed[0].ID != held[2] || r.Completed[0].ExitStatus != records.ExitPreempted ||
			!strings.Contains(r.Completed[0].Diagnostics, "its room is needed now") {
			t.Fatalf("lost: %+v", r.Completed)
		}
		if reply := node.heartbeat(runs(held[0]), runs(held[1]), runs(held[2])); !slices.Contains(reply.Cleanup, held[2]) {
			t.Errorf("the node is told %+v", reply)
		}
	})
}

// TestLazyPreemptionOff: killable containers are safe again when the configuration says so, and get the whole wait anew.
func TestLazyPreemptionOff(t *testing.T) {
	tree := halves(t)
	tree.Settings.Preemption.Lazy = true
	runWorld(t, func(s *Settings) { s.Queues = tree }, func(w *world) {
		rich, starved, node, _ := w.crowd()
		starved.allocate(AllocateCall{BlacklistAdd: []string{node.node.Host}})
		time.Sleep(30 * time.Second)
		if err := w.Do(func() error {
			if l := preemption.Losses(w.work.Apps[rich.attempt.App], handleOf, w.sched.Loss); len(l) != 1 || l[0].Until != 0 {
				return fmt.Errorf("killable are %+v", l)
			}
			tree.Settings.Preemption.Lazy = false
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if r := rich.allocate(AllocateCall{}); len(r.Completed) != 0 {
			t.Fatalf("lost at once: %+v", r.Completed)
		}
		time.Sleep(12 * time.Second)
		if r := rich.allocate(AllocateCall{}); len(r.Completed) != 1 {
			t.Fatalf("lost: %+v", r.Completed)
		}
	})
}

// TestPreemptionInterval: rounds are as often as is said, also more often than each second.
func TestPreemptionInterval(t *testing.T) {
	often := func(s *Settings) {
		s.Queues = halves(t)
		s.Queues.Settings.Preemption.Interval, s.Queues.Settings.Preemption.Wait = 50*time.Millisecond, 200*time.Millisecond
	}
	runWorld(t, often, func(w *world) {
		rich, _, _, _ := w.crowd()
		time.Sleep(1300 * time.Millisecond) // the first round comes within a second
		if r := rich.allocate(AllocateCall{}); len(r.Completed) != 1 {
			t.Errorf("told %+v, lost %+v", r.Preemption, r.Completed)
		}
	})
}

// TestObserveOnly: nobody is told, nothing is killed.
func TestObserveOnly(t *testing.T) {
	observe := func(s *Settings) {
		s.Queues = halves(t)
		s.Queues.Settings.Preemption.ObserveOnly = true
	}
	runWorld(t, observe, func(w *world) {
		rich, _, _, _ := w.crowd()
		time.Sleep(40 * time.Second)
		if r := rich.allocate(AllocateCall{}); len(r.Preemption.Containers) != 0 || len(r.Completed) != 0 {
			t.Errorf("told %+v, lost %+v", r.Preemption, r.Completed)
		}
	})
}

// TestFairPreemption: under YARN's FairScheduler the contract is strict, and told again until the containers are gone.
func TestFairPreemption(t *testing.T) {
	tree, err := queue.ParseFair([]byte(`<allocations>
		<queue name="a"/>
		<queue name="b"><fairSharePreemptionTimeout>1</fairSharePreemptionTimeout><fairSharePreemptionThreshold>1</fairSharePreemptionThreshold></queue>
	</allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	f := &tree.Settings.Fair
	f.Preemption, f.UtilizationThreshold, f.Wait, f.StarvationInterval = true, 0.8, 5*time.Second, 10*time.Second
	runWorld(t, func(s *Settings) { s.Queues = tree }, func(w *world) {
		rich, starved, _, held := w.crowd()
		time.Sleep(3 * time.Second)
		for range 2 {
			if p := rich.allocate(AllocateCall{}).Preemption; !p.Strict || !slices.Equal(p.Containers, held[2:]) {
				t.Fatalf("told: %+v", p)
			}
		}
		if l := w.losses(rich); len(l) != 1 || l[0].Container != held[2] || l[0].Until < w.Now().UnixMilli() {
			t.Errorf("explained as %+v", l)
		}
		time.Sleep(6 * time.Second)
		if r := rich.allocate(AllocateCall{}); len(r.Completed) != 1 || r.Completed[0].ExitStatus != records.ExitPreempted || len(r.Preemption.Containers) != 0 {
			t.Fatalf("lost %+v, told %+v", r.Completed, r.Preemption)
		}
		if r := starved.allocate(AllocateCall{}); len(r.Grants) != 1 {
			t.Errorf("the starved get %+v", r.Grants)
		}
	})
}
