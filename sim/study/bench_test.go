package study

import (
	"syscall"
	"testing"
	"time"

	"heddle/sim/hybrid"
)

// BenchmarkHybrid shows how many tasks are simulated in a second of the processor, with jobs in the shapes of traces.
func BenchmarkHybrid(b *testing.B) {
	for _, x := range []struct {
		name    string
		shape   *shape
		jobs    int
		workers int
	}{{"cloudera", &clouderaShape, 1500, 13_000}, {"facebook", &facebookShape, 15_000, 50_000}} {
		s := x.shape.setting(x.jobs)
		jobs := s.jobs(1)
		for _, mode := range []string{"eagle", "eirene"} {
			b.Run(x.name+"/"+mode, func(b *testing.B) {
				o := hybrid.Options{Mode: "eagle", Workers: x.workers, Short: s.short, Cutoff: s.cutoff}
				if mode == "eirene" {
					o.Eirene = hybrid.EireneStudy()
				}
				tasks, used := 0, processorTime(b)
				for b.Loop() {
					r, err := hybrid.Run(jobs, o)
					if err != nil {
						b.Fatal(err)
					}
					tasks += r.Tasks
				}
				b.ReportMetric(float64(tasks)/(processorTime(b)-used).Seconds(), "tasks/cpu-s")
			})
		}
	}
}

// processorTime is what the process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
