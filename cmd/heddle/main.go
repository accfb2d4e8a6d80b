// Command heddle is every role of a Heddle cluster, and its command line.
//
// Each daemon or command has a file: rm and nm (roles.go, nm.go), mr, xargs, sim, replay, conf. heddle-lab measures and repeats experiments. The
// commands that resemble yarn's are in internal/command. A daemon's file reads its configuration, builds the parts, and runs them until it is told to
// stop. It has no logic of its own.
package main

import (
	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/command"
	"heddle/cmd/heddle/internal/login"
	"heddle/cmd/heddle/internal/nodeattributes"
	"heddle/cmd/heddle/internal/usage"
	"heddle/cmd/heddle/internal/whatif"
	"heddle/cmd/internal/dashes"
	"heddle/cmd/internal/program"
	"heddle/conf"
	_ "heddle/hdfsadapter/provider" // passwords in HDFS
)

func main() { program.Main(newRoot()) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "heddle",
		Short:         "A YARN-compatible cluster resource manager",
		Version:       conf.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	var s source
	root.PersistentFlags().StringVar(&s.dir, "conf", "", "configuration folder (default $HADOOP_CONF_DIR, else built-in defaults)")
	root.PersistentFlags().StringArrayVarP(&s.overrides, "define", "D", nil, "set a configuration key: -D key=value")
	root.AddGroup(&cobra.Group{ID: roles, Title: "Roles:"}, &cobra.Group{ID: command.Group, Title: "Cluster:"}, &cobra.Group{ID: tools, Title: "Tools:"})
	root.AddCommand(newRM(&s), newNM(&s), newWitness(&s), newStandalone(&s), newConf(&s), newSim(&s), newReplay(), whatif.Command(tools, func(code int) error { return program.Exit(code) }, loadConf), newMR(&s), newMRMaster(), newMRWorker(), newXargs(), newExecutor(), newCalls(&s), newGuard(&s), newStager())
	root.AddCommand(command.All(loadConf)...)
	root.AddCommand(nodeattributes.New(nodeattributes.Config{Group: command.Group, Load: loadConf, Failed: program.Exit(255)}))
	root.AddCommand(usage.New(func() (*conf.Config, error) { return loadConf(s.dir, s.overrides) }))
	root.AddCommand(login.New(func() (*conf.Config, error) { return loadConf(s.dir, s.overrides) })...)
	root.AddCommand(newAbsent()...)
	root.AddCommand(ofLaboratory("bench", "Measure a cluster (by heddle-lab)", tools))
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return dashes.Meant(err, c.CommandPath(), c.Flags()) })
	return root
}

// Groups of commands in the help text.
const (
	roles = "roles"
	tools = "tools"
)
