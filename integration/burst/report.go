package burst

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/integration/ladder"
	"heddle/integration/walltime"
	"heddle/internal/timeline"
)

// Results are the runs by mode.
type Results struct {
	Modes  []Mode
	Work   float64 // of a long task, in seconds
	VCores int     // of the cluster
	Runs   map[string][]Outcome
}

// Print prints a table in Markdown. Times of containers and short jobs are those of all runs together, the others are medians (least–most).
func (r *Results) Print(w io.Writer) error {
	rows := [][]string{{
		"preemption", "n", "ask to first container (ms): p50", "p99", "most", "submission to first container (ms): p50", "p99", "most", "short job (s): p50",
		"processes killed", "work lost (s)", "suspended (s)", "long tasks longer", "beyond suspension", "long jobs (s)",
	}}
	for _, m := range r.Modes {
		list := r.Runs[m.Name]
		if len(list) == 0 {
			continue
		}
		var asks, submits, shorts []float64
		for _, x := range list {
			asks, submits, shorts = append(asks, x.FromAsk...), append(submits, x.FromSubmit...), append(shorts, x.Short...)
		}
		row := []string{m.Name, fmt.Sprint(len(list))}
		for _, times := range [][]float64{asks, submits} {
			for _, p := range []int{50, 99, 100} {
				row = append(row, fmt.Sprintf("%.0f", 1000*percentile(times, p)))
			}
		}
		of := func(format string, f func(Outcome) float64) string {
			var all []float64
			for _, x := range list {
				all = append(all, f(x))
			}
			text := fmt.Sprintf(format, walltime.Median(all))
			if len(all) > 1 {
				text += fmt.Sprintf(" ("+format+"–"+format+")", slices.Min(all), slices.Max(all))
			}
			return text
		}
		rows = append(rows, append(row,
			fmt.Sprintf("%.1f", percentile(shorts, 50)),
			of("%.0f", func(x Outcome) float64 { return float64(x.Killed) }), of("%.1f", func(x Outcome) float64 { return x.Lost }),
			of("%.1f", func(x Outcome) float64 { return x.Suspended }),
			of("%.1f %%", func(x Outcome) float64 { all, _ := x.longer(); return 100 * all }),
			of("%.1f %%", func(x Outcome) float64 { _, rest := x.longer(); return 100 * rest }),
			of("%.1f", func(x Outcome) float64 { return x.Makespan }),
		))
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

// SVG draws the first run of each mode: how many vcores queues use over time.
func (r *Results) SVG(w io.Writer) error {
	var lines []timeline.Line
	for _, m := range r.Modes {
		if list := r.Runs[m.Name]; len(list) > 0 {
			lines = append(lines, timeline.Line{Title: m.Name, Slots: r.VCores, Spans: list[0].Spans})
		}
	}
	return timeline.DrawKinds(w, uses, lines)
}

// percentile returns the least value that so many percent of all don't exceed.
func percentile(all []float64, p int) float64 {
	if len(all) == 0 {
		return 0
	}
	return ladder.Percentile(slices.Sorted(slices.Values(all)), p)
}
