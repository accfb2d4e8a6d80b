package probes

import (
	"slices"
	"time"

	"heddle/am/sched"
)

// doubt is how long a node counts as busy with long tasks because it has rejected a probe for them. The ResourceManager tells of these with each heartbeat, every second, and
// its word holds until it says otherwise. Long tasks that end before it has told of them would be thought of for ever.
const doubt = 3 * time.Second

// long reports whether the node is busy with long tasks, as far as is known. The Scheduler's lock is held.
func (n *node) long() bool { return n.Long || !n.rejects.IsZero() }

// avoided reports whether the node has long tasks, which probes avoid as long as there is another node. The lock is held.
func (n *node) avoided() bool {
	s := n.s
	return n.long() && slices.ContainsFunc(s.up, func(x sched.Node) bool { return !s.nodes[x].long() })
}

// reject records that the node has rejected probes for long tasks: it often knows of them before the ResourceManager has told us. The lock is held.
func (n *node) reject() {
	before := n.long()
	n.rejects = time.Now().Add(doubt)
	if !before {
		n.s.learn()
	}
}

// forgive counts nodes as free of long tasks again if no other has reported any there. The lock is held.
func (s *Scheduler) forgive(now time.Time) {
	for _, n := range s.nodes {
		if n.rejects.IsZero() || now.Before(n.rejects) {
			continue
		}
		n.rejects = time.Time{}
		if n.Long {
			continue
		}
		s.learn()
		if n.up && !n.leaves {
			n.welcome()
		}
	}
}

// learn makes the bitmap of nodes with long tasks (Eagle's succinct state sharing). The lock is held.
func (s *Scheduler) learn() {
	words := make([]uint64, (len(s.nodes)+63)/64)
	for _, n := range s.nodes {
		if n.long() {
			words[n.at/64] |= 1 << (n.at % 64)
		}
	}
	s.longs = sched.Bitmap{Words: words, At: s.now()}
	s.sched.Learn(s.longs)
}

// answered takes the answer of a node to one probe, and sends those that follow: where all of a round are answered, those that were rejected go to nodes without long tasks,
// and after the last round to the short partition. The lock is held.
func (s *Scheduler) answered(j *Job, n *node, accepted bool) {
	if j == nil {
		return
	}
	next, last := s.sched.Answered(j.id, n.at, accepted, s.longs)
	s.send(j, next, !last)
}
