// Package walltime compares how long jobs take on several clusters. The same commands are run on one cluster after the
// other, in turn, so that what else happens on the machine hits all of them alike.
//
//	heddle bench jobs                                      starts a stock Hadoop and two Heddles on this machine, on one HDFS
//	heddle bench jobs --cluster a=/etc/a --cluster b=/etc/b    measures clusters that are running
package walltime

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Cluster is what jobs are run on.
type Cluster struct {
	Name string
	// Run runs a command (hadoop, hdfs, spark-submit or heddle with arguments) with the cluster's configuration. Its error
	// has what the command wrote to its standard error.
	Run func(ctx context.Context, command ...string) error
	// Settle, if set, returns when what earlier jobs have left to be done in the background is done.
	Settle func(ctx context.Context) error
}

// Job is a command whose time is taken.
type Job struct {
	Name string
	// Setup, if there is one, is done once, on the first cluster: all have the same file system.
	Setup func(ctx context.Context, c Cluster) error
	// Command returns the command for a run; output is a folder that doesn't exist yet.
	Command func(output string) []string
	// Long jobs are not run for warming up: the others do that.
	Long bool
}

// Options say what is measured.
type Options struct {
	Clusters []Cluster // in the report ratios are those of each other one to the first one
	Jobs     []Job
	Runs     int    // of each job on each cluster
	WarmUp   int    // runs before these, which don't count
	Folder   string // for outputs, on the clusters' file system
	// Tell, if set, hears of every run.
	Tell func(job, cluster string, run int, took time.Duration)
	now  func() time.Time
}

// Row is what was measured of a job.
type Row struct {
	Job     string
	Seconds map[string][]float64 // of every run, by cluster
}

// Report is what was measured.
type Report struct {
	Clusters []string
	Rows     []Row
}

// Run measures. After an error, which names the job and the cluster, the report has what was measured before.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.now == nil {
		o.now = time.Now
	}
	var r Report
	for _, c := range o.Clusters {
		r.Clusters = append(r.Clusters, c.Name)
	}
	for _, j := range o.Jobs {
		r.Rows = append(r.Rows, Row{j.Name, map[string][]float64{}})
		if j.Setup != nil {
			if err := j.Setup(ctx, o.Clusters[0]); err != nil {
				return r, fmt.Errorf("%s: preparing: %w", j.Name, err)
			}
		}
	}
	for run := -o.WarmUp; run < o.Runs; run++ {
		for i, j := range o.Jobs {
			if run < 0 && j.Long && len(o.Jobs) > 1 {
				continue
			}
			for k := range o.Clusters {
				c := o.Clusters[(k+run+o.WarmUp)%len(o.Clusters)] // nobody is always first
				command := j.Command(fmt.Sprintf("%s/%s-%s-%d", o.Folder, j.Name, c.Name, run+o.WarmUp))
				began := o.now()
				if err := c.Run(ctx, command...); err != nil {
					return r, fmt.Errorf("%s on %s, run %d: %w", j.Name, c.Name, run+1, err)
				}
				took := o.now().Sub(began)
				if run >= 0 {
					r.Rows[i].Seconds[c.Name] = append(r.Rows[i].Seconds[c.Name], took.Seconds())
				}
				if o.Tell != nil {
					o.Tell(j.Name, c.Name, run+1, took)
				}
			}
		}
		if run >= 0 {
			continue
		}
		for _, c := range o.Clusters {
			if c.Settle == nil {
				continue
			}
			if err := c.Settle(ctx); err != nil {
				return r, fmt.Errorf("%s: %w", c.Name, err)
			}
		}
	}
	return r, nil
}

// Median returns the median of some times; 0 of none.
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

// Print writes a table in Markdown: medians, with the least and the most, in seconds, and ratios of medians.
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
				cells = append(cells, fmt.Sprintf("%.1f (%.1f–%.1f)", Median(s), slices.Min(s), slices.Max(s)))
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
	_, err := io.WriteString(w, t.String())
	return err
}
