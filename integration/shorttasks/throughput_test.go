package shorttasks

import (
	"sync"
	"testing"

	"heddle/am/pool"
	"heddle/am/probes"
	"heddle/yarn/wire"
)

// BenchmarkProbes is what a task that ends at once costs scheduler, node and executor together, all in this process.
func BenchmarkProbes(b *testing.B) {
	ns := newNodes(b, 2, 8)
	s := ns.scheduler(probes.Options{})
	var ended sync.WaitGroup
	ended.Add(b.N)
	tasks := make([]*pool.Task, b.N)
	for i := range tasks {
		tasks[i] = &pool.Task{Task: wire.Task{What: wire.Nothing}, Done: func(wire.Ended, error) { ended.Done() }}
	}
	j := s.Job()
	for len(tasks) > 0 {
		n := min(len(tasks), 1000)
		j.Submit(tasks[:n]...)
		tasks = tasks[n:]
	}
	ended.Wait()
}
