package copies

import (
	"cmp"
	"math"
	"slices"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// Job is phases of tasks, of which each begins when the one before has ended. Times are in ms.
type Job struct {
	At        int64
	User      string
	Size      records.Resource // of a task
	Detection int64            // how long a task must have run until it is seen whether it is slow; 0: it makes no copies
	Phases    []Phase
}

// Phase is tasks of one kind.
type Phase struct {
	Tasks []Task
	// Usual is how long a task is expected to take that begins now; 0: as long as its copy does. Slow is how long one must take to be among the slowest quarter.
	Usual, Slow int64
	Least       int64 // that any task takes, by which β is fitted
}

// Task is how long the original and a copy take, and the nodes with its input.
type Task struct {
	Original, Copy int64
	Inputs         []int32 // nil: it may run anywhere
}

// Tasks returns those of all phases.
func (j *Job) Tasks() (n int) {
	for i := range j.Phases {
		n += len(j.Phases[i].Tasks)
	}
	return n
}

// Speculation is which tasks a job copies.
type Speculation string

// The algorithms that the text names, and the rule of its example.
const (
	Greedy Speculation = "greedy" // whatever has longer to run than a copy takes, longest first
	LATE   Speculation = "late"   // the same among the slowest quarter, for a tenth of the phase's tasks at a time, at least ten
	Mantri Speculation = "mantri" // what has more than twice as long to run, so that a copy saves work
	GRASS  Speculation = "grass"  // as mantri while tasks wait, and then greedy
)

// state is where a job is.
type state struct {
	*Job
	number int32
	phase  int
	tasks  []run
	next   int     // task that hasn't begun: the first one
	waits  int     // tasks that haven't begun
	left   int     // tasks that haven't ended
	young  int     // of those that run
	copied int     // that run now
	slow   []int32 // tasks that may be worth a copy, by when they end

	apps   [2]handle.App // for tasks and for copies; the same one unless there is a budget for copies
	asked  [2]int32      // that the scheduler has still to grant
	report scheduler.TaskReport
	told   bool
	dirty  bool
	ended  int64
	local  map[int32]int32 // tasks that wait, by the nodes with their input
	rows   []int32         // of local, to be told again
}

// run is where a task is: its original and its copy.
type run struct {
	containers [2]handle.Container
	ends       [2]int64
	began      int64
	begun      bool
	done       bool
	young      bool
}

const nothing handle.Container = -1

// begin begins a phase.
func (s *state) begin() {
	p := &s.Phases[s.phase]
	s.tasks = make([]run, len(p.Tasks))
	for i := range s.tasks {
		s.tasks[i].containers = [2]handle.Container{nothing, nothing}
	}
	s.next, s.waits, s.left, s.young, s.copied = 0, len(p.Tasks), len(p.Tasks), 0, 0
	s.slow = s.slow[:0]
	s.local = nil
	for i := range p.Tasks {
		for _, n := range p.Tasks[i].Inputs {
			if s.local == nil {
				s.local = map[int32]int32{}
			}
			if s.local[n]++; s.local[n] == 1 {
				s.rows = append(s.rows, n)
			}
		}
	}
	slices.Sort(s.rows)
}

// expects returns how long a copy is expected to take.
func (s *state) expects(task int32) int64 {
	p := &s.Phases[s.phase]
	if p.Usual > 0 {
		return p.Usual
	}
	return p.Tasks[task].Copy
}

// watch enters a task of which it is seen now how long it takes, if a copy could be worth it.
func (s *state) watch(task int32, how Speculation, now int64) {
	r, p := &s.tasks[task], &s.Phases[s.phase]
	left := r.ends[0] - now
	if left <= s.expects(task) || how == LATE && r.ends[0]-r.began < p.Slow || how == Mantri && left <= 2*s.expects(task) {
		return
	}
	at, _ := slices.BinarySearchFunc(s.slow, task, s.byEnd)
	s.slow = slices.Insert(s.slow, at, task)
}

func (s *state) byEnd(a, b int32) int {
	return cmp.Or(cmp.Compare(s.tasks[a].ends[0], s.tasks[b].ends[0]), cmp.Compare(b, a))
}

// unwatch removes a task that has ended or has a copy.
func (s *state) unwatch(task int32) {
	if at, found := slices.BinarySearchFunc(s.slow, task, s.byEnd); found {
		s.slow = slices.Delete(s.slow, at, at+1)
	}
}

// worth returns how many copies a job would make now. Those are of the last tasks of slow.
func (s *state) worth(how Speculation, now int64) int {
	times, most := int64(1), math.MaxInt
	switch {
	case how == LATE:
		most = max(0, max(10, len(s.tasks)/10)-s.copied)
	case how == Mantri, how == GRASS && s.waits > 0:
		times = 2
	}
	if usual := s.Phases[s.phase].Usual; usual > 0 {
		before, _ := slices.BinarySearchFunc(s.slow, now+times*usual, func(t int32, end int64) int {
			return cmp.Or(cmp.Compare(s.tasks[t].ends[0], end), -1) // those that end then are before
		})
		return min(most, len(s.slow)-before)
	}
	n := 0
	for _, t := range s.slow {
		if s.tasks[t].ends[0]-now > times*s.expects(t) {
			n++
		}
	}
	return min(most, n)
}

// straggler returns the task with most left that is worth a copy; −1 if there is none.
func (s *state) straggler(how Speculation, now int64) int32 {
	if s.worth(how, now) == 0 {
		return -1
	}
	for i := len(s.slow) - 1; ; i-- {
		if t := s.slow[i]; s.tasks[t].ends[0]-now > s.expects(t) {
			return t
		}
	}
}

// fresh returns a task that hasn't begun, if there is one with its input on the node; −1 if all have begun.
func (s *state) fresh(node int32) int32 {
	for s.next < len(s.tasks) && s.tasks[s.next].begun {
		s.next++
	}
	if s.next == len(s.tasks) {
		return -1
	}
	if s.local[node] > 0 {
		for i := s.next; i < len(s.tasks); i++ {
			if !s.tasks[i].begun && slices.Contains(s.Phases[s.phase].Tasks[i].Inputs, node) {
				return int32(i)
			}
		}
	}
	return int32(s.next)
}
