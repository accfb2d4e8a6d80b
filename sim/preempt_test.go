package sim_test

import (
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/yarn/records"
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

// TestSuspension: who is guaranteed half gets it at once, and what was suspended goes on where it stopped.
func TestSuspension(t *testing.T) {
	for name, x := range map[string]struct {
		means suspension.Means
		able  drive.Ability
		tries int
	}{
		"at once": {suspension.Immediate, drive.Ability{Suspend: true, Reclaim: true}, 0}, "in steps": {suspension.Graceful, drive.Ability{Suspend: true, Shrink: true, Reclaim: true}, 0},
		"resumes late": {suspension.Immediate, drive.Ability{Suspend: true, Reclaim: true}, 5},
	} {
		tree := halves(t)
		tree.Settings.Suspension.Tries = x.tries
		a, _ := tree.Find("root.a")
		a.Means = x.means
		d := eventlog.Unrecorded(scheduler.Config{Tree: tree, Minimum: slot, Heartbeat: time.Second})
		c, err := sim.NewCluster(d, sim.Nodes{Count: 2, Capacity: records.NewResource(2*1024+128, 2), Ability: x.able}, rivals())
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Run()
		if err != nil {
			t.Fatal(err)
		}
		late := sim.Time(x.tries) * second
		if r.Preempted != 0 || r.Wasted != 0 || r.Suspended < 2 || r.Jobs[1].Start != 10*second || r.Jobs[1].End != 15*second ||
			r.Jobs[0].End < 105*second || r.Jobs[0].End > 107*second+late {
			t.Errorf("%s: %d are killed, %d suspended; the short job runs from %v to %v s, the long one until %v s", name, r.Preempted, r.Suspended,
				r.Jobs[1].Start.Seconds(), r.Jobs[1].End.Seconds(), r.Jobs[0].End.Seconds())
		}
	}
}

func preempted(t *testing.T, tree *queue.Tree) *sim.Report {
	t.Helper()
	c, err := sim.NewCluster(eventlog.Unrecorded(scheduler.Config{Tree: tree, Minimum: slot}), sim.Nodes{Count: 2, Capacity: slot.Times(2)}, rivals())
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPreemption: who is guaranteed half gets it when the wait is over, and what was preempted is done again.
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
