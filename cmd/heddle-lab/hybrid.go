package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/am/xargs"
	"heddle/cmd/internal/dashes"
	"heddle/rm/scheduler/policy/partition"
	"heddle/sim/hybrid"
	"heddle/sim/trace"
	"heddle/yarn/records"
)

// hybridSim has the flags of heddle-lab sim hybrid.
type hybridSim struct {
	file      string
	trace     trace.Options
	options   hybrid.Options
	cutoff    string
	durations string
	dice      string
	most      float64
	requests  string
	eirene    bool
	json      bool
	given     func(flag string) bool // reports whether a flag was given
}

// newHybrid simulates schedulers of short tasks.
func newHybrid() *cobra.Command {
	o := &hybridSim{}
	c := &cobra.Command{
		Use:   "hybrid -trace FILE",
		Short: "Simulate Sparrow, Hawk or Eagle: probes of short tasks beside a central scheduler of long ones",
		Long: "Runs the jobs of a trace on workers with one slot each. Short jobs send probes to workers, as in Sparrow; long ones go to a central\n" +
			"scheduler, as in Hawk and Eagle. It prints how long short and long jobs took, how long their tasks waited, and the utilisation.\n" +
			"The same trace, options and seed give the same output. The speed goes to stderr. Flags may have one dash or two.",
		Args:               cobra.ArbitraryArgs, // dashes.Parse looks at them
		DisableFlagParsing: true,                // for flags with one dash
		Example:            "  heddle-lab sim hybrid -trace YH1.tr.gz -mode eagle -workers 4000 -cutoff 90.5811 -short-partition 2 -seed 1 --json",
	}
	f := c.Flags()
	f.StringVar(&o.file, "trace", "", "file with the jobs (.tr of Hawk, .tsv of SWIM, .json of SLS, SYNTH or Rumen, each also with .gz)")
	f.StringVar(&o.trace.Format, "format", "", "format of the trace: "+strings.Join(trace.Formats, ", ")+" (default: by its name and content)")
	f.Float64Var(&o.trace.BlockMB, "block", 128, "input of each task of a SWIM trace, in MB")
	f.Float64Var(&o.trace.RateMB, "rate", 10, "speed of a task of a SWIM trace that reads and writes, in MB/s")
	f.StringVar(&o.options.Mode, "mode", "eagle", "system: "+strings.Join(hybrid.Modes(), ", "))
	f.IntVar(&o.options.Workers, "workers", 4000, "workers of the cluster")
	f.StringVar(&o.cutoff, "cutoff", "90.5811", "jobs are long if their tasks' mean is longer, in seconds")
	f.Float64Var(&o.options.Short, "short-partition", 2, "percent of the workers that long jobs may not use; sparrow uses none")
	f.Uint64Var(&o.options.Seed, "seed", 1, "seed of random numbers")
	f.StringVar(&o.durations, "durations", "cut", "cut: durations are cut to whole seconds, as in the papers' simulator; exact: they aren't")
	f.Func("binding", "late (the default): a worker asks for a task when it has room; early: tasks are bound to the probed workers with the least to do, and share their processors", func(when string) (err error) {
		o.options.Early, err = xargs.BindsEarly(when)
		return err
	})
	f.StringVar(&o.dice, "dice", "", "Dice's elastic short partition: linear, square or root; hawk and eagle have one")
	f.Float64Var(&o.most, "dice-most", 0, "percent to which Dice lets the short partition grow (default: 8 more than -short-partition)")
	f.StringVar(&o.requests, "dice-preemption", "square", "Dice's preemption of long tasks: linear, square, root or none")
	f.BoolVar(&o.eirene, "eirene", false, "Eirene's preloading of inputs and cloning of tasks, for short jobs")
	f.BoolVar(&o.json, "json", false, "print JSON")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		help, err := dashes.Parse(cmd.CommandPath(), f, args)
		if help {
			return cmd.Help()
		}
		if err != nil {
			return dashes.Meant(err, cmd.CommandPath(), f)
		}
		o.given = f.Changed
		return o.run(cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return c
}

func (o *hybridSim) run(out, progress io.Writer) error {
	if o.file == "" {
		return errors.New("name the file with the jobs: -trace FILE")
	}
	cutoff, err := secondsOf(o.cutoff)
	if err != nil {
		return fmt.Errorf("-cutoff: %w", err)
	}
	o.options.Cutoff = cutoff
	switch o.durations {
	case "cut":
		o.trace.Whole = true
	case "exact":
		o.options.Exact = true
	default:
		return fmt.Errorf("-durations %s: give cut or exact", o.durations)
	}
	if err := o.setDice(); err != nil {
		return err
	}
	if o.eirene {
		o.options.Eirene = hybrid.EireneStudy()
	}
	o.trace.Queue, o.trace.User, o.trace.Slot = "root.default", "user", records.NewResource(1024, 1)
	begin := time.Now()
	jobs, err := trace.Open(o.file, o.trace)
	if err != nil {
		return err
	}
	if len(jobs) == 0 {
		return fmt.Errorf("%s has no jobs", o.file)
	}
	read := time.Since(begin).Seconds()
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(400)) // little of what a simulation has is garbage, and to look through it all takes a tenth of its time
	}
	begin = time.Now()
	r, err := hybrid.Run(jobs, o.options)
	if err != nil {
		return err
	}
	took := time.Since(begin).Seconds()
	fmt.Fprintf(progress, "read in %.2f s, simulated in %.2f s: %.0f tasks/s\n", read, took, float64(r.Tasks)/took)
	if o.json {
		return r.WriteJSON(out)
	}
	return r.Write(out)
}

// setDice takes over the flags of Dice.
func (o *hybridSim) setDice() (err error) {
	if o.dice == "" {
		if o.given("dice-most") || o.given("dice-preemption") {
			return errors.New("-dice-most and -dice-preemption have no effect without Dice: give -dice too")
		}
		return nil
	}
	d := partition.Study(o.options.Short)
	if o.given("dice-most") {
		d.Most = o.most
	}
	if d.Sizing, err = partition.ParseModel(o.dice); err != nil {
		return fmt.Errorf("-dice: %w", err)
	}
	if d.NoRequests = o.requests == "none"; !d.NoRequests {
		if d.Preemption, err = partition.ParseModel(o.requests); err != nil {
			return fmt.Errorf("-dice-preemption: %w", err)
		}
	}
	o.options.Dice = d
	return nil
}

// mostSeconds is as many as a duration holds, nearly.
const mostSeconds = 9e9

// secondsOf reads a number of seconds, or a duration with a unit. More than a duration holds is as much as it holds.
func secondsOf(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s >= 0) {
		return 0, fmt.Errorf("%q is not a number of seconds, such as 90.58", text)
	}
	return time.Duration(min(s, mostSeconds) * float64(time.Second)), nil
}
