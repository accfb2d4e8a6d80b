package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"heddle/integration/shorttasks"
	"heddle/internal/processors"
)

func newBenchProbes() *cobra.Command {
	var o shorttasks.Options
	var asJSON, rivals bool
	c := &cobra.Command{
		Use:   "probes",
		Short: "Measure how fast warm executors get short tasks",
		Long: `Starts nodes and executors as processes of this machine, and gives them tasks over a cluster's connections, by a pool of executors and by probes of
nodes: first as many empty tasks as possible, then jobs at random times that load the slots to --load. Then jobs of processes (sleep) come at random
times, beside a process that works all the time: once each process starts as soon as a slot is free (omniscient), and once by probes.
With --bindings, jobs of processes that work are placed with late binding and with early binding, where they share the processors.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Binary, o.Lab, err = binaries(); err != nil {
				return err
			}
			defer processors.Spare(cmd.Context())()
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
	o.AddFlags(f)
	f.BoolVar(&rivals, "rivals", false, "give the same tasks to Ray and Dask as well, which are installed from PyPI into a temporary folder")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(&cobra.Command{
		Use: shorttasks.NodeCommand, Short: "Run a node, for heddle-lab bench probes", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer processors.Spare(cmd.Context())()
			return shorttasks.Node(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}, &cobra.Command{
		Use: shorttasks.LongCommand, Short: "Work all the time, for heddle-lab bench probes", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return shorttasks.Long(cmd.InOrStdin(), cmd.OutOrStdout()) },
	})
	return c
}
