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

// What the text says of its cluster, or what follows from that.
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
	name  string
	nodes int
	jobs  func(slots) []mapreduce.Jobs
	text  string // what it reports
}

// workloads are those of sections 4.4.2.2 and 4.4.3.4.
var workloads = []workload{
	{"set H, 24 mixed jobs on 40 nodes", 40, func(how slots) (out []mapreduce.Jobs) {
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
	{"8 Terasort jobs on 20 nodes", 20, func(how slots) (out []mapreduce.Jobs) {
		for range 8 {
			out = append(out, job(benchmarks[0], 80, 2, how))
		}
		return out
	}, "section 4.4.3.2: lazy start 11.6 % below the best fair setting; table 4.6: OMO 1319 s"},
	{"set A, 12 mixed jobs on 20 nodes", 20, func(how slots) (out []mapreduce.Jobs) {
		for _, b := range benchmarks {
			out = append(out, job(b, 80, 2, how), job(b, 40, 1, how))
		}
		return out
	}, "section 4.4.3.2: lazy start 18.1 % below the best fair setting"},
}

// omoSettings leave the start of reduces to the policy of the ResourceManager.
var omoSettings = mapreduce.Settings{SlowStart: "0", StagePolicy: "omo"}

var slowstarts = []string{"0.05", "0.2", "0.4", "0.6", "0.8", "1.0"}

// OMO compares OMO with Fair at each slowstart, over its own division of slots and over containers: lazy start by each job alone, and all
// three rules by the ResourceManager. FRESH stands beside them, as in the text.
func OMO(seeds int) (*Study, error) {
	s := &Study{Title: "OMO: when reduces begin (chapter 4). Seconds until all jobs are done, mean ± deviation."}
	for _, w := range workloads {
		t := Table{
			Title: fmt.Sprintf("%s, %d seeds", w.name, seeds), Columns: []string{"policy", "makespan", "mean job", "against the best fair", "with the same slots"},
			Notes: []string{"The text, " + w.text + "."},
		}
		best := map[slots]float64{}
		run := func(how slots, name string, set mapreduce.Settings) (runs, error) {
			return with(seeds, func() *mapreduce.Scenario { return cluster(w.nodes, how, w.jobs(how), set) })
		}
		row := func(how slots, name string, set mapreduce.Settings, fair bool) error {
			r, err := run(how, name, set)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", w.name, name, err)
			}
			m := r.of(makespan)
			cells := []string{name, m.String(), r.of(func(r *mapreduce.Result) float64 { return r.MeanJob }).String(), "", ""}
			if fair {
				if b, ok := best[how]; !ok || m.mean() < b {
					best[how] = m.mean()
				}
			} else {
				cells[3], cells[4] = less(m.mean(), best[static]), less(m.mean(), best[shared])
			}
			t.Rows = append(t.Rows, cells)
			if w.nodes == 40 && (!fair || set.SlowStart == "0.05") {
				s.Timelines = append(s.Timelines, Timeline{name, r[0], w.nodes * slotsOfNode})
			}
			return nil
		}
		for _, how := range []slots{static, shared} {
			name := map[slots]string{static: "Fair, 2 map and 2 reduce slots", shared: "Fair, 4 containers"}[how]
			for _, x := range slowstarts {
				if err := row(how, name+", slowstart "+x, mapreduce.Settings{SlowStart: x}, true); err != nil {
					return nil, err
				}
			}
		}
		for _, x := range []contender{
			{"lazy start by each job, 4 containers", 0, mapreduce.Settings{SlowStart: "omo", Hints: true}},
			{"OMO by the ResourceManager, 4 containers", 0, omoSettings},
			{"FRESH by the ResourceManager, 4 containers", 0, freshSettings},
		} {
			if err := row(shared, x.name, x.settings, false); err != nil {
				return nil, err
			}
		}
		s.Tables = append(s.Tables, t)
	}
	return s, nil
}
