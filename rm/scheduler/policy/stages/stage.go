package stages

import (
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

// Stage is the kind of work of a container of a MapReduce application.
type Stage uint8

// Stages.
const (
	Map    Stage = iota
	Reduce       // from its shuffle on
	None         // anything else; also the ApplicationMaster
)

func (s Stage) String() string { return [...]string{"maps", "reduces", "others"}[s] }

// Other returns the other of the two stages.
func (s Stage) Other() Stage {
	if s == Map {
		return Reduce
	}
	return Map
}

// Type is the type of the applications that have stages.
const Type = "MAPREDUCE"

// Priorities of Hadoop's MapReduce (RMContainerAllocator).
const (
	rerunPriority         = 5
	reducePriority        = 10
	opportunisticPriority = 19
	mapPriority           = 20
)

// Of returns the stage of what an application asks for at a priority. Reruns are maps that have failed: they replace others.
func Of(a *leaf.App, priority int32) (s Stage, rerun bool) {
	if a.Type != Type {
		return None, false
	}
	switch priority {
	case rerunPriority:
		return Map, true
	case mapPriority, opportunisticPriority:
		return Map, false
	case reducePriority:
		return Reduce, false
	}
	return None, false
}

// Tally holds the facts of a stage of a job.
type Tally struct {
	Pending int64            // containers that are asked for
	Running int64            // containers
	Granted int64            // to tasks that had none before; reruns don't count
	Size    records.Resource // of a container, as last asked for

	reruns  int64 // of Pending
	took    float64
	samples int64
}

// Tasks returns how many there are, as far as they were asked for.
func (t *Tally) Tasks() int64 { return t.Granted + t.Pending - t.reruns }

// Left returns how many haven't ended.
func (t *Tally) Left() int64 { return t.Pending + t.Running }

// Progress returns which part of the tasks has ended; 0 if there are none.
func (t *Tally) Progress() float64 {
	if n := t.Tasks(); n > 0 {
		return max(0, 1-float64(t.Left())/float64(n))
	}
	return 0
}

// Known reports whether one has ended with its work done, so that Mean is known.
func (t *Tally) Known() bool { return t.samples > 0 }

// Mean returns how long those took that have ended with their work done, in seconds; 0 if none has.
func (t *Tally) Mean() float64 {
	if t.samples == 0 {
		return 0
	}
	return t.took / float64(t.samples)
}
