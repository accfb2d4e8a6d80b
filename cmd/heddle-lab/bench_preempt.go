package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"heddle/integration/burst"
)

func newBenchPreempt() *cobra.Command {
	var o burst.Options
	var modes []string
	var picture string
	var megabytes int64
	var stock, asJSON bool
	c := &cobra.Command{
		Use:   "preempt",
		Short: "Compare how long a burst of short jobs waits on a full cluster, when long containers are killed or suspended",
		Long: `Starts a ResourceManager and --nodes NodeManagers on this machine, new ones for each run. Long jobs fill them. Then short jobs come to another queue,
which is guaranteed --guarantee percent of the cluster. Prints a table in Markdown: how long a short job waits for its first container, from
its submission and from its ApplicationMaster's request, how long the long jobs take, and their longest delay beyond suspension.

--modes are values of heddle.scheduler.preemption, none (no preemption), and big-c, which is suspend as BIG-C's authors built it: rounds every 3 s
only, and containers that run on with 1 % of a core. --stock adds YARN's own preemption on a YARN that is started from Maven's jars (it needs a
JDK, and mvn the first time). A round may take all that is due.

Long tasks use --memory, and check that it stays unchanged. --swap file makes a swap file in --folder, zram a compressed device, and removes it
afterwards; own is the machine's own swap; with none suspended memory stays held. It needs root, for cgroups.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			var lab string
			if stock && !slices.Contains(modes, "stock") {
				modes = append(modes, "stock")
			}
			if o.Modes, err = burst.ModesOf(modes); err != nil {
				return err
			}
			if o.Binary, lab, err = binaries(); err != nil {
				return err
			}
			o.Memory, o.Start = megabytes<<20, []string{lab, "bench", "preempt", "part"}
			o.Tell = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }
			r, err := burst.Run(cmd.Context(), o)
			if r == nil {
				return err
			}
			if asJSON {
				err = errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(r.Runs))
			} else {
				err = errors.Join(err, r.Print(cmd.OutOrStdout()))
			}
			if picture != "" {
				err = errors.Join(err, writeFile(picture, func(w io.Writer) error { return r.SVG(w) }))
			}
			return err
		},
	}
	f := c.Flags()
	burstFlags(f, &o)
	f.StringSliceVar(&modes, "modes", burst.Ours(), "what is compared")
	f.BoolVar(&stock, "stock", false, "compare YARN's own preemption as well")
	f.Int64Var(&megabytes, "memory", 256, "MB that each of their tasks uses")
	f.StringVar(&picture, "svg", "", "file for a picture of what queues use over time, in the first run of each mode")
	f.BoolVar(&asJSON, "json", false, "print the runs as JSON")
	c.AddCommand(newPart())
	return c
}

// newPart makes the command that runs in containers.
func newPart() *cobra.Command {
	return &cobra.Command{
		Use: "part", Short: "Run in a container, for heddle-lab bench preempt", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return burst.RunPart(cmd.Context()) },
	}
}

// burstFlags are the flags of what runs.
func burstFlags(f *pflag.FlagSet, o *burst.Options) {
	f.IntVar(&o.Runs, "runs", 3, "runs of each mode, one mode after the other")
	f.IntVar(&o.Nodes, "nodes", 3, "nodes, of 8 vcores and 8,192 MB each")
	f.IntVar(&o.LongJobs, "long-jobs", 2, "jobs whose tasks fill the cluster, in containers of 2 vcores and 2,048 MB")
	f.DurationVar(&o.LongWork, "long-work", 30*time.Second, "how long an undisturbed task of theirs takes")
	f.IntVar(&o.ShortJobs, "short-jobs", 12, "jobs of the burst")
	f.IntVar(&o.Tasks, "tasks", 2, "tasks of a short job, in containers of 1 vcore and 1,024 MB")
	f.DurationVar(&o.ShortWork, "short-work", 1500*time.Millisecond, "how long a task of theirs takes")
	f.DurationVar(&o.Gap, "gap", 400*time.Millisecond, "time between two submissions of the burst")
	f.DurationVar(&o.Settle, "settle", 3*time.Second, "from when the cluster is full to the burst")
	f.IntVar(&o.Guarantee, "guarantee", 75, "percent of the cluster that short jobs are guaranteed")
	f.StringVar(&o.Swap, "swap", "file", "what nodes page out to: file, zram, zswap, own, none")
	f.StringToStringVar(&o.Set, "set", nil, "further settings of all clusters, as KEY=VALUE")
	f.StringVar(&o.Dir, "folder", "", "parent of the folder for all files (default $TMPDIR)")
}
