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
	var asJSON bool
	c := &cobra.Command{
		Use:   "probes",
		Short: "Measure how fast warm executors get short tasks",
		Long: `Starts executors as processes of this machine, as a cluster's containers have them, and gives them tasks over their connections: first as many
as possible that end at once, then jobs at random times that keep the executors as busy as --load says.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Binary, err = os.Executable(); err != nil {
				return err
			}
			r, err := shorttasks.Run(cmd.Context(), o)
			if err != nil {
				return err
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
`, r.Executors, r.Slots, r.TasksPerSecond, r.PoolCPU, r.ExecutorCPU, o.Tasks, o.Task, r.JobsPerSecond, 100*r.Load, r.Jobs, r.P50, r.P99, r.IdealP50, r.IdealP99)
			return err
		},
	}
	f := c.Flags()
	f.IntVar(&o.Executors, "executors", 2, "processes")
	f.IntVar(&o.Slots, "slots", 8, "tasks that an executor runs at a time")
	f.DurationVar(&o.Duration, "duration", 10*time.Second, "of each of the two parts")
	f.Float64Var(&o.Load, "load", 0.8, "share of the slots that the jobs need")
	f.IntVar(&o.Tasks, "tasks", 10, "of a job")
	f.DurationVar(&o.Task, "task", 10*time.Millisecond, "time of a job's task")
	f.Uint64Var(&o.Seed, "seed", 1, "of the times at which jobs come")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
