package scheduler

import (
	"heddle/rm/scheduler/core"
	"heddle/yarn/records"
)

// Holdings are what containers claim and what they hold. The claim is what the application and the user are charged, what is held
// is what the container takes on its node, and what node and queues are charged. The two differ while a container is suspended or shrunk.
type Holdings struct{ core *core.Core }

// SetHeld changes what a running container takes on its node, at most its claim, and reports whether it could. Its queues are charged
// what it takes, its application and user its claim.
func (s *Holdings) SetHeld(h ContainerHandle, to records.Resource) bool {
	return s.core.SetHeld(h, to)
}

// NoteHeld is SetHeld for what a node reports: a container takes so much on its node, whether there is room or not.
func (s *Holdings) NoteHeld(h ContainerHandle, to records.Resource) bool {
	return s.core.NoteHeld(h, to)
}

// CanHold reports whether SetHeld would change what a container takes on its node.
func (s *Holdings) CanHold(h ContainerHandle, to records.Resource) bool {
	return s.core.CanHold(h, to)
}

// Regain has a container take as much of its claim again as its node has free, and reports whether it takes all of it then.
func (s *Holdings) Regain(h ContainerHandle) bool { return s.core.Regain(h) }

// Claim is what the application and the user of a container are charged for it.
func (s *Holdings) Claim(h ContainerHandle) records.Resource {
	return *s.core.Holds(&s.core.Containers[h])
}

// Withheld is what the containers of a queue lack of their claims together, as they are suspended or shrunk.
func (s *Holdings) Withheld(path string) records.Resource {
	if h, ok := s.core.ByPath[path]; ok {
		return s.core.Withheld(h)
	}
	return records.Resource{}
}

// Held is what a container takes on its node.
func (s *Holdings) Held(h ContainerHandle) records.Resource { return s.core.Held(h) }
