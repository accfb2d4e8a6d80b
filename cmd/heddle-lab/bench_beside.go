package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/conf"
	"heddle/integration/load"
	"heddle/integration/load/tabs"
	"heddle/nm/proc"
	"heddle/rm"
	"heddle/sim/study/measure"
)

// besideSide is one of two ResourceManagers that are compared under the same load.
type besideSide struct {
	name     string
	settings []string // KEY=VALUE
	tabs     int      // that are open on its first page
	labels   []string // of its nodes and of what ApplicationMasters ask for
	unmet    int      // requests that no node satisfies, where ApplicationMasters ask with constraints; 0: they don't
	queues   []string // that are created for it; applications run in these
}

// besideRun is a load of one of them.
type besideRun struct {
	result   load.Result
	cpu      time.Duration // of the ResourceManager, during the load
	took     time.Duration
	resident int64 // bytes of it at the end
	each     int64 // bytes of answers that a tab has got a minute
	idle     int64 // and before the load
}

// perGrant is the processor's time in microseconds for each grant.
func (r *besideRun) perGrant() float64 {
	return float64(r.cpu.Microseconds()) / max(r.result.PerSecond*r.took.Seconds(), 1)
}

func (r *besideRun) processors() float64 { return r.cpu.Seconds() / r.took.Seconds() }

// withSetting are sides without and with KEY=VALUE.
func withSetting(setting string) (sides [2]besideSide, err error) {
	if key, _, ok := strings.Cut(setting, "="); !ok || key == "" {
		return sides, fmt.Errorf("--beside %s: give KEY=VALUE", setting)
	}
	return [2]besideSide{{name: "without"}, {name: "with " + setting, settings: []string{setting}}}, nil
}

// withTabs are sides without and with n tabs.
func withTabs(n int) [2]besideSide {
	return [2]besideSide{{name: "no tabs"}, {name: fmt.Sprintf("%d tabs", n), tabs: n}}
}

// withPartitions are sides without labels, and with nodes of n of them.
func withPartitions(n int) [2]besideSide {
	labels := load.Labels(n)
	return [2]besideSide{{name: "no labels"}, {name: fmt.Sprintf("%d partitions", n), labels: labels, settings: load.PartitionSettings(labels)}}
}

// withConstraints are sides whose ApplicationMasters ask by resource requests, and by scheduling requests beside n that no node satisfies.
func withConstraints(n int) [2]besideSide {
	return [2]besideSide{{name: "no constraints"}, {name: fmt.Sprintf("constraints, %d unmet", n), unmet: n, settings: load.ConstraintSettings()}}
}

// withQueues are sides with the queue of the options, and with n queues that are created.
func withQueues(n int) [2]besideSide {
	return [2]besideSide{{name: "one queue"}, {name: fmt.Sprintf("%d created queues", n), queues: load.CreatedQueues(n), settings: load.QueueSettings(n)}}
}

// benchBeside loads ResourceManagers of this machine runs times each, always new ones. Which side is first alternates, so that what else the machine
// does concerns both.
func benchBeside(ctx context.Context, o load.Options, sides [2]besideSide, runs int, tell io.Writer) (all [2][]besideRun, err error) {
	for run := range runs {
		for i := range sides {
			which := (run + i) % 2
			r, err := besideOnce(ctx, o, &sides[which])
			if err != nil {
				return all, fmt.Errorf("%s, run %d: %w", sides[which].name, run+1, err)
			}
			all[which] = append(all[which], r)
			fmt.Fprintf(tell, "%s, run %d: %.0f/s, p99 %s, %.1f µs of processor a grant\n", sides[which].name, run+1, r.result.PerSecond, ms(r.result.Latency.P99), r.perGrant())
		}
	}
	return all, nil
}

func besideOnce(ctx context.Context, o load.Options, side *besideSide) (r besideRun, err error) {
	config, err := conf.Load(conf.Options{})
	if err != nil {
		return r, err
	}
	own, err := startOwn(ctx, config, side.settings...)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, own.stop()) }()
	if err := o.Address(config); err != nil {
		return r, err
	}
	o.Labels, o.Queues, o.Constrained, o.Unmet = side.labels, side.queues, side.unmet > 0, side.unmet
	if err := load.AddLabels(ctx, o); err != nil {
		return r, err
	}
	if err := load.CreateQueues(ctx, o, side.queues); err != nil {
		return r, err
	}
	if err := fill(ctx, o); err != nil {
		return r, err
	}
	if side.tabs == 0 {
		return measured(ctx, o, own.pid)
	}
	return measuredWith(ctx, o, own.pid, side.tabs, "http://"+config.Text(rm.WebAddress))
}

// measuredWith measures with tabs on the pages of a web port.
func measuredWith(ctx context.Context, o load.Options, pid, n int, web string) (r besideRun, err error) {
	me, err := os.Executable()
	if err != nil {
		return r, err
	}
	open, err := tabs.Start(ctx, []string{me, "bench", "rm", tabsCommand, web, strconv.Itoa(n)})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, open.Close()) }()
	select {
	case <-time.After(idleTime):
	case <-ctx.Done():
		return r, ctx.Err()
	}
	idle, err := open.Bytes()
	if err != nil {
		return r, err
	}
	if r, err = measured(ctx, o, pid); err != nil {
		return r, err
	}
	all, err := open.Bytes()
	perTab := func(bytes int64, took time.Duration) int64 {
		return int64(float64(bytes) / float64(n) / took.Minutes())
	}
	r.idle, r.each = perTab(idle, idleTime), perTab(all-idle, r.took)
	return r, err
}

// newTabs is the command that opens tabs in a process of their own.
func newTabs() *cobra.Command {
	return &cobra.Command{
		Use: tabsCommand + " URL N", Short: "Open browser tabs, for heddle-lab bench rm", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return err
			}
			return tabs.Serve(cmd.Context(), os.Stdin, cmd.OutOrStdout(), args[0], n)
		},
	}
}

const tabsCommand = "tabs"

// idleTime is how long tabs are open before the load. Each of them refreshes a few times.
const idleTime = 30 * time.Second

// fill loads a new ResourceManager until it has collected its garbage a few times. It lets much garbage come together first. A measurement would
// otherwise count as the other side's memory what this side would have needed, too, some minutes later.
func fill(ctx context.Context, o load.Options) error {
	const enough = 5 * time.Second
	o.Rate, o.Warmup, o.Duration = 0, 0, enough
	_, err := load.Run(ctx, o)
	return err
}

func measured(ctx context.Context, o load.Options, pid int) (r besideRun, err error) {
	before, err := proc.Read(pid)
	if err != nil {
		return r, err
	}
	begun := time.Now()
	if r.result, err = load.Run(ctx, o); err != nil {
		return r, err
	}
	r.took = time.Since(begun)
	after, err := proc.Read(pid)
	r.cpu, r.resident = after.CPU-before.CPU, after.RSS
	return r, err
}

// printBeside writes medians, least and most of both sides, and the mean of the differences of the pairs with its standard error.
func printBeside(w io.Writer, all [2][]besideRun, sides [2]besideSide) error {
	figures := []struct {
		name string
		of   func(*besideRun) float64
	}{
		{"granted/s", func(r *besideRun) float64 { return r.result.PerSecond }},
		{"p50, ms", func(r *besideRun) float64 { return float64(r.result.Latency.P50.Microseconds()) / 1000 }},
		{"p99, ms", func(r *besideRun) float64 { return float64(r.result.Latency.P99.Microseconds()) / 1000 }},
		{"processor a grant, µs", (*besideRun).perGrant},
		{"processors, thousandths", func(r *besideRun) float64 { return 1000 * r.processors() }},
		{"memory, MB", func(r *besideRun) float64 { return float64(r.resident) / (1 << 20) }},
	}
	if _, err := fmt.Fprintf(w, "| figure | %s | %s | difference of pairs, mean ± standard error (least to most) |\n|---|---|---|---|\n", sides[0].name, sides[1].name); err != nil {
		return err
	}
	for _, f := range figures {
		var values [2][]float64
		var apart, differ measure.Sample
		for k := range min(len(all[0]), len(all[1])) {
			a, b := f.of(&all[0][k]), f.of(&all[1][k])
			values[0], values[1] = append(values[0], a), append(values[1], b)
			apart, differ = append(apart, b-a), append(differ, 100*(b-a)/a)
		}
		if len(differ) == 0 {
			return nil
		}
		_, err := fmt.Fprintf(w, "| %s | %s | %s | %+.1f ± %.1f: %+.1f ± %.1f %% (%+.1f to %+.1f) |\n", f.name, spread(values[0], "%.1f"), spread(values[1], "%.1f"),
			apart.Mean(), apart.Error(), differ.Mean(), differ.Error(), slices.Min(differ), slices.Max(differ))
		if err != nil {
			return err
		}
	}
	return printBytes(w, all[1])
}

func printBytes(w io.Writer, runs []besideRun) error {
	var each, idle []float64
	for i := range runs {
		each, idle = append(each, float64(runs[i].each)/1000), append(idle, float64(runs[i].idle)/1000)
	}
	if slices.Max(each) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nA tab gets %s KB a minute while nothing happens, and %s KB under load.\n", spread(idle, "%.0f"), spread(each, "%.0f"))
	return err
}
