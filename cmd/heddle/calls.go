package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/am/calls"
	"heddle/am/executor"
	"heddle/am/pool"
	"heddle/am/xargs"
	"heddle/internal/processors"
	"heddle/yarn/wire"
)

// newCalls returns the command that heddle's Python library runs.
func newCalls(s *source) *cobra.Command {
	var place xargs.Place
	var i calls.Interpreter
	var workers int
	var timeout time.Duration
	c := &cobra.Command{
		Use: "calls [options] -- INTERPRETER [ARGUMENT...]", Hidden: true, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			i.Args, i.Dir, i.TimeoutMS = args, workFolder(""), uint64(timeout.Milliseconds())
			i.Env = append(inherited(nil), handedOver()...)
			if err := runCalls(cmd.Context(), s, place, i, workers); err != nil {
				return fmt.Errorf("calls: %w", err)
			}
			return nil
		},
	}
	f := c.Flags()
	f.BoolVar(&place.Local, "local", false, "on this machine")
	f.StringVar(&place.Queue, "queue", "", "queue of the cluster")
	f.IntVar(&place.Memory, "memory", 0, "MB for each call that runs")
	f.BoolVar(&place.Probes, "probes", false, "by probes of nodes")
	f.Func("binding", "with probes: late or early", place.SetBinding)
	f.IntVar(&workers, "workers", 0, "calls that run at a time")
	f.DurationVar(&timeout, "timeout", 0, "of each call")
	return c
}

// callVariable begins the names of variables that are the interpreters'. They may be secrets, which a command line would show to all users.
const callVariable = "HEDDLE_CALLS_ENV_"

// handedOver returns the interpreters' variables, and takes them out of this process's environment.
func handedOver() (env []string) {
	for _, v := range os.Environ() {
		if own, ok := strings.CutPrefix(v, callVariable); ok {
			env = append(env, own)
			name, _, _ := strings.Cut(v, "=")
			_ = os.Unsetenv(name) // it is there
		}
	}
	return env
}

func runCalls(ctx context.Context, s *source, place xargs.Place, i calls.Interpreter, workers int) error {
	defer processors.Spare(ctx)()
	c, err := s.valid()
	if err != nil {
		return err
	}
	if place.Local || !onCluster(ctx, c) {
		if workers == 0 {
			workers = runtime.NumCPU()
		}
		return localCalls(ctx, i, workers)
	}
	if workers == 0 && !place.Probes {
		workers = 64
	}
	x, stop, err := startTasks(ctx, c, s, &xargs.Options{Command: []string{"python"}, Procs: workers, Place: place})
	if err != nil {
		return err
	}
	defer stop(succeeded)
	return calls.Serve(ctx, os.Stdin, os.Stdout, x, i, workers)
}

// localCalls has one executor, in this process.
func localCalls(ctx context.Context, i calls.Interpreter, workers int) error {
	secret := wire.NewSecret()
	p, err := pool.New(pool.Options{Secret: secret, Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	conn, err := wire.Dial(ctx, fmt.Sprintf("127.0.0.1:%d", p.Port()), nil, secret)
	if err != nil {
		p.Close()
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		e := executor.NewEngine(nil)
		defer e.Close()
		_ = executor.Serve(ctx, conn, wire.Hello{Slots: uint64(workers)}, e) // it ends with the pool
	}()
	err = calls.Serve(ctx, os.Stdin, os.Stdout, p, i, 0)
	p.Close()
	<-done
	conn.Close()
	return err
}
