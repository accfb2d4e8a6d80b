package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"heddle/sim"
	"heddle/sim/study/progress"
	"heddle/yarn/records"
)

// eunomiaParameters are those of Eunomia's study.
var eunomiaParameters = []Parameter{
	{Name: "parts", Default: "", What: "micro (two benchmarks) and macro; all otherwise"},
	{Name: "noise", Default: "10", What: "percent by which a task's time is shorter or longer at most, in the micro-benchmarks"},
	{Name: "jobs", Default: "1000", What: "jobs of the macro-benchmark, of which the first tenth isn't counted"},
}

// The policies that the text compares.
var byProgress = []string{"eunomia", "tsf", "choosy"}

// Eunomia returns the micro-benchmarks and the macro-benchmark of section 5.4.
func Eunomia(o *Options) (*Study, error) {
	s := &Study{Title: "Eunomia: fair by progress on nodes that differ, beside TSF and Choosy. Seconds.", Seeds: o.Seeds}
	if o.On("parts", "micro") {
		if err := microBenchmarks(o, s); err != nil {
			return nil, err
		}
	}
	if o.On("parts", "macro") {
		if err := macroBenchmark(o, s); err != nil {
			return nil, err
		}
	}
	return s, o.Failed()
}

// microBenchmarks runs both, as printed with four tasks at a time on a node, and with two, which gives the times that the text prints.
func microBenchmarks(o *Options, s *Study) error {
	var nodes []progress.Node
	of := func(kinds ...int) (hosts []string) {
		for _, k := range kinds {
			for i := range 5 {
				hosts = append(hosts, fmt.Sprintf("t%d-%d", k, i))
			}
		}
		return hosts
	}
	for k, speed := range []float64{1, 1.5, 2, 3} {
		for _, h := range of(k + 1) {
			nodes = append(nodes, progress.Node{Host: h, Speed: speed, Size: records.NewResource(4, 4)})
		}
	}
	one := []progress.Job{
		{Tasks: 1000, Length: 23200},
		{At: 10e3, Tasks: 150, Length: 18300, Hosts: of(2, 3, 4)},
		{At: 150e3, Tasks: 100, Length: 21300, Hosts: of(3, 4)},
		{At: 150e3, Tasks: 100, Length: 55600, Hosts: of(4)},
	}
	two := []progress.Job{{Tasks: 1000, Length: 2000}, {Tasks: 1000, Length: 2000}, {Tasks: 1000, Length: 2000}, {Tasks: 1000, Length: 2000, Hosts: of(4)}}
	noise := o.Number("noise") / 100
	for _, b := range []struct {
		name string
		jobs []progress.Job
		text string
	}{
		{"micro 1", one, "The text, figure 5.3: J1 ends at 463 s, J2 at 98, J3 at 240, J4 at 365."},
		{"micro 2", two, "The text, figures 5.4 and 5.5: with TSF J4 has 40 %, with Eunomia each has 25 %, and all end nearly together."},
	} {
		for _, reading := range []struct {
			name  string
			cores int64
		}{{"four tasks a node", 1}, {"two tasks a node", 2}} {
			t := Table{Key: b.name + ", " + reading.name, Title: b.name + ", " + reading.name + ": ends of the jobs", Columns: []string{"policy", "J1", "J2", "J3", "J4"}, Notes: []string{b.text}}
			jobs := slices.Clone(b.jobs)
			for i := range jobs {
				jobs[i].Size = records.NewResource(reading.cores, reading.cores)
			}
			for _, policy := range byProgress {
				var ends [4]sample
				for seed := range o.Seeds.All() {
					r, err := progress.Run(policy, nodes, jobs, noise, seed)
					if err != nil {
						return err
					}
					for i := range ends {
						ends[i] = append(ends[i], float64(r[i].Ended)/1000)
					}
				}
				t.Add(policy, ends[0].Cell(0), ends[1].Cell(0), ends[2].Cell(0), ends[3].Cell(0))
			}
			s.Tables = append(s.Tables, t)
		}
	}
	return nil
}

// The paper's macro-benchmark (section 5.4.2): 100 nodes of ten speeds; 22 tasks a job, 2,888 jobs in 5,000 s; 18 % of the jobs can run anywhere, and
// 35 % on half of the nodes. The rest is chosen: sizes of nodes and tasks, how long tasks last, and the other jobs' constraints.
func macroBenchmark(o *Options, s *Study) error {
	n := int(o.Number("jobs"))
	t := Table{Key: "macro", Title: fmt.Sprintf("100 nodes of ten speeds, %d jobs", n), Columns: []string{
		"policy", "queueing P50", "queueing P90", "completion P50", "completion P90", "queueing P50 against tsf", "queueing P90 against tsf", "completion P50 against tsf", "completion P90 against tsf",
	}, Notes: []string{"The text, figure 5.7: the three policies are nearly the same."}}
	results := map[string][4]sample{}
	for _, policy := range byProgress {
		var of [4]sample
		for seed := range o.Seeds.All() {
			nodes, jobs := macro(n, seed)
			r, err := progress.Run(policy, nodes, jobs, .5, seed)
			if err != nil {
				return err
			}
			var queueing, completion []sim.Time
			for i := n / 10; i < n; i++ {
				queueing, completion = append(queueing, sim.Time(r[i].Began-jobs[i].At)*1e6), append(completion, sim.Time(r[i].Ended-jobs[i].At)*1e6)
			}
			slices.Sort(queueing)
			slices.Sort(completion)
			for i, x := range []sim.Time{sim.Percentile(queueing, 50), sim.Percentile(queueing, 90), sim.Percentile(completion, 50), sim.Percentile(completion, 90)} {
				of[i] = append(of[i], x.Seconds())
			}
		}
		results[policy] = of
	}
	for _, policy := range byProgress {
		of := results[policy]
		var cells []Cell
		for _, x := range of {
			cells = append(cells, x.Cell(1))
		}
		for i, x := range of {
			cells = append(cells, x.Change(results["tsf"][i]))
		}
		t.Add(policy, cells...)
	}
	s.Tables = append(s.Tables, t)
	return nil
}

// macro makes the nodes and jobs of the macro-benchmark.
func macro(n int, seed uint64) (nodes []progress.Node, jobs []progress.Job) {
	random := rand.New(rand.NewPCG(seed, 5))
	for i := range 100 {
		size := []int64{2, 4, 8}[random.IntN(3)]
		nodes = append(nodes, progress.Node{Host: fmt.Sprint("m", i), Speed: 1 + .25*float64(i%10), Size: records.NewResource(size, size)})
	}
	power := 0. // core-seconds of speed 1 that the cluster does a second
	for _, m := range nodes {
		power += m.Speed * float64(m.Size.VCores())
	}
	const mean, tasks, load = 20., 22., .95
	at := 0.
	for range n {
		j := progress.Job{At: int64(at * 1000), Tasks: 1 + int32(min(400, random.ExpFloat64()*(tasks-1))), Length: 1000 * mean * math.Exp(.5*random.NormFloat64()-.125)}
		cores := 1 + random.Int64N(2)
		j.Size = records.NewResource(cores, cores)
		part := 1.
		switch x := random.Float64(); {
		case x < .18:
		case x < .53:
			part = .5
		default:
			part = .1 + .8*random.Float64()
		}
		if part < 1 {
			for _, k := range random.Perm(len(nodes))[:max(1, int(part*float64(len(nodes))))] {
				j.Hosts = append(j.Hosts, nodes[k].Host)
			}
			slices.Sort(j.Hosts)
		}
		jobs = append(jobs, j)
		at += random.ExpFloat64() * tasks * mean * 1.5 / (load * power)
	}
	return nodes, jobs
}
