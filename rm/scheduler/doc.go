// Package scheduler decides which application gets which container on which node.
//
// It is pure: events in (a node joined, an application asks, a container ended, time passed), decisions out, with no I/O,
// clock, goroutine or randomness, so that the same events always give the same decisions. Its owner, package drive,
// enters events as they happen, in one goroutine, and takes the decisions from Schedule.
//
// Scheduler takes events, and its View answers questions; what concerns one node or one container alone is said to the core that has it. Package core has the running state and the search for the next request and its node; the packages below policy
// have the differences between YARN's schedulers (capacity, fair, FIFO): limits, orders of queues and applications, activation,
// reservations. Package explain says what holds a request. Here are the events that concern
// several partitions, and views of queues and applications for people and for preemption.
//
// Queues form the tree of rm/queue. Its leaves hold users, and users hold applications. Every order is a balanced tree (package order)
// whose elements know which classes of asks (package class) are pending below them. A limit that holds a queue, user or application back
// clears its classes, so a search finds the next one to serve in a logarithmic descent per level. The classes are an upper bound: a search
// that finds nothing lowers it, and an event that loosens a limit raises it.
//
// Allocation is driven by events, not by heartbeats: a new ask is tried on all nodes at once, and resources that become
// free go to the application whose turn it is. Between two events nothing waits that could be placed.
package scheduler
