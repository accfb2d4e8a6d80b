// Package probe is the queue of a node for short tasks: the worker side of Sparrow, Hawk and Eagle. It does no I/O, has no clock, draws no
// random numbers and starts no goroutine. So the same code runs live and in simulations.
//
// A scheduler sends a *probe*: a reservation for one task of a job, whichever that will be. When the probe's turn comes and there is room,
// the node asks the scheduler for a task (late binding), and gets one or a no-op. Times are durations since any moment, and never go
// back.
//
// # How a caller drives a Worker
//
// There is one Worker for a node, and it is used by one goroutine at a time. Jobs has the node's data on the jobs of its probes.
//
//	h := jobs.Add(probe.Job{Estimate: 80 * time.Millisecond, Left: 40, User: 3, Size: size})
//	switch w.Offer(h) {                    // a probe has arrived
//	case probe.Accepted: w.Add(h)
//	default:                               // tell the scheduler, with the newest bitmap of nodes with long work
//	}
//	for {                                  // after every call that may have made room or work
//		ask, ok := w.Next(now)
//		if !ok { break }
//		…                              // ask the job's scheduler for a task for ask.Slot
//	}
//	w.Bind(slot, probe.Task)          // its answer; jobs.SetLeft(h, left) with what it says of the job
//	w.Free(now, slot)                      // after the task's end, or at once after a no-op
//
// Bind returns the fate of the probe: a Task starts, a Clone starts, or there was None. Free gives the room back. A simulation lets time
// pass between a no-op and Free; a live node calls both. With Config.Sticky the probe of a task keeps its place, and asks again when the
// task has ended, until the job has no task left.
//
// SetEstimate says what is known of a job's tasks by now, as those that a run begins with may be of any length.
//
// A caller may let Next ask ahead of the room for a task (SetAhead), so that no slot is idle while its next task is on the way. Start says when such
// a task has its room.
//
// With early binding the caller calls Claim instead of Add and Next, and tells the scheduler of the node's Load with the ask.
//
// When a slot was freed and nothing waits, the node may steal: the caller draws other nodes by chance, and a node that is asked gives
// the probes that Steal removes. They are added here with Add.
//
// Cancel removes the probes of a job that is over, or whose scheduler is gone. Jobs.Sweep forgets jobs without probes.
//
// # Who is next
//
// Probes of the highest priority go first, strictly. Within a priority users get slot time in proportion to their weights (start-time fair
// queuing). Within a user probes go in the order of their arrival, or by Eagle's SRPT: that of the job with the least work left goes first, but a
// probe may be overtaken only until the estimates that passed it add up to Config.Bound times its own. Long tasks, which wait as probes in
// simulations only, aren't added: one that passes must fit what is left of the bound, and leaves it as it is.
//
// Quote says when a probe that came now would have its task, so that its scheduler may take, clone or decline.
//
// # How much runs
//
// A node runs short tasks within the amount that it was lent (Lend). If less is lent than is in use, running tasks continue, and nothing starts
// until they fit. The probe whose turn it is waits until it fits: no smaller one overtakes it for that reason.
package probe
