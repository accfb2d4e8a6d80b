package stages

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"heddle/am/mapreduce/job"
	"heddle/internal/timeline"
)

// Outcome is what came out of a run. Times are in seconds.
type Outcome struct {
	Makespan float64         // until the last task has ended
	Jobs     []float64       // from each job's submission to its last task's end
	Copies   int             // that were launched
	Useful   int             // of these, those that won
	Cuts     int             // of maps, whose rest others did
	Stood    int             // attempts that were suspended
	Wasted   float64         // on copies that didn't win
	Lost     float64         // by other attempts with unused results
	Work     float64         // of all attempts
	Fairness float64         // Jain's index of what jobs had of the cluster per second of their lives
	Spans    []timeline.Span `json:"-"`
	Attempts [][]job.Attempt // by job; times are from the beginning of the run
}

func (x Outcome) String() string {
	return fmt.Sprintf("%.1f s, %d copies, %d of them useful, %d cuts", x.Makespan, x.Copies, x.Useful, x.Cuts)
}

// Results are the runs by rule.
type Results struct {
	Rules []Rule
	Slots int
	Runs  map[string][]Outcome
}

// Print prints a table in Markdown: medians (least–most) of the runs; of p99, over the jobs of all runs.
func (r *Results) Print(w io.Writer) error {
	rows := [][]string{{"rule", "n", "makespan (s)", "mean job (s)", "p99 job (s)", "copies", "won", "cuts", "stood still", "wasted on copies (s)", "lost otherwise (s)", "container-seconds", "fairness"}}
	for _, rule := range r.Rules {
		list := r.Runs[rule.Name]
		if len(list) == 0 {
			continue
		}
		var jobs []float64
		copies, useful := 0, 0
		for _, x := range list {
			jobs = append(jobs, x.Jobs...)
			copies, useful = copies+x.Copies, useful+x.Useful
		}
		won := ""
		if copies > 0 {
			won = fmt.Sprintf("%.0f %%", 100*float64(useful)/float64(copies))
		}
		of := func(format string, f func(Outcome) float64) string { return spread(format, list, f) }
		rows = append(rows, []string{
			rule.Name, fmt.Sprint(len(list)), of("%.1f", func(x Outcome) float64 { return x.Makespan }), of("%.1f", func(x Outcome) float64 { return mean(x.Jobs) }),
			fmt.Sprintf("%.1f", quantile(jobs, 0.99)), of("%.0f", func(x Outcome) float64 { return float64(x.Copies) }), won,
			of("%.0f", func(x Outcome) float64 { return float64(x.Cuts) }), of("%.0f", func(x Outcome) float64 { return float64(x.Stood) }), of("%.1f", func(x Outcome) float64 { return x.Wasted }),
			of("%.1f", func(x Outcome) float64 { return x.Lost }), of("%.0f", func(x Outcome) float64 { return x.Work }),
			of("%.3f", func(x Outcome) float64 { return x.Fairness }),
		})
	}
	for i, row := range rows {
		if _, err := fmt.Fprintln(w, "| "+strings.Join(row, " | ")+" |"); err != nil {
			return err
		}
		if i == 0 {
			fmt.Fprintln(w, "|"+strings.Repeat("---|", len(row)))
		}
	}
	return nil
}

// SVG draws the first run of each rule: what containers do over time.
func (r *Results) SVG(w io.Writer) error {
	var lines []timeline.Line
	for _, rule := range r.Rules {
		if list := r.Runs[rule.Name]; len(list) > 0 {
			lines = append(lines, timeline.Line{Title: rule.Name, Slots: r.Slots, End: list[0].Makespan, Spans: list[0].Spans})
		}
	}
	return timeline.Draw(w, lines)
}

func spread(format string, list []Outcome, of func(Outcome) float64) string {
	var x []float64
	for _, o := range list {
		x = append(x, of(o))
	}
	text := fmt.Sprintf(format, quantile(x, 0.5))
	if len(x) > 1 {
		text += fmt.Sprintf(" ("+format+"–"+format+")", slices.Min(x), slices.Max(x))
	}
	return text
}

func mean(x []float64) float64 {
	sum := 0.
	for _, v := range x {
		sum += v
	}
	return sum / float64(max(1, len(x)))
}

// quantile returns the least value that a part of all don't exceed; of an even number's half it is the mean of the two in the middle.
func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	if n := len(x); q == 0.5 && n%2 == 0 {
		return (x[n/2-1] + x[n/2]) / 2
	}
	return x[max(0, int(math.Ceil(q*float64(len(x))))-1)]
}
