// Package report answers questions from the leader's soft state: what applications and queues have pending and reserved, why requests wait,
// what would hold a new one, and whether a node could serve a request. Questions by the ids of applications, nodes and queues go in, from
// package view and REST. Answers of the scheduler come out, with its handles turned back into ids. Nothing changes by asking.
//
// A leader has one Reports. Questions wait for their turn in the leader's loop, and those about many things are answered in slices, so that
// others get in between.
package report
