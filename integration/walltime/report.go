package walltime

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Row has the measurements of a job.
type Row struct {
	Job     string
	Seconds map[string][]float64 // seconds of each successful run, by cluster
	Failed  map[string][]string  // descriptions of runs that failed twice, by cluster
}

// Report has all measurements.
type Report struct {
	Clusters []string
	Rows     []Row
}

// Median returns the median of some times, or 0 without any.
func Median(times []float64) float64 {
	if len(times) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(times))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Print writes a table in Markdown: medians, with the least, the most and the number of runs, in seconds, and ratios of
// medians. A list of failures follows it.
func (r Report) Print(w io.Writer) error {
	t := &strings.Builder{}
	row := func(cells ...string) { fmt.Fprintf(t, "| %s |\n", strings.Join(cells, " | ")) }
	others := r.Clusters[min(1, len(r.Clusters)):]
	head := []string{"job"}
	for _, c := range r.Clusters {
		head = append(head, c+", s")
	}
	for _, c := range others {
		head = append(head, c+" ÷ "+r.Clusters[0])
	}
	row(head...)
	row(slices.Repeat([]string{"---"}, len(head))...)
	for _, job := range r.Rows {
		cells := []string{job.Job}
		for _, c := range r.Clusters {
			if s := job.Seconds[c]; len(s) > 0 {
				cells = append(cells, fmt.Sprintf("%.1f (%.1f–%.1f, n=%d)", Median(s), slices.Min(s), slices.Max(s), len(s)))
			} else {
				cells = append(cells, "–")
			}
		}
		for _, c := range others {
			if a, b := Median(job.Seconds[c]), Median(job.Seconds[r.Clusters[0]]); a > 0 && b > 0 {
				cells = append(cells, fmt.Sprintf("%.2f", a/b))
			} else {
				cells = append(cells, "–")
			}
		}
		row(cells...)
	}
	said := false
	for _, job := range r.Rows {
		for _, c := range r.Clusters {
			for _, why := range job.Failed[c] {
				if !said {
					t.WriteString("\nNot counted, because they failed twice:\n\n")
					said = true
				}
				fmt.Fprintf(t, "- %s on %s, %s\n", job.Job, c, why)
			}
		}
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// firstLine returns the beginning of an error's text.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
