// Command heddle-lab measures clusters and repeats the experiments of the papers that Heddle's policies come from. It starts daemons of the program heddle,
// which stands beside it. Tools that only a laboratory needs, such as stand-ins for nodes and a stock Hadoop, are not in the program that a cluster runs.
package main

import (
	"github.com/spf13/cobra"

	"heddle/cmd/internal/dashes"
	"heddle/cmd/internal/program"
	"heddle/conf"
	"heddle/integration/campaign"
)

func main() { program.Main(newRoot()) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "heddle-lab",
		Short:         "Measures Heddle, and simulates the experiments of the papers that it builds on",
		Version:       conf.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	var s source
	root.PersistentFlags().StringVar(&s.dir, "conf", "", "configuration folder of a cluster to measure (default $HADOOP_CONF_DIR, else one is started)")
	root.PersistentFlags().StringArrayVarP(&s.overrides, "define", "D", nil, "set a configuration key: -D key=value")
	simulate := &cobra.Command{Use: "sim", Short: "Simulate experiments", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	simulate.AddCommand(newStudy(), newHybrid())
	root.AddCommand(newBench(&s), simulate, newBenchWork(), campaign.Command(func() (string, error) { return program.Beside("heddle") }))
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return dashes.Meant(err, c.CommandPath(), c.Flags()) })
	return root
}

// source says where the configuration comes from.
type source struct {
	dir       string
	overrides []string
}

func (s *source) options() conf.Options {
	return conf.Options{Dir: conf.Locate(s.dir, nil), Overrides: s.overrides}
}

// named reports whether the command line or the environment names a cluster.
func (s *source) named() bool { return conf.Locate(s.dir, nil) != "" || len(s.overrides) > 0 }
