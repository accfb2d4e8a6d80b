package ladder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/integration/hadooplab"
	"heddle/internal/swapfile"
	"heddle/nm/cgroup"
	"heddle/nm/suspend"
)

// Options of a measurement.
type Options struct {
	Command   []string // starts a Child; the number of bytes, and Random, are its last arguments
	Kind      cgroup.Kind
	Processes []int
	Rounds    int // of the part that moves no memory
	Bytes     int64
	Random    int      // percentage of each page that can't be compressed
	Moves     int      // of all memory out and back, for each kind of swap
	Swap      []string // file, zram, zswap, or own: what the machine has
	Dir       string   // for the file
}

// Row is how long one thing took.
type Row struct {
	What           string
	Count          int
	P50, P99, Most time.Duration
}

// Result of a measurement.
type Result struct {
	Kind    cgroup.Kind
	Missing []string // what the machine can't do, with the reason
	Rows    []Row
	Kept    []Kept
}

// Kept is how much of what was paged out the machine keeps in memory, compressed.
type Kept struct {
	What    string
	P50, Of int64 // bytes
}

func (r *Result) add(what string, all []time.Duration) {
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	r.Rows = append(r.Rows, Row{what, len(all), Percentile(all, 50), Percentile(all, 99), all[len(all)-1]})
}

// Percentile of sorted values: the least that so many percent of them don't exceed.
func Percentile[T any](sorted []T, p int) T {
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// Run measures. Of a failure it returns what it has measured before.
func Run(ctx context.Context, o Options) (r *Result, err error) {
	dir, root, sweep, err := hadooplab.Guarded(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	defer func() { err = errors.Join(err, sweep()) }()
	log := logrus.New()
	log.Out = io.Discard
	d, err := cgroup.Detect(cgroup.Options{
		Kind: o.Kind, Root: root, ID: fmt.Sprintf("bench-%d", os.Getpid()), Total: cgroup.Limits{Shares: float64(runtime.NumCPU())}, First: true, Log: logrus.NewEntry(log),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	r = &Result{Kind: d.Kind()}
	for _, n := range o.Processes {
		if err := measureCPU(ctx, d, &o, n, r); err != nil {
			return r, fmt.Errorf("%d processes: %w", n, err)
		}
	}
	for _, kind := range o.Swap {
		if err := measureMemory(ctx, d, &o, kind, r); err != nil {
			return r, fmt.Errorf("swap of kind %s: %w", kind, err)
		}
	}
	r.Missing = d.Capabilities().Missing
	return r, nil
}

// measureCPU suspends and resumes processes that compute, and moves no memory.
func measureCPU(ctx context.Context, d cgroup.Handler, o *Options, n int, r *Result) (err error) {
	e, err := enclose(ctx, d, o, n, 1<<20*int64(n))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.end()) }()
	if _, err := e.tell(spin); err != nil {
		return err
	}
	l := suspend.NewLadder(e, &suspend.Node{})
	var down, up []time.Duration
	for range o.Rounds {
		took, err := set(ctx, l, suspend.Order{Level: suspend.Frozen}.Fill(nil, e.size))
		if err != nil {
			return err
		}
		down = append(down, took)
		if took, err = set(ctx, l, suspend.Order{Held: e.size}); err != nil {
			return err
		}
		up = append(up, took)
	}
	r.add(fmt.Sprintf("suspend, %d processes that compute", n), down)
	r.add(fmt.Sprintf("resume, %d processes", n), up)
	return nil
}

// set returns how long the part of an order took of which others wait: the CPU's, and the limits of memory of one that continues.
func set(ctx context.Context, l *suspend.Ladder, o suspend.Order) (time.Duration, error) {
	begun := time.Now()
	if err := l.Step(ctx, o); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	return took, l.Settle(ctx)
}

// SwapTo has the machine swap to a kind of area of so many bytes, until off is called: a file in a folder, the same with zswap before it, zram, or
// what the machine has of its own.
func SwapTo(kind, dir string, bytes int64) (off func() error, err error) {
	switch kind {
	case "own":
		return func() error { return nil }, nil
	case "zram":
		return swapfile.Zram(bytes, "lz4", dir)
	case "file", "zswap":
		file, err := swapfile.File(filepath.Join(dir, fmt.Sprintf("heddle-bench-%d.swap", os.Getpid())), bytes)
		if err != nil || kind == "file" {
			return file, err
		}
		zswap, err := swapfile.Zswap(dir)
		if err != nil {
			return nil, errors.Join(err, file())
		}
		return func() error { return errors.Join(file(), zswap()) }, nil
	}
	return nil, errors.New("it is not one of file, zram, zswap, own")
}

// measureMemory pages a process out to the footprint, and resumes it. Dirty memory was written since it was last paged out; clean
// memory was only read.
func measureMemory(ctx context.Context, d cgroup.Handler, o *Options, kind string, r *Result) (err error) {
	off, err := SwapTo(kind, o.Dir, 3*o.Bytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, off()) }()
	if !d.Capabilities().Reclaim {
		return fmt.Errorf("%v can't take memory back here", d.Kind())
	}
	e, err := enclose(ctx, d, o, 1, o.Bytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.end()) }()
	before, err := swapfile.Compressed()
	if err != nil {
		return err
	}
	took := map[string][]time.Duration{}
	var kept []int64
	l := suspend.NewLadder(e, &suspend.Node{})
	for range o.Moves {
		for _, state := range []string{"dirty", "clean"} {
			word := look
			if state == "dirty" {
				word = fill
			}
			want, err := e.tell(word)
			if err != nil {
				return err
			}
			begun := time.Now()
			if err := l.Set(ctx, suspend.Order{Level: suspend.Reclaimed}.Fill(nil, e.size)); err != nil {
				return err
			}
			took[state+" out"] = append(took[state+" out"], time.Since(begun))
			after, err := swapfile.Compressed()
			if err != nil {
				return err
			}
			kept = append(kept, after-before)
			if s := l.State(); s.Lags() {
				return fmt.Errorf("%d MB are still held: %s", s.Holds.MemoryMB(), s.Reason)
			}
			begun = time.Now()
			if err := l.Step(ctx, suspend.Order{Held: e.size}); err != nil {
				return err
			}
			took["back"] = append(took["back"], time.Since(begun))
			settled := make(chan error, 1)
			go func() { settled <- l.Settle(ctx) }() // what isn't read yet, as the process reads it, too
			got, err := e.tell(look)
			if err = errors.Join(err, <-settled); err != nil {
				return err
			}
			took["back and read"] = append(took["back and read"], time.Since(begun))
			if got != want {
				return fmt.Errorf("the memory has another content: %s instead of %s", got, want)
			}
		}
	}
	for _, what := range []string{"dirty out", "clean out", "back", "back and read"} {
		r.add(fmt.Sprintf("%d MB %s, swap: %s", o.Bytes>>20, what, kind), took[what])
	}
	slices.Sort(kept)
	r.Kept = append(r.Kept, Kept{What: kind, P50: Percentile(kept, 50), Of: o.Bytes})
	return nil
}

// Print writes a table in Markdown.
func (r *Result) Print(w io.Writer) error {
	fmt.Fprintf(w, "groups: %s\n\n| what | n | p50 | p99 | most |\n|---|---|---|---|---|\n", r.Kind)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	for _, x := range r.Rows {
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s |\n", x.What, x.Count, ms(x.P50), ms(x.P99), ms(x.Most))
	}
	if len(r.Kept) > 0 {
		fmt.Fprintln(w)
	}
	for _, x := range r.Kept {
		fmt.Fprintf(w, "swap: %s: of %d MB that are paged out the machine keeps %d MB in memory\n", x.What, x.Of>>20, x.P50>>20)
	}
	for _, m := range r.Missing {
		fmt.Fprintln(w, m)
	}
	_, err := fmt.Fprintln(w)
	return err
}
