package study

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"heddle/internal/timeline"
	"heddle/sim/mapreduce"
)

// Study is what an experiment has shown.
type Study struct {
	Title     string
	Tables    []Table
	Timelines []Timeline
	Charts    []Chart
	Cores     []timeline.Line // used by long and by short jobs
}

// Table is figures with what they are.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
	Notes   []string
}

// Timeline is a run, drawn as what runs over time.
type Timeline struct {
	Title  string
	Result *mapreduce.Result
	Slots  int
}

// studies by name. Each simulates so many seeds.
var studies = map[string]func(seeds int) (*Study, error){
	"fresh": Fresh, "omo": OMO, "esplash": ESplash,
	"sparrow": Sparrow, "hawk": Hawk, "eagle": Eagle, "dice": Dice, "eirene": Eirene, "suspension": Suspension,
}

// Names lists the studies.
func Names() []string { return slices.Sorted(maps.Keys(studies)) }

// Run runs a study with so many seeds.
func Run(name string, seeds int) (*Study, error) {
	run := studies[name]
	if run == nil {
		return nil, fmt.Errorf("there is no study %q: there are %s", name, strings.Join(Names(), ", "))
	}
	if seeds < 1 {
		return nil, fmt.Errorf("a study needs one seed at least, not %d", seeds)
	}
	return run(seeds)
}

// Write prints the tables.
func (s *Study) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s\n", s.Title)
	for _, t := range s.Tables {
		fmt.Fprintf(w, "\n%s\n\n", t.Title)
		out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(out, "  "+strings.Join(t.Columns, "\t"))
		for _, r := range t.Rows {
			fmt.Fprintln(out, "  "+strings.Join(r, "\t"))
		}
		if err := out.Flush(); err != nil {
			return err
		}
		for _, n := range t.Notes {
			if _, err := fmt.Fprintf(w, "  %s\n", n); err != nil {
				return err
			}
		}
	}
	return nil
}

// sample is figures of the same thing with different seeds.
type sample []float64

func (s sample) mean() float64 {
	sum := 0.
	for _, x := range s {
		sum += x
	}
	return sum / float64(len(s))
}

func (s sample) deviation() float64 {
	m, sum := s.mean(), 0.
	for _, x := range s {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum / float64(max(1, len(s)-1)))
}

// String is mean and deviation.
func (s sample) String() string { return fmt.Sprintf("%.0f ± %.0f", s.mean(), s.deviation()) }

// less says by how much a is below b.
func less(a, b float64) string { return fmt.Sprintf("%+.1f %%", 100*(a-b)/b) }

// runs are what came out of a scenario with different seeds.
type runs []*mapreduce.Result

// with simulates a scenario with seeds from 1 on.
func with(seeds int, make func() *mapreduce.Scenario) (runs, error) {
	var out runs
	for seed := range seeds {
		s := make()
		s.Seed = uint64(seed + 1)
		r, err := mapreduce.Run(s)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (r runs) of(figure func(*mapreduce.Result) float64) (out sample) {
	for _, x := range r {
		out = append(out, figure(x))
	}
	return out
}

func makespan(r *mapreduce.Result) float64 { return r.Makespan }
