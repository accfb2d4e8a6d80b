package study

import (
	"cmp"
	"fmt"
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

// What the text doesn't say: a map of 32 MB puts out half of it.
const (
	slotsOfFresh = 4
	outputOfMap  = 16 // MB
)

// set is jobs of section 3.4.2.2: of each benchmark so many with 8 GB and with 4 GB.
type set struct {
	name string
	of   []times
	text string
}

type times struct {
	half
	large, small int
}

var sets = []set{
	{"set A, 12 mixed jobs", []times{{classification, 1, 1}, {invertedIndex, 1, 1}, {wordCount, 1, 1}, {grep, 1, 1}, {histogramRatings, 1, 1}, {histogramMovies, 1, 1}}, "figure 3.5: with k = 5 FRESH is 27.62 % below Fair 2:2"},
	{"set B, 6 mixed jobs", []times{{classification, 1, 0}, {invertedIndex, 1, 0}, {wordCount, 1, 0}, {grep, 1, 0}, {histogramRatings, 1, 0}, {histogramMovies, 1, 0}}, ""},
	{"set C, 24 mixed jobs", []times{{classification, 2, 2}, {invertedIndex, 2, 2}, {wordCount, 2, 2}, {grep, 2, 2}, {histogramRatings, 2, 2}, {histogramMovies, 2, 2}}, ""},
	{"set D, 12 jobs, most of them map-intensive", []times{{classification, 2, 2}, {wordCount, 1, 1}, {histogramRatings, 2, 2}, {histogramMovies, 1, 1}}, ""},
	{"set E, 12 jobs, most of them reduce-intensive", []times{{invertedIndex, 2, 2}, {wordCount, 1, 1}, {grep, 2, 2}, {histogramMovies, 1, 1}}, ""},
}

// jobs are those of a set, in the order of Johnson's algorithm, as in the text: the shortest first stages first, then the longest second
// ones. divided has maps and reduces take slots of two kinds.
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

// on is a set on nodes that have so many map slots, and the rest for reduces; with 0 map slots any slot does any task. k jobs are admitted to
// each stage, all with 0.
func (s *set) on(nodes, mapSlots, k int, settings mapreduce.Settings) *mapreduce.Scenario {
	n := mapreduce.Nodes{Name: "node", Count: nodes, Memory: slotsOfFresh * unit, VCores: slotsOfFresh * unit}
	if mapSlots > 0 {
		reduceSlots := slotsOfFresh - mapSlots
		n.Memory, n.VCores = int64(mapSlots*unit+reduceSlots), int64(reduceSlots*unit+mapSlots)
	}
	admitted := ""
	if k > 0 { // k in their map phase and k in their reduce phase
		admitted = "<maxRunningApps>" + strconv.Itoa(2*k) + "</maxRunningApps>"
	}
	settings.Bandwidth, settings.Noise = fetching, noise
	return &mapreduce.Scenario{
		Allocations: "<allocations><queue name=\"default\">" + admitted + "</queue><defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy></allocations>",
		Settings:    settings, Nodes: []mapreduce.Nodes{n}, Jobs: s.jobs(mapSlots > 0),
	}
}

// contender is a way to serve jobs that a study compares. Reduces of all begin when the maps of their job have ended: FRESH has them wait
// for that, and jobs of 250 reduces that began sooner would fill 40 slots (see afterMaps).
type contender struct {
	name     string
	mapSlots int
	settings mapreduce.Settings
}

var freshSettings = mapreduce.Settings{SlowStart: "0", StagePolicy: "fresh"}

func contenders() (out []contender) {
	for _, m := range []int{1, 2, 3} {
		out = append(out, contender{fmt.Sprintf("Fair %d:%d", m, slotsOfFresh-m), m, mapreduce.Settings{SlowStart: afterMaps}})
	}
	return append(out, contender{"Fair over containers", 0, mapreduce.Settings{SlowStart: afterMaps}}, contender{"FRESH", 0, freshSettings})
}

// overall is the overall fairness F(T) (section 3.3.2.1), on average over a run: Jain's index of what the jobs that are active at a time had
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

// Fresh compares FRESH with Fair over each division of slots, and over containers.
func Fresh(seeds int) (*Study, error) {
	s := &Study{Title: "FRESH: how slots are divided between maps and reduces (chapter 3). Seconds until all jobs are done, mean ± deviation."}
	for i := range sets {
		ks := []int{0}
		if i == 0 {
			ks = []int{1, 3, 5, 0}
		}
		for _, k := range ks {
			t, lines, err := sets[i].compare(10, k, seeds)
			if err != nil {
				return nil, err
			}
			s.Tables = append(s.Tables, *t)
			if i == 0 && k == 5 {
				s.Timelines = lines
			}
		}
	}
	t, _, err := sets[1].compare(20, 0, seeds)
	if err != nil {
		return nil, err
	}
	t.Notes = append(t.Notes, "The text, figure 3.10: FRESH is 31.1 % below Fair.")
	s.Tables = append(s.Tables, *t)
	last := &s.Tables[len(s.Tables)-1]
	last.Notes = append(last.Notes, "The text, section 3.4.2.2: over sets B to E FRESH is 31.3 % below Fair; its fairness is 0.95 and more from k = 5 on, that of Fair about 0.8.")
	return s, nil
}

// compare runs a set with each contender.
func (s *set) compare(nodes, k, seeds int) (*Table, []Timeline, error) {
	admitted := "all jobs at a time"
	if k > 0 {
		admitted = fmt.Sprintf("k = %d", k)
	}
	t := &Table{
		Title:   fmt.Sprintf("%s on %d nodes, %s, %d seeds", s.name, nodes, admitted, seeds),
		Columns: []string{"policy", "makespan", "mean job", "fairness", "against Fair 2:2", "against the best division", "with the same slots"},
	}
	if s.text != "" && k == 5 {
		t.Notes = []string{"The text, " + s.text + "."}
	}
	var lines []Timeline
	best := [2]float64{}
	even := 0. // Fair 2:2
	for _, c := range contenders() {
		r, err := with(seeds, func() *mapreduce.Scenario { return s.on(nodes, c.mapSlots, k, c.settings) })
		if err != nil {
			return nil, nil, fmt.Errorf("%s, %s: %w", s.name, c.name, err)
		}
		m := r.of(makespan)
		cells := []string{
			c.name, m.String(), r.of(func(r *mapreduce.Result) float64 { return r.MeanJob }).String(),
			fmt.Sprintf("%.3f", r.of(overall).mean()), "", "", "",
		}
		over := 0
		if c.mapSlots == 0 {
			over = 1
		}
		switch {
		case c.settings.StagePolicy != "":
			cells[4], cells[5], cells[6] = less(m.mean(), even), less(m.mean(), best[0]), less(m.mean(), best[1])
		case best[over] == 0 || m.mean() < best[over]:
			best[over] = m.mean()
		}
		if c.mapSlots == 2 {
			even = m.mean()
		}
		t.Rows = append(t.Rows, cells)
		if c.mapSlots == 2 || c.mapSlots == 0 {
			lines = append(lines, Timeline{c.name, r[0], nodes * slotsOfFresh})
		}
	}
	return t, lines, nil
}
