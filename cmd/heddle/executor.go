package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"heddle/am/client"
	"heddle/am/executor"
	"heddle/cmd/internal/program"
	"heddle/internal/processors"
	"heddle/yarn/wire"
)

// newExecutor returns the command that containers of a pool run.
func newExecutor() *cobra.Command {
	var slots uint64
	var watch bool
	c := &cobra.Command{
		Use: "executor [--slots N] [--watch] HOST:PORT", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch {
				return watchExecutor(cmd.Context(), "--slots", strconv.FormatUint(slots, 10), args[0])
			}
			creds, err := client.LoadCredentials(nil)
			if err != nil {
				return fmt.Errorf("executor: %w", err)
			}
			secret, ok := creds.Secret(wire.SecretAlias)
			if !ok {
				return fmt.Errorf("executor: the container's credentials lack %s", wire.SecretAlias)
			}
			return runExecutor(cmd.Context(), args[0], secret, wire.Hello{
				Container: os.Getenv("CONTAINER_ID"), Host: os.Getenv("NM_HOST"), Slots: slots, PID: uint64(os.Getpid()),
			})
		},
	}
	c.Flags().Uint64Var(&slots, "slots", 1, "tasks that run at a time")
	c.Flags().BoolVar(&watch, "watch", false, "run the executor as another process, and end it if a signal has stopped it")
	return c
}

// watchExecutor runs an executor, and ends with it.
func watchExecutor(ctx context.Context, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("executor: %w", err)
	}
	code, err := executor.Watch(ctx, append([]string{self, "executor"}, args...))
	if err != nil {
		return fmt.Errorf("executor: %w", err)
	}
	if code != 0 {
		return program.Exit(code)
	}
	return nil
}

func runExecutor(ctx context.Context, address string, secret []byte, hello wire.Hello) error {
	defer processors.Spare(ctx)()
	conn, err := wire.Dial(ctx, address, []byte(hello.Container), secret)
	if err != nil {
		return fmt.Errorf("executor: the pool: %w", err)
	}
	defer conn.Close()
	e := executor.NewEngine(nil)
	defer e.Close()
	err = executor.Serve(ctx, conn, hello, e)
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil // the pool needs no more of it
	}
	return fmt.Errorf("executor: the pool: %w", err)
}
