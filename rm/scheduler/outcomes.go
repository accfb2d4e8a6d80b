package scheduler

import (
	"math"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

// Outcomes is what the scheduler hears of containers besides their coming and going.
type Outcomes struct{ core *core.Core }

// RestoreGrant is Restore where it is known for a request of which priority the container was granted, and when, in ms.
func (s *Outcomes) RestoreGrant(a AppHandle, n NodeHandle, r records.Resource, priority int32, since int64) ContainerHandle {
	return s.core.RestoreGrant(a, n, r, priority, since)
}

// Fail frees a container that ended before its work was done.
func (s *Outcomes) Fail(h ContainerHandle) { s.core.Fail(h) }

// NoteOutputs says how many maps of an application have outputs by now, and how many bytes these have together, as far as nodes tell.
func (s *Outcomes) NoteOutputs(h AppHandle, maps, bytes int64) {
	s.core.NoteFacts(h, func(f *leaf.Facts) { f.Outputs, f.Maps, f.Bytes = true, maps, bytes })
}

// TaskReport is what an ApplicationMaster tells of its tasks.
type TaskReport = leaf.TaskReport

// NoteTasks says what an ApplicationMaster tells of its tasks.
func (s *Outcomes) NoteTasks(h AppHandle, r TaskReport) {
	s.core.NoteFacts(h, func(f *leaf.Facts) { f.Tasks = &r })
}

// CopiesOf is how many containers an application may have for copies of its tasks, besides those for the tasks. It is false where no policy
// says so.
func (s *Outcomes) CopiesOf(h AppHandle) (n int64, known bool) {
	if g, a := s.core.PolicyOf(&s.core.Apps[h]); g != nil {
		return g.Copies(a)
	}
	return 0, false
}

// NoteSpeed says how fast the nodes of a host run tasks of a type, compared with others: a task that takes t at speed 1 takes t/speed. 0:
// nobody knows.
func (s *Outcomes) NoteSpeed(host string, t survey.Task, speed float64) {
	s.core.Survey.NoteSpeed(host, t, speed)
}

// NoteBandwidth says how fast a reduce fetches outputs of maps, in bytes per second, as nodes have measured it.
func (s *Outcomes) NoteBandwidth(rate float64) { s.core.NoteBandwidth(rate) }

// NoteStaged says for how many of an application's maps that wait a node has the input in memory, as far as nodes tell. Requests that name the node's host are served there
// before others that they name.
func (s *Outcomes) NoteStaged(h AppHandle, n NodeHandle, maps int64) {
	s.core.Staged.Set(h, n, int32(min(maps, math.MaxInt32)))
}
