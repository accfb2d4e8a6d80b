package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"heddle/integration/load"
	"heddle/integration/load/tabs"
	"heddle/nm/proc"
)

// tabRun is a load with some tabs open.
type tabRun struct {
	tabs     int
	result   load.Result
	cpu      time.Duration // of the ResourceManager
	resident int64         // bytes of it at the end
	bytes    int64         // that the tabs have got
	took     time.Duration
}

// benchTabs loads a ResourceManager of this machine twice, without tabs and with n of them on its pages.
func benchTabs(ctx context.Context, o load.Options, base string, pid, n int) (all []tabRun, err error) {
	for _, n := range []int{0, n} {
		r := tabRun{tabs: n}
		open := tabs.Open(ctx, base, n)
		before, err := proc.Read(pid)
		if err != nil {
			return all, err
		}
		begun := time.Now()
		r.result, err = load.Run(ctx, o)
		r.took = time.Since(begun)
		after, e := proc.Read(pid)
		var failed error
		if r.bytes, failed = open.Close(); err == nil {
			err = failed
		}
		if err == nil {
			err = e
		}
		if err != nil {
			return all, err
		}
		r.cpu, r.resident = after.CPU-before.CPU, after.RSS
		all = append(all, r)
	}
	return all, nil
}

func printTabs(w io.Writer, all []tabRun) error {
	if _, err := fmt.Fprintf(w, "%6s %12s %12s %16s %14s %22s\n", "tabs", "grants/s", "p99", "RM's processors", "RM's memory", "bytes per tab, minute"); err != nil {
		return err
	}
	for i := range all {
		r := &all[i]
		each := int64(float64(r.bytes) / float64(max(r.tabs, 1)) / r.took.Minutes())
		if _, err := fmt.Fprintf(w, "%6d %12.0f %12s %16.3f %11d MB %22d\n", r.tabs, r.result.PerSecond, ms(r.result.Latency.P99), r.cpu.Seconds()/r.took.Seconds(), r.resident>>20, each); err != nil {
			return err
		}
	}
	return nil
}
