package scheduler

import (
	"math"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

// Outcomes has the methods by which the scheduler hears of containers besides their start and end.
type Outcomes struct{ *Partitions }

// RestoreGrant is Restore where it is known for a request of which priority the container was granted, and when, in ms.
func (s *Outcomes) RestoreGrant(a AppHandle, n NodeHandle, r records.Resource, priority int32, since int64) ContainerHandle {
	return s.restore(a, n, func(c *core.Core) ContainerHandle { return c.RestoreGrant(a, n, r, priority, since) })
}

// Fail frees a container that ended before its work was done.
func (s *Outcomes) Fail(h ContainerHandle) { s.freed(h, (*core.Core).Fail) }

// NoteMaster says that a container of an application runs its ApplicationMaster. That counts in the partition that it was asked in, also on a node that another
// partition lends, until its node changes its label.
func (s *Outcomes) NoteMaster(h AppHandle, c ContainerHandle) { s.running[h] = c }

// NoteOutputs says how many maps of an application have outputs by now, and how many bytes these have together, as far as nodes tell.
func (s *Outcomes) NoteOutputs(h AppHandle, maps, bytes int64) {
	for c := range s.coresOf(h) {
		c.NoteFacts(h, func(f *leaf.Facts) { f.Outputs, f.Maps, f.Bytes = true, maps, bytes })
	}
}

// TaskReport is an ApplicationMaster's report of its tasks.
type TaskReport = leaf.TaskReport

// NoteTasks says what an ApplicationMaster tells of its tasks.
func (s *Outcomes) NoteTasks(h AppHandle, r TaskReport) {
	for c := range s.coresOf(h) {
		c.NoteFacts(h, func(f *leaf.Facts) { f.Tasks = &r })
	}
}

// CopiesOf returns how many containers an application may have for copies of its tasks, besides those for the tasks. It is false where no policy
// says so.
func (s *Outcomes) CopiesOf(h AppHandle) (n int64, known bool) {
	for c := range s.coresOf(h) {
		if g, a := c.PolicyOf(&c.Apps[h]); g != nil {
			more, some := g.Copies(a)
			n, known = n+more, known || some
		}
	}
	return n, known
}

// NoteSpeed says how fast the nodes of a host run tasks of a type, compared with others: a task that takes t at speed 1 takes t/speed. 0:
// unknown.
func (s *Outcomes) NoteSpeed(host string, t survey.Task, speed float64) {
	for i := range s.parts {
		s.parts[i].core.Survey.NoteSpeed(host, t, speed)
	}
}

// NoteBandwidth says how fast a reduce fetches outputs of maps, in bytes per second, as nodes have measured it.
func (s *Outcomes) NoteBandwidth(rate float64) {
	for i := range s.parts {
		s.parts[i].due = true
		s.parts[i].core.NoteBandwidth(rate)
	}
}

// NoteStaged says for how many of an application's maps that wait a node has the input in memory, as far as nodes tell. Requests that name the node's host are served there
// before others that they name.
func (s *Outcomes) NoteStaged(h AppHandle, n NodeHandle, maps int64) {
	s.at(n).Staged.Set(h, n, int32(min(maps, math.MaxInt32)))
}
