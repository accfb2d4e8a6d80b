package main

import (
	"context"
	"os"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"heddle/cmd/heddle/internal/greeting"
	"heddle/cmd/heddle/internal/verdict"
	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/internal/processors"
	"heddle/nm"
	"heddle/rm"
)

func newNM(s *source) *cobra.Command {
	return &cobra.Command{
		Use:     "nm",
		Short:   "Run a NodeManager",
		GroupID: roles,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, log, err := s.loadRole(conf.NodeManager, "")
			if err != nil {
				return err
			}
			defer processors.Spare(cmd.Context())()
			return ended(runNode(cmd.Context(), c, log, true))
		},
	}
}

// runNode runs a NodeManager until ctx ends. If it is alone in its process, it reaps orphans.
func runNode(ctx context.Context, c *conf.Config, log *logrus.Entry, alone bool) error {
	n, err := nm.New(nm.Options{Conf: c, Log: log, Subreaper: alone})
	if err != nil {
		return err
	}
	return n.Run(ctx)
}

// standaloneDefaults suits a cluster of one machine: the node offers all of the machine, and aggregates logs so that
// they remain after the node has removed them. Without a configuration folder it has the shuffle that MapReduce needs. It changes no key that the configuration sets.
func standaloneDefaults(c *conf.Config) {
	const prefix = "yarn.nodemanager.resource."
	for _, key := range []string{
		prefix + "detect-hardware-capabilities", prefix + "count-logical-processors-as-cores", "yarn.log-aggregation-enable",
	} {
		if !c.IsSet(key) {
			c.Set(key, "true")
		}
	}
	// Without a folder the services are unknown. Any port will do for the shuffle: nodes tell ApplicationMasters.
	const services, port = "yarn.nodemanager.aux-services", "mapreduce.shuffle.port"
	if c.Dir() == "" && !c.IsSet(services) {
		c.Set(services, "mapreduce_shuffle")
		if !c.IsSet(port) {
			c.Set(port, "0")
		}
	}
}

func newStandalone(s *source) *cobra.Command {
	var id string
	c := &cobra.Command{
		Use:     "standalone",
		Short:   "Run a ResourceManager and a NodeManager in one process",
		GroupID: roles,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			said := &greeting.Held{To: os.Stderr} // warnings come after the greeting
			defer said.Release()
			s.log = said
			c, log, err := s.loadRole(verdict.Daemons, id)
			if err != nil {
				return err
			}
			standaloneDefaults(c)
			r, err := rm.New(rm.Options{Conf: c, ID: id, Log: log, Web: webPort})
			if err != nil {
				return err
			}
			greeting.Print(cmd.OutOrStdout(), c.Dir(), ssl.Scheme(c), r.Addr(rm.WebAddress))
			said.Release()
			g, ctx := errgroup.WithContext(cmd.Context())
			// the node must unregister while the ResourceManager still answers
			after, stop := context.WithCancel(context.WithoutCancel(ctx))
			defer stop()
			g.Go(func() error { return r.Run(after) })
			g.Go(func() error {
				defer stop()
				return runNode(ctx, c, log, false)
			})
			return ended(g.Wait())
		},
	}
	c.Flags().StringVar(&id, "id", "", "own id among yarn.resourcemanager.ha.rm-ids")
	return c
}
