// Package stage is the logic of an ApplicationMaster whose job has two stages: maps, and reduces that need all of the maps'
// outputs. It decides which containers are wanted, which task a container gets, and what becomes of failures. It does no I/O,
// has no clock and starts no goroutine, so that the same code runs live and in simulations.
//
// A Planner takes events and returns actions:
//
//	actions := m.Step(now, stage.Granted{Request: r, Slot: 7, Host: "node-3", Memory: 1024})
//
// The same events at the same times give the same actions. Time is counted from any moment, and never goes back: an event
// that claims to be earlier than the last one is taken as simultaneous with it.
//
// # Words
//
// A slot is a container that the job has. It does one task after the other or, with Job.PerTask, one alone. Its worker says Ready when it
// wants a task, and gets it by a Launch; it says Finished or Failed when it is done with it. A task may have several attempts at once: one
// that was launched because no other ran, and copies of it. The first that finishes wins; the others are cancelled, and their later
// messages are ignored.
//
// The output of a map is on the slot that made it, as long as reduces may need it. It is lost with its slot, and made again. A slot
// that is only held for its outputs goes when all reduces have fetched them. With Job.NodesServe outputs are on nodes instead, and lost with
// these; a slot goes when nothing waits for it.
//
// # Policies
//
// Three decisions are policies: a Starter says when reduces may begin, a Speculator which tasks are worth a copy and where, and a Splitter
// which maps stop early, so that new tasks do the rest of their input.
// Packages am/slowstart and am/speculate have them.
package stage
