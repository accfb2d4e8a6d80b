package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"heddle/sim/mapreduce"
)

// half is a benchmark of section 3.4.1.2, with how long its tasks take. The text doesn't say. It says which benchmarks are map-intensive and
// which reduce-intensive (section 3.4.2.2), and that Set A takes about 1800 s on 40 slots, which is 16 s for a task.
type half struct {
	name         string
	map_, reduce float64 // seconds
}

var (
	classification   = half{"classification", 22, 8}
	invertedIndex    = half{"invertedindex", 12, 20}
	wordCount        = half{"wordcount", 16, 14}
	grep             = half{"grep", 12, 20}
	histogramRatings = half{"histogramratings", 22, 8}
	histogramMovies  = half{"histogrammovies", 16, 14}
)

// tasks are those of a benchmark with 8 GB and with 4 GB (table 3.1).
var tasks = map[string][2][2]int{
	"classification": {{270, 250}, {129, 120}}, "invertedindex": {{256, 250}, {128, 120}}, "wordcount": {{256, 200}, {128, 100}},
	"grep": {{270, 250}, {128, 100}}, "histogramratings": {{270, 250}, {129, 120}}, "histogrammovies": {{270, 200}, {129, 100}},
}

// Not in the paper: a map of 32 MB puts out half of it.
const (
	slotsOfFresh = 4
	outputOfMap  = 16 // MB
)

// set is jobs of section 3.4.2.2: of each benchmark so many with 8 GB and with 4 GB.
type set struct {
	key  string
	name string
	of   []times
	text string
}

type times struct {
	half
	large, small int
}

var sets = []set{
	{"A", "set A, 12 mixed jobs", []times{{classification, 1, 1}, {invertedIndex, 1, 1}, {wordCount, 1, 1}, {grep, 1, 1}, {histogramRatings, 1, 1}, {histogramMovies, 1, 1}}, "figure 3.5: with k = 5 FRESH is 27.62 % below Fair 2:2"},
	{"B", "set B, 6 mixed jobs", []times{{classification, 1, 0}, {invertedIndex, 1, 0}, {wordCount, 1, 0}, {grep, 1, 0}, {histogramRatings, 1, 0}, {histogramMovies, 1, 0}}, ""},
	{"C", "set C, 24 mixed jobs", []times{{classification, 2, 2}, {invertedIndex, 2, 2}, {wordCount, 2, 2}, {grep, 2, 2}, {histogramRatings, 2, 2}, {histogramMovies, 2, 2}}, ""},
	{"D", "set D, 12 jobs, most of them map-intensive", []times{{classification, 2, 2}, {wordCount, 1, 1}, {histogramRatings, 2, 2}, {histogramMovies, 1, 1}}, ""},
	{"E", "set E, 12 jobs, most of them reduce-intensive", []times{{invertedIndex, 2, 2}, {wordCount, 1, 1}, {grep, 2, 2}, {histogramMovies, 1, 1}}, ""},
}

// jobs returns those of a set, in the order of Johnson's algorithm, as in the paper: the shortest first stages first, then the longest
// second ones. divided: maps and reduces take slots of two kinds.
func (s *set) jobs(divided bool) (out []mapreduce.Jobs) {
	for _, b := range s.of {
		for i, n := range []int{b.large, b.small} {
			for range n {
				j := mapreduce.Jobs{
					Name: fmt.Sprintf("%s-%d", b.name, 8>>i), Type: b.name,
					Maps:    mapreduce.Tasks{Tasks: tasks[b.name][i][0], Seconds: b.map_, Memory: unit, VCores: unit, Output: outputOfMap},
					Reduces: mapreduce.Tasks{Tasks: tasks[b.name][i][1], Seconds: b.reduce, Memory: unit, VCores: unit},
				}
				if divided {
					j.Maps.VCores, j.Reduces.Memory = 1, 1 // as in job
				}
				out = append(out, j)
			}
		}
	}
	first := func(j *mapreduce.Jobs) float64 { return float64(j.Maps.Tasks) * j.Maps.Seconds }
	second := func(j *mapreduce.Jobs) float64 { return float64(j.Reduces.Tasks) * j.Reduces.Seconds }
	slices.SortStableFunc(out, func(a, b mapreduce.Jobs) int {
		a1, a2, b1, b2 := first(&a), second(&a), first(&b), second(&b)
		switch {
		case a1 < a2 && b1 < b2:
			return cmp.Compare(a1, b1)
		case a1 < a2 || b1 < b2:
			return cmp.Compare(b2-b1, a2-a1)
		}
		return cmp.Compare(b2, a2)
	})
	for i := range out {
		out[i].Name, out[i].Submit = fmt.Sprintf("%d-%s", i+1, out[i].Name), float64(i)*interval
	}
	return out
}

// on returns a set on nodes that together have so many map slots, and the rest for reduces; with 0 map slots any slot does any task. So many jobs are admitted
// at a time, all with 0.
func (s *set) on(nodes, mapSlots, admitted int, settings mapreduce.Settings) *mapreduce.Scenario {
	limit := ""
	if admitted > 0 {
		limit = "<maxRunningApps>" + strconv.Itoa(admitted) + "</maxRunningApps>"
	}
	settings.Bandwidth, settings.Noise = fetching, noise
	return &mapreduce.Scenario{
		Allocations: "<allocations><queue name=\"default\">" + limit + "</queue><defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy></allocations>",
		Settings:    settings, Nodes: divided(nodes, mapSlots), Jobs: s.jobs(mapSlots > 0),
	}
}

// divided are nodes of four slots, of which so many in all are for maps; with 0 any slot does any task.
func divided(nodes, mapSlots int) (all []mapreduce.Nodes) {
	if mapSlots == 0 {
		return []mapreduce.Nodes{{Name: "node", Count: nodes, Memory: slotsOfFresh * unit, VCores: slotsOfFresh * unit}}
	}
	each, more := mapSlots/nodes, mapSlots%nodes
	for i, n := range []int{nodes - more, more} {
		if n == 0 {
			continue
		}
		m := each + i
		all = append(all, mapreduce.Nodes{
			Name: fmt.Sprintf("node%d-", i), Count: n, Memory: int64(m*unit + slotsOfFresh - m), VCores: int64((slotsOfFresh-m)*unit + m),
		})
	}
	return all
}

// contender is a way to serve jobs that a study compares. Reduces of all begin when the maps of their job have ended: FRESH holds them
// back until then, and jobs of 250 reduces that began sooner would fill 40 slots (see afterMaps).
type contender struct {
	name     string
	mapSlots int // of each node
	settings mapreduce.Settings
}

var freshSettings = mapreduce.Settings{SlowStart: "0", StagePolicy: "fresh"}

func contenders() (out []contender) {
	for _, m := range []int{1, 2, 3} {
		out = append(out, contender{fmt.Sprintf("Fair %d:%d", m, slotsOfFresh-m), m, mapreduce.Settings{SlowStart: afterMaps}})
	}
	return append(out, contender{"Fair over containers", 0, mapreduce.Settings{SlowStart: afterMaps}}, contender{"FRESH", 0, freshSettings})
}

// best is algorithm 3.3.1, FRESH-static: of all divisions of the slots that leave both kinds on each node, the one with the least makespan, if k jobs share
// each stage evenly, by the work of the jobs as it is known beforehand.
func (s *set) best(nodes, k int) (mapSlots int) {
	least := math.Inf(1)
	for m := nodes; m <= (slotsOfFresh-1)*nodes; m++ {
		if t := s.pipeline(float64(m), float64(slotsOfFresh*nodes-m), k); t < least {
			mapSlots, least = m, t
		}
	}
	return mapSlots
}

// pipeline returns when all jobs have gone through two stages, in each of which k jobs share the slots evenly.
func (s *set) pipeline(maps, reduces float64, k int) (now float64) {
	type left struct{ maps, reduces float64 }
	var waiting, mapping, reducing []left
	for _, j := range s.jobs(true) {
		waiting = append(waiting, left{float64(j.Maps.Tasks) * j.Maps.Seconds, float64(j.Reduces.Tasks) * j.Reduces.Seconds})
	}
	for len(waiting)+len(mapping)+len(reducing) > 0 {
		for len(mapping) < k && len(waiting) > 0 {
			mapping, waiting = append(mapping, waiting[0]), waiting[1:]
		}
		active := reducing[:min(k, len(reducing))]
		perMap, perReduce := maps/float64(max(1, len(mapping))), reduces/float64(max(1, len(active)))
		step := math.Inf(1)
		for _, x := range mapping {
			step = min(step, x.maps/perMap)
		}
		for _, x := range active {
			step = min(step, x.reduces/perReduce)
		}
		now += step
		var still []left
		for i := range active {
			active[i].reduces -= step * perReduce
		}
		for _, x := range reducing {
			if x.reduces > 1e-6 {
				still = append(still, x)
			}
		}
		reducing = still
		still = nil
		for _, x := range mapping {
			if x.maps -= step * perMap; x.maps > 1e-6 {
				still = append(still, x)
			} else {
				reducing = append(reducing, x)
			}
		}
		mapping = still
	}
	return now
}

// overall returns the overall fairness F(T) (section 3.3.2.1), on average over a run: Jain's index of what the jobs that are active at a time had
// until then, per second since they started.
func overall(r *mapreduce.Result) float64 {
	sum, n := 0., 0.
	for t := float64(sampled); t < r.Makespan; t += sampled {
		total, squares, active := 0., 0., 0.
		for i := range r.Jobs {
			if j := &r.Jobs[i]; j.Start < t && t < j.End {
				rate := held(j, t) / (t - j.Start)
				total, squares, active = total+rate, squares+rate*rate, active+1
			}
		}
		if squares > 0 {
			sum, n = sum+total*total/(active*squares), n+1
		}
	}
	return sum / max(1, n)
}

// sampled is how many seconds apart fairness is looked at.
const sampled = 20

// held is for how long the containers of a job have run by a time, together, in seconds.
func held(j *mapreduce.JobResult, t float64) (sum float64) {
	for _, list := range [][]mapreduce.TaskResult{j.Maps, j.Reduces} {
		for k := range list {
			for _, a := range list[k].Attempts {
				sum += max(0, min(a.End, t)-a.Start)
			}
		}
	}
	return sum
}

// freshParameters are those of FRESH.
var freshParameters = append([]Parameter{
	{Name: "parts", Default: "", What: "A (with k jobs in each stage), mixed (sets B to E, with FIFO and Capacity), large (set B on 20 nodes) and simple (ten jobs of one benchmark); all otherwise"},
	{Name: "k", Default: "1,3,5,0", What: "for A and simple: jobs that are admitted to each stage; 0: all"},
}, unsaidParameters...)

// of returns a set whose tasks take as long as that says.
func (u *unsaid) of(s set) *set {
	s.of = slices.Clone(s.of)
	for i := range s.of {
		s.of[i].map_, s.of[i].reduce = s.of[i].map_*u.maps, s.of[i].reduce*u.reduces
	}
	return &s
}

// Fresh compares FRESH with Fair over each division of slots, and over containers.
func Fresh(o *Options) (*Study, error) {
	s := &Study{Title: "FRESH: how slots are divided between maps and reduces (chapter 3). Seconds until all jobs are done.", Seeds: o.Seeds}
	u := unsaidOf(o)
	if o.Failed() != nil {
		return nil, o.Failed()
	}
	for _, k := range o.Numbers("k") {
		if !o.On("parts", "A") {
			break
		}
		t, lines, err := u.of(sets[0]).compare(10, int(k), o.Seeds, u, nil)
		if err != nil {
			return nil, err
		}
		t.Notes = []string{"The text, figure 3.5: with k = 5 FRESH is 27.62 % below Fair 2:2; its fairness is 0.95 and more from k = 5 on, that of Fair about 0.8."}
		if s.Tables = append(s.Tables, *t); k == 5 {
			s.Timelines = lines
		}
	}
	for i := 1; i < len(sets); i++ {
		if !o.On("parts", "mixed") {
			break
		}
		of := u.of(sets[i])
		t, _, err := of.compare(10, 0, o.Seeds, u, others(of, 10))
		if err != nil {
			return nil, err
		}
		t.Notes = []string{"The text, section 3.4.2.2: over sets B to E FRESH is 31.3 % below Fair and 25.1 % below Capacity; 24.5 % below FIFO for D and E, level with it for B and C."}
		s.Tables = append(s.Tables, *t)
	}
	if o.On("parts", "large") {
		t, _, err := u.of(sets[1]).compare(20, 0, o.Seeds, u, nil)
		if err != nil {
			return nil, err
		}
		t.Notes = append(t.Notes, "The text, figure 3.10: FRESH is 31.1 % below Fair.")
		s.Tables = append(s.Tables, *t)
	}
	if o.On("parts", "simple") {
		for _, b := range []half{classification, invertedIndex, wordCount, grep, histogramRatings, histogramMovies} {
			x := set{b.name, "ten jobs of " + b.name, []times{{b, 10, 0}}, ""}
			for _, k := range o.Numbers("k") {
				t, _, err := u.of(x).compare(10, int(k), o.Seeds, u, nil)
				if err != nil {
					return nil, err
				}
				s.Tables = append(s.Tables, *t)
			}
		}
	}
	return s, o.Failed()
}

// another is a contender with a scenario of its own.
type another struct {
	name string
	make func() *mapreduce.Scenario
}

// others are FIFO and Capacity over two kinds of slots, and FRESH with fewer jobs at a time (section 3.4.2.2).
func others(s *set, nodes int) []another {
	slotsOf := mapreduce.Settings{SlowStart: afterMaps}
	two := slotsOfFresh / 2 * nodes
	jobs := len(s.jobs(false))
	return []another{
		{"FIFO 2:2", func() *mapreduce.Scenario {
			x := s.on(nodes, two, 0, slotsOf)
			x.Allocations = "<allocations><queue name=\"default\"><schedulingPolicy>fifo</schedulingPolicy></queue></allocations>"
			return x
		}},
		{"Capacity 2:2", func() *mapreduce.Scenario {
			x := s.on(nodes, two, 0, slotsOf)
			x.Scheduler, x.Allocations = "capacity", ""
			const q = "yarn.scheduler.capacity."
			x.Properties = map[string]string{
				q + "root.queues": "a,b", q + "resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
				q + "maximum-am-resource-percent": "1",
			}
			for _, name := range []string{"a", "b"} {
				p := q + "root." + name
				x.Properties[p+".capacity"], x.Properties[p+".maximum-capacity"], x.Properties[p+".user-limit-factor"] = "50", "90", "10"
			}
			for i := range x.Jobs {
				x.Jobs[i].Queue = []string{"root.a", "root.b"}[i%2]
			}
			return x
		}},
		{"FRESH, k = 1", func() *mapreduce.Scenario { return s.on(nodes, 0, 2, freshSettings) }},
		{"FRESH, k = half", func() *mapreduce.Scenario { return s.on(nodes, 0, jobs, freshSettings) }},
	}
}

// compare runs a set with each contender, and with others. k jobs are in each stage, all with 0.
func (s *set) compare(nodes, k int, seeds Seeds, u *unsaid, more []another) (*Table, []Timeline, error) {
	admitted, key := "all jobs at a time", s.key
	if nodes != 10 {
		key += fmt.Sprintf(", %d nodes", nodes)
	}
	if k > 0 {
		admitted = fmt.Sprintf("k = %d", k)
	}
	t := &Table{
		Key: key + ", " + admitted, Title: fmt.Sprintf("%s on %d nodes, %s", s.name, nodes, admitted),
		Columns: []string{"policy", "makespan", "mean job", "fairness", "FRESH against it"},
	}
	var list []another
	for _, c := range contenders() {
		list = append(list, another{c.name, func() *mapreduce.Scenario { return s.on(nodes, c.mapSlots*nodes, 2*k, c.settings) }})
		if c.mapSlots == 3 {
			m := s.best(nodes, cmp.Or(k, len(s.jobs(false))))
			list = append(list, another{"FRESH-static", func() *mapreduce.Scenario {
				return s.on(nodes, m, 2*k, mapreduce.Settings{SlowStart: afterMaps})
			}})
			t.Notes = append(t.Notes, fmt.Sprintf("FRESH-static (algorithm 3.3.1) has %d of %d slots for maps.", m, slotsOfFresh*nodes))
		}
	}
	list = append(list, more...)
	var lines []Timeline
	results := make([]runs, len(list))
	var fresh sample
	for i, c := range list {
		r, err := with(seeds, func() *mapreduce.Scenario { return u.crowd(c.make()) })
		if err != nil {
			return nil, nil, fmt.Errorf("%s, %s: %w", s.name, c.name, err)
		}
		if results[i] = r; c.name == "FRESH" {
			fresh = r.of(makespan)
		}
		switch c.name {
		case "Fair 2:2", "Fair over containers", "FRESH":
			lines = append(lines, Timeline{c.name, r[0], nodes * slotsOfFresh})
		}
	}
	for i, c := range list {
		m := results[i].of(makespan)
		t.Add(c.name, m.Cell(0), results[i].of(func(r *mapreduce.Result) float64 { return r.MeanJob }).Cell(0), results[i].of(overall).Cell(3), fresh.Change(m))
	}
	return t, lines, nil
}
