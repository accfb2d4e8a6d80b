// Package prefetch has the processor fetch memory that will be needed soon, without waiting for it. Simulations of many nodes wait for memory most of the time: each event is at
// another node, which no cache has.
//
// A plain read does so too, but what comes after it can only begin, not end, until the read has. So a few reads of what lies far apart hold up all that follows.
package prefetch
