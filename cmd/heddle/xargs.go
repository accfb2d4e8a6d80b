package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"heddle/am/process"
	"heddle/am/xargs"
)

func newXargs() *cobra.Command {
	return &cobra.Command{
		Use:   "xargs [options] COMMAND [ARGUMENT...]",
		Short: "Run a command for each item of the input",
		Long: `Runs a command for each item, or group of items, that standard input has. It takes the options of GNU xargs, and has its exit codes:
123 if a command has failed, 124 if one has exited with 255, 125 if a signal has ended one, 126 or 127 if the command can't be run or
is missing, 1 for other errors. {} as an argument stands for the items; without it they are added at the end. Outputs of commands that
run at the same time don't mix. When a command ends, what it has left in the background ends too.

Options:
` + xargs.Usage(),
		Example: `  ls *.png | heddle xargs -P 8 -n 1 optipng {}
  seq 1000 | heddle xargs -P 50 -I N --retries 3 --timeout 60 -k sh -c 'curl -sf https://example.org/page/N | wc -l'`,
		GroupID:            tools,
		DisableFlagParsing: true, // options end where the command begins
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := xargs.Parse(args)
			if err != nil {
				return fmt.Errorf("xargs: %w (heddle xargs --help lists the options)", err)
			}
			if o.Help {
				return cmd.Help()
			}
			return runXargs(cmd.Context(), o)
		},
	}
}

// runXargs runs the commands on this machine.
func runXargs(ctx context.Context, o xargs.Options) error {
	// Writing to a pipe that nobody reads is an error like others: commands are to be ended then.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	var in io.Reader = os.Stdin
	local := &xargs.Local{Processes: process.New()}
	defer local.Processes.Close()
	if o.ArgFile != "" && o.ArgFile != "-" {
		f, err := os.Open(o.ArgFile)
		if err != nil {
			return fmt.Errorf("xargs: can't open the input: %w", err)
		}
		defer f.Close()
		in, local.Stdin, local.Attached = f, os.Stdin, true
	}
	if o.OpenTTY {
		tty, err := os.Open("/dev/tty")
		if err != nil {
			return fmt.Errorf("xargs: -o: %w", err)
		}
		defer tty.Close()
		local.Stdin, local.Attached = tty, true
	}
	if code := xargs.Run(ctx, o, local, xargs.Streams{In: in, Out: os.Stdout, Err: os.Stderr}); code != 0 {
		return exitCode(code)
	}
	return nil
}
