package study

import (
	"fmt"

	"heddle/sim/mapreduce"
)

// benchmark is one of table 4.4: what a job of 20 GB shuffles, in MB, and what its maps do.
type benchmark struct {
	name    string
	shuffle float64
	seconds float64 // of a map's work on 256 MB
}

// benchmarks are those of table 4.4. The text doesn't say how long maps take. It says that eight Terasort jobs of 80 maps end after
// 1319 s on 80 slots, most of it maps: a map takes about a minute, and one that parses text rather more than one that copies.
var benchmarks = []benchmark{
	{"terasort", 20 * 1024, 60},
	{"seqcount", 17.5 * 1024, 90},
	{"wordcount", 3.9 * 1024, 75},
	{"invertedindex", 3.45 * 1024, 75},
	{"histmovies", 0.022, 45},
	{"classification", 6, 60},
}

// The paper's facts on its cluster, and their consequences.
const (
	slotsOfNode = 4
	fetching    = 35   // MB/s of a reduce: in section 4.4.3.1 one fetches 10 GB in 293 s
	reducing    = 64.  // MB/s of a reduce's own work; the text doesn't say
	noise       = 0.15 // of durations; the text doesn't say
	interval    = 2    // seconds between two jobs
)

// slots is how a node's slots are divided.
type slots int

const (
	shared slots = iota // any slot does any task: containers
	static              // two for maps and two for reduces, as Hadoop's first generation had it
)

// unit is the memory of a container, in MB.
const unit = 1024

// job is one of a benchmark with so many maps of 256 MB.
func job(b benchmark, maps, reduces int, how slots) mapreduce.Jobs {
	output := b.shuffle / 80
	j := mapreduce.Jobs{
		Name: fmt.Sprintf("%s-%d", b.name, maps), Type: b.name,
		Maps:    mapreduce.Tasks{Tasks: maps, Seconds: b.seconds, Memory: unit, VCores: unit, Output: output},
		Reduces: mapreduce.Tasks{Tasks: reduces, Seconds: output * float64(maps) / float64(reduces) / reducing, Memory: unit, VCores: unit},
	}
	if how == static {
		// Two kinds of slots are two resources of which each task takes one: memory stands for map slots, cores for those of reduces.
		j.Maps.VCores, j.Reduces.Memory = 1, 1
	}
	return j
}

// unsaid is what a text on stages doesn't say: how many tasks a node does at full speed (0: any number), and how long maps and reduces take, as multiples of what is chosen.
type unsaid struct{ parallel, maps, reduces float64 }

var unsaidParameters = []Parameter{
	{
		Name: "parallel", Default: "0",
		What: "tasks that a node of four slots does at full speed; more of them share that. 0: any number",
	},
	{Name: "maps", Default: "1", What: "how long maps take, as a multiple"},
	{Name: "reduces", Default: "1", What: "how long reduces take after they have fetched, as a multiple"},
}

func unsaidOf(o *Options) *unsaid {
	return &unsaid{o.Number("parallel"), o.Number("maps"), o.Number("reduces")}
}

// crowd has the tasks of a node share what it does.
func (u *unsaid) crowd(s *mapreduce.Scenario) *mapreduce.Scenario {
	for i := range s.Nodes {
		s.Nodes[i].Parallel = u.parallel
	}
	return s
}

// in puts all of it into a scenario.
func (u *unsaid) in(s *mapreduce.Scenario) *mapreduce.Scenario {
	for i := range s.Jobs {
		s.Jobs[i].Maps.Seconds *= u.maps
		s.Jobs[i].Reduces.Seconds *= u.reduces
	}
	return u.crowd(s)
}

// cluster is nodes of four slots, with jobs that are submitted every two seconds.
func cluster(nodes int, how slots, jobs []mapreduce.Jobs, settings mapreduce.Settings) *mapreduce.Scenario {
	size := int64(slotsOfNode * unit)
	if how == static {
		size = slotsOfNode / 2 * (unit + 1)
	}
	for i := range jobs {
		jobs[i].Submit = float64(i) * interval
		jobs[i].Name = fmt.Sprintf("%d-%s", i+1, jobs[i].Name)
	}
	settings.Bandwidth, settings.Noise = fetching, noise
	return &mapreduce.Scenario{
		Allocations: "<allocations><queue name=\"default\"/><defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy></allocations>",
		Settings:    settings, Nodes: []mapreduce.Nodes{{Name: "node", Count: nodes, Memory: size, VCores: size}}, Jobs: jobs,
	}
}

// workload is jobs that the text reports on.
type workload struct {
	key   string
	name  string
	nodes int
	jobs  func(slots) []mapreduce.Jobs
	text  string // what it reports
}

// simple are eight jobs of a benchmark with 20 GB.
func simple(b benchmark) func(slots) []mapreduce.Jobs {
	return func(how slots) (out []mapreduce.Jobs) {
		for range 8 {
			out = append(out, job(b, 80, 2, how))
		}
		return out
	}
}

// mixedJobs are so many jobs of each benchmark with a size, in maps and reduces.
func mixedJobs(of []benchmark, times int, sizes ...[2]int) func(slots) []mapreduce.Jobs {
	return func(how slots) (out []mapreduce.Jobs) {
		for range times {
			for _, b := range of {
				for _, n := range sizes {
					out = append(out, job(b, n[0], n[1], how))
				}
			}
		}
		return out
	}
}

var large, small = [2]int{80, 2}, [2]int{40, 1}

// workloads are those of sections 4.4.2.2 and 4.4.3.
var workloads = []workload{
	{"H", "set H, 24 mixed jobs on 40 nodes", 40, func(how slots) (out []mapreduce.Jobs) {
		for i := range 24 {
			b := benchmarks[i%len(benchmarks)]
			if i%4 < 2 {
				out = append(out, job(b, 80, 2, how))
			} else {
				out = append(out, job(b, 40, 1, how))
			}
		}
		return out
	}, "table 4.7: Fair with slowstart 0.05 1885 s, with 1.0 2258 s, FRESH 2037 s, OMO 1238 s"},
	{"terasort", "8 Terasort jobs on 20 nodes", 20, simple(benchmarks[0]), "section 4.4.3.2: lazy start 11.6 % below the best fair setting, 24.5 % below FRESH; table 4.6: OMO 1319 s"},
	{"seqcount", "8 Sequence Count jobs on 20 nodes", 20, simple(benchmarks[1]), "section 4.4.3.2: lazy start 15.9 % below the best fair setting, 23.8 % below FRESH"},
	{"wordcount", "8 Word Count jobs on 20 nodes", 20, simple(benchmarks[2]), "section 4.4.3.2: Fair is alike with each slowstart; the shuffle is short"},
	{"A", "set A, 12 mixed jobs on 20 nodes", 20, mixedJobs(benchmarks, 1, large, small), "section 4.4.3.2: lazy start 18.1 % below the best fair setting, 20.2 % below FRESH"},
	{"B", "set B, 16 jobs with much to shuffle on 20 nodes", 20, mixedJobs(benchmarks[:2], 4, large, small), "section 4.4.3.2: lazy start 15.6 % below the best fair setting, 20.7 % below FRESH"},
}

// omoSettings leave the start of reduces to the policy of the ResourceManager.
var omoSettings = mapreduce.Settings{SlowStart: "0", StagePolicy: "omo"}

var slowstarts = []string{"0.05", "0.2", "0.4", "0.6", "0.8", "1.0"}

// OMO compares OMO with Fair at each slowstart, over its own division of slots and over containers: lazy start by each job alone, batch finish alone, and
// all three rules by the ResourceManager. FRESH stands beside them, as in the text.
func OMO(o *Options) (*Study, error) {
	s := &Study{Title: "OMO: when reduces begin (chapter 4). Seconds until all jobs are done.", Seeds: o.Seeds}
	u := unsaidOf(o)
	if o.Failed() != nil {
		return nil, o.Failed()
	}
	for i := range workloads {
		w := &workloads[i]
		if !o.On("workloads", w.key) {
			continue
		}
		if err := w.compare(o, s, u); err != nil {
			return nil, err
		}
	}
	if o.On("workloads", "scale") {
		if err := scale(o, s, u); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// omoParameters are those of OMO.
var omoParameters = append([]Parameter{{
	Name: "workloads", Default: "",
	What: "H, terasort, seqcount, wordcount, A, B and scale (sets C to G); all otherwise",
}}, unsaidParameters...)

// compare runs a workload with each contender.
func (w *workload) compare(o *Options, s *Study, u *unsaid) error {
	t := Table{
		Key: w.key, Title: w.name, Columns: []string{"policy", "makespan", "mean job", "against the best fair", "with the same slots", "against FRESH", "maps only", "both", "shuffle only", "last batch"},
		Notes: []string{"The text, " + w.text + "."},
	}
	results := map[string]runs{}
	type line struct {
		contender
		how  slots
		fair bool
	}
	var lines []line
	for _, how := range []slots{static, shared} {
		name := map[slots]string{static: "Fair, 2 map and 2 reduce slots", shared: "Fair, 4 containers"}[how]
		for _, x := range slowstarts {
			lines = append(lines, line{contender{name + ", slowstart " + x, 0, mapreduce.Settings{SlowStart: x}}, how, true})
		}
	}
	for _, x := range []contender{
		{"Fair, 4 containers, YARN's ramp-up limit", 0, mapreduce.Settings{SlowStart: "0.05", RampUp: true}},
		{"FRESH by the ResourceManager", 0, freshSettings},
		{"lazy start by each job", 0, mapreduce.Settings{SlowStart: "omo", Hints: true}},
		{"batch finish alone, slowstart 1.0", 0, mapreduce.Settings{SlowStart: "1.0", StagePolicy: "omo"}},
		{"OMO by the ResourceManager", 0, omoSettings},
	} {
		lines = append(lines, line{x, shared, false})
	}
	fair := map[slots]sample{}
	for _, l := range lines {
		r, err := with(o.Seeds,
			func() *mapreduce.Scenario { return u.in(cluster(w.nodes, l.how, w.jobs(l.how), l.settings)) })
		if err != nil {
			return fmt.Errorf("%s, %s: %w", w.name, l.name, err)
		}
		results[l.name] = r
		m := r.of(makespan)
		cells := []Cell{m.Cell(0), r.of(func(r *mapreduce.Result) float64 { return r.MeanJob }).Cell(0), {}, {}, {}}
		if l.fair {
			if fair[l.how] == nil || m.Mean() < fair[l.how].Mean() {
				fair[l.how] = m
			}
		} else {
			cells[2], cells[3] = m.Change(fair[static]), m.Change(fair[shared])
			if f, ok := results["FRESH by the ResourceManager"]; ok {
				cells[4] = m.Change(f.of(makespan))
			}
		}
		for i := range 3 {
			cells = append(cells, r.of(func(r *mapreduce.Result) float64 { return steps(r)[i] }).Cell(0))
		}
		t.Add(l.name, append(cells, r.of(lastBatch).Cell(1))...)
		if w.nodes == 40 && (!l.fair || l.settings.SlowStart == "0.05") {
			s.Timelines = append(s.Timelines, Timeline{l.name, r[0], w.nodes * slotsOfNode})
		}
	}
	s.Tables = append(s.Tables, t)
	return nil
}

// steps returns those of figure 4.18: for how long only maps run, maps and reduces, and reduces fetch after all maps have ended, in s.
func steps(r *mapreduce.Result) [3]float64 {
	first, mapped, fetched := r.Makespan, 0., 0.
	for i := range r.Jobs {
		j := &r.Jobs[i]
		mapped = max(mapped, j.MapsDone)
		for k := range j.Reduces {
			for _, a := range j.Reduces[k].Attempts {
				first, fetched = min(first, a.Start), max(fetched, a.Fetched)
			}
		}
	}
	return [3]float64{min(first, mapped), max(0, mapped-first), max(0, fetched-mapped)}
}

// lastBatch is that of figure 4.10: how many maps of a job end within 10 s of its last one, in the mean of the jobs.
func lastBatch(r *mapreduce.Result) float64 {
	n := 0
	for i := range r.Jobs {
		for k := range r.Jobs[i].Maps {
			if r.Jobs[i].Maps[k].End > r.Jobs[i].MapsDone-10 {
				n++
			}
		}
	}
	return float64(n) / float64(max(1, len(r.Jobs)))
}

// scale is figure 4.19: larger inputs, and more jobs.
func scale(o *Options, s *Study, u *unsaid) error {
	t := Table{
		Key: "scale", Title: "OMO by the ResourceManager on 20 nodes", Columns: []string{"jobs", "makespan", "times that of set C"},
		Notes: []string{"The text, figure 4.19: 30 GB and 40 GB take 1.6 and 2.1 times as long as 20 GB; time grows linearly with the number of jobs."},
	}
	var base sample
	for _, x := range []struct {
		name  string
		times int
		size  [2]int
	}{{"set C, 12 jobs of 20 GB", 2, large}, {"set D, 12 jobs of 30 GB", 2, [2]int{120, 3}}, {"set E, 12 jobs of 40 GB", 2, [2]int{160, 4}}, {"set F, 18 jobs of 20 GB", 3, large}, {"set G, 24 jobs of 20 GB", 4, large}} {
		jobs := mixedJobs(benchmarks, x.times, x.size)
		r, err := with(o.Seeds, func() *mapreduce.Scenario { return u.in(cluster(20, shared, jobs(shared), omoSettings)) })
		if err != nil {
			return err
		}
		m := r.of(makespan)
		if base == nil {
			base = m
		}
		t.Add(x.name, m.Cell(0), m.With(base, func(a, b float64) float64 { return a / b }).Cell(2))
	}
	s.Tables = append(s.Tables, t)
	return nil
}
