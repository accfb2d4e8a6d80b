package main

import (
	"context"
	"errors"
	"sync"

	"github.com/spf13/cobra"

	"heddle/cmd/internal/collector"
	"heddle/conf"
	"heddle/rm"
)

func newRM(s *source) *cobra.Command {
	var id, record string
	c := &cobra.Command{
		Use:     "rm",
		Short:   "Run a ResourceManager",
		GroupID: roles,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, log, err := s.loadRole(conf.ResourceManager, id)
			if err != nil {
				return err
			}
			r, err := rm.New(rm.Options{Conf: c, ID: id, Log: log, Web: webPort, Record: record})
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			var pacer sync.WaitGroup
			defer pacer.Wait()
			defer cancel()
			pacer.Go(func() { collector.Pace(ctx) })
			return ended(r.Run(ctx))
		},
	}
	c.Flags().StringVar(&record, "record", "", "append the scheduler's events to this file while leading, for heddle replay")
	c.Flags().StringVar(&id, "id", "", "own id among yarn.resourcemanager.ha.rm-ids (default: the one with an address of this host)")
	return c
}

func newWitness(s *source) *cobra.Command {
	run := func(cmd *cobra.Command, _ []string) error {
		c, log, err := s.loadRole(conf.Witness, "")
		if err != nil {
			return err
		}
		return ended(rm.Witness(cmd.Context(), c, log))
	}
	return &cobra.Command{Use: "witness", Short: "Run the witness of two ResourceManagers: a third voter without data", GroupID: roles, Args: cobra.NoArgs, RunE: run}
}

// ended returns nil if the role ended because it was told to stop.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
