package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"heddle/conf"
	"heddle/integration/load"
	"heddle/integration/walltime"
	"heddle/nm/proc"
)

// besideRun is a load of one of two ResourceManagers that differ in one setting.
type besideRun struct {
	result load.Result
	cpu    time.Duration // of the ResourceManager, during the load
	took   time.Duration
}

// perGrant is the processor's time in microseconds for each grant.
func (r *besideRun) perGrant() float64 {
	return float64(r.cpu.Microseconds()) / max(r.result.PerSecond*r.took.Seconds(), 1)
}

// benchBeside loads ResourceManagers of this machine with built-in settings and with KEY=VALUE besides, runs times each, always new ones. Which one is
// first alternates, so that what else the machine does concerns both.
func benchBeside(ctx context.Context, o load.Options, setting string, runs int, tell io.Writer) (all [2][]besideRun, err error) {
	if key, _, ok := strings.Cut(setting, "="); !ok || key == "" {
		return all, fmt.Errorf("--beside %s: give KEY=VALUE", setting)
	}
	for run := range runs {
		for i := range 2 {
			which := (run + i) % 2
			r, err := besideOnce(ctx, o, [][]string{nil, {setting}}[which])
			if err != nil {
				return all, fmt.Errorf("run %d: %w", run+1, err)
			}
			all[which] = append(all[which], r)
			fmt.Fprintf(tell, "%s, run %d: %.0f/s, p99 %s, %.1f µs of processor a grant\n", []string{"without", "with"}[which], run+1, r.result.PerSecond, ms(r.result.Latency.P99), r.perGrant())
		}
	}
	return all, nil
}

func besideOnce(ctx context.Context, o load.Options, settings []string) (r besideRun, err error) {
	config, err := conf.Load(conf.Options{})
	if err != nil {
		return r, err
	}
	own, err := startOwn(ctx, config, settings...)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, own.stop()) }()
	if err := o.Address(config); err != nil {
		return r, err
	}
	before, err := proc.Read(own.pid)
	if err != nil {
		return r, err
	}
	begun := time.Now()
	if r.result, err = load.Run(ctx, o); err != nil {
		return r, err
	}
	r.took = time.Since(begun)
	after, err := proc.Read(own.pid)
	r.cpu = after.CPU - before.CPU
	return r, err
}

// printBeside writes medians, least and most, and the median of the differences of the pairs.
func printBeside(w io.Writer, all [2][]besideRun, setting string) error {
	figures := []struct {
		name string
		of   func(*besideRun) float64
	}{
		{"granted/s", func(r *besideRun) float64 { return r.result.PerSecond }},
		{"p50, ms", func(r *besideRun) float64 { return float64(r.result.Latency.P50.Microseconds()) / 1000 }},
		{"p99, ms", func(r *besideRun) float64 { return float64(r.result.Latency.P99.Microseconds()) / 1000 }},
		{"processor a grant, µs", (*besideRun).perGrant},
	}
	if _, err := fmt.Fprintf(w, "| figure | without | with %s | difference of pairs |\n|---|---|---|---|\n", setting); err != nil {
		return err
	}
	for _, f := range figures {
		var sides [2][]float64
		var differ []float64
		for k := range min(len(all[0]), len(all[1])) {
			a, b := f.of(&all[0][k]), f.of(&all[1][k])
			sides[0], sides[1] = append(sides[0], a), append(sides[1], b)
			differ = append(differ, 100*(b-a)/a)
		}
		if len(differ) == 0 {
			return nil
		}
		if _, err := fmt.Fprintf(w, "| %s | %s | %s | %+.1f %% (%+.1f to %+.1f) |\n", f.name, spread(sides[0], "%.1f"), spread(sides[1], "%.1f"), walltime.Median(differ), slices.Min(differ), slices.Max(differ)); err != nil {
			return err
		}
	}
	return nil
}
