// Package scheduler decides which application gets which container on which node.
//
// It is pure: events in (a node joined, an application asks, a container ended, time passed), decisions out, with no I/O,
// clock, goroutine or randomness, so that the same events always give the same decisions. Its owner, package drive,
// enters events as they happen, in one goroutine, and takes the decisions from Schedule.
//
// Queues form the tree of rm/queue. Its leaves hold users, and users hold applications. The policies of YARN's schedulers
// (capacity, fair, FIFO) differ in the key by which children and applications are ordered, and in the limits that close
// them; the search for who is next is the same. Every order is a balanced tree whose elements know which classes of asks
// (distinct capabilities) are pending below them; what holds a queue, user or application back clears its classes, so that
// the next one to serve is found in a logarithmic descent per level. Such knowledge is an upper bound: it is lowered
// when a search finds that there is nothing, and raised by whatever loosens a limit.
//
// Placement is driven by events, not by heartbeats: a new ask is tried on all nodes at once, and resources that become
// free go to the application whose turn it is. Between two events nothing waits that could be placed.
//
// Handles are dense and reused, so that everything the hot path touches is an array; names are interned.
package scheduler
