package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"heddle/am/client"
	"heddle/am/executor"
	"heddle/internal/processors"
	"heddle/yarn/wire"
)

// newExecutor is the command that containers of a pool run.
func newExecutor() *cobra.Command {
	var slots uint64
	c := &cobra.Command{
		Use: "executor [--slots N] HOST:PORT", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
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
	return c
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
