package hybrid

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"heddle/sim"
)

const second = sim.Time(time.Second)

// jobsOf makes jobs of one stage each: submission in s, then the durations of the tasks in s.
func jobsOf(jobs ...[]float64) (all []sim.Job) {
	for _, j := range jobs {
		var tasks []sim.Task
		sum := 0.
		for _, d := range j[1:] {
			tasks = append(tasks, sim.Task{Duration: sim.Time(d * float64(second))})
			sum += d
		}
		all = append(all, sim.Job{
			Submit: sim.Time(j[0] * float64(second)), Estimate: sim.Time(sum / float64(len(tasks)) * float64(second)),
			Stages: []sim.Stage{{Tasks: tasks}},
		})
	}
	return all
}

func must(t *testing.T, jobs []sim.Job, o Options) *Report {
	t.Helper()
	if o.Cutoff == 0 {
		o.Cutoff = 90 * time.Second
	}
	r, err := Run(jobs, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A task starts half a millisecond after its job's submission, with the probe, and has its slot for a round trip before it runs.
func TestTimesOfMessages(t *testing.T) {
	for _, mode := range Modes() {
		r := must(t, jobsOf([]float64{3, 10.7}), Options{Mode: mode, Workers: 3})
		if got := r.ShortJobs; got.Completion.P50 != 10.0015 || got.Wait.P50 != .0005 {
			t.Errorf("%s: a task of 10 s ends after %g s, and waited for %g s", mode, got.Completion.P50, got.Wait.P50)
		}
		r = must(t, jobsOf([]float64{0, 10.7}), Options{Mode: mode, Workers: 3, Exact: true})
		if got := r.ShortJobs.Completion.P50; got != 10.7015 {
			t.Errorf("%s: a task of 10.7 s ends after %g s", mode, got)
		}
	}
}

// A probe for which there is no task takes a round trip.
func TestNoOpsTakeTheSlot(t *testing.T) {
	// Two probes of the first job and two of the second are at the only worker: task, no-op, task.
	r := must(t, jobsOf([]float64{0, 10}, []float64{1, 10}), Options{Mode: "sparrow", Workers: 1})
	if got := r.ShortJobs.Completion; round(got.P50) != round((10.0015+(10.0015+.001+10.001-1))/2) {
		t.Errorf("%+v", got)
	}
}

// The cut mean is compared with the cutoff.
func TestLongIsAboveTheCutoff(t *testing.T) {
	jobs := jobsOf([]float64{0, 90.9}, []float64{1, 91}, []float64{2, 90})
	if r := must(t, jobs, Options{Mode: "sparrow", Workers: 9}); r.ShortJobs.Jobs != 2 || r.LongJobs.Jobs != 1 {
		t.Errorf("cut: %d short, %d long", r.ShortJobs.Jobs, r.LongJobs.Jobs)
	}
	if r := must(t, jobs, Options{Mode: "sparrow", Workers: 9, Exact: true}); r.ShortJobs.Jobs != 1 || r.LongJobs.Jobs != 2 {
		t.Errorf("exact: %d short, %d long", r.ShortJobs.Jobs, r.LongJobs.Jobs)
	}
}

func TestLongJobsStayOutOfTheShortPartition(t *testing.T) {
	// Two of four workers are for short jobs. Four long tasks take the other two, one after the other.
	jobs := jobsOf([]float64{0, 100, 100, 100, 100}, []float64{1, 10, 10})
	for _, mode := range []string{"hawk", "eagle", "clwl", "idealeagle"} {
		r := must(t, jobs, Options{Mode: mode, Workers: 4, Short: 50})
		if got := r.LongJobs.Completion.P50; math.Round(got) != 200 {
			t.Errorf("%s: the long job ends after %g s", mode, got)
		}
		if got := r.ShortJobs.Completion.P50; mode != "hawk" && math.Round(got) > 20 {
			t.Errorf("%s: the short job ends after %g s", mode, got)
		}
	}
	if r := must(t, jobs, Options{Mode: "hawk", Workers: 4, Short: 50}); r.Partition != 2 {
		t.Errorf("the short partition has %d workers", r.Partition)
	}
}

// Without a short partition probes that all workers have rejected wait behind long work in the end.
func TestShortJobsWithoutAShortPartition(t *testing.T) {
	for _, mode := range []string{"eagle", "eagle-sss", "eagle-sss-sbp"} {
		r := must(t, jobsOf([]float64{0, 100, 100, 100}, []float64{1, 10, 10}), Options{Mode: mode, Workers: 3})
		if got := r.ShortJobs; got.Jobs != 1 || math.Round(got.Completion.P50) < 109 {
			t.Errorf("%s: %+v", mode, got)
		}
	}
}

// A job of a higher priority waits for the task that runs, and for none of those that came before it.
func TestAHigherPriorityGoesFirst(t *testing.T) {
	jobs := jobsOf([]float64{0, 10}, []float64{1, 10}, []float64{2, 10}, []float64{3, 100})
	jobs[3].Priority = 1
	r := must(t, jobs, Options{Mode: "sparrow", Workers: 1, Cutoff: 90 * time.Second})
	if got := r.LongJobs.Completion.P50; math.Round(got) != 107 {
		t.Errorf("it ended after %g s; want 7 s for the task that ran, and 100 for its own", got)
	}
}

// Stages run one after the other, and a job ends with its last.
func TestStages(t *testing.T) {
	j := sim.Job{Estimate: 7 * second, Stages: []sim.Stage{
		{Tasks: []sim.Task{{Duration: 5 * second}, {Duration: 7 * second}}}, {}, {Tasks: []sim.Task{{Duration: 3 * second}}},
	}}
	r := must(t, []sim.Job{j, {Submit: second}}, Options{Mode: "hawk", Workers: 50})
	if got := r.ShortJobs; got.Jobs != 2 || got.Tasks != 3 || round(got.Completion.Mean) != round((7.0015+3.0015)/2) {
		t.Errorf("%+v", got)
	}
}

// Tasks of a later stage wait from the end of the stage before, and not while its tasks run.
func TestLaterStagesDontWaitForEarlierOnes(t *testing.T) {
	jobs := jobsOf([]float64{0, 20})
	jobs[0].Stages = append(jobs[0].Stages, sim.Stage{Tasks: []sim.Task{{Duration: 20 * second}}})
	for _, mode := range Modes() {
		r := must(t, jobs, Options{Mode: mode, Workers: 3})
		if got := r.ShortJobs; got.Tasks != 2 || got.Wait.P99 > .002 || got.AtOnce != 1 {
			t.Errorf("%s: tasks on idle workers waited for %+v s, and %g of the jobs had slots at once", mode, got.Wait, got.AtOnce)
		}
	}
}

func TestSameSeedSameReport(t *testing.T) {
	jobs := workload(t, 100)
	var reports [3]bytes.Buffer
	for i, seed := range []uint64{1, 1, 2} {
		if err := must(t, jobs, Options{Mode: "hawk", Workers: 50, Short: 5, Seed: seed}).WriteJSON(&reports[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(reports[0].Bytes(), reports[1].Bytes()) || bytes.Equal(reports[0].Bytes(), reports[2].Bytes()) {
		t.Error("the seed doesn't determine the report")
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, o := range []Options{
		{Mode: "falcon", Workers: 1},
		{Mode: "hawk"},
		{Mode: "hawk", Workers: 3, Short: 100},
		{Mode: "hawk", Workers: 3, Short: math.NaN()},
		{Mode: "hawk", Workers: 3, Short: -1},
		{Mode: "hawk", Workers: 3, Cutoff: -1},
	} {
		if _, err := Run(nil, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// The central scheduler stops at the first workers without long work. Else it fills the queues, lowest first, and counts what runs less what it
// has run.
func TestCentralPlacement(t *testing.T) {
	place := func(c *central, now, tasks, estimate int) []int32 {
		w := slices.Clone(c.place(sim.Time(now)*second, c.first, tasks, sim.Time(estimate)*second))
		c.sent(w, sim.Time(estimate)*second)
		return w
	}
	want := func(what string, got []int32, want ...int32) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", what, got, want)
		}
	}
	c := newCentral(6, 2, current)
	want("the first free ones", place(c, 0, 2, 100), 2, 3)
	want("all that are free", place(c, 0, 2, 50), 4, 5)
	want("lowest first, and equal ones again", place(c, 0, 3, 10), 4, 5, 5)
	c.runsSince(2, 0, 100*second)
	// Worker 2 waits for another 100 − 85 s and a round trip, worker 3 for 100 s, 4 for 60 s, 5 for 70 s.
	want("what runs counts less", place(c, 85, 1, 10), 2)
	c.runsSince(2, 0, 40*second)
	want("not more than its estimate", place(c, 85, 1, 10), 4)
	c.done(3, 100*second)
	if b := c.bitmap(7); b.Has(3) || !b.Has(2) || b.Has(0) || b.At != 7 {
		t.Errorf("the bitmap is %b", b.Words)
	}
	old := c.bitmap(8)
	c.closed[3] = true
	want("closed to long work", place(c, 90, 1, 10), 4)
	c.done(4, 80*second)
	if !old.Has(4) || c.bitmap(9).Has(4) {
		t.Error("a bitmap that was passed on has changed")
	}
	one := newCentral(1, 0, current)
	want("one worker", place(one, 0, 3, 5), 0, 0, 0)
	want("one worker with work", place(one, 0, 2, 5), 0, 0)
}

func TestLateKnowledge(t *testing.T) {
	// With DLWL the second job doesn't know of the first, and the third does, as there is a heartbeat every 8 s.
	jobs := jobsOf([]float64{1, 50, 50, 50}, []float64{2, 50, 50, 50}, []float64{9, 10, 10, 10})
	r := must(t, jobs, Options{Mode: "dlwl-srpt", Workers: 9})
	if got := r.ShortJobs.Completion.P50; got > 51 {
		t.Errorf("half of the jobs take %g s", got)
	}
}

// A job that comes at the time of a heartbeat is placed by what the one before said, as in the authors' simulator.
func TestArrivalsPrecedeHeartbeats(t *testing.T) {
	long, short := []float64{1}, []float64{8}
	for range 12 {
		long, short = append(long, 500), append(short, 1)
	}
	for at, behind := range map[float64]bool{8: true, 8.001: false} {
		short[0] = at
		r := must(t, jobsOf(long, short), Options{Mode: "dlwl-srpt", Workers: 24, Cutoff: 90 * time.Second})
		if got := r.ShortJobs.Completion.Mean; got > 400 != behind {
			t.Errorf("a job that comes at %g s takes %g s; it waits behind the first one: %v", at, got, behind)
		}
	}
}

func TestPercentilesAreInterpolated(t *testing.T) {
	f := figures([]sim.Time{4 * second, 1 * second, 2 * second, 3 * second})
	if f != (Figures{P50: 2.5, P75: 3.25, P90: 3.7, P95: 3.85, P99: 3.97, Mean: 2.5}) {
		t.Errorf("%+v", f)
	}
	m := metrics{usage: []samples{{0, 1}, {10, 1}, {20, 1}, {30, 1}, {40, 1}, {0, 1}}}
	if mean, median := m.use(3*second, 20*second, 40); mean != 62.5 || median != 62.5 {
		t.Errorf("%g, %g", mean, median)
	}
	if mean, _ := m.use(0, 90*second, 40); round(mean) != round(100./6/40*100) {
		t.Errorf("%g", mean)
	}
}

// After the last arrival nothing is sampled any more, however long a task takes: all samples are kept.
func TestSamplesEndWithTheLastArrival(t *testing.T) {
	c, err := newCluster(jobsOf([]float64{0, 1}, []float64{12, 1e8}), Options{Mode: "sparrow", Workers: 2, Cutoff: time.Second, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := c.run()
	if _, samples := c.metrics.between(0, math.MaxInt); samples != 3 || r.Tasks != 2 {
		t.Errorf("%d samples until second 12, %+v", samples, r)
	}
}

// Between jobs that are forty years apart nothing happens, and takes neither time nor memory.
func TestSamplesOfYears(t *testing.T) {
	var m metrics
	for _, busy := range []int{0, 3, 3, 1, 2, 0} {
		m.sample(busy, 1)
	}
	m.sample(0, 300_000_000)
	if len(m.usage) != 5 {
		t.Errorf("%d levels: %v", len(m.usage), m.usage)
	}
	for _, c := range []struct {
		from, to     sim.Time
		mean, median float64
	}{
		{0, 25 * second, 37.5, 37.5},
		{1, 20 * second, 56.25, 62.5},
		{5 * second, 19 * second, 58.333333, 75},
		{9 * second, 9 * second, 0, 0},
		{0, 1_500_000_000 * second, .000001, 0},
	} {
		if mean, median := m.use(c.from, c.to, 4); mean != c.mean || median != c.median {
			t.Errorf("from %v to %v: mean %v, median %v", c.from, c.to, mean, median)
		}
	}
	c, err := newCluster(jobsOf([]float64{0, 7}, []float64{40 * 365 * 24 * 3600, 7}), Options{Mode: "hawk", Workers: 4, Short: 50, Cutoff: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	r := c.run()
	if _, samples := c.metrics.between(0, math.MaxInt); samples != 40*365*24*720+1 || r.Tasks != 2 || len(c.metrics.usage) > 5 {
		t.Errorf("%d tasks, %d samples of %d levels", r.Tasks, samples, len(c.metrics.usage))
	}
}

// The page on simulations names each key of the JSON output.
func TestKeysAreDocumented(t *testing.T) {
	guide, err := os.ReadFile("../../docs/simulating.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(Report{Dice: &DiceReport{}, Eirene: &EireneReport{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range regexp.MustCompile(`"(\w+)":`).FindAllSubmatch(text, -1) {
		if !bytes.Contains(guide, []byte("`"+string(key[1])+"`")) {
			t.Errorf("docs/simulating.md doesn't name %s", key[1])
		}
	}
}
