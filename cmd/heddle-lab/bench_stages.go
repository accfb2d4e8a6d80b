package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"heddle/integration/stages"
)

// stagesFlags are those of both measurements.
type stagesFlags struct {
	o       stages.Options
	rules   []string
	folder  string
	picture string
	asJSON  bool
}

func (x *stagesFlags) add(c *cobra.Command, rules []string, of string) {
	f := c.Flags()
	f.IntVar(&x.o.Runs, "runs", 5, "runs of each rule, one rule after the other")
	f.StringSliceVar(&x.rules, "rules", rules, of)
	f.StringVar(&x.folder, "folder", "", "parent of the folder for all files (default $TMPDIR)")
	f.StringVar(&x.picture, "svg", "", "file for a picture of what runs over time, in the first run of each rule")
	f.BoolVar(&x.asJSON, "json", false, "print the runs as JSON")
}

// run measures, prints and draws.
func (x *stagesFlags) run(cmd *cobra.Command) (err error) {
	if x.o.Runs < 1 {
		return fmt.Errorf("--runs is %d: it must be at least 1", x.o.Runs)
	}
	if x.o.Binary, x.o.Lab, err = binaries(); err != nil {
		return err
	}
	if x.o.Dir, err = os.MkdirTemp(x.folder, "heddle-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(x.o.Dir)
	if err := os.Chmod(x.o.Dir, 0o755); err != nil {
		return err
	}
	x.o.Tell = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }
	r, err := stages.Run(cmd.Context(), x.o)
	if r == nil {
		return err
	}
	if x.asJSON {
		err = errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(r.Runs))
	} else {
		err = errors.Join(err, r.Print(cmd.OutOrStdout()))
	}
	if x.picture != "" {
		err = errors.Join(err, writeFile(x.picture, func(w io.Writer) error { return r.SVG(w) }))
	}
	return err
}

func newBenchSpeculate() *cobra.Command {
	var x stagesFlags
	var core float64
	var jobs, maps, lines, slots, reduces int
	var disk int64
	var line time.Duration
	var healthy bool
	c := &cobra.Command{
		Use:   "speculate",
		Short: "Compare rules for slow tasks on nodes that differ, become slow and die",
		Long: `Starts a cluster of six nodes, two each with 1, 0.5 and 0.25 of --core, by cgroups. While the jobs run, one of the quickest nodes gets a
slow disk, and one of the others dies. Each line of a map costs processor time and a small write to the disk.

Runs the same jobs of heddle mr under one rule after the other, --runs times, and prints a table in Markdown: medians (least–most). p99 is that
of all jobs of a rule. It needs root, for the cgroups. If one of the rules has +freeze, all run with suspension and a swap file. The slow disk needs the
controller blkio of version 1, and a folder on a block device.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(core > 0 && core <= 64) || jobs < 1 || maps < 1 || lines < 1 || slots < 1 || reduces < 0 {
				return errors.New("--core must be above 0, --jobs, --maps, --lines and --slots at least 1, and --reduces at least 0")
			}
			x.o.Nodes = stages.SixNodes(core, slots)
			if !healthy {
				x.o.Nodes[1].Disk, x.o.Nodes[3].Dies = disk, true
			}
			for i := range jobs {
				x.o.Jobs = append(x.o.Jobs, stages.Job{
					After: time.Duration(i) * time.Second, Maps: maps, Lines: lines, Map: stages.Work{CPU: line, Disk: 4096}, Reduces: reduces,
				})
			}
			for _, name := range x.rules {
				if err := x.o.Speculate(name); err != nil {
					return err
				}
			}
			return x.run(cmd)
		},
	}
	x.add(c, []string{"none", "late", "esplash", "split"}, "values of heddle mr -speculation; +freeze behind one adds heddle mr -freeze, which needs --reduces 0")
	f := c.Flags()
	f.Float64Var(&core, "core", 0.3, "processors of a whole node; the six nodes have 3.5 times as much together")
	f.IntVar(&jobs, "jobs", 1, "jobs of a run, one submitted a second; workers keep their containers while a reduce may fetch from them, so that others wait")
	f.IntVar(&maps, "maps", 18, "maps of a job")
	f.IntVar(&reduces, "reduces", 1, "reduces of a job")
	f.IntVar(&lines, "lines", 60, "lines of a map")
	f.DurationVar(&line, "line-cpu", 10*time.Millisecond, "processor time of a line")
	f.IntVar(&slots, "slots", 2, "containers of a node")
	f.Int64Var(&disk, "disk", 4096, "bytes per second that the slow disk writes")
	f.DurationVar(&x.o.SlowAfter, "slow-after", 8*time.Second, "from the beginning of a run until the disk becomes slow")
	f.DurationVar(&x.o.DieAfter, "die-after", 15*time.Second, "from the beginning of a run until the node dies")
	f.BoolVar(&healthy, "healthy", false, "no disk becomes slow and no node dies")
	return c
}

func newBenchStages() *cobra.Command {
	var x stagesFlags
	var nodes, slots, jobs, maps, reduces int
	var mapTime, reduceTime time.Duration
	c := &cobra.Command{
		Use:   "stages",
		Short: "Compare when reduces begin: a sweep of slowstart, and OMO",
		Long: `Starts a cluster with --nodes times --slots containers, whose tasks sleep for set times, so that many of them fit on few cores. Runs the same
jobs of heddle mr with each value of -slowstart, one after the other, --runs times, and prints a table in Markdown: medians (least–most). It
needs root, for the cgroups.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if nodes < 1 || slots < 1 || jobs < 1 || maps < 1 || reduces < 1 {
				return errors.New("--nodes, --slots, --jobs, --maps and --reduces must be at least 1")
			}
			x.o.Nodes, x.o.NodesServe = slices.Repeat([]stages.Node{{Slots: slots}}, nodes), true
			const lines = 10
			for i := range jobs {
				x.o.Jobs = append(x.o.Jobs, stages.Job{
					After: time.Duration(i) * time.Second, Maps: maps, Lines: lines, Map: stages.Work{Sleep: mapTime / lines}, Reduces: reduces, ReduceSleep: reduceTime,
				})
			}
			for _, name := range x.rules {
				x.o.Rules = append(x.o.Rules, stages.Rule{Name: name, Args: []string{"-slowstart", name}})
			}
			return x.run(cmd)
		},
	}
	x.add(c, []string{"0.05", "0.2", "0.4", "0.6", "0.8", "1.0", "omo"}, "values of heddle mr -slowstart")
	f := c.Flags()
	f.IntVar(&nodes, "nodes", 4, "nodes")
	f.IntVar(&slots, "slots", 10, "containers of a node")
	f.IntVar(&jobs, "jobs", 4, "jobs of a run, one submitted a second")
	f.IntVar(&maps, "maps", 50, "maps of a job")
	f.IntVar(&reduces, "reduces", 8, "reduces of a job")
	f.DurationVar(&mapTime, "map-time", 5*time.Second, "how long a map takes")
	f.DurationVar(&reduceTime, "reduce-time", 4*time.Second, "how long a reduce takes after it has fetched")
	return c
}
