package shorttasks

import (
	"fmt"
	"io"
	"time"
)

// Print writes what was measured with some options.
func (r Report) Print(w io.Writer, o Options) (err error) {
	line := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format+"\n", args...)
		}
	}
	cpu := func(c CPU) string {
		us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
		return fmt.Sprintf("processor time for each: client %.1f µs, nodes %.1f µs, executors %.1f µs", us(c.Client), us(c.Nodes), us(c.Executors))
	}
	jobs := func(j Jobs) string {
		return fmt.Sprintf("%d jobs, p50 %.1f ms, p99 %.1f ms; without any delay %.1f and %.1f ms", j.Jobs, j.P50, j.P99, j.IdealP50, j.IdealP99)
	}
	line("%d nodes of %d slots", r.Nodes, r.Slots)
	for _, x := range []struct {
		name, part string
		way        Way
	}{{"pool of executors", partPool, r.Pool}, {"probes", partProbes, r.Probes}} {
		if !o.does(x.part) {
			continue
		}
		line("%s:", x.name)
		line("  tasks that end at once: %.0f/s; %s", x.way.TasksPerSecond, cpu(x.way.CPU))
		line("  jobs of %d tasks of %v, %.1f a second, load %.0f %%: %s; %s", o.Short.Tasks, o.Short.Task, x.way.Jobs.PerSecond, 100*o.Short.Share, jobs(x.way.Jobs), cpu(x.way.JobCPU))
	}
	if o.does(partProcesses) {
		f := r.Forked
		line("jobs of %d processes of %v, %.1f a second, load %.0f %%; one takes %.1f ms:", o.Forked.Tasks, o.Forked.Task, f.Probes.PerSecond, 100*o.Forked.Share, f.Probes.Task)
		line("  omniscient: %s; %s", jobs(f.Omniscient), cpu(f.OmniscientCPU))
		line("  probes: %s; %s", jobs(f.Probes), cpu(f.CPU))
		line("  the long task got %.1f %% of its work done beside the omniscient placement, %.1f %% beside probes", 100*f.LongOmniscient/f.LongAlone, 100*f.LongProbes/f.LongAlone)
	}
	if b := r.Bindings; b != nil {
		line("jobs of %d processes that work for %v, %.1f a second, load %.0f %%, a vcore for each processor; one takes %.1f ms:", o.Short.Tasks, o.Working.Task, b.Late.PerSecond, 100*o.Working.Share, b.Late.Task)
		line("  late binding: %s; %s", jobs(b.Late), cpu(b.CPU.Late))
		line("  early binding: %s; %s", jobs(b.Early), cpu(b.CPU.Early))
	}
	for _, x := range r.Rivals {
		line("%s %s, as many processes and slots: %.0f/s; %d jobs at the same times, p50 %.1f ms, p99 %.1f ms",
			x.Name, x.Version, x.TasksPerSecond, x.Jobs, x.P50, x.P99)
	}
	return err
}
