package stage

import (
	"fmt"
	"time"
)

// Stage is one half of a job.
type Stage uint8

// The stages.
const (
	Map Stage = iota
	Reduce
	stages = 2
)

func (s Stage) String() string {
	if s == Map {
		return "map"
	}
	return "reduce"
}

// TaskID names a task.
type TaskID struct {
	Stage Stage
	Index int
}

// AttemptID names an attempt at a task. Numbers count from 0.
type AttemptID struct {
	TaskID
	Number int
}

func (a AttemptID) String() string {
	return fmt.Sprintf("%v task %d, attempt %d", a.Stage, a.Index, a.Number)
}

// SlotID names a container that the job has, or had. The caller counts them from 0, in the order in which it tells of them.
type SlotID int

// RequestID names a request for a container. The Planner counts them from 1.
type RequestID int

// Job has the parameters of a Planner.
type Job struct {
	Maps, Reduces int
	// Hosts returns those that have the input of a map; nil if there are none in particular. It is called once for each map.
	Hosts func(index int) []string
	// ReduceMemory is the least size of a container for a reduce, in the unit of Granted.Memory. All do for maps.
	ReduceMemory int64
	// Tries is how often a task may fail, by stage.
	Tries [2]int
	// NodeFailures of tasks have a node avoided.
	NodeFailures int
	// Silence is how long a slot may say nothing; 0: as long as it likes.
	Silence time.Duration
	// PerTask: a slot does one task, of the stage that it was asked for, and ends, as in Hadoop's MapReduce. Otherwise slots do one
	// task after the other.
	PerTask bool
	// NodesServe: nodes serve the outputs of maps, except for those with Finished.Held: these outputs outlive their slots, and are lost
	// with their nodes (NodeLost). Slots that nothing waits for go at once then. Otherwise slots serve what they have made.
	NodesServe bool
	// Freezes suspends attempts for the sake of copies, where these find no slot, or have overtaken them (Freeze, Thaw).
	Freezes    bool
	Starter    Starter
	Speculator Speculator // nil: no copies
	Splitter   Splitter   // nil: no attempt is told to stop early
}

// AttemptError is the failure of an attempt.
type AttemptError struct {
	ID   AttemptID
	Host string
	Err  error
}

func (e *AttemptError) Error() string { return fmt.Sprintf("%v on %s: %v", e.ID, e.Host, e.Err) }

func (e *AttemptError) Unwrap() error { return e.Err }

// SilenceError is the failure of a slot that has said nothing for too long.
type SilenceError struct {
	Slot  SlotID
	Limit time.Duration
}

func (e *SilenceError) Error() string { return fmt.Sprintf("its worker said nothing for %v", e.Limit) }

// FetchError is the failure of a reduce that can't fetch from several hosts, from which others can.
type FetchError struct {
	Hosts int
	Last  string // host
	Err   error
}

func (e *FetchError) Error() string {
	return fmt.Sprintf("it can't fetch from %d hosts, from which others can; at last %s: %v", e.Hosts, e.Last, e.Err)
}

func (e *FetchError) Unwrap() error { return e.Err }
