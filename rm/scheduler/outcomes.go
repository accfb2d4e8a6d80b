package scheduler

import (
	"heddle/rm/scheduler/core"
	"heddle/yarn/records"
)

// Outcomes is what leaf policies hear of containers besides their coming and going.
type Outcomes struct{ core *core.Core }

// RestoreGrant is Restore where it is known for a request of which priority the container was granted, and when, in ms.
func (s *Outcomes) RestoreGrant(a AppHandle, n NodeHandle, r records.Resource, priority int32, since int64) ContainerHandle {
	return s.core.RestoreGrant(a, n, r, priority, since)
}

// Fail frees a container that ended before its work was done.
func (s *Outcomes) Fail(h ContainerHandle) { s.core.Fail(h) }

// NoteOutputs says how many maps of an application have outputs by now, and how many bytes these have together, as far as nodes tell.
func (s *Outcomes) NoteOutputs(h AppHandle, maps, bytes int64) { s.core.NoteOutputs(h, maps, bytes) }

// NoteBandwidth says how fast a reduce fetches outputs of maps, in bytes per second, as nodes have measured it.
func (s *Outcomes) NoteBandwidth(rate float64) { s.core.NoteBandwidth(rate) }
