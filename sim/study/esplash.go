package study

import (
	"fmt"

	"heddle/sim/mapreduce"
)

// classes are those of section 5.3.2: two nodes each, with so many containers. The text gives no speeds; they are those of the nodes of
// figure 5.2, where a class takes half as long as the one below.
var classes = []struct {
	cores int64
	speed float64
}{{32, 0.25}, {16, 0.5}, {8, 1}, {4, 2}}

// heterogeneous are the benchmarks of section 5.3.2: 80 maps of 256 MB and 10 reduces a job. The text doesn't say how long they take;
// its nodes straggle for 1000 s of a run.
var heterogeneous = []benchmark{
	{"terasort", 20 * 1024, 100},
	{"wordcount", 3.9 * 1024, 140},
	{"grep", 1, 80},
	{"wordmean", 1, 120},
}

// Facts that the paper doesn't give.
const (
	disturbed   = 300 // seconds after the beginning
	recovering  = 1000
	rebooting   = 600
	afterMaps   = "1.0" // Hadoop leaves half of the containers to maps, which is not simulated: 80 reduces would fill the fast nodes
	disturbedBy = 0.1   // what is left of the speed of a node that eight greedy processes work on
)

// options of the scenario that a study of eSplash tests.
type mixture struct {
	slowStart string
	jobs      int     // 8 in the text
	every     float64 // s between two of them
	alike     string  // of which benchmark all jobs are; "": two of each
	expiry    float64 // s until the containers of a node that is silent are given up
}

var asInText = mixture{slowStart: afterMaps, jobs: 8, every: interval, expiry: rebooting}

// mixed is 8 jobs of four benchmarks on 8 nodes of four classes.
func mixed(speculation, classesBy string, freezes bool, changes []mapreduce.Change) *mapreduce.Scenario {
	return asInText.scenario(speculation, classesBy, freezes, changes)
}

func (x *mixture) scenario(speculation, classesBy string, freezes bool, changes []mapreduce.Change) *mapreduce.Scenario {
	s := &mapreduce.Scenario{
		Allocations: "<allocations><queue name=\"default\"/><defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy></allocations>",
		Settings:    mapreduce.Settings{SlowStart: x.slowStart, Speculation: speculation, Classes: classesBy, Freezes: freezes, Noise: noise, Expiry: x.expiry, Hints: true},
		Changes:     changes,
	}
	for i, l := range classes {
		s.Nodes = append(s.Nodes, mapreduce.Nodes{
			Name: fmt.Sprintf("level%d-", i+1), Count: 2, Memory: 64 * unit, VCores: l.cores, Speed: l.speed, Class: i + 1,
		})
	}
	for i := range x.jobs {
		b := heterogeneous[i%len(heterogeneous)]
		for _, y := range heterogeneous {
			if y.name == x.alike {
				b = y
			}
		}
		output := b.shuffle / 80
		s.Jobs = append(s.Jobs, mapreduce.Jobs{
			Name: fmt.Sprintf("%d-%s", i+1, b.name), Type: b.name, Submit: float64(i) * x.every,
			Maps:    mapreduce.Tasks{Tasks: 80, Seconds: b.seconds, Memory: 2 * unit, Output: output},
			Reduces: mapreduce.Tasks{Tasks: 10, Seconds: b.shuffle / 10 / reducing, Memory: 2 * unit},
		})
	}
	return s
}

// slowed has a node straggle, and then recover or reboot.
func slowed(node string, reboots bool) []mapreduce.Change {
	slow, whole, down, up := disturbedBy, 1., true, false
	c := []mapreduce.Change{{At: disturbed, Node: node, Speed: &slow}, {At: disturbed + recovering, Node: node, Speed: &whole}}
	if reboots {
		c[1].Down = &down
		c = append(c, mapreduce.Change{At: disturbed + recovering + rebooting, Node: node, Down: &up})
	}
	return c
}

// esplashParameters are those of eSplash: facts that the paper doesn't give, and tests of why a figure differs.
var esplashParameters = []Parameter{
	{Name: "slowstart", Default: afterMaps, What: "part of a job's maps that has ended when its reduces begin; Hadoop's default is 0.05"},
	{Name: "jobs", Default: "8", What: "jobs of a run, two of each benchmark in the text"},
	{Name: "every", Default: "2s", What: "between two submissions; jobs that come later leave room for copies"},
	{Name: "benchmark", Default: "", What: "of which all jobs are: terasort, wordcount, grep or wordmean; two of each otherwise"},
	{
		Name:    "expiry",
		Default: "600s",
		What:    "until the containers of a node that is silent are given up; YARN's default is 600 s",
	},
	{Name: "cases", Default: "", What: "healthy, level1, level4 and rebooted; all otherwise. Healthy runs are made in any case"},
	{
		Name:    "policies",
		Default: "",
		What:    "none, late, configured, measured, paid and split; all otherwise. The first two are needed to compare with",
	},
}

// ESplash compares eSplash with Hadoop's LATE and with no copies at all, on nodes of four classes.
func ESplash(o *Options) (*Study, error) {
	s := &Study{Title: "eSplash: copies on nodes that differ (chapter 5): mixed jobs on 8 nodes of 4 levels.", Seeds: o.Seeds}
	x := mixture{slowStart: o.Text("slowstart"), jobs: int(o.Number("jobs")), every: o.Time("every").Seconds(), alike: o.Text("benchmark"), expiry: o.Time("expiry").Seconds()}
	if o.Failed() != nil {
		return nil, o.Failed()
	}
	healthy := map[string]sample{}
	for _, c := range []disturbance{
		{"healthy", "no straggler", nil, "section 5.3.3.1: eSplash makes 80 to 91.9 % fewer useless copies than LATE, wastes 90.3 % less time, and ends 4.6 % earlier"},
		{"level1", "a node of level 1 is slow for 1000 s", slowed("level1-1", false), "section 5.3.3.2: eSplash adds 76.7 % less than none, 65.7 % less than LATE"},
		{"level4", "a node of level 4 is slow for 1000 s", slowed("level4-1", false), "section 5.3.3.2: eSplash adds 69.4 % less than none, 66.7 % less than LATE"},
		{"rebooted", "a node of level 4 is slow for 1000 s, then away for 600 s", slowed("level4-1", true), "section 5.3.3.3: eSplash adds 42.4 % less than none, 45.8 % less than LATE"},
	} {
		if c.changes != nil && !o.On("cases", c.key) {
			continue
		}
		if err := c.compare(o, s, &x, healthy); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// disturbance is what becomes of a node.
type disturbance struct {
	key, name string
	changes   []mapreduce.Change
	text      string
}

// compare runs each policy with a disturbance. healthy are the makespans without any, by policy.
func (c *disturbance) compare(o *Options, s *Study, x *mixture, healthy map[string]sample) error {
	t := Table{
		Key: c.key, Title: c.name,
		Columns: []string{"policy", "makespan", "against none", "against LATE", "added", "added against none", "added against LATE", "copies", "cuts", "stood still", "useless", "useless against LATE", "wasted on copies (s)", "wasted against LATE"},
		Notes:   []string{"The text, " + c.text + "."},
	}
	type outcome struct{ makespan, added, useless, wasted sample }
	var all []outcome
	for _, p := range []struct {
		key, name, speculation, classes string
		freezes                         bool
	}{
		{"none", "none", "none", "", false},
		{"late", "LATE", "late", "", false},
		{"configured", "eSplash, levels configured", "esplash", "configured", false},
		{"measured", "eSplash, levels measured by each job", "esplash", "measured", false},
		{"paid", "the same, paid by suspension", "esplash", "measured", true},
		{"split", "split, levels measured by each job", "split", "measured", false},
	} {
		if !o.On("policies", p.key) {
			continue
		}
		r, err := with(o.Seeds, func() *mapreduce.Scenario { return x.scenario(p.speculation, p.classes, p.freezes, c.changes) })
		if err != nil {
			return fmt.Errorf("%s, %s: %w", c.name, p.name, err)
		}
		count := func(f func(*mapreduce.Result) int) Cell {
			return r.of(func(r *mapreduce.Result) float64 { return float64(f(r)) }).Cell(1)
		}
		m := outcome{
			makespan: r.of(makespan), useless: r.of(func(r *mapreduce.Result) float64 { return float64(r.Copies - r.Useful) }),
			wasted: r.of(func(r *mapreduce.Result) float64 { return r.WastedOn }),
		}
		if c.changes == nil {
			healthy[p.name] = m.makespan
		} else {
			m.added = m.makespan.Minus(healthy[p.name])
		}
		all = append(all, m)
		cells := []Cell{
			m.makespan.Cell(0),
			{},
			{},
			{},
			{},
			{},
			count(func(r *mapreduce.Result) int { return r.Copies }),
			count(func(r *mapreduce.Result) int { return r.Cuts }), count(func(r *mapreduce.Result) int { return r.Frozen }), m.useless.Cell(1),
			{},
			m.wasted.Cell(0),
			{},
		}
		if m.added != nil {
			cells[3] = m.added.Cell(0)
		}
		for i := range min(2, len(all)-1) {
			base := all[i]
			if cells[1+i] = m.makespan.Change(base.makespan); m.added != nil {
				cells[4+i] = m.added.Change(base.added)
			}
		}
		if len(all) > 2 {
			cells[10], cells[12] = m.useless.Change(all[1].useless), m.wasted.Change(all[1].wasted)
		}
		t.Add(p.name, cells...)
		if c.key == "level4" && (p.classes != "measured" || p.speculation == "split") {
			s.Timelines = append(s.Timelines, Timeline{p.name, r[0], 120})
		}
	}
	s.Tables = append(s.Tables, t)
	return nil
}
