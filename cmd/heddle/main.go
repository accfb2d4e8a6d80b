// Command heddle is every role of a Heddle cluster, and its command line.
//
// Each daemon or command has a file: rm and nm (roles.go, nm.go), mr, xargs, sim, replay, conf, bench. The commands that
// resemble yarn's are in internal/command. A daemon's file reads its configuration, builds the parts, and runs them
// until it is told to stop. It has no logic of its own. It is large because all flags and help texts of all roles are here.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/command"
	"heddle/cmd/heddle/internal/dashes"
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
	status := statusOf(err)
	if ctx.Err() != nil && strings.Contains(context.Cause(ctx).Error(), os.Interrupt.String()) && hasTerminal() {
		dieOfInterrupt()
	}
	os.Exit(status)
}

// statusOf returns the exit status for an error, which it prints unless that was done already.
func statusOf(err error) int {
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	var exit command.Exit
	if errors.As(err, &exit) {
		return int(exit)
	}
	fmt.Fprintln(os.Stderr, "heddle:", plain.Text(err.Error()))
	return 1
}

// dieOfInterrupt ends this process by the signal that has ended its work. A shell's loop or script goes on after a program that has a Ctrl-C end with an exit
// code.
func dieOfInterrupt() {
	signal.Reset(os.Interrupt)
	if syscall.Kill(os.Getpid(), syscall.SIGINT) == nil {
		time.Sleep(time.Second) // any thread may get it
	}
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
	root.AddCommand(newRM(&s), newNM(&s), newWitness(&s), newStandalone(&s), newConf(&s), newBench(&s), newSim(&s), newReplay(), newMR(&s), newMRMaster(), newMRWorker(), newBenchWork(), newXargs(), newExecutor(), newCalls(&s), newGuard(&s), newStager())
	root.AddCommand(command.All(loadConf)...)
	root.AddCommand(newAbsent()...)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return dashes.Meant(err, c.CommandPath(), c.Flags()) })
	return root
}

// Groups of commands in the help text.
const (
	roles = "roles"
	tools = "tools"
)
