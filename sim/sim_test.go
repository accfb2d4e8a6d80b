package sim_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/policy/eunomia"
	"heddle/rm/scheduler/policy/hopper"
	"heddle/sim"
	"heddle/yarn/records"
)

const second = sim.Time(1e9)

var slot = records.NewResource(1024, 1)

func run(t testing.TB, nodes sim.Nodes, jobs []sim.Job) *sim.Report {
	t.Helper()
	c, err := sim.NewCluster(eventlog.Unrecorded(scheduler.Config{Minimum: slot}), nodes, jobs)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func job(name string, submit sim.Time, durations ...sim.Time) sim.Job {
	j := sim.Job{Name: name, Submit: submit, Queue: "root.default", User: "u"}
	tasks := make([]sim.Task, len(durations))
	for i, d := range durations {
		tasks[i].Duration = d
	}
	j.Stages = []sim.Stage{{Priority: 1, Resource: slot, Tasks: tasks}}
	return j
}

// TestByHand: two slots, first come first served; the times are easily worked out on paper.
func TestByHand(t *testing.T) {
	r := run(t, sim.Nodes{Count: 2, Capacity: slot}, []sim.Job{
		job("a", 0, 4*second, 2*second, 3*second), // 0-4, 0-2, 2-5
		job("b", second, 2*second),                // waits until 4, ends at 6
		job("c", 10*second, second),
	})
	for i, end := range []sim.Time{5, 6, 11} {
		if got := r.Jobs[i].End; got != end*second {
			t.Errorf("job %s ends at %v s, want %d", r.Jobs[i].Name, got.Seconds(), end)
		}
	}
	if want := (0 + 0 + 2 + 3 + 0) * second / 5; r.MeanWait != want {
		t.Errorf("tasks wait %v s on average, want %v", r.MeanWait.Seconds(), want.Seconds())
	}
	if r.Tasks != 5 || r.End != 11*second {
		t.Errorf("%d tasks until %v s", r.Tasks, r.End.Seconds())
	}
}

// TestStages: reduces begin when maps have ended, and the ApplicationMaster holds its slot from before until after.
func TestStages(t *testing.T) {
	j := job("mr", 0, second, second, second)
	j.AM, j.AMStart = slot, 2*second
	j.Stages = append(j.Stages, sim.Stage{}, sim.Stage{Priority: 2, Resource: slot, Tasks: []sim.Task{{Duration: 5 * second}}})
	r := run(t, sim.Nodes{Count: 1, Capacity: slot.Times(3)}, []sim.Job{j})
	if o := r.Jobs[0]; o.Start != 2*second || o.End != 9*second {
		t.Errorf("the job's first task starts at %v s, its last ends at %v s; want 2 and 9", o.Start.Seconds(), o.End.Seconds())
	}
}

// TestPreferences: tasks with preferred hosts run in the end, wherever there is room.
func TestPreferences(t *testing.T) {
	j := job("local", 0, second, second, second, second)
	for i := range j.Stages[0].Tasks {
		j.Stages[0].Tasks[i].Host, j.Stages[0].Tasks[i].Rack = "h1", "/r1"
	}
	nodes := sim.Nodes{Count: 3, Capacity: slot, Names: []string{"h1", "h2"}, Racks: []string{"/r1", "/r1"}}
	if r := run(t, nodes, []sim.Job{j}); r.Jobs[0].End < 2*second {
		t.Errorf("four tasks of a second on three nodes end at %v s", r.Jobs[0].End.Seconds())
	}
}

func TestRefused(t *testing.T) {
	big := job("big", 0, second)
	big.Stages[0].Resource = slot.Times(2)
	for name, jobs := range map[string][]sim.Job{
		"too large": {big}, "out of order": {job("late", second, second), job("early", 0, second)},
	} {
		if _, err := sim.NewCluster(eventlog.Unrecorded(scheduler.Config{Minimum: slot}), sim.Nodes{Count: 1, Capacity: slot}, jobs); err == nil {
			t.Errorf("jobs that are %s are simulated", name)
		}
	}
}

func generated(tasks, nodes int, seed uint64) []sim.Job {
	return sim.Generate(sim.Workload{
		Tasks: tasks, PerJob: 50, Mean: 20 * second, Load: 0.9, Slots: nodes, Resource: slot,
		Queues: []string{"root.default"}, Users: 5,
	}, seed)
}

// TestDeterminism: the same seed gives the same bytes, another one doesn't.
func TestDeterminism(t *testing.T) {
	output := func(seed uint64) string {
		var b bytes.Buffer
		r := run(t, sim.Nodes{Count: 100, Capacity: slot}, generated(5000, 100, seed))
		if err := r.Write(&b, 10*second); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteJobs(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	first := output(1)
	if second := output(1); first != second {
		t.Error("the same seed gives different reports")
	}
	if other := output(2); first == other {
		t.Error("different seeds give the same report")
	}
}

// TestWorkConserving: nothing ends before all work could have been done, nor later than if one job went after the other;
// one job alone takes as long as its longest task when there is a slot for each.
func TestWorkConserving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 8).Draw(t, "nodes")
		var jobs []sim.Job
		var work, serial, at sim.Time
		for range rapid.IntRange(1, 10).Draw(t, "jobs") {
			at += sim.Time(rapid.Int64Range(0, 20e9).Draw(t, "gap"))
			durations := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sim.Time {
				return sim.Time(rapid.Int64Range(0, 30e9).Draw(t, "duration"))
			}), 1, 12).Draw(t, "durations")
			for _, d := range durations {
				work += d
				serial += d
			}
			jobs = append(jobs, job("j", at, durations...))
		}
		c, err := sim.NewCluster(eventlog.Unrecorded(scheduler.Config{Minimum: slot}), sim.Nodes{Count: nodes, Capacity: slot}, jobs)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Run()
		if err != nil {
			t.Fatal(err)
		}
		if r.End < work/sim.Time(nodes) || r.End > at+serial {
			t.Fatalf("%v s of work on %d nodes end at %v s", work.Seconds(), nodes, r.End.Seconds())
		}
		for i, o := range r.Jobs {
			longest := sim.Time(0)
			for _, task := range jobs[i].Stages[0].Tasks {
				longest = max(longest, task.Duration)
			}
			if o.End-o.Submit < longest {
				t.Fatalf("job %d takes %v s, its longest task %v", i, (o.End - o.Submit).Seconds(), longest.Seconds())
			}
		}
	})
}

type recorder struct {
	engine *sim.Engine
	seen   []int64
	times  []sim.Time
}

func (r *recorder) Handle(arg int64) {
	r.seen = append(r.seen, arg)
	r.times = append(r.times, r.engine.Now())
}

// chatty enters more events whenever one comes: soon, later, and far apart.
type chatty struct {
	recorder
	random *rand.Rand
	left   int
	want   map[int64]sim.Time
}

func (r *chatty) Handle(arg int64) {
	r.recorder.Handle(arg)
	for range r.random.IntN(4) {
		if r.left--; r.left >= 0 {
			at := r.engine.Now() + []sim.Time{0, 1, sim.Time(r.random.IntN(20)), sim.Time(r.random.IntN(100000))}[r.random.IntN(4)]
			r.want[int64(len(r.want))] = at
			r.engine.At(at, r, int64(len(r.want)-1))
		}
	}
}

// Events that handlers enter come in their turn as well, whether soon or late.
func TestEventsThatHandlersEnter(t *testing.T) {
	var g sim.Engine
	r := &chatty{recorder{engine: &g}, rand.New(rand.NewPCG(3, 4)), 20000, map[int64]sim.Time{}}
	for i := range int64(100) {
		r.want[i] = sim.Time(r.random.IntN(1000))
		g.At(r.want[i], r, i)
	}
	var before sim.Time
	for {
		next, more := g.Next()
		if g.Step() != more {
			t.Fatal("Next and Step disagree about whether there are events")
		}
		if !more {
			break
		}
		if g.Now() != next || next < before {
			t.Fatalf("Step is at %d after %d, and Next said %d", g.Now(), before, next)
		}
		before = next
	}
	if len(r.seen) != len(r.want) || int(g.Events()) != len(r.want) {
		t.Fatalf("%d of %d events came", len(r.seen), len(r.want))
	}
	for i, arg := range r.seen {
		if r.times[i] != r.want[arg] {
			t.Fatalf("event %d comes at %d, want %d", arg, r.times[i], r.want[arg])
		}
		if i > 0 && r.times[i] == r.times[i-1] && arg < r.seen[i-1] {
			t.Fatalf("events %d and %d of one time come in the wrong order", r.seen[i-1], arg)
		}
	}
}

// TestEngineOrder: events come by time, those of one time as they were entered.
func TestEngineOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var g sim.Engine
	r := &recorder{engine: &g}
	type entry struct {
		at  sim.Time
		arg int64
	}
	var want []entry
	for i := range int64(5000) {
		e := entry{sim.Time(random.IntN(500)), i}
		want = append(want, e)
		g.At(e.at, r, e.arg)
	}
	slices.SortStableFunc(want, func(a, b entry) int { return int(a.at - b.at) })
	for g.Step() {
	}
	for i, e := range want {
		if r.seen[i] != e.arg || r.times[i] != e.at {
			t.Fatalf("event %d is %d at %d, want %v", i, r.seen[i], r.times[i], e)
		}
	}
}

func TestPercentile(t *testing.T) {
	sorted := []sim.Time{10, 20, 30, 40}
	for p, want := range map[float64]sim.Time{0: 10, 50: 25, 75: 32, 100: 40} {
		if got := sim.Percentile(sorted, p); math.Abs(float64(got-want)) > 1 {
			t.Errorf("the %g-th percentile is %d, want %d", p, got, want)
		}
	}
}

// BenchmarkTasks is the simulator's speed on one core: one-slot tasks over 10,000 nodes at 90 % load.
func BenchmarkTasks(b *testing.B) {
	const tasks = 300_000
	jobs := generated(tasks, 10_000, 1)
	b.ReportAllocs()
	for b.Loop() {
		run(b, sim.Nodes{Count: 10_000, Capacity: slot}, jobs)
	}
	b.ReportMetric(float64(tasks*b.N)/b.Elapsed().Seconds(), "tasks/s")
}

// BenchmarkTasksByPolicy is the same in a leaf that orders applications by a policy of its own, with time of the processor.
func BenchmarkTasksByPolicy(b *testing.B) {
	const tasks = 300_000
	jobs := generated(tasks, 10_000, 1)
	for _, policy := range []string{eunomia.Name, hopper.Name} {
		b.Run(policy, func(b *testing.B) {
			tree, err := queue.ParseCapacity(map[string]string{
				"root.queues": "default", "root.default.capacity": "100", "root.default.ordering-policy": policy, "root.default.user-limit-factor": "100",
				"maximum-applications": "1000000",
			})
			if err != nil {
				b.Fatal(err)
			}
			used := processorTime(b)
			for b.Loop() {
				c, err := sim.NewCluster(eventlog.Unrecorded(scheduler.Config{Tree: tree, Minimum: slot}), sim.Nodes{Count: 10_000, Capacity: slot}, jobs)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := c.Run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(tasks*b.N)/(processorTime(b)-used).Seconds(), "tasks/cpu-s")
		})
	}
}

// processorTime is what the process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
