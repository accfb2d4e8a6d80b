package main

import (
	"fmt"
	"strings"

	"heddle/sim/study"
	"heddle/sim/study/figures"
	"heddle/sim/study/measure"

	"github.com/spf13/cobra"
)

// newStudy repeats the experiments of a text.
func newStudy() *cobra.Command {
	var seeds, picture, results string
	var set []string
	var run bool
	c := &cobra.Command{
		Use:   "study all|" + strings.Join(study.Names(), "|"),
		Short: "Repeat the experiments that a technique's authors report",
		Long: "Simulates the nodes, jobs and disturbances of the experiments with a technique, once for each seed, and prints the mean results with\n" +
			"their standard errors beside its authors' figures. Workloads are drawn again for each seed, and differences are taken seed by seed.\n" +
			"docs/studies has the results. Hawk and what followed it run on synthetic traces, on those in Hawk's format that\n" +
			"HEDDLE_YAHOO_TRACE and HEDDLE_GOOGLE_TRACE name, and on the one in SWIM's format that HEDDLE_FACEBOOK_TRACE names; these files\n" +
			"are the same for each seed, so that their errors are those of the scheduler's dice only.\n\n" + study.Usage(),
		Args:      cobra.ExactArgs(1),
		ValidArgs: append(study.Names(), "all"),
		Example:   "  heddle-lab sim study omo --seeds 20 --svg omo.svg\n  heddle-lab sim study dice --seeds 101-120 --set traces=yahoo-shape --set workers=3000,4000 --set variants=sizing,bounds",
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "all" {
				return figures.Make(cmd.OutOrStdout(), cmd.ErrOrStderr(), results, run)
			}
			of, err := measure.ParseSeeds(seeds)
			if err != nil {
				return fmt.Errorf("--seeds: %w", err)
			}
			values, err := measure.ParseValues(set)
			if err != nil {
				return err
			}
			s, err := study.Run(args[0], study.Options{Seeds: of, Values: values})
			if err != nil {
				return err
			}
			if picture != "" {
				if err := writeFile(picture, s.SVG); err != nil {
					return err
				}
			}
			if results != "" {
				if err := writeFile(results, s.WriteJSON); err != nil {
					return err
				}
			}
			return s.Write(cmd.OutOrStdout())
		},
	}
	c.Flags().StringVar(&seeds, "seeds", "5", "how often each is simulated, with other random numbers: how many, or the first and the last one, such as 101-120")
	c.Flags().StringArrayVar(&set, "set", nil, "a parameter of the study, as name=value; may be repeated")
	c.Flags().StringVar(&picture, "svg", "", "file for a picture of the results")
	c.Flags().StringVar(&results, "json", "", "file for the results as JSON; for all: the directory of all studies' results, from which it prints the page docs/studies/README.md")
	c.Flags().BoolVar(&run, "run", false, "for all: run the studies first that have no results there, for hours")
	return c
}
