package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"heddle/integration/ladder"
	"heddle/nm/cgroup"
)

// holdCommand starts a process of the benchmark.
const holdCommand = "hold"

func newBenchSuspend() *cobra.Command {
	o := ladder.Options{}
	var kind string
	var megabytes int64
	var asJSON bool
	c := &cobra.Command{
		Use:   "suspend",
		Short: "Measure how long it takes to suspend processes on this machine, and to page them out and in",
		Long: `Starts processes in a cgroup, suspends and resumes them as a NodeManager does, and prints how long that takes. It needs root.

The first rows move no memory. Then a process that holds --memory is paged out to the 64 MB that a suspended container keeps, and
resumes: after it has written all of its memory (dirty), and after it has only read it (clean). "back" is until it may run,
"back and read" until it has read all of its memory. Its checksum must be the same. --swap file makes a swap file of three times --memory
in --dir, --swap zram a compressed device, and removes it afterwards; --swap zswap is such a file with compressed memory before it; own is the machine's own
swap. --random is how much of the memory can't be compressed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.Rounds < 1 || o.Moves < 1 || megabytes < 128:
				return fmt.Errorf("--rounds %d --moves %d --memory %d: at least one round, one move and 128 MB are needed", o.Rounds, o.Moves, megabytes)
			case o.Random < 0 || o.Random > 100:
				return fmt.Errorf("--random %d: it is a percentage, 0 to 100", o.Random)
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			o.Command, o.Kind, o.Bytes = []string{self, "bench", "suspend", holdCommand}, cgroup.Kind(kind), megabytes<<20
			r, err := ladder.Run(cmd.Context(), o)
			if r == nil {
				return err
			}
			if asJSON {
				return errors.Join(json.NewEncoder(cmd.OutOrStdout()).Encode(r), err)
			}
			return errors.Join(r.Print(cmd.OutOrStdout()), err)
		},
	}
	f := c.Flags()
	f.IntSliceVar(&o.Processes, "processes", []int{1, 50}, "numbers of processes to suspend together")
	f.IntVar(&o.Rounds, "rounds", 200, "how often processes are suspended")
	f.Int64Var(&megabytes, "memory", 1024, "memory of the process that is paged out, in MB")
	f.IntVar(&o.Moves, "moves", 5, "how often it is paged out when dirty, and when clean")
	f.StringSliceVar(&o.Swap, "swap", []string{"file"}, "what to swap to: file, zram, zswap, own")
	f.IntVar(&o.Random, "random", 100, "percentage of each page that can't be compressed")
	f.StringVar(&o.Dir, "dir", os.TempDir(), "folder of the swap file")
	f.StringVar(&kind, "kind", "auto", "which cgroups to use: auto, v2, hybrid, v1")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	c.AddCommand(newHold())
	return c
}

// newHold makes the command of the process that is suspended.
func newHold() *cobra.Command {
	return &cobra.Command{
		Use: holdCommand + " BYTES RANDOM", Short: "Hold memory, for heddle-lab bench suspend", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 0 {
				return fmt.Errorf("%q is not a number of bytes", args[0])
			}
			random, err := strconv.Atoi(args[1])
			if err != nil || random < 0 || random > 100 {
				return fmt.Errorf("%q is not a percentage", args[1])
			}
			return ladder.Child(cmd.InOrStdin(), cmd.OutOrStdout(), n, random)
		},
	}
}
