package sched

import (
	"slices"
	"time"
)

// Kind tells whether an answer has a task.
type Kind uint8

// Kinds of answers.
const (
	None  Kind = iota // no task is left for it
	Task              // a task that hasn't run, or is to be repeated
	Clone             // a copy of a task that runs
)

// Answer answers a node's ask.
type Answer struct {
	Kind Kind
	Task int32
	Left int32 // tasks of the job that wait; if none does, the node may drop its probes
	// Waited is the time from the task's submission until now; 0 for clones, and for tasks that are repeated.
	Waited time.Duration
}

// Asking is a node's ask for a task.
type Asking struct {
	Node   Node
	Staged []int32 // tasks whose input the node has in memory
	Others int     // other probes that wait at the node
	// Load is the work bound to the node, as a part of its processors; a task adds Step to it. Both are for Bid.
	Load, Step float64
}

// Ask answers a node that has room for a task of a job. A task whose input the node has in memory goes first, drawn by chance; else tasks go
// in their order.
func (s *Scheduler) Ask(now time.Duration, id ID, a Asking) Answer {
	j := s.find(id)
	if j == nil {
		return Answer{}
	}
	if j.left == 0 {
		if t := s.toClone(j, a); t >= 0 {
			j.tasks[t].clone = a.Node
			return Answer{Kind: Clone, Task: t}
		}
		return Answer{}
	}
	t := int32(-1)
	if len(a.Staged) > 0 {
		t = s.staged(j, a, func(x task) bool { return x.state == waiting })
	}
	if t < 0 {
		t = j.start(a.Node)
	}
	if t < 0 {
		j.out = max(0, j.out-1)
		return Answer{Left: j.left}
	}
	if !s.cfg.Sticky {
		j.out = max(0, j.out-1)
	}
	x := &j.tasks[t]
	x.state, x.first = running, a.Node
	if j.left--; j.left == 0 {
		j.out = 0 // nodes that hear of it may drop their probes, so that a task which fails later can't count on them
	}
	var waited time.Duration
	if !x.again {
		x.again = true
		waited = j.waits.leave(now, t)
		s.wait += (float64(waited) - s.wait) / meanOf
	}
	return Answer{Kind: Task, Task: t, Left: j.left, Waited: waited}
}

// meanOf is over how many tasks, or quotes, the means of waiting times are.
const meanOf = 64

// staged draws one of the tasks that a node has the input of and that may be launched there; −1: there is none.
func (s *Scheduler) staged(j *job, a Asking, launch func(task) bool) int32 {
	found, n := int32(-1), 0
	for _, t := range a.Staged {
		if t >= 0 && int(t) < len(j.tasks) && launch(j.tasks[t]) && j.may(t, a.Node) {
			if n++; s.rng.IntN(n) == 0 {
				found = t
			}
		}
	}
	return found
}

// start returns the next waiting task that may run on a node, −1: there is none.
func (j *job) start(n Node) int32 {
	for i := len(j.retry) - 1; i >= 0; i-- {
		t := j.retry[i]
		switch {
		case j.tasks[t].state != waiting:
			j.retry = append(j.retry[:i], j.retry[i+1:]...)
		case j.may(t, n):
			j.retry = append(j.retry[:i], j.retry[i+1:]...)
			return t
		}
	}
	if list := j.byNode[n]; len(list) > 0 {
		i := 0
		for i < len(list) && j.tasks[list[i]].state != waiting {
			i++
		}
		j.byNode[n] = list[i:]
		if i < len(list) {
			return list[i]
		}
	}
	if j.allowed != nil && !j.allowed[n] {
		return -1
	}
	for int(j.next) < len(j.tasks) && (j.tasks[j.next].state != waiting || j.nodesOf(j.next) != nil) {
		j.next++
	}
	if int(j.next) == len(j.tasks) {
		return -1
	}
	return j.next
}

// toClone returns a task of which a node gets a clone; −1: none.
func (s *Scheduler) toClone(j *job, a Asking) int32 {
	if s.cfg.CloneBelow <= 0 || j.alone || a.Others > 0 || max(s.wait, j.quoted) >= float64(s.cfg.CloneBelow) {
		return -1
	}
	fit := func(x task) bool { return x.state == running && x.clone == nowhere && x.first != a.Node }
	if t := s.staged(j, a, fit); t >= 0 {
		return t
	}
	for ; int(j.uncloned) < len(j.tasks); j.uncloned++ {
		if x := j.tasks[j.uncloned]; x.state == running && x.clone == nowhere {
			break
		}
	}
	for t := j.uncloned; int(t) < len(j.tasks) && t < j.uncloned+looked; t++ {
		if fit(j.tasks[t]) && j.may(t, a.Node) {
			return t
		}
	}
	return -1
}

// looked is how many tasks are looked at for one that may be cloned.
const looked = 64

// Result tells the caller how to act on the end of an attempt.
type Result struct {
	First bool // it is the task's first: its result is delivered
	Done  bool // it was the last task of the job that wasn't done
	Stop  bool // another attempt runs, At a node, and isn't needed
	At    Node
}

// Finished says that a node has ended a task, or failed at it for the last time. The zero Result means that it isn't waited for.
func (s *Scheduler) Finished(id ID, t int32, at Node) (r Result) {
	j := s.find(id)
	if j == nil || t < 0 || int(t) >= len(j.tasks) || j.tasks[t].state == done {
		return Result{}
	}
	x := &j.tasks[t]
	if x.state == waiting { // it was given up, and is late
		j.left--
		if !x.again {
			j.waits.leave(0, t)
		}
	}
	for _, n := range [...]Node{x.first, x.clone} {
		if n != nowhere && n != at {
			r.Stop, r.At = true, n
		}
	}
	*x = task{state: done, first: nowhere, clone: nowhere}
	j.ended++
	r.First, r.Done = true, int(j.ended) == len(j.tasks)
	return r
}

// Failed says that an attempt has failed and is to be repeated, or never started. It returns the nodes to which probes for it go, if no other
// attempt runs.
func (s *Scheduler) Failed(id ID, t int32, at Node) []Node {
	j := s.find(id)
	if j == nil || t < 0 || int(t) >= len(j.tasks) || !j.gone(t, at) {
		return nil
	}
	s.draws = s.draws[:0]
	s.drawTask(j, t, s.probes(1))
	return s.sent(j, s.draws)
}

// gone drops the attempt of a task at a node. It reports whether the task waits for that.
func (j *job) gone(t int32, at Node) bool {
	x := &j.tasks[t]
	switch {
	case x.state != running:
		return false
	case x.clone == at:
		x.clone = nowhere
		j.uncloned = min(j.uncloned, t)
		return false
	case x.first != at:
		return false
	case x.clone != nowhere:
		x.first, x.clone = x.clone, nowhere
		j.uncloned = min(j.uncloned, t)
		return false
	}
	x.state, x.first = waiting, nowhere
	j.left++
	j.retry = append(j.retry, t)
	return true
}

// Lost says that a node is lost, with its probes and tasks; SetNodes is called before. It returns the probes that go out instead. Probes that the node
// hasn't answered are to be answered with a rejection.
func (s *Scheduler) Lost(at Node) []Probe {
	s.out = s.out[:0]
	for i := range s.jobs {
		j := &s.jobs[i]
		if !j.live {
			continue
		}
		again := 0
		kept := j.probed[:0]
		for _, n := range j.probed {
			if n == at {
				again++
			} else {
				kept = append(kept, n)
			}
		}
		j.probed = kept
		j.out = max(0, j.out-int32(again))
		s.draws = s.draws[:0]
		for t := range j.tasks {
			if j.gone(int32(t), at) || j.tasks[t].state == waiting && slices.Contains(j.nodesOf(int32(t)), at) {
				s.drawTask(j, int32(t), s.probes(1))
			}
		}
		if j.left > 0 && again > 0 && j.where == nil {
			s.drawTask(j, 0, min(again, s.probes(int(j.left))))
		}
		id := ID(j.generation)<<32 | ID(i)
		for _, n := range s.sent(j, s.draws) {
			s.out = append(s.out, Probe{id, n})
		}
	}
	return s.out
}
