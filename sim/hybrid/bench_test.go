package hybrid

import (
	"testing"
	"time"
)

// BenchmarkSimulation shows how many tasks are simulated in a second of one core.
func BenchmarkSimulation(b *testing.B) {
	jobs := workload(b, 1000)
	for _, mode := range []string{"sparrow", "hawk", "eagle"} {
		b.Run(mode, func(b *testing.B) {
			tasks := 0
			for b.Loop() {
				r, err := Run(jobs, Options{Mode: mode, Workers: 450, Short: 5, Cutoff: 90 * time.Second})
				if err != nil {
					b.Fatal(err)
				}
				tasks += r.Tasks
			}
			b.ReportMetric(float64(tasks)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}
