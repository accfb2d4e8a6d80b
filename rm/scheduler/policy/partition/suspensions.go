package partition

import "time"

// Refusal is why a long task isn't suspended.
type Refusal uint8

// Refusals.
const (
	Granted     Refusal = iota
	NotLong             // no long task runs there
	Another             // another long task is suspended on the node
	TooOften            // the task was suspended as often as it may be
	NobodyWaits         // no short probe waits on the node
)

func (r Refusal) String() string {
	return [...]string{
		"granted", "no long task runs there", "another long task is suspended there", "it was suspended as often as it may be", "no short task waits there",
	}[r]
}

// Suspensions keeps the limits of opportunistic preemption, for nodes and tasks of any kind of id.
type Suspensions[Node, Task comparable] struct {
	dice  Dice
	nodes map[Node]suspension[Task]
	times map[Task]int
}

type suspension[Task comparable] struct {
	task  Task
	until time.Duration
}

// NewSuspensions returns the limits of Dice, with nothing suspended.
func NewSuspensions[Node, Task comparable](d Dice) *Suspensions[Node, Task] {
	return &Suspensions[Node, Task]{dice: d, nodes: map[Node]suspension[Task]{}, times: map[Task]int{}}
}

// Request asks whether the long task that runs on a node may be suspended now, as so many short probes wait there. If it is granted, the
// suspension counts.
func (s *Suspensions[Node, Task]) Request(now time.Duration, n Node, t Task, long bool, probes int) Refusal {
	switch _, other := s.nodes[n]; {
	case !long:
		return NotLong
	case other:
		return Another
	case s.times[t] >= s.dice.Times:
		return TooOften
	case probes <= 0:
		return NobodyWaits
	}
	s.nodes[n] = suspension[Task]{t, now + s.dice.Timeout}
	s.times[t]++
	return Granted
}

// Due reports whether the task that is suspended on a node has to resume as soon as the short one that runs there has ended.
func (s *Suspensions[Node, Task]) Due(now time.Duration, n Node) (Task, bool) {
	x, ok := s.nodes[n]
	return x.task, ok && now >= x.until
}

// Resumed says that nothing is suspended on a node any more.
func (s *Suspensions[Node, Task]) Resumed(n Node) { delete(s.nodes, n) }

// Ended forgets a task.
func (s *Suspensions[Node, Task]) Ended(t Task) {
	delete(s.times, t)
	for n, x := range s.nodes {
		if x.task == t {
			delete(s.nodes, n)
		}
	}
}
