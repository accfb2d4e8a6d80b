// Package eventlog is the door to the scheduler. A leader changes it by Recorder.Apply(*Event) and Recorder.Step(now) alone, and asks it by its read-only view.
// Each Event that is applied is written to a log as it is, and a Replay applies those of a log in the same way: to look into a cluster after the fact,
// and to compare a new version of the scheduler or of preemption with an old one's decisions.
//
// A log is text, one JSON object a line, so that other tools read it too. It is a row of sessions, one for each leadership: a Header with
// the configuration that queues are made from, and then the Events, in the order in which they were applied. The event
// of a call to Step holds the decisions that it returned, those of rounds of preemption among them. The drive.Driver is deterministic, so it
// needs nothing else to decide the same again.
//
// The last line of a log may be torn, as its writer may have been killed; everything before it counts. A full disk
// stops the record, not the cluster.
//
// A new event is an Op with its fields (event.go), a line in apply.go, and one in the replay's subjects.
package eventlog
