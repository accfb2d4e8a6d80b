// Package staging decides which inputs of short tasks a node copies to its RAM disk while the tasks wait: Eirene's coordinated cold-data migration. It does
// no I/O, has no clock and starts no goroutine, so that the same code runs live and in simulations; random numbers come from the caller.
//
// # How a caller drives a Manager
//
// There is one Manager for a node, and one goroutine at a time uses it.
//
//	m := staging.New(staging.Config{Concurrent: 10, PerProbe: 2, Capacity: 1 << 30}, rng)
//	m.Probed(job, table)                 // a probe of a job was queued: PerProbe of its tasks are to be staged
//	staged = m.Staged(job, staged[:0])   // goes to the scheduler when the node asks it for a task
//	hit := m.Took(job, task, table)      // its answer: a task starts here, and one more is staged at once; hit: its input is in memory
//	m.Read(job, task)                    // the task has read its input; m.Ended(job, task) when it has ended
//	m.Released(job)                      // a probe of a job has left the queue, and nothing of it runs
//	for {                                // after each call
//		a, ok := m.Next()
//		if !ok { break }
//		…                            // a.Delete: remove a task's copy; else begin to make one, and later say:
//	}
//	m.Copied(job, task, err == nil)
//
// With Config.Named the caller draws: it calls m.Wanted(job, task, fast) after Probed and Took, for the tasks that its scheduler has named.
//
// A Table has the scheduler's data on a job's tasks, which come with the probe and with each answer: which ones wait, and how large their
// inputs are.
//
// # What is staged, and what goes
//
// Requests of probes wait in the migration queue (MQ), of which Concurrent copies are made at a time, to spare the disks. The next task of a job of
// which one runs here goes to the fast lane (MFL), which doesn't wait. A request whose task has started meanwhile is dropped.
//
// The RAM disk has a hard size. Copies that were read, or whose task started elsewhere, make room for others; if that isn't enough, there
// is no new copy. With the last probe of a job all of its copies go. A copy that fails, for whatever reason, isn't tried again: the task
// reads from HDFS.
package staging
