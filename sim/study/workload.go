package study

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/sim"
	"heddle/sim/trace"
)

// setting is a trace with the cluster that its users replayed it on.
type setting struct {
	key    string // by which parameters and pages name it
	name   string
	cutoff time.Duration
	short  float64 // percent of the workers
	// sizes are the clusters of the studies of Hawk, Eagle and Dice, eireneSizes those of Eirene's.
	sizes, eireneSizes []int
	// growing is the cluster for the table of growing short partitions; 0: the texts have none for this trace.
	growing int
	// diceText and eireneText are the papers' results for this trace.
	diceText   string
	eireneText []string
	jobs       func(seed uint64) []sim.Job // they are the same for each seed where the trace is a file
}

// The clusters and the texts' figures of each trace. A synthetic trace and a slice of one have the same.
var (
	yahoo = setting{
		cutoff: 90580 * time.Millisecond, short: 2, growing: 4000,
		sizes: []int{3000, 4000, 5000}, eireneSizes: []int{3500, 4000, 5000, 6500},
		diceText:   "The text, Yahoo, short jobs: 3000 workers: Hawk −91.4/−83.6/−74.4 %, Eagle −97.4/−82.3/−74.9 %; 4000: Hawk −17.7/−26.0/−38.3 %, Eagle −4.1/−8.7/−34.0 %; long P90 at 4000: +8.9 % Hawk, +2.4 % Eagle.",
		eireneText: eireneOfBoth,
	}
	google = setting{
		cutoff: 1129500 * time.Millisecond, short: 17,
		sizes: []int{11_000, 12_000, 13_000}, eireneSizes: []int{12_000, 13_000, 15_000},
		diceText:   "The text, Google, 12,000 workers, short jobs: Hawk −50.9/−54.5/−43.5 %, Eagle −33.2/−74.1/−85.3 %.",
		eireneText: eireneOfBoth,
	}
	cloudera = setting{
		cutoff: 272800 * time.Millisecond, short: 9,
		sizes: []int{11_000, 12_000, 13_000}, eireneSizes: []int{12_000, 13_000, 14_500, 20_000},
		diceText: "The text, Cloudera, 12,000 workers, short jobs: Hawk −59.1/−45.0/−14.4 %, Eagle −27.6/−57.3/−11.5 %; long P90: +26.8 % Hawk, +24.7 % Eagle.",
		eireneText: []string{
			"The text, Cloudera (13,000 to 14,500 workers), short jobs, overloaded: P90 −70.3 %, all of it by staging; lightly loaded, cloning alone: trivial.",
		},
	}
	facebook = setting{
		cutoff: 76600 * time.Millisecond, short: 2,
		sizes: []int{50_000, 57_500, 65_000}, eireneSizes: []int{50_000, 57_500, 65_000, 85_000},
		diceText: "The text on Dice has no figures for Facebook.",
		eireneText: []string{
			"The text, Facebook (50,000 to 65,000 workers), short jobs: 50,000 workers: −39.2/−79.1/−81.3 %, all of it by staging;",
			"lightly loaded, cloning alone: −13.1/−10.0/−8.8 %.",
		},
	}
	// facebook2009 is the SWIM trace, whose cluster was smaller, and which has no durations. With blocks of 128 MB read at 2 MB/s long jobs are those that
	// shuffle: 8 % of the jobs with 73 % of the work, for some 400 busy workers. At 4 MB/s no job is long, and at 1 MB/s a full block alone makes one.
	facebook2009 = setting{
		cutoff: facebook.cutoff, short: facebook.short,
		sizes: []int{450, 600, 800}, eireneSizes: []int{450, 600, 800, 1600},
		diceText: facebook.diceText, eireneText: facebook.eireneText,
	}
	eireneOfBoth = []string{
		"The text, short jobs, overloaded: P90 −66.9 % Yahoo, −67.4 % Google, all of it by staging; Google with 15,000 workers: −9.1/−11.6/−15.8 %;",
		"lightly loaded, cloning alone: −13.1/−10.0/−8.8 % Facebook, and up to +3.1 % at P50 for Google.",
	}
)

// class is the short or the long jobs of a shape. Means of a job's tasks and numbers of tasks are log-normal.
type class struct {
	least, mean, spread float64 // of the mean duration: what is added, the median in s and the deviation of the logarithm
	longest             float64 // s
	tasks, uneven       float64 // the number of tasks: its median and the deviation of the logarithm
	most                float64
}

// job draws the mean duration and the number of tasks of a job.
func (c *class) job(around func(median, spread float64) float64) (mean float64, tasks int) {
	mean = min(c.least+around(c.mean, c.spread), c.longest)
	return mean, int(min(1+around(c.tasks, c.uneven), c.most))
}

// shape is the distributions of a synthetic trace.
type shape struct {
	like        setting
	of          string
	short, long class
	part        float64 // of the jobs that are long
	within      float64 // a job: the deviation of the logarithms of its tasks' durations
	gap         float64 // s between two jobs, in the mean
	burst       int     // jobs until arrivals get slower or faster
	swing       float64 // by how much: a part of gap
}

// yahooShape is that of Yahoo's trace: 90.6 % of the jobs are short, and have 2 % of the work. Arrivals keep some 3,500 workers busy.
var yahooShape = shape{
	like: yahoo, of: "Yahoo", part: .094, within: .3, gap: 4.2, burst: 100, swing: .25,
	short: class{mean: 15, spread: 1, longest: 90, tasks: 8, uneven: 1.2, most: 1000},
	long:  class{least: 91, mean: 500, spread: .8, longest: math.Inf(1), tasks: 120, uneven: 1, most: 2000},
}

// clouderaShape is that of Cloudera's: 95 % of the jobs are short, and have 9 % of the work. Short jobs have 195 tasks in the mean, and 4.4 % of these
// are stragglers (tables 4.1 and 4.4 of the text on Eirene), which determines within. Durations are chosen below and above the cutoff, the tasks of long
// jobs by the part of the work, and arrivals so that some 13,000 workers are busy, with which the text calls the cluster overloaded.
var clouderaShape = shape{
	like: cloudera, of: "Cloudera", part: .05, within: .24, gap: 6, burst: 60, swing: .25,
	short: class{mean: 30, spread: .8, longest: 240, tasks: 95, uneven: 1.2, most: 2000},
	long:  class{least: 300, mean: 900, spread: .6, longest: math.Inf(1), tasks: 750, uneven: .8, most: 4000},
}

// facebookShape is that of the first 100,000 jobs of Facebook's: 98 % of the jobs are short, and have 2 % of the work. Short jobs have 10 tasks in the
// mean, and 8.2 % of these are stragglers. The rest is chosen as for Cloudera's, so that some 57,000 workers are busy: the text calls 50,000 overloaded.
var facebookShape = shape{
	like: facebook, of: "Facebook", part: .02, within: .29, gap: .118, burst: 4000, swing: .25,
	short: class{mean: 10, spread: .9, longest: 50, tasks: 4.7, uneven: 1.2, most: 1000},
	long:  class{least: 85, mean: 320, spread: .7, longest: math.Inf(1), tasks: 600, uneven: .8, most: 4000},
}

// with returns a shape of which some figures differ, as in "short-mean=20+swing=0.5".
func (x shape) with(changes string) (*shape, error) {
	if changes == "" {
		return &x, nil
	}
	burst := float64(x.burst)
	of := map[string]*float64{
		"short-mean": &x.short.mean, "short-spread": &x.short.spread, "short-tasks": &x.short.tasks, "short-uneven": &x.short.uneven,
		"long-mean": &x.long.mean, "long-spread": &x.long.spread, "long-tasks": &x.long.tasks, "long-uneven": &x.long.uneven,
		"within": &x.within, "gap": &x.gap, "swing": &x.swing, "burst": &burst,
	}
	for change := range strings.SplitSeq(changes, "+") {
		name, value, _ := strings.Cut(change, "=")
		v, err := strconv.ParseFloat(value, 64)
		if of[name] == nil || err != nil || !(v >= 0 && v <= 1e6) {
			return nil, fmt.Errorf("shape %q: give a number from 0 to 1e6 for one of %s", change, strings.Join(slices.Sorted(maps.Keys(of)), ", "))
		}
		*of[name] = v
	}
	x.burst = max(1, int(burst))
	return &x, nil
}

// setting returns a trace of so many jobs with a shape, another one for each seed.
func (x *shape) setting(jobs int) setting {
	s := x.like
	s.key = strings.ToLower(x.of) + "-shape"
	s.name = fmt.Sprintf("synthetic trace of %s's shape, %d jobs, another one for each seed", x.of, jobs)
	var last uint64
	var trace []sim.Job // the one of the seed that was asked for last
	s.jobs = func(seed uint64) []sim.Job {
		if trace == nil || seed != last {
			trace, last = x.trace(jobs, seed), seed
		}
		return trace
	}
	return s
}

// trace makes a trace with a shape. Arrivals come in bursts.
func (x *shape) trace(jobs int, seed uint64) (all []sim.Job) {
	rng := rand.New(rand.NewPCG(seed, 3001))
	around := func(median, spread float64) float64 { return median * math.Exp(spread*rng.NormFloat64()) }
	at := 0.
	for n := range jobs {
		mean, tasks := x.short.job(around)
		if rng.Float64() < x.part {
			mean, tasks = x.long.job(around)
		}
		j := sim.Job{Submit: sim.Time(at * 1e9), Stages: []sim.Stage{{Tasks: make([]sim.Task, tasks)}}}
		sum := sim.Time(0)
		for i := range j.Stages[0].Tasks {
			d := sim.Time(around(mean, x.within) * 1e9)
			j.Stages[0].Tasks[i].Duration = d
			sum += d
		}
		j.Estimate = sum / sim.Time(tasks)
		all = append(all, j)
		at += rng.ExpFloat64() * x.gap * []float64{1 - x.swing, 1 + x.swing}[n/x.burst%2]
	}
	return all
}

// jobsOf is how many jobs there are of so many, at least one.
func jobsOf(n int, times float64) int { return max(1, int(math.Round(float64(n)*times))) }

// repeat has the jobs of a file come so many times, one round after the other, or only the first part of them. A round begins after the last one by the mean time
// between two jobs, so that load and queues go on as they were.
func (s *setting) repeat(times float64) {
	once := s.jobs
	var of []sim.Job
	s.jobs = func(seed uint64) []sim.Job {
		if of == nil {
			of = repeated(once(seed), times)
		}
		return of
	}
	if times != 1 {
		s.name = fmt.Sprintf("%s, %g times its jobs", s.name, times)
	}
}

func repeated(jobs []sim.Job, times float64) (all []sim.Job) {
	if len(jobs) == 0 {
		return nil
	}
	first, last := jobs[0].Submit, jobs[len(jobs)-1].Submit
	round := last - first + (last-first)/sim.Time(max(1, len(jobs)-1))
	for i := range jobsOf(len(jobs), times) {
		j := jobs[i%len(jobs)]
		j.Submit += sim.Time(i/len(jobs)) * round
		all = append(all, j)
	}
	return all
}

// given returns the settings of traces that the environment names, each a file: HEDDLE_YAHOO_TRACE and HEDDLE_GOOGLE_TRACE in Hawk's format, and
// HEDDLE_FACEBOOK_TRACE in SWIM's.
func given() (all []setting, err error) {
	hawk := trace.Options{Format: "hawk", Whole: true}
	for _, x := range []struct {
		variable, key, name string
		setting             setting
		options             trace.Options
	}{
		{"HEDDLE_YAHOO_TRACE", "yahoo", "slice of Yahoo's trace", yahoo, hawk},
		{"HEDDLE_GOOGLE_TRACE", "google", "slice of Google's trace", google, hawk},
		{"HEDDLE_FACEBOOK_TRACE", "facebook-2009", "FB-2009, blocks of 128 MB at 2 MB/s", facebook2009, trace.Options{Format: "swim", BlockMB: 128, RateMB: 2}},
	} {
		file := os.Getenv(x.variable)
		if file == "" {
			continue
		}
		s := x.setting
		s.key, s.name = x.key, x.name
		jobs, err := trace.Open(file, x.options)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.variable, err)
		}
		s.jobs = func(uint64) []sim.Job { return jobs }
		all = append(all, s)
	}
	return all, nil
}

// exponential makes jobs of so many tasks each, which last 100 ms in the mean, that keep a part of the workers busy.
func exponential(jobs, tasks, workers int, load float64, seed uint64) (all []sim.Job) {
	rng := rand.New(rand.NewPCG(seed, 4001))
	const mean = .1
	at := 0.
	for range jobs {
		j := sim.Job{Submit: sim.Time(at * 1e9), Estimate: sim.Time(mean * 1e9), Stages: []sim.Stage{{Tasks: make([]sim.Task, tasks)}}}
		for i := range j.Stages[0].Tasks {
			j.Stages[0].Tasks[i].Duration = sim.Time(rng.ExpFloat64() * mean * 1e9)
		}
		all = append(all, j)
		at += rng.ExpFloat64() * float64(tasks) * mean / (load * float64(workers))
	}
	return all
}

// newRandom draws what is beside the durations of a workload.
func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 4003)) }
