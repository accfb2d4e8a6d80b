package scheduler

import (
	"math"

	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/survey"
)

// NoteMaster says that a container of an application runs its ApplicationMaster. That counts in the partition that it was asked in, also on a node that another
// partition shares, until its node changes its label.
func (s *Scheduler) NoteMaster(h AppHandle, c ContainerHandle) { s.running[h] = c }

// NoteOutputs says how many maps of an application have outputs by now, and how many bytes these have together, as far as nodes tell.
func (s *Scheduler) NoteOutputs(h AppHandle, maps, bytes int64) {
	for c := range s.coresOf(h) {
		c.NoteFacts(h, func(f *leaf.Facts) { f.Outputs, f.Maps, f.Bytes = true, maps, bytes })
	}
}

// TaskReport is an ApplicationMaster's report of its tasks.
type TaskReport = leaf.TaskReport

// NoteTasks says what an ApplicationMaster tells of its tasks.
func (s *Scheduler) NoteTasks(h AppHandle, r TaskReport) {
	for c := range s.coresOf(h) {
		c.NoteFacts(h, func(f *leaf.Facts) { f.Tasks = &r })
	}
}

// NoteSpeed says how fast the nodes of a host run tasks of a type, compared with others: a task that takes t at speed 1 takes t/speed. 0:
// unknown.
func (s *Scheduler) NoteSpeed(host string, t survey.Task, speed float64) {
	for i := range s.parts {
		s.parts[i].core.Survey.NoteSpeed(host, t, speed)
	}
}

// NoteBandwidth says how fast a reduce fetches outputs of maps, in bytes per second, as nodes have measured it.
func (s *Scheduler) NoteBandwidth(rate float64) {
	for i := range s.parts {
		s.parts[i].due = true
		s.parts[i].core.NoteBandwidth(rate)
	}
}

// NoteStaged says for how many of an application's maps that wait a node has the input in memory, as far as nodes tell. Requests that name the node's host are served there
// before others that they name.
func (s *Scheduler) NoteStaged(h AppHandle, n NodeHandle, maps int64) {
	s.at(n).Staged.Set(h, n, int32(min(maps, math.MaxInt32)))
}

// NameApp says how constraints of others name an application: by its id, and by the tags that it was submitted with.
func (s *Scheduler) NameApp(h AppHandle, id string, tags []string) { s.cfg.Placing.Name(h, id, tags) }

// SetTags says which allocation tags a container has that was restored. Those of containers that are granted are known.
func (s *Scheduler) SetTags(h ContainerHandle, tags []string) {
	c := &s.of(h).Containers[h]
	s.cfg.Placing.Placed(h, c.App, c.Node, tags)
}

// SetAttributes says which attributes a host has, by their names with prefixes.
func (s *Scheduler) SetAttributes(host string, to map[string]string) {
	s.cfg.Placing.SetAttributes(host, to)
	for i := range s.parts {
		s.parts[i].due = true
	}
}

// SchedulingRequest holds what YARN's message of that name says of its containers.
type SchedulingRequest = constraint.Request
