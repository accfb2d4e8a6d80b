package main

import (
	"encoding/json"
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
		Long: `Starts nodes and executors as processes of this machine, and gives them tasks over a cluster's connections, by a pool of executors and by probes of
nodes: first as many empty tasks as possible, then jobs at random times that load the slots to --load. Then jobs of processes (sleep) come at random
times, beside a process that works all the time: once each process starts as soon as a slot is free (omniscient), and once by probes.`,
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
			return r.Print(w, o)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Nodes, "nodes", 2, "processes that take tasks")
	f.IntVar(&o.Slots, "slots", 8, "tasks that each of them runs at a time")
	f.DurationVar(&o.Duration, "duration", 10*time.Second, "of each of the seven parts")
	f.Float64Var(&o.Short.Share, "load", 0.8, "share of the slots that the jobs need")
	f.IntVar(&o.Short.Tasks, "tasks", 10, "of a job")
	f.DurationVar(&o.Short.Task, "task", 10*time.Millisecond, "time of a job's task")
	f.Float64Var(&o.Forked.Share, "process-load", 0.9, "share of the slots that the jobs of processes need")
	f.IntVar(&o.Forked.Tasks, "processes", 10, "of such a job")
	f.DurationVar(&o.Forked.Task, "process-time", 100*time.Millisecond, "time for which each of them sleeps")
	f.Uint64Var(&o.Seed, "seed", 1, "of the times at which jobs come")
	f.BoolVar(&rivals, "rivals", false, "give the same tasks to Ray and Dask as well, which are installed from PyPI into a temporary folder")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(&cobra.Command{
		Use: shorttasks.NodeCommand, Short: "Run a node, for heddle bench probes", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return shorttasks.Node(cmd.InOrStdin(), cmd.OutOrStdout()) },
	}, &cobra.Command{
		Use: shorttasks.LongCommand, Short: "Work all the time, for heddle bench probes", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return shorttasks.Long(cmd.InOrStdin(), cmd.OutOrStdout()) },
	})
	return c
}
