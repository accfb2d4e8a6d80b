package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"heddle/integration/stages"
)

// newBenchWork returns the mapper of the measurements: it does work for each line that it reads, and writes the line.
func newBenchWork() *cobra.Command {
	var w stages.Work
	c := &cobra.Command{
		Use: "bench-work", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			disk, err := os.MkdirTemp(".", "work")
			if err != nil {
				return err
			}
			defer os.RemoveAll(disk)
			in, out := bufio.NewReader(cmd.InOrStdin()), cmd.OutOrStdout()
			for {
				line, err := in.ReadString('\n')
				if len(line) > 0 {
					if err := w.Do(disk); err != nil {
						return err
					}
					time.Sleep(w.Sleep)
					if _, err := io.WriteString(out, line); err != nil {
						return fmt.Errorf("write a line: %w", err)
					}
				}
				if err == io.EOF {
					return nil
				}
				if err != nil {
					return err
				}
			}
		},
	}
	f := c.Flags()
	f.DurationVar(&w.CPU, "cpu", 0, "processor time of a line")
	f.DurationVar(&w.Sleep, "sleep", 0, "time to wait at a line")
	f.Int64Var(&w.Disk, "disk", 0, "bytes to write for a line")
	return c
}
