// Command heddle is every role of a Heddle cluster, and its command line.
//
// Each daemon or command has a file: rm and nm (roles.go, nm.go), mr, xargs, sim, replay, conf, bench. The commands that
// resemble yarn's are in internal/command. A daemon's file reads its configuration, builds the parts, and runs them
// until it is told to stop. It has no logic of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/command"
	"heddle/cmd/heddle/internal/plain"
	"heddle/conf"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	// A second Ctrl-C ends the program at once, for instance while it waits for a ResourceManager that doesn't answer.
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })
	err := newRoot().ExecuteContext(ctx)
	if err == nil {
		return
	}
	var code exitCode
	if errors.As(err, &code) {
		os.Exit(int(code))
	}
	var exit command.Exit
	if errors.As(err, &exit) {
		os.Exit(int(exit))
	}
	fmt.Fprintln(os.Stderr, "heddle:", plain.Text(err.Error()))
	os.Exit(1)
}

// endings are the signals that end the program, with what it has started. Those that it was started to ignore aren't among them, as by nohup, or those of the terminal in a script's
// background.
func endings() (list []os.Signal) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return append(list, syscall.SIGTERM)
}

// exitCode ends the program with a status and without a message, because that was printed already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

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
	root.AddCommand(newRM(&s), newNM(&s), newStandalone(&s), newConf(&s), newBench(&s), newSim(&s), newReplay(), newMR(&s), newMRMaster(), newMRWorker(), newBenchWork(), newXargs(), newExecutor(), newCalls(&s), newGuard(&s), newStager())
	root.AddCommand(command.All(loadConf)...)
	return root
}

// Groups of commands in the help text.
const (
	roles = "roles"
	tools = "tools"
)
