package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"heddle/cmd/internal/program"
	"heddle/integration/hadooplab"
	"heddle/integration/load"
	"heddle/integration/walltime"
)

// rival is one of the ResourceManagers to compare.
type rival struct {
	name string
	lab  hadooplab.Options
}

// rivals returns YARN's ResourceManager with its defaults, the same tuned for throughput as its documentation suggests,
// and Heddle's.
func rivals(heddle string) []rival {
	const capacity = "yarn.scheduler.capacity."
	common := map[string]string{
		"yarn.scheduler.minimum-allocation-mb":      "1024",
		"yarn.scheduler.maximum-allocation-vcores":  "128",
		capacity + "maximum-am-resource-percent":    "1",
		capacity + "root.default.user-limit-factor": "100",
		"heddle.log.level":                          "warn",
	}
	tuned := maps.Clone(common)
	maps.Copy(tuned, map[string]string{
		capacity + "schedule-asynchronously.enable":                           "true",
		capacity + "schedule-asynchronously.maximum-threads":                  "2",
		capacity + "schedule-asynchronously.scheduling-interval-ms":           "1",
		capacity + "per-node-heartbeat.multiple-assignments-enabled":          "true",
		capacity + "per-node-heartbeat.maximum-container-assignments":         "-1",
		capacity + "per-node-heartbeat.maximum-offswitch-assignments":         "1000",
		"yarn.resourcemanager.resource-tracker.client.thread-count":           "50",
		"yarn.resourcemanager.scheduler.client.thread-count":                  "50",
		"yarn.resourcemanager.activities-manager.scheduler-activities.ttl-ms": "1000",
	})
	stock := hadooplab.Options{ResourceManager: true, OwnJVM: true, Heap: "4g"}
	plain, fast, ours := stock, stock, hadooplab.Options{ResourceManager: true, Heddle: heddle, Site: common}
	plain.Site = common
	fast.Site, fast.LogLevel = tuned, "WARN"
	return []rival{{"stock", plain}, {"stock, tuned", fast}, {"heddle", ours}}
}

// rivalry holds the measurements of one ResourceManager, run by run.
type rivalry struct {
	Name string
	Runs []load.Result
}

// benchStock measures all ResourceManagers in turn, with a new process for every run. It reports progress to tell.
func benchStock(ctx context.Context, o load.Options, runs int, tell io.Writer) ([]rivalry, error) {
	heddle, err := program.Beside("heddle")
	if err != nil {
		return nil, err
	}
	all := rivals(heddle)
	out := make([]rivalry, len(all))
	for i, r := range all {
		out[i].Name = r.name
	}
	for run := range runs {
		for k := range all {
			i := (k + run) % len(all) // each is first in turn
			res, err := benchRival(ctx, all[i].lab, o)
			if err != nil {
				return out, fmt.Errorf("%s, run %d: %w", all[i].name, run+1, err)
			}
			out[i].Runs = append(out[i].Runs, res)
			fmt.Fprintf(tell, "%s, run %d: %.0f/s, p50 %s, p99 %s\n", all[i].name, run+1, res.PerSecond, ms(res.Latency.P50), ms(res.Latency.P99))
		}
	}
	return out, nil
}

func benchRival(ctx context.Context, lab hadooplab.Options, o load.Options) (_ load.Result, err error) {
	l, err := hadooplab.New(ctx, lab)
	if err != nil {
		return load.Result{}, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	at := func(service string) []string { return []string{fmt.Sprintf("localhost:%d", l.Port(service))} }
	o.Client, o.Master, o.Tracker = at("rm"), at("rm-scheduler"), at("rm-tracker")
	return load.Run(ctx, o)
}

// printRivals writes a table of medians, with minimum and maximum.
func printRivals(w io.Writer, all []rivalry, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(all)
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "| ResourceManager\t| granted/s\t| p50, ms\t| p90, ms\t| p99, ms\t| heartbeats/s\t| × the first\t|")
	fmt.Fprintln(t, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	var first float64
	for i, r := range all {
		if len(r.Runs) == 0 {
			continue
		}
		of := func(f func(load.Result) float64) []float64 {
			var all []float64
			for _, res := range r.Runs {
				all = append(all, f(res))
			}
			return all
		}
		millis := func(f func(load.Distribution) time.Duration) string {
			return spread(of(func(res load.Result) float64 { return float64(f(res.Latency).Microseconds()) / 1000 }), "%.1f")
		}
		grants := of(func(res load.Result) float64 { return res.PerSecond })
		median := walltime.Median(grants)
		if i == 0 {
			first = median
		}
		fmt.Fprintf(t, "| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %.1f\t|\n", r.Name, spread(grants, "%.0f"),
			millis(func(d load.Distribution) time.Duration { return d.P50 }),
			millis(func(d load.Distribution) time.Duration { return d.P90 }),
			millis(func(d load.Distribution) time.Duration { return d.P99 }),
			spread(of(func(res load.Result) float64 { return res.BeatsPerSecond }), "%.0f"), median/first)
	}
	return t.Flush()
}

// spread formats the median of several numbers with their minimum and maximum.
func spread(all []float64, format string) string {
	s := fmt.Sprintf(format, walltime.Median(all))
	if len(all) > 1 {
		s += fmt.Sprintf(" ("+format+"–"+format+")", slices.Min(all), slices.Max(all))
	}
	return s
}
