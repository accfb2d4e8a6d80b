// Package course is the part of the ledger that records how an application gets on, for its receipt: which limits held its requests, and when, and
// what its ApplicationMaster tells of its tasks. It is pure.
package course

import (
	"slices"

	"heddle/rm/ledger/ledgerpb"
)

// Bounds of what is remembered of one application: the first ones, and as many of the newest, as its end depends on these.
const (
	MaxWaits = 100
	MaxTasks = 200
)

// Wait says that from a time on (ms since 1970) a limit holds the application's most urgent request of a priority.
type Wait struct {
	At       int64
	Priority int32
	Limit    string // explain.Limit; "": none of the priority waits any more
	Begins   bool   // none waited before
}

// Outcome says how a try of a task ended.
type Outcome int32

// Outcomes of tries.
const (
	Succeeded Outcome = iota
	Failed
	Ended // as another try was faster, or its slot was needed
)

// Task is a try of a task in a container, as its ApplicationMaster tells. Times are in ms since 1970.
type Task struct {
	Attempt   int32 // of the application
	Container int64 // records.ContainerID.ID
	Index     int32
	Outcome   Outcome
	Reduce    bool
	Copy      bool // another try of the task ran already
	Remote    bool // its input was on other hosts
	From, To  int64
	Fetched   int64 // of a reduce: when it had its input; 0: it never had
}

// Course holds the notes of one application. It never changes: With returns another one. nil has none.
type Course struct {
	Waits []Wait // in the order of time
	// LostFrom and LostTo are the times of the first and the last wait that is no longer known, between the first and the newest ones; 0: none is missing.
	LostFrom, LostTo int64
	Tasks            []Task // in the order in which they were told
	TasksLost        int64  // between the first and the newest ones
}

// With returns the course with what a command notes at a time.
func (c *Course) With(now int64, n *ledgerpb.CourseNoted) *Course {
	var out Course
	if c != nil {
		out = *c
	}
	if len(n.GetWaits()) > 0 {
		out.Waits = slices.Clone(out.Waits)
		for _, w := range n.GetWaits() {
			out.wait(Wait{now, w.GetPriority(), w.GetLimit(), w.GetBegins()})
		}
	}
	out.tell(n.GetTasks())
	out.TasksLost += n.GetTasksLost()
	return &out
}

func (c *Course) wait(w Wait) {
	if len(c.Waits) >= MaxWaits {
		lost := c.Waits[MaxWaits/2]
		if c.LostFrom == 0 {
			c.LostFrom = lost.At
		}
		c.LostTo = lost.At
		c.Waits = slices.Delete(c.Waits, MaxWaits/2, MaxWaits/2+1)
	}
	c.Waits = append(c.Waits, w)
}

// tell adds tasks to a new list. Of a list that is too long the first half and the newest half stay.
func (c *Course) tell(more []*ledgerpb.CourseTask) {
	if len(more) == 0 {
		return
	}
	lost := max(len(c.Tasks)+len(more)-MaxTasks, 0)
	c.TasksLost += int64(lost)
	old := c.Tasks
	c.Tasks = make([]Task, 0, len(old)+len(more)-lost)
	stay := min(len(old), MaxTasks/2)
	if lost == 0 {
		stay = len(old)
	}
	c.Tasks = append(c.Tasks, old[:stay]...)
	if from := stay + lost; lost > 0 && from < len(old) {
		c.Tasks = append(c.Tasks, old[from:]...)
	}
	for i := range more {
		if at := len(old) + i; lost == 0 || at < MaxTasks/2 || at >= MaxTasks/2+lost {
			c.Tasks = append(c.Tasks, taskOf(more[i]))
		}
	}
}

// Held returns the last limit noted of each priority that waits.
func (c *Course) Held() map[int32]string {
	if c == nil {
		return nil
	}
	held := map[int32]string{}
	for _, w := range c.Waits {
		if held[w.Priority] = w.Limit; w.Limit == "" {
			delete(held, w.Priority)
		}
	}
	return held
}

// Record returns the course for a snapshot.
func (c *Course) Record() *ledgerpb.Course {
	if c == nil {
		return nil
	}
	r := &ledgerpb.Course{WaitsLostFrom: c.LostFrom, WaitsLostTo: c.LostTo, TasksLost: c.TasksLost}
	for _, w := range c.Waits {
		r.Waits = append(r.Waits, &ledgerpb.CourseWait{At: w.At, Priority: w.Priority, Limit: w.Limit, Begins: w.Begins})
	}
	for i := range c.Tasks {
		r.Tasks = append(r.Tasks, c.Tasks[i].Record())
	}
	return r
}

// Read returns the course of a snapshot's record.
func Read(r *ledgerpb.Course) *Course {
	if r == nil {
		return nil
	}
	c := &Course{LostFrom: r.GetWaitsLostFrom(), LostTo: r.GetWaitsLostTo(), TasksLost: r.GetTasksLost()}
	for _, w := range r.GetWaits() {
		c.Waits = append(c.Waits, Wait{w.GetAt(), w.GetPriority(), w.GetLimit(), w.GetBegins()})
	}
	for _, t := range r.GetTasks() {
		c.Tasks = append(c.Tasks, taskOf(t))
	}
	return c
}

// Record returns a task for a snapshot.
func (t *Task) Record() *ledgerpb.CourseTask {
	r := &ledgerpb.CourseTask{}
	t.Fill(r)
	return r
}

// Fill writes a task into an empty record.
func (t *Task) Fill(r *ledgerpb.CourseTask) {
	r.Attempt, r.Container, r.Index, r.Outcome = t.Attempt, t.Container, t.Index, int32(t.Outcome)
	r.Reduce, r.Copy, r.Remote = t.Reduce, t.Copy, t.Remote
	r.From, r.To, r.Fetched = t.From, t.To, t.Fetched
}

func taskOf(r *ledgerpb.CourseTask) Task {
	return Task{
		Attempt: r.GetAttempt(), Container: r.GetContainer(), Index: r.GetIndex(), Outcome: Outcome(r.GetOutcome()), Reduce: r.GetReduce(), Copy: r.GetCopy(), Remote: r.GetRemote(),
		From: r.GetFrom(), To: r.GetTo(), Fetched: r.GetFetched(),
	}
}
