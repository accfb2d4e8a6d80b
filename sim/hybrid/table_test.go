package hybrid

import "testing"

// TestTable compares what a worker knows of a job's tasks with a list of them.
func TestTable(t *testing.T) {
	const tasks = 150
	x := newTable(tasks)
	var launched [tasks]bool
	for step := range int32(tasks + 1) {
		for task := range int32(tasks) {
			next := task
			for next < tasks && launched[next] {
				next++
			}
			if x.Waits(task) == launched[task] || x.Next(task) != next {
				t.Fatalf("after %d launches task %d waits: %t; the next one is %d, not %d", step, task, x.Waits(task), x.Next(task), next)
			}
		}
		if step < tasks {
			at := step * 7 % tasks
			x.launched(at)
			launched[at] = true
		}
	}
}
