package stage

import "time"

// Starter says when reduces may begin.
type Starter interface {
	// Due reports whether reduces may begin now. It is asked at every step. Once it has said so, it may change its mind; those
	// that run continue.
	Due(f *Facts) bool
}

// Limiter is a Starter that lets not all reduces begin while maps wait.
type Limiter interface {
	// Most returns how many reduces may run as long as maps wait. Those that run continue.
	Most(f *Facts) int
}

// Facts are the inputs of a Starter's decision.
type Facts struct {
	Now           time.Duration
	Maps, Reduces Stat
	Slots         int           // containers that the job has
	Released      int           // how often a slot has become free, since the beginning
	Available     int           // slots that will become free by themselves: those of maps, and of reduces when all maps are done
	Young         int           // tasks that wait or run, of which the Speculator can't tell yet whether they are slow; 0 without one
	Detection     time.Duration // how long a task must have run until it can
	Start         time.Duration // mean from a container's grant to its worker's first word; 0 if none has said one
	Hints         Hints
}

// Stat is where a stage is.
type Stat struct {
	Tasks, Waiting, Running, Done int
	Mean                          time.Duration // of what the attempts took that have finished; 0 if none has
	OutBytes                      int64         // of the tasks that are done
}

// Hints are a ResourceManager's knowledge of the whole cluster. A field is 0 if it hasn't said so.
type Hints struct {
	Frequency float64 // F_o: slots that are released per second
	Available float64 // A_o: slots that can be released
	Jobs      int     // K: jobs that run
	Bandwidth float64 // B: at which a reduce fetches, bytes per second
	Divides   bool    // the queue has slots for copies
	Copies    int     // containers that the job may have for these, besides those for tasks, if it does
}

// Speculator says which tasks are worth a copy, and where. Nodes have small numbers.
type Speculator interface {
	// Ended tells of an attempt that has finished, and how long that took.
	Ended(s Stage, node int, took time.Duration)
	// Round looks at all that runs, about once a second, and returns which copies to make. The round is good until it returns.
	Round(r *Round) []Copy
	// Worth reports whether a copy is still worth while, on a node or, if that is -1, on any.
	Worth(c Copy, now time.Duration, original Running, node int) bool
}

// Detector is a Speculator that knows how long a task must have run until it can tell whether it is slow.
type Detector interface{ Detects() time.Duration }

// Splitter says which attempts at maps are to stop early, so that slots without a task do the rest of their input.
type Splitter interface {
	// Split looks at all that runs, about once a second after a Speculator's Round. The round is good until it returns.
	Split(r *Round) []Cut
}

// Cut is a proposal of a Splitter.
type Cut struct {
	Of    AttemptID
	At    float64 // progress at which the attempt is to stop
	Parts int     // tasks that do the rest
	Avoid []int   // nodes that these are not for. They go there only if no others take them for seconds
}

// Round has the inputs of a Speculator.
type Round struct {
	Now     time.Duration
	Running []Running
	Slots   []int // by node: how many containers the job has had there at once at most
	Classes []int // by node, higher ones are faster: as another has decided, or nil
	Waiting [2]int
	// Copies is how many copies may run at once, if the ResourceManager has containers for these: then a Speculator proposes as many as it finds worth while.
	// 0: it has none, or doesn't say so.
	Copies int
}

// Running is an attempt that runs.
type Running struct {
	ID       AttemptID
	Node     int
	Begun    time.Duration
	Paused   time.Duration // of the time since then, in which its container was suspended. It continues now
	Progress float64       // as it was told: usually from 0 to 1
	Attempts int           // of its task that run
	Share    float64       // of the work of a task as it was submitted: less than 1 where others do a part of it
	Fixed    bool          // it can't be told to stop early
	Waits    bool          // a reduce that shuffles before all maps are done: how it gets on is up to them, not to its node
}

// Elapsed returns how long an attempt has been at work.
func (r *Running) Elapsed(now time.Duration) time.Duration { return max(0, now-r.Begun-r.Paused) }

// Copy is a proposal of a Speculator.
type Copy struct {
	Of       AttemptID
	MinClass int     // of nodes; for the Speculator's own use
	Value    float64 // seconds that it may win
}
