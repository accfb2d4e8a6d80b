package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"heddle/sim/mapreduce"
)

// newSimRun simulates what a file says.
func newSimRun() *cobra.Command {
	var brief bool
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Simulate MapReduce jobs on nodes that differ and fail, as a file says",
		Long: "Simulates the jobs of a scenario, with the decisions of the scheduler and of heddle mr in virtual time, and prints as JSON the times\n" +
			"and outcomes of all jobs, tasks and attempts. docs/scenarios.md describes the file, which is JSON or YAML. The same file gives the same output.",
		Args:    cobra.ExactArgs(1),
		Example: "  heddle sim run docs/scenarios/stragglers.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := mapreduce.ReadFile(args[0])
			if err != nil {
				return err
			}
			for _, w := range s.Warnings() {
				fmt.Fprintln(cmd.ErrOrStderr(), &w)
			}
			r, failure := mapreduce.Run(s)
			if r == nil {
				return failure
			}
			if brief {
				for i := range r.Jobs {
					r.Jobs[i].Maps, r.Jobs[i].Reduces = nil, nil
				}
			}
			if err := r.Write(cmd.OutOrStdout()); err != nil {
				return err
			}
			if failure != nil {
				return fmt.Errorf("%s: %w", args[0], failure)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&brief, "brief", false, "print jobs without their tasks")
	return c
}
