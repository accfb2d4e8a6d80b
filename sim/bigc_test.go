package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// bursts are BIG-C's scenario in small: long jobs that fill 26 nodes several times over, and bursts of short ones.
func bursts(seed uint64) (jobs []sim.Job) {
	random := rand.New(rand.NewPCG(seed, 1))
	tasks := func(n int, mean float64) (all []sim.Task, work sim.Time) {
		for range n {
			d := sim.Time(mean * (0.5 + random.Float64()) * 1e9)
			all, work = append(all, sim.Task{Duration: d}), work+d
		}
		return all, work
	}
	for i := range 8 {
		all, work := tasks(60, 400)
		jobs = append(jobs, sim.Job{
			Name: fmt.Sprint("long", i), Submit: sim.Time(i) * 30 * second, Queue: "root.long", User: "u", Estimate: 400 * second, Work: work,
			Stages: []sim.Stage{{Priority: 1, Resource: records.NewResource(16<<10, 4), Tasks: all}},
		})
	}
	for burst := range 12 {
		for i := range 6 {
			all, work := tasks(30, 10)
			jobs = append(jobs, sim.Job{
				Name: fmt.Sprint("short", burst, ".", i), Submit: sim.Time(300+burst*100)*second + sim.Time(random.Float64()*20e9), Queue: "root.short", User: "u",
				Estimate: 10 * second, Work: work, Stages: []sim.Stage{{Priority: 1, Resource: records.NewResource(4<<10, 1), Tasks: all}},
			})
		}
	}
	slices.SortStableFunc(jobs, func(a, b sim.Job) int { return int(min(max(a.Submit-b.Submit, -1), 1)) })
	return jobs
}

// outcome is what a policy comes to.
type outcome struct {
	short, long sim.Time // 95th percentile of short jobs' latency, 90th of long ones'
	report      *sim.Report
}

func bigC(t *testing.T, means suspension.Means, tries int) outcome {
	t.Helper()
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "long,short", "root.long.capacity": "5", "root.short.capacity": "95", "root.long.user-limit-factor": "100", "root.short.user-limit-factor": "100",
		"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &tree.Settings.Preemption
	p.Enabled, p.PerRound, p.Natural, p.Wait = means != suspension.Spare, 1, 1, 0 // BIG-C kills at once
	tree.Settings.Suspension.Tries = tries
	for _, q := range tree.Queues() {
		q.NoPreemption, q.Means = false, means
	}
	d := eventlog.Unrecorded(scheduler.Config{Tree: tree, Minimum: records.NewResource(1024, 1), Heartbeat: time.Second})
	c, err := sim.NewCluster(d, sim.Nodes{
		Count: 26, Capacity: records.NewResource(128<<10, 32), Ability: drive.Ability{Suspend: true, Shrink: true, Reclaim: true},
	}, bursts(1))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	of := func(q string) []sim.Time { return r.Latencies(func(o *sim.Outcome) bool { return o.Queue == q }) }
	out := outcome{short: sim.Percentile(of("root.short"), 95), long: sim.Percentile(of("root.long"), 90), report: r}
	t.Logf("%v, D = %d: short jobs' p95 %.1f s, long jobs' p90 %.0f s; %d suspended, %d killed, %.0f s of work lost",
		means, tries, out.short.Seconds(), out.long.Seconds(), r.Suspended, r.Preempted, r.Wasted.Seconds())
	return out
}

// Suspension serves short jobs sooner than killing at once, and loses no work of the long ones. Where room has to wait for
// the return of containers for three heartbeats, they are suspended less often than where they take any room at once.
func TestSuspensionServesShortJobs(t *testing.T) {
	none, kill := bigC(t, suspension.Spare, 3), bigC(t, suspension.Kill, 3)
	if kill.report.Wasted == 0 || kill.short >= none.short {
		t.Errorf("killing loses %v s of work, and short jobs take %.1f s; without they take %.1f s", kill.report.Wasted.Seconds(), kill.short.Seconds(), none.short.Seconds())
	}
	for _, means := range []suspension.Means{suspension.Graceful, suspension.Immediate} {
		atOnce, late := bigC(t, means, 0), bigC(t, means, 3)
		for _, x := range []outcome{atOnce, late} {
			if x.report.Preempted != 0 || x.report.Wasted != 0 || x.report.Suspended == 0 || x.short >= kill.short {
				t.Errorf("%v: %d are killed, %d suspended, short jobs take %.1f s", means, x.report.Preempted, x.report.Suspended, x.short.Seconds())
			}
		}
		if late.report.Suspended >= atOnce.report.Suspended {
			t.Errorf("%v: %d are suspended with D = 0 and %d with D = 3", means, atOnce.report.Suspended, late.report.Suspended)
		}
	}
}
