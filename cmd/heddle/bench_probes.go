package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"heddle/integration/shorttasks"
)

func newBenchProbes() *cobra.Command {
	var o shorttasks.Options
	var asJSON, rivals bool
	c := &cobra.Command{
		Use:   "probes",
		Short: "Measure how fast warm executors get short tasks",
		Long: `Starts executors as processes of this machine, as a cluster's containers have them, and gives them tasks over their connections: first as many
as possible that end at once, then jobs at random times that keep the executors as busy as --load says. Then the same jobs are placed by probes of as many
nodes, each with an executor of its own.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Binary, err = os.Executable(); err != nil {
				return err
			}
			r, err := shorttasks.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if rivals {
				if r.Rivals, err = shorttasks.Rivals(cmd.Context(), o); err != nil {
					return err
				}
			}
			w := cmd.OutOrStdout()
			if asJSON {
				e := json.NewEncoder(w)
				e.SetIndent("", "  ")
				return e.Encode(r)
			}
			_, err = fmt.Fprintf(w, `%d executors of %d slots
tasks that end at once: %.0f/s; processor time for each: pool %.1f µs, executors %.1f µs
jobs of %d tasks of %v, %.1f a second, load %.0f %%: %d jobs, p50 %.1f ms, p99 %.1f ms; ideal for the same arrivals: p50 %.1f ms, p99 %.1f ms
the same by probes of %d nodes: %d jobs, p50 %.1f ms, p99 %.1f ms; ideal: p50 %.1f ms, p99 %.1f ms
`, r.Executors, r.Slots, r.TasksPerSecond, r.PoolCPU, r.ExecutorCPU, o.Tasks, o.Task, r.JobsPerSecond, 100*r.Load, r.Jobs, r.P50, r.P99, r.IdealP50, r.IdealP99,
				r.Executors, r.Probes.Jobs, r.Probes.P50, r.Probes.P99, r.Probes.IdealP50, r.Probes.IdealP99)
			for _, x := range r.Rivals {
				if err == nil {
					_, err = fmt.Fprintf(w, "%s %s, as many processes and slots: %.0f/s; %d jobs at the same times, p50 %.1f ms, p99 %.1f ms\n",
						x.Name, x.Version, x.TasksPerSecond, x.Jobs, x.P50, x.P99)
				}
			}
			return err
		},
	}
	f := c.Flags()
	f.IntVar(&o.Executors, "executors", 2, "processes")
	f.IntVar(&o.Slots, "slots", 8, "tasks that an executor runs at a time")
	f.DurationVar(&o.Duration, "duration", 10*time.Second, "of each of the three parts")
	f.Float64Var(&o.Load, "load", 0.8, "share of the slots that the jobs need")
	f.IntVar(&o.Tasks, "tasks", 10, "of a job")
	f.DurationVar(&o.Task, "task", 10*time.Millisecond, "time of a job's task")
	f.Uint64Var(&o.Seed, "seed", 1, "of the times at which jobs come")
	f.BoolVar(&rivals, "rivals", false, "give the same tasks to Ray and Dask as well, which are installed from PyPI into a temporary folder")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
