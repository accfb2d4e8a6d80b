// Package eventlog records what a drive.Driver is told and what it decides, and replays that: the way to look into a cluster
// after the fact, and to hold a new version of the scheduler or of preemption against an old one's decisions.
//
// A log is text, one JSON object a line, so that other tools read it too. It is a row of sessions, one for each leadership:
// a Header with the configuration that queues are made from, and then Records, one for each event, in the order in which the
// Driver was told. The record of a call to Step holds the decisions that it returned, those of rounds of preemption among
// them. As the Driver is deterministic, nothing else is needed to have it decide the same again.
//
// The last line of a log may be torn, as its writer may have been killed; everything before it counts.
package eventlog
