package leader

import (
	"slices"
	"sync"
	"sync/atomic"

	"heddle/rm/leader/level"
	"heddle/rm/leader/session"
	"heddle/rm/leader/startrefusal"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// nodeSession is one NodeManager under this leader. mu is held throughout a call.
type nodeSession struct {
	id   records.NodeID
	seen session.Seen
	// caller is a NodeCaller, who registered it; names a []string, by which the lists of hosts know its machine.
	caller, names atomic.Value

	mu       sync.Mutex
	dialogue session.Dialogue[NodeReply]
	instance string
	release  string // of Heddle
	status   NodeStatus
	running  map[records.ContainerID]pb.ContainerSubState // known to the loop to run, and how
	refused  []startrefusal.Refusal                       // known to the loop
	memory   level.Memory                                 // known to the loop
	lent     records.Resource                             // for short tasks, as the loop has heard
	waits    bool                                         // short tasks have no room; the loop knows
	levels   []level.Report                               // the last ones; the loop knows them but for what is paged out
	unasked  level.Unasked                                // what containers use, which the loop hasn't asked for

	box session.NodeBox // for its next heartbeat
}

// back reports whether the node has registered with this leader.
func (s *nodeSession) back() bool { return s.caller.Load() != nil }

// Signal is a command for a container (YARN: signalToContainer).
type Signal = session.Signal

// Node returns the health and load that a node last reported, and the release of Heddle that it registered with, which a stock one
// lacks; ok is false when it hasn't yet.
func (ns *nodeManagers) Node(id records.NodeID) (status NodeStatus, release string, ok bool) {
	s := ns.nodeSessions.Get(id)
	if s == nil {
		return NodeStatus{}, "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.release, s.dialogue.Registered()
}

// LevelReport returns what a node last said of a container that there was an order for; ok is false if it said nothing.
func (ns *nodeManagers) LevelReport(node records.NodeID, id records.ContainerID) (r level.Report, ok bool) {
	s := ns.nodeSessions.Get(node)
	if s == nil {
		return r, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.levels, func(r level.Report) bool { return r.Container == id })
	if i < 0 {
		return r, false
	}
	return s.levels[i], true
}

// begins reports whether a container's process has not begun yet, as its node last said. It must not be called in the loop.
func (ns *nodeManagers) begins(node records.NodeID, id records.ContainerID) bool {
	if s := ns.nodeSessions.Get(node); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.running[id] == pb.ContainerSubState_CSS_SCHEDULED
	}
	return false
}
