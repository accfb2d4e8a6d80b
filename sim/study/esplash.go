package study

import (
	"fmt"

	"heddle/sim/mapreduce"
)

// levels are those of section 5.3.2: two nodes each, with so many containers. The text gives no speeds; they are those of the nodes of
// figure 5.2, where a level takes half as long as the one below.
var levels = []struct {
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

// What the text doesn't say.
const (
	disturbed   = 300 // seconds after the beginning
	recovering  = 1000
	rebooting   = 600
	afterMaps   = "1.0" // Hadoop leaves half of the containers to maps, which is not simulated: 80 reduces would fill the fast nodes
	disturbedBy = 0.1   // what is left of the speed of a node that eight greedy processes work on
)

// mixed is 8 jobs of four benchmarks on 8 nodes of four levels.
func mixed(speculation, levelsBy string, freezes bool, changes []mapreduce.Change) *mapreduce.Scenario {
	s := &mapreduce.Scenario{
		Allocations: "<allocations><queue name=\"default\"/><defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy></allocations>",
		Settings:    mapreduce.Settings{SlowStart: afterMaps, Speculation: speculation, Levels: levelsBy, Freezes: freezes, Noise: noise, Expiry: rebooting, Hints: true},
		Changes:     changes,
	}
	for i, l := range levels {
		s.Nodes = append(s.Nodes, mapreduce.Nodes{
			Name: fmt.Sprintf("level%d-", i+1), Count: 2, Memory: 64 * unit, VCores: l.cores, Speed: l.speed, Level: i + 1,
		})
	}
	for i := range 8 {
		b := heterogeneous[i%len(heterogeneous)]
		output := b.shuffle / 80
		s.Jobs = append(s.Jobs, mapreduce.Jobs{
			Name: fmt.Sprintf("%d-%s", i+1, b.name), Type: b.name, Submit: float64(i) * interval,
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

// ESplash compares eSplash with Hadoop's LATE and with no copies at all, on nodes of four levels.
func ESplash(seeds int) (*Study, error) {
	s := &Study{Title: "eSplash: copies on nodes that differ (chapter 5): 8 mixed jobs on 8 nodes of 4 levels. Mean ± deviation."}
	healthy := map[string]float64{}
	for _, x := range []struct {
		name    string
		changes []mapreduce.Change
		text    string
	}{
		{"no straggler", nil, "section 5.3.3.1: eSplash makes 80 to 91.9 % fewer useless copies than LATE, wastes 90.3 % less time, and ends 4.6 % earlier"},
		{"a node of level 1 is slow for 1000 s", slowed("level1-1", false), "section 5.3.3.2: eSplash adds 76.7 % less than none, 65.7 % less than LATE"},
		{"a node of level 4 is slow for 1000 s", slowed("level4-1", false), "section 5.3.3.2: eSplash adds 69.4 % less than none, 66.7 % less than LATE"},
		{"a node of level 4 is slow for 1000 s, then away for 600 s", slowed("level4-1", true), "section 5.3.3.3: eSplash adds 42.4 % less than none, 45.8 % less than LATE"},
	} {
		t := Table{
			Title: fmt.Sprintf("%s, %d seeds", x.name, seeds), Columns: []string{"policy", "makespan", "added", "copies", "cuts", "stood still", "useless", "wasted on copies (s)", "useless against LATE"},
			Notes: []string{"The text, " + x.text + "."},
		}
		late := 0.
		for _, p := range []struct {
			name, speculation, levels string
			freezes                   bool
		}{
			{"none", "none", "", false},
			{"LATE", "late", "", false},
			{"eSplash, levels configured", "esplash", "configured", false},
			{"eSplash, levels measured by each job", "esplash", "measured", false},
			{"the same, paid by suspension", "esplash", "measured", true},
			{"split, levels measured by each job", "split", "measured", false},
		} {
			r, err := with(seeds, func() *mapreduce.Scenario { return mixed(p.speculation, p.levels, p.freezes, x.changes) })
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", x.name, p.name, err)
			}
			m := r.of(makespan)
			useless := r.of(func(r *mapreduce.Result) float64 { return float64(r.Copies - r.Useful) })
			added, against := "", ""
			if x.changes == nil {
				healthy[p.name] = m.mean()
			} else {
				added = fmt.Sprintf("%.0f", m.mean()-healthy[p.name])
			}
			switch {
			case p.speculation == "late":
				late = useless.mean()
			case p.speculation != "none" && late > 0:
				against = less(useless.mean(), late)
			}
			t.Rows = append(t.Rows, []string{
				p.name, m.String(), added, r.of(func(r *mapreduce.Result) float64 { return float64(r.Copies) }).String(),
				r.of(func(r *mapreduce.Result) float64 { return float64(r.Cuts) }).String(), r.of(func(r *mapreduce.Result) float64 { return float64(r.Frozen) }).String(),
				useless.String(),
				r.of(func(r *mapreduce.Result) float64 { return r.WastedOn }).String(), against,
			})
			if x.name == "a node of level 4 is slow for 1000 s" && (p.levels != "measured" || p.speculation == "split") {
				s.Timelines = append(s.Timelines, Timeline{p.name, r[0], 120})
			}
		}
		s.Tables = append(s.Tables, t)
	}
	return s, nil
}
