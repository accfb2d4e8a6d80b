package sim_test

import (
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/sim"
)

// halves are two queues with half of the cluster each, of which either may take all, with rounds of preemption each second and
// two seconds of patience.
func halves(t *testing.T) *queue.Tree {
	t.Helper()
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "root.a.user-limit-factor": "9", "root.b.user-limit-factor": "9",
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &tree.Settings.Preemption
	p.Enabled, p.Interval, p.Wait, p.PerRound, p.Natural = true, time.Second, 2*time.Second, 1, 1
	for _, q := range tree.Root.Children {
		q.NoPreemption = false
	}
	return tree
}

// rivals are a job that takes the whole cluster of four slots for a long time, and one of the other queue that comes 10 s later.
func rivals() []sim.Job {
	long := job("long", 0, 100*second, 100*second, 100*second, 100*second)
	short := job("short", 10*second, 5*second, 5*second)
	long.Queue, short.Queue = "root.a", "root.b"
	return []sim.Job{long, short}
}

func preempted(t *testing.T, tree *queue.Tree) *sim.Report {
	t.Helper()
	c, err := sim.NewCluster(drive.New(scheduler.Config{Tree: tree, Minimum: slot}), sim.Nodes{Count: 2, Capacity: slot.Times(2)}, rivals())
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPreemption: who is promised half gets it when the wait is over, and what was preempted is done again.
func TestPreemption(t *testing.T) {
	off := halves(t)
	off.Settings.Preemption.Enabled = false
	if r := preempted(t, off); r.Preempted != 0 || r.Jobs[1].End != 105*second || r.Jobs[0].End != 100*second {
		t.Errorf("without preemption %d containers are preempted, and the short job ends at %v s", r.Preempted, r.Jobs[1].End.Seconds())
	}
	lazy := halves(t)
	lazy.Settings.Preemption.Lazy = true
	for name, tree := range map[string]*queue.Tree{"at once": halves(t), "lazily": lazy} {
		r := preempted(t, tree)
		// chosen at 10 or 11 s, killed two seconds later; then 5 s, and 100 s for those who begin anew
		start, end := r.Jobs[1].Start, r.Jobs[0].End
		if r.Preempted != 2 || start < 12*second || start > 14*second || r.Jobs[1].End != start+5*second || end != start+105*second {
			t.Errorf("%s: %d containers are preempted, the short job runs from %v to %v s, the long one until %v s", name, r.Preempted,
				start.Seconds(), r.Jobs[1].End.Seconds(), end.Seconds())
		}
		if r.Wasted != 2*start || r.Tasks != 6 {
			t.Errorf("%s: %v s of work are lost with containers that ran %v s; %d tasks are counted", name, r.Wasted.Seconds(), start.Seconds(), r.Tasks)
		}
	}
}
