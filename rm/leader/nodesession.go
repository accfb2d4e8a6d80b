package leader

import (
	"sync"
	"sync/atomic"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// nodeSession is one NodeManager under this leader. mu is held throughout a call.
type nodeSession struct {
	id   records.NodeID
	seen seen
	// caller is a NodeCaller, who registered it; names a []string, by which the lists of hosts know its machine.
	caller, names atomic.Value

	mu         sync.Mutex
	registered bool // with this leader
	instance   string
	responseID int32
	last       NodeReply
	status     NodeStatus
	running    map[records.ContainerID]pb.ContainerSubState // known to the loop to run, and how
	refused    []StartRefusal                               // known to the loop

	out outbox
}

// outbox is what a node is told with its next heartbeat; all of it is committed.
type outbox struct {
	mu         sync.Mutex
	containers []records.ContainerID
	apps       []records.ApplicationID
	removed    []records.ContainerID
	resource   *records.Resource
	signals    []Signal
	resized    []Grant
}

func (s *nodeSession) endContainer(id records.ContainerID) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.containers = append(s.out.containers, id)
}

func (s *nodeSession) endApp(id records.ApplicationID) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.apps = append(s.out.apps, id)
}

func (s *nodeSession) forget(ids ...records.ContainerID) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.removed = append(s.out.removed, ids...)
}

func (s *nodeSession) shrink(g Grant) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.resized = append(s.out.resized, g)
}

func (s *nodeSession) resize(r records.Resource) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.resource = &r
}

// take empties the outbox into a reply.
func (o *outbox) take(r *NodeReply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r.Cleanup, o.containers = o.containers, nil
	r.CleanupApps, o.apps = o.apps, nil
	r.Removed, o.removed = o.removed, nil
	r.Resource, o.resource = o.resource, nil
	r.Signals, o.signals = o.signals, nil
	r.Resized, o.resized = o.resized, nil
}

// Signal is a command for a container (YARN: signalToContainer).
type Signal struct {
	Container records.ContainerID
	Command   pb.SignalContainerCommand
}
