package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"heddle/am/client"
	"heddle/yarn/records"
)

// newGuard returns the command that kills an application whose ApplicationMaster was a process of this machine, if that process was killed. It
// waits for the end of its standard input. A byte before that end says that all is well.
func newGuard(s *source) *cobra.Command {
	return &cobra.Command{
		Use: "guard APPLICATION", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := records.ParseApplicationID(args[0])
			if err != nil {
				return fmt.Errorf("guard: %w", err)
			}
			if n, _ := io.Copy(io.Discard, os.Stdin); n > 0 { // an error is an end as well
				return nil
			}
			c, err := s.valid()
			if err != nil {
				return fmt.Errorf("guard: %w", err)
			}
			user, err := client.User(c)
			if err != nil {
				return fmt.Errorf("guard: %w", err)
			}
			cluster, err := client.NewCluster(c, logger(c))
			if err != nil {
				return fmt.Errorf("guard: %w", err)
			}
			defer cluster.Close()
			apps, err := cluster.Applications(user)
			if err == nil {
				err = apps.Kill(cmd.Context(), id, "the process of its ApplicationMaster was killed")
			}
			if err != nil {
				return fmt.Errorf("guard: %v: %w", id, err)
			}
			return nil
		},
	}
}

// guard is a process that runs newGuard's command. nil is none.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// startGuard has an application killed if this process is killed. The guard belongs to no terminal, so that a Ctrl-C doesn't end it.
func startGuard(s *source, id records.ApplicationID) (*guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"guard", id.String()}
	if s.dir != "" {
		args = append(args, "--conf", s.dir)
	}
	for _, o := range s.overrides {
		args = append(args, "-D", o)
	}
	g := &guard{cmd: exec.Command(self, args...)}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if g.in, err = g.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("guard of %v: %w", id, err)
	}
	return g, nil
}

// dismiss ends the guard: the application has ended.
func (g *guard) dismiss() {
	if g == nil {
		return
	}
	_, _ = g.in.Write([]byte{1}) // if it is gone there is nothing to dismiss
	_ = g.in.Close()
	_ = g.cmd.Wait()
}
