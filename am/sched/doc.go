// Package sched is a scheduler of short tasks: the application's side of Sparrow, Hawk and Eagle. It does no I/O, has no clock and starts
// no goroutine; random numbers come from the generator that the caller passes in. So the same code runs live and in simulations. Any number
// of schedulers work side by side, each for its own jobs and without the state of the cluster. Package nm/probe is the other side.
//
// # How a caller drives a Scheduler
//
// One goroutine at a time uses a Scheduler. Times are durations since any moment, and never go back. Nodes are dense numbers that the
// caller gives out. Slices that a method returns are good until the next call.
//
//	s := sched.New(sched.Config{Ratio: 2}, rng)
//	s.SetNodes(nodes)
//	id, probes := s.Submit(now, sched.Job{Tasks: 10})  // send a probe of the job to each of these nodes
//	more := s.Answered(id, node, accepted, bitmap)     // a node's answer to a probe; more are the probes of the next round
//	a := s.Ask(now, id, sched.Asking{Node: node})      // a node asks for a task: run a.Task there, or a no-op
//	r := s.Finished(now, id, a.Task, node)             // deliver the result if r.First; stop the other attempt if r.Stop
//	if r.Done {                                        // the job is over
//		cancel(s.Probed(id))                       // nodes that may still have probes of it
//		s.Forget(id)
//	}
//	probes = s.Failed(now, id, task, node)             // an attempt has failed and is to be repeated
//	probes = s.Lost(now, node)                         // a node is lost: what ran there runs again
//
// With Config.Early tasks are bound before there is room: nodes bid for them (Bid), and those with the least to do get them (batch sampling without late binding). There
// they share the processors.
//
// # What it promises
//
// Every task runs at least once, and Finished returns First for exactly one of its attempts. A job with tasks that wait always has probes
// out, or Starving lists it: nodes rejected them all, and the caller calls Reprobe after a pause.
//
// # Where probes go
//
// Batch sampling: a job of m tasks probes Ratio·m nodes, drawn at random among those that its constraint allows. A task with a constraint of its
// own has Ratio probes among its nodes; a node that asks gets any task that may run there, so that tasks share probes where
// their nodes overlap.
//
// With Config.Rounds (Eagle's succinct state sharing) nodes reject probes while they have long work. Their answers carry a bitmap of the nodes
// with long work. When all probes of a round are answered, as many as were rejected go to nodes that the newest bitmap shows free of
// long work, and after the last round to the short partition.
//
// Nodes may quote when a probe has its turn (Quoted). With Config.Decline probes that would wait for long are withdrawn, and others drawn.
//
// A node with room and no waiting probe reports that. It gets probes of jobs that wait elsewhere (Steal).
//
// # Clones
//
// If Config.CloneBelow is set and tasks wait for less than that in the mean, a node that asks after the last task was launched gets a clone of a task
// that runs, unless other probes wait there (Eirene's scheduler-aware cloning). Both conditions are ours: in Eirene's paper late probes come back
// only from idle nodes, and the second completion is ignored. Config.CloneBelow of math.MaxInt64 is that: no bound.
package sched
