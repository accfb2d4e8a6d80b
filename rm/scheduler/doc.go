// Package scheduler decides which application gets which container on which node.
//
// It is pure: events in (a node joined, an application asks, a container ended), decisions out, with no I/O, clock,
// goroutine or randomness, so that the same events always give the same decisions. Its owner calls it from one goroutine,
// enters events as they happen, and takes the decisions from Schedule.
//
// Placement is driven by events, not by heartbeats: a new ask is tried on all nodes at once, and resources that become
// free are offered to the waiting applications. Between two events nothing waits that could be placed.
//
// Handles are dense and reused, so that everything the hot path touches is an array; names are interned.
package scheduler
