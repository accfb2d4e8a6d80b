package scheduler

import (
	"heddle/rm/queue/suspension"
	"heddle/yarn/records"
)

// Holdings are what containers claim and what they hold. The claim is what the application and the user are charged, what is held
// is what the container takes on its node, and what node and queues are charged. The two differ while a container is suspended or shrunk.
type Holdings struct{ *Partitions }

// SetHeld changes what a running container takes on its node, at most its claim, and reports whether it could. Its queues are charged
// what it takes, its application and user its claim.
func (s *Holdings) SetHeld(h ContainerHandle, to records.Resource) bool {
	return s.of(h).SetHeld(h, to)
}

// NoteHeld is SetHeld for what a node reports: a container takes so much on its node, whether there is room or not.
func (s *Holdings) NoteHeld(h ContainerHandle, to records.Resource) bool {
	return s.of(h).NoteHeld(h, to)
}

// CanHold reports whether SetHeld would change what a container takes on its node.
func (s *Holdings) CanHold(h ContainerHandle, to records.Resource) bool {
	return s.of(h).CanHold(h, to)
}

// Regain gives a container as much of its claim again as its node has free, and reports whether it takes all of it then.
func (s *Holdings) Regain(h ContainerHandle) bool { return s.of(h).Regain(h) }

// Claim returns what the application and the user of a container are charged for it.
func (s *Holdings) Claim(h ContainerHandle) records.Resource {
	c := s.of(h)
	return *c.Holds(&c.Containers[h])
}

// Withheld returns what the containers of a queue lack of their claims together, as they are suspended or shrunk.
func (s *Holdings) Withheld(path string) (sum records.Resource) {
	for i := range s.parts {
		if h, ok := s.parts[i].core.ByPath[path]; ok {
			sum = sum.Add(s.parts[i].core.Withheld(h))
		}
	}
	return sum
}

// Exchange reduces what a running container holds, and gives the room to a certain request of its application, with the next call of
// Schedule and before others get it. It reports whether the request may have it; if not, nothing has changed. Nothing else may be
// entered until that call.
func (s *Holdings) Exchange(h ContainerHandle, to records.Resource, priority int32, request int64) bool {
	core := s.of(h)
	c, before := &core.Containers[h], core.Held(h)
	if !to.FitsIn(before) || !core.SetHeld(h, to) {
		return false
	}
	d := core.Demanded.Find(&core.Apps[c.App].Set, priority, request)
	if d != nil && !d.Guest && core.Offer(d, c.Node) {
		return true
	}
	core.NoteHeld(h, before)
	return false
}

// Offer offers room on a node, which containers there hold no more, to the applications of a leaf in their order, before others get it. That ends
// with the next call of Schedule.
func (s *Holdings) Offer(to AppHandle, n NodeHandle, room records.Resource) {
	if core := s.at(n); core.Has(to) {
		core.OfferRoom(to, true, n, room)
	}
}

// Means returns how preemption takes from the queue of a container, and that queue's path.
func (s *Holdings) Means(h ContainerHandle) (suspension.Means, string) {
	core := s.of(h)
	cfg := core.Queues[core.Apps[core.Containers[h].App].Leaf].Cfg
	return cfg.Means, cfg.Path
}

// NodeOf returns where a container runs.
func (s *Holdings) NodeOf(h ContainerHandle) NodeHandle { return s.of(h).Containers[h].Node }

// Held returns what a container takes on its node.
func (s *Holdings) Held(h ContainerHandle) records.Resource { return s.of(h).Held(h) }
