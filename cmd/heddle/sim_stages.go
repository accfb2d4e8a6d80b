package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"heddle/sim/mapreduce"
	"heddle/sim/study"
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

// newSimStudy repeats the experiments of a text.
func newSimStudy() *cobra.Command {
	var seeds int
	var picture string
	c := &cobra.Command{
		Use:   "study " + strings.Join(study.Names(), "|"),
		Short: "Repeat the experiments that a technique's authors report",
		Long: "Simulates the nodes, jobs and disturbances of the experiments with a technique, and prints the results beside its\n" +
			"authors' figures. docs/studies has the results. Hawk and what followed it run on synthetic traces, on those in Hawk's format that\n" +
			"HEDDLE_YAHOO_TRACE and HEDDLE_GOOGLE_TRACE name, and on the one in SWIM's format that HEDDLE_FACEBOOK_TRACE names.",
		Args:      cobra.ExactArgs(1),
		ValidArgs: study.Names(),
		Example:   "  heddle sim study omo --svg omo.svg",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := study.Run(args[0], seeds)
			if err != nil {
				return err
			}
			if picture != "" {
				if err := writeFile(picture, func(w io.Writer) error { return s.SVG(w) }); err != nil {
					return err
				}
			}
			return s.Write(cmd.OutOrStdout())
		},
	}
	c.Flags().IntVar(&seeds, "seeds", 5, "how often each is simulated, with other random numbers")
	c.Flags().StringVar(&picture, "svg", "", "file for a picture of the results")
	return c
}
