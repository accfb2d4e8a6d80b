package job

import (
	"fmt"
	"math"
	"strings"
	"time"

	"heddle/am/mapreduce/input"
	"heddle/yarn/records"
)

// Kind is the half of a job that a task belongs to.
type Kind string

const (
	Map    Kind = "map"
	Reduce Kind = "reduce"
)

// TaskID names an attempt at a task within an attempt at the application.
type TaskID struct {
	Kind    Kind
	Index   int
	Attempt int
}

func (t TaskID) String() string {
	return fmt.Sprintf("%s task %d, attempt %d", t.Kind, t.Index, t.Attempt)
}

// Name returns the attempt's name as Hadoop writes it.
func (t TaskID) Name(app records.ApplicationID) string {
	return fmt.Sprintf("attempt_%d_%04d_%c_%06d_%d", app.ClusterTimestamp, app.ID, t.Kind[0], t.Index, t.Attempt)
}

// Assignment is a task for a worker.
type Assignment struct {
	ID     TaskID
	Split  *input.Split // of map tasks
	Output string       // folder for the task's part of the job's output; "" for map tasks whose output is shuffled
}

// Check verifies that a job has such a task.
func (a *Assignment) Check(s *Spec) error {
	of, writes := s.Maps, s.Job.Reduces == 0
	if a.ID.Kind == Reduce {
		of, writes = s.Job.Reduces, true
	}
	if a.ID.Kind == Map && s.Divides() {
		of = MostMaps
	}
	bad := a.ID.Kind != Map && a.ID.Kind != Reduce || a.ID.Index < 0 || a.ID.Index >= of || a.ID.Attempt < 0 ||
		(a.ID.Kind == Map) != (a.Split != nil) || writes != (a.Output != "")
	if a.Split != nil {
		for _, p := range a.Split.Pieces {
			bad = bad || p.Offset < 0 || p.Length < 0 || p.Offset > math.MaxInt64-p.Length
		}
	}
	if bad {
		return fmt.Errorf("the ApplicationMaster assigns a task that the job doesn't have: %v", a.ID)
	}
	return nil
}

// MostMaps is how many map tasks a job may have that leave their input to others.
const MostMaps = 10_000_000

// Divides reports whether map tasks may leave a part of their input to others.
func (s *Spec) Divides() bool { return s.Job.Speculation == SpeculateSplit }

// How the conversation goes.
const (
	LongPoll    = 10 * time.Second       // how long a worker waits for an answer at most
	ReportEvery = 500 * time.Millisecond // how often a worker tells of its task; less often if there are many workers
)

// StatusRequest asks where a job is, as soon as that isn't Version any more. Attempts asks for all attempts, when the job has ended.
type StatusRequest struct {
	Version  int64
	Attempts bool
}

// Messages of workers and the user's side to the ApplicationMaster, and its answers.
type (
	NextRequest struct {
		Worker string // container
		Host   string
		URL    string // where it serves map outputs
	}
	NextResponse struct {
		Task *Assignment
		Exit bool // there is nothing more to do
	}
	ProgressReport struct {
		Worker   string
		ID       TaskID
		Progress float64
		Shuffles bool // a reduce that doesn't have all map outputs yet
		Stopped  *Stopped
		Counters Counters
		Status   string
	}
	// ProgressResponse comes when the next report is due, or as soon as the task is to do something else.
	ProgressResponse struct {
		Abandon bool
		Stop    *Stop // until a report has Stopped
	}
	// Stop tells a map task to stop early, so that Parts others do the rest of its split.
	Stop struct {
		Order int     // they count from 1
		At    float64 // progress at which it is to stop
		Parts int
	}
	// Stopped says where a map task stops: it does the lines of its split that begin before this. A report of a task that has stopped early
	// has it always.
	Stopped struct {
		Order  int // the latest that it has heard of
		Piece  int
		Offset int64 // in the piece's file
		Not    bool  // that order has no effect: nothing can be left to others that wasn't before
	}
	DoneReport struct {
		Worker   string
		ID       TaskID
		Counters Counters
		Error    string // of a task that failed
		Stderr   []string
		Output   string // file that is to become part of the job's output
		OutBytes int64  // size of what reduces are going to fetch
		// Shuffle is the port of the node's shuffle service, if that serves the output of a map task; 0: the worker does.
		Shuffle int
		Stopped *Stopped
	}
	FetchFailure struct {
		Worker  string
		Map     int
		Attempt int
		Gone    bool // its worker, or its node, says that it doesn't have it, or refuses it
		Error   string
	}
	FetchVerdict struct{ Again bool } // it is to be fetched from the same worker once more
	// MapOutput says where a map task's output is, or that it isn't there any more.
	MapOutput struct {
		Map     int
		Attempt int
		URL     string // of the worker that has made it
		Node    string `json:",omitempty"` // host:port of the shuffle service that serves it; "": the worker does
		Lost    bool
	}
	OutputsRequest struct {
		Worker string
		From   int
	}
	OutputsResponse struct {
		Events []MapOutput
		Next   int
		Maps   int // map tasks; more than at first if some have left a part of their input to others
	}
)

// Status is where a job is.
type Status struct {
	Maps, Reduces Stage
	Counters      Counters
	Failures      []Failure // of tasks, the latest last
	Version       int64     // another one says that something has changed
	Began         int64     // when the ApplicationMaster did, ms since 1970
	Ended         bool      // nothing will change any more
	Error         string    // of a job that has failed
	Attempts      []Attempt `json:",omitempty"` // if they were asked for
}

// Attempt describes an attempt at a task and its end. Times are in seconds since the ApplicationMaster began.
type Attempt struct {
	ID        TaskID
	Host      string
	Container string
	State     string // running, suspended, succeeded, failed, or cancelled
	Copy      bool   `json:",omitempty"` // another attempt ran when it began
	Begun     float64
	Fetched   float64 `json:",omitempty"` // when a reduce had all that it had to fetch
	Ended     float64 // until now, if it runs
	Progress  float64
	Stood     float64 `json:",omitempty"` // for how many seconds it was suspended
}

// Stage is where one half of a job is.
type Stage struct {
	Total, Running, Done, Failed int
	Progress                     float64 // from 0 to 1
}

// Failure is a task that failed, or was lost.
type Failure struct {
	Task   string
	Host   string
	Error  string
	Stderr []string // last lines of it
}

func (f Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: %s", f.Task, f.Host, f.Error)
	for _, line := range f.Stderr {
		b.WriteString("\n    " + line)
	}
	return b.String()
}

// Part returns the file that an attempt makes, which is to become part of the job's output; "" if it makes none.
func (a *Assignment) Part() string {
	if a.Output == "" {
		return ""
	}
	return fmt.Sprintf("%s/part-%05d", a.Output, a.ID.Index)
}

// String says in a line where a job is.
func (s Status) String() string {
	text := fmt.Sprintf("map %3.0f%% (%d of %d done, %d running)", 100*s.Maps.Progress, s.Maps.Done, s.Maps.Total,
		s.Maps.Running)
	if s.Reduces.Total > 0 {
		text += fmt.Sprintf("  reduce %3.0f%% (%d of %d done, %d running)", 100*s.Reduces.Progress, s.Reduces.Done,
			s.Reduces.Total, s.Reduces.Running)
	}
	return text
}

// Check verifies that events are what was asked for.
func (r *OutputsResponse) Check(from int, s *Spec) error {
	maps := s.Maps
	if s.Divides() && r.Maps > maps && r.Maps <= MostMaps {
		maps = r.Maps
	}
	if r.Next < from {
		return fmt.Errorf("the ApplicationMaster goes back from event %d to %d", from, r.Next)
	}
	for _, e := range r.Events {
		if e.Map < 0 || e.Map >= maps {
			return fmt.Errorf("the ApplicationMaster tells of map task %d, but there are %d", e.Map, maps)
		}
	}
	return nil
}
