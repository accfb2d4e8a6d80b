package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"heddle/sim"
	"heddle/sim/hybrid"
	"heddle/sim/study/sampling"
	"heddle/sim/study/shape"
)

// atOnce returns the probability that all m tasks of a job start at once if it probes n workers, each of which is busy with a probability.
func atOnce(m, n int, busy float64) float64 {
	sum := 0.
	for i := m; i <= n; i++ {
		c, _ := math.Lgamma(float64(n + 1))
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(c - a - b + float64(i)*math.Log1p(-busy) + float64(n-i)*math.Log(busy))
	}
	return sum
}

// harmonic returns the mean of the longest of n exponential times with mean 1.
func harmonic(n int) (sum float64) {
	for i := 1; i <= n; i++ {
		sum += 1 / float64(i)
	}
	return sum
}

// sparrowParameters are those of Sparrow.
var sparrowParameters = []Parameter{
	{Name: "parts", Default: "", What: "response, zero, ratios, mixed or priorities; all otherwise"},
	{Name: "workers", Default: "10000", What: "workers, for response"},
	{Name: "loads", Default: "0.5,0.7,0.8,0.9", What: "part of the workers that are busy, for response"},
	{Name: "span", Default: "0.3", What: "seconds that are measured at a load ρ, times 1/(1−ρ)²: so long a queue takes to become as long as it stays; the warm-up takes as long"},
}

// span returns how many jobs of so many tasks of 100 ms come to so many slots at a load while it is measured, and before that.
func span(o *Options, load float64, slots, tasks int) int {
	return int(o.Number("span") / ((1 - load) * (1 - load)) * load * float64(slots) / .1 / float64(tasks))
}

// Sparrow checks batch sampling with late binding against what section 3 of its report derives and simulates.
func Sparrow(o *Options) (*Study, error) {
	s := &Study{Title: "Sparrow: batch sampling and late binding. Exponential tasks of 100 ms, a round trip of 1 ms.", Seeds: o.Seeds}
	for _, part := range []struct {
		name string
		run  func(*Options, *Study) error
	}{{"response", sparrowResponse}, {"zero", sparrowZero}, {"ratios", sparrowRatios}, {"mixed", sparrowMixed}, {"priorities", sparrowPriorities}} {
		if !o.On("parts", part.name) {
			continue
		}
		if err := part.run(o, s); err != nil {
			return nil, err
		}
	}
	return s, o.Failed()
}

// sparrowResponse is figure 3.
func sparrowResponse(o *Options, s *Study) error {
	const tasks = 500
	workers := int(o.Number("workers"))
	ideal := .1 * harmonic(tasks)
	t := Table{
		Key: "response", Title: fmt.Sprintf("Mean response of jobs of 500 tasks on %d workers above ideal (%.0f ms)", workers, 1000*ideal),
		Columns: []string{"load", "random", "M/M/1", "per-task sampling", "batch sampling", "late binding, d = 1.5", "late binding, d = 2", "late against batch"},
		Notes: []string{
			"The text, figure 3, at 90 % load: per-task sampling 75 % above ideal, a fifth of random placement; batch sampling 10 % below it, over 50 % above ideal;",
			"late binding 35 % below batch sampling, within 14 % of ideal. M/M/1: each worker is a queue of its own, and a job waits for the longest of 500.",
		},
	}
	chart := Chart{Title: "Mean response of jobs of 500 tasks", Unit: "ms", Bars: []string{"random", "per task", "batch", "late, d = 1.5", "late, d = 2"}}
	for _, load := range o.Numbers("loads") {
		jobs := span(o, load, workers, tasks)
		var all [5]sample
		for seed := range o.Seeds.All() {
			for i, p := range []sampling.Way{{Ratio: 1}, {Ratio: 2}, {Ratio: 2, Batch: true}} {
				n := jobs
				if p.Ratio == 1 {
					n *= 2 // its queues are the slowest to fill
				}
				mean, _ := sampling.Responses(p, workers, 1, tasks, n, n, load, seed)
				all[i] = append(all[i], mean)
			}
			for i, d := range []float64{1.5, 2} {
				r, err := hybrid.Run(shape.Exponential(2*jobs, tasks, workers, load, seed), hybrid.Options{
					Mode: "sparrow", Workers: workers, Cutoff: time.Minute, Seed: seed, Exact: true, Ratio: d, WarmUp: jobs,
				})
				if err != nil {
					return err
				}
				all[3+i] = append(all[3+i], r.ShortJobs.Completion.Mean)
			}
		}
		cells, bars := []Cell{}, []float64{}
		for i, x := range all {
			above := make(sample, len(x))
			for k := range x {
				above[k] = 100 * (x[k]/ideal - 1)
			}
			c := above.Cell(1)
			c.Percent = true
			if cells, bars = append(cells, c), append(bars, 1000*x.Mean()); i == 0 {
				cells = append(cells, words("%+.0f %%", 100/(1-load)-100))
			}
		}
		t.Add(fmt.Sprintf("%.2g", load), append(cells, all[4].Change(all[2]))...)
		chart.add(fmt.Sprintf("load %.2g", load), bars)
	}
	s.Tables, s.Charts = append(s.Tables, t), append(s.Charts, chart)
	return nil
}

// sparrowZero is figures 4 and 5, and table 2.
func sparrowZero(o *Options, s *Study) error {
	const workers = 5000
	for _, c := range []struct{ tasks, cores int }{{10, 1}, {100, 1}, {10, 4}} {
		t := Table{
			Key:     fmt.Sprintf("zero, %d tasks, %d cores", c.tasks, c.cores),
			Title:   fmt.Sprintf("Percent of the jobs of %d tasks that start at once, %d workers with %d cores", c.tasks, workers, c.cores),
			Columns: []string{"load", "random", "formula", "per-task sampling", "formula", "late binding, d = 2", "formula"},
			Notes: []string{
				"Formulas of table 2: (1−ρ)^m, (1−ρ²)^m and Σ C(2m,i)(1−ρ)^i ρ^(2m−i) over i from m to 2m; with c cores ρ^c in place of ρ, as if cores were busy by chance.",
			},
		}
		for _, load := range []float64{.1, .3, .5, .7, .8} {
			jobs := max(200, min(20_000, span(o, load, workers*c.cores, c.tasks)))
			busy := math.Pow(load, float64(c.cores))
			var random, perTask, late sample
			for seed := range o.Seeds.All() {
				_, a := sampling.Responses(sampling.Way{Ratio: 1}, workers, c.cores, c.tasks, jobs, jobs, load, seed)
				_, b := sampling.Responses(sampling.Way{Ratio: 2}, workers, c.cores, c.tasks, jobs, jobs, load, seed)
				r, err := hybrid.Run(shape.Exponential(2*jobs, c.tasks, workers*c.cores, load, seed), hybrid.Options{
					Mode: "sparrow", Workers: workers, Slots: c.cores, Cutoff: time.Minute, Seed: seed, Exact: true, Ratio: 2, WarmUp: jobs,
				})
				if err != nil {
					return err
				}
				random, perTask, late = append(random, 100*a), append(perTask, 100*b), append(late, 100*r.ShortJobs.AtOnce)
			}
			m := float64(c.tasks)
			t.Add(fmt.Sprintf("%.1f", load), random.Cell(1), words("%.1f", 100*math.Pow(1-busy, m)), perTask.Cell(1), words("%.1f", 100*math.Pow(1-busy*busy, m)),
				late.Cell(1), words("%.1f", 100*atOnce(c.tasks, 2*c.tasks, busy)))
		}
		s.Tables = append(s.Tables, t)
	}
	return nil
}

// equal makes jobs of ten tasks that last equally long, of which a part are long, that keep a part of the slots busy.
func equal(jobs, slots int, load, partLong float64, long time.Duration, seed uint64) []sim.Job {
	const tasks, short = 10, .1
	all := shape.Exponential(jobs, tasks, slots, load, seed)
	mean := (1-partLong)*short + partLong*long.Seconds()
	random := newRandom(seed)
	for i := range all {
		d := sim.Time(short * 1e9)
		if random.Float64() < partLong {
			d = sim.Time(long)
		}
		all[i].Submit, all[i].Estimate = sim.Time(float64(all[i].Submit)*mean/short), d
		for k := range all[i].Stages[0].Tasks {
			all[i].Stages[0].Tasks[k].Duration = d
		}
	}
	return all
}

// sparrowRatios is figure 12.
func sparrowRatios(o *Options, s *Study) error {
	const workers, cores = 100, 4
	t := Table{
		Key: "ratios", Title: "Response of jobs of ten tasks of 100 ms on 100 workers with 4 cores, in ms",
		Columns: []string{"load", "d = 1.1, P50", "P99", "d = 1.5, P50", "P99 with 1.5", "d = 2, P50", "P99 with 2", "d = 3, P50", "P99 with 3"},
		Notes:   []string{"The text, figure 12: a higher ratio shortens the tail; 1.5 is nearly as good as 2. At 95 % load 3 is worse than 2, for the messages."},
	}
	t.Columns[2] = "P99 with 1.1"
	for _, load := range []float64{.8, .9, .95} {
		jobs := max(2000, span(o, load, workers*cores, 10))
		var cells []Cell
		for _, d := range []float64{1.1, 1.5, 2, 3} {
			var median, tail sample
			for seed := range o.Seeds.All() {
				r, err := hybrid.Run(equal(2*jobs, workers*cores, load, 0, 0, seed), hybrid.Options{
					Mode: "sparrow", Workers: workers, Slots: cores, Cutoff: time.Minute, Seed: seed, Exact: true, Ratio: d, WarmUp: jobs,
				})
				if err != nil {
					return err
				}
				median, tail = append(median, 1000*r.ShortJobs.Completion.P50), append(tail, 1000*r.ShortJobs.Completion.P99)
			}
			cells = append(cells, median.Cell(0), tail.Cell(0))
		}
		t.Add(fmt.Sprintf("%.2f", load), cells...)
	}
	s.Tables = append(s.Tables, t)
	return nil
}

// sparrowMixed is figure 13.
func sparrowMixed(o *Options, s *Study) error {
	const workers, load = 100, .8
	t := Table{
		Key: "mixed", Title: "Response of short jobs (ten tasks of 100 ms) beside long ones at 80 % load on 100 workers, in ms",
		Columns: []string{"cores", "10 % long, 1 s", "10 % long, 10 s", "10 % long, 100 s", "50 % long, 1 s", "50 % long, 10 s", "50 % long, 100 s"},
		Notes:   []string{"The text, figure 13: on 16 cores within 11 % of 100 ms, even when half of the tasks are three orders of magnitude longer; worse on 4 cores."},
	}
	for _, cores := range []int{4, 16} {
		var cells []Cell
		for _, part := range []float64{.1, .5} {
			for _, long := range []time.Duration{time.Second, 10 * time.Second, 100 * time.Second} {
				const jobs = 3000
				var median sample
				for seed := range o.Seeds.All() {
					r, err := hybrid.Run(equal(2*jobs, workers*cores, load, part, long, seed), hybrid.Options{
						Mode: "sparrow", Workers: workers, Slots: cores, Cutoff: 500 * time.Millisecond, Seed: seed, Exact: true, Ratio: 2, WarmUp: jobs,
					})
					if err != nil {
						return err
					}
					median = append(median, 1000*r.ShortJobs.Completion.P50)
				}
				cells = append(cells, median.Cell(0))
			}
		}
		t.Add(fmt.Sprint(cores), cells...)
	}
	s.Tables = append(s.Tables, t)
	return nil
}

// sparrowPriorities is table 3: what jobs of a low priority cost those of a high one, which fill a quarter of the slots.
func sparrowPriorities(o *Options, s *Study) error {
	const workers, cores, load, jobs = 100, 4, .25, 3000
	t := Table{
		Key: "priorities", Title: "Response of jobs of ten tasks of 100 ms that fill 25 % of 100 workers with 4 cores, beside jobs of a lower priority, in ms",
		Columns: []string{"low load", "high, P50", "high, P95", "low, P50", "low, P95"},
		Notes: []string{
			"The text, table 3: 106 (111) alone; 108 (114) and 108 (115) of the low ones at a low load of 0.25; 110 (148), 110 (449) at 0.5; 136 (170), 40,202 (46,191) at 0.75;",
			"141 (226), 254,896 (269,661) at 1.75. From where both fill the cluster, times of low ones are those of how long it was measured.",
		},
	}
	for _, low := range []float64{0, .25, .5, .75, .79, 1.75} {
		var all [4]sample
		for seed := range o.Seeds.All() {
			r, err := hybrid.Run(prioritized(jobs, workers*cores, load, low, seed), hybrid.Options{
				Mode: "sparrow", Workers: workers, Slots: cores, Cutoff: lowEstimate, Seed: seed, Exact: true, Ratio: 2,
				WarmUp: int(jobs / 3 * (load + low) / load),
			})
			if err != nil {
				return err
			}
			for i, x := range []float64{r.ShortJobs.Completion.P50, r.ShortJobs.Completion.P95, r.LongJobs.Completion.P50, r.LongJobs.Completion.P95} {
				all[i] = append(all[i], 1000*x)
			}
		}
		cells := []Cell{all[0].Cell(0), all[1].Cell(0), words("–"), words("–")}
		if low > 0 {
			cells[2], cells[3] = all[2].Cell(0), all[3].Cell(0)
		}
		t.Add(fmt.Sprint(low), cells...)
	}
	s.Tables = append(s.Tables, t)
	return nil
}

// lowEstimate is more than jobs of prioritized take whose priority is high, and less than the others say, so that reports tell them apart.
const lowEstimate = 150 * time.Millisecond

// prioritized makes jobs of a high priority that keep a part of the slots busy, and as many of a low one as come in the same time at another load.
func prioritized(jobs, slots int, high, low float64, seed uint64) []sim.Job {
	all := equal(jobs, slots, high, 0, 0, seed)
	for i := range all {
		all[i].Priority = 1
	}
	if low > 0 {
		for _, j := range equal(int(float64(jobs)*low/high), slots, low, 0, 0, seed+1_000_000) {
			j.Estimate = sim.Time(2 * lowEstimate)
			all = append(all, j)
		}
	}
	slices.SortStableFunc(all, func(a, b sim.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return all
}
