package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"heddle/integration/peer"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// queue is how a node treats containers that it is told to start, as a NodeManager with a queue for opportunistic ones does: those that are guaranteed run, and
// end opportunistic ones if need be. Others run where there is room, and wait otherwise. The zero value has no queue, and nothing is told to it.
type queue struct {
	most int // that may wait
	size records.Resource
	has  []started // in the order in which they came
}

type started struct {
	id      records.ContainerID
	size    records.Resource
	kind    pb.ExecutionType
	waiting bool
}

// begin has the node start a container, if it has a queue.
func (n *node) begin(id records.ContainerID, size records.Resource, kind pb.ExecutionType) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.queue.most == 0 {
		return
	}
	n.queue.has = append(n.queue.has, started{id: id, size: size, kind: kind, waiting: true})
	status := peer.Running(id)
	status.SetExecutionType(kind)
	n.containers[id] = status
	n.look()
}

// look has those run that may, and ends opportunistic ones for which there is no room. The caller holds n.mu.
func (n *node) look() {
	q := &n.queue
	q.has = slices.DeleteFunc(q.has, func(s started) bool {
		status := n.containers[s.id]
		return status == nil || status.GetState() == pb.ContainerState_C_COMPLETE
	})
	free := q.size
	for i := range q.has {
		if s := &q.has[i]; s.kind == pb.ExecutionType_GUARANTEED {
			s.waiting = false
			free = free.Sub(s.size)
		}
	}
	waiting := 0
	for _, running := range []bool{true, false} { // those that run first
		for i := range q.has {
			s := &q.has[i]
			if s.kind == pb.ExecutionType_GUARANTEED || s.waiting == running {
				continue
			}
			switch {
			case s.size.FitsIn(free):
				s.waiting = false
				free = free.Sub(s.size)
			case s.waiting && waiting < q.most:
				waiting++
			default:
				ended := peer.Ended(s.id, records.ExitKilledByScheduler)
				ended.SetExecutionType(s.kind)
				n.containers[s.id] = ended
			}
		}
	}
	q.has = slices.DeleteFunc(q.has, func(s started) bool {
		return n.containers[s.id].GetState() == pb.ContainerState_C_COMPLETE
	})
}

// retype changes the execution type of a container.
func (n *node) retype(id records.ContainerID, kind pb.ExecutionType) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.queue.has {
		if s := &n.queue.has[i]; s.id == id {
			s.kind = kind
			n.containers[id].SetExecutionType(kind)
		}
	}
	n.look()
}

// status says of the queue what heartbeats do; nil: there is none.
func (q *queue) status() *pb.OpportunisticContainersStatus {
	if q.most == 0 {
		return nil
	}
	m := &pb.OpportunisticContainersStatus{}
	var used records.Resource
	running, waiting := int32(0), int32(0)
	for _, s := range q.has {
		switch {
		case s.waiting:
			waiting++
		case s.kind == pb.ExecutionType_OPPORTUNISTIC:
			running++
			used = used.Add(s.size)
		}
	}
	m.SetRunningOpportContainers(running)
	m.SetOpportMemoryUsed(used.MemoryMB() >> 10)
	m.SetOpportCoresUsed(int32(used[records.VCores]))
	m.SetQueuedOpportContainers(waiting)
	m.SetWaitQueueLength(waiting)
	m.SetOpportQueueCapacity(int32(q.most))
	return m
}

// retype asks for another execution type of the oldest containers that don't have it, and sends that at once.
func (m *master) retype(ctx context.Context, s Step) error {
	count, err := strconv.Atoi(s.Args[1])
	if err != nil {
		return err
	}
	to, kind := pb.ExecutionType_GUARANTEED, pb.ContainerUpdateType_PROMOTE_EXECUTION_TYPE
	if s.Verb == "demote" {
		to, kind = pb.ExecutionType_OPPORTUNISTIC, pb.ContainerUpdateType_DEMOTE_EXECUTION_TYPE
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.held {
		h := &m.held[i]
		if count == 0 || h.given || (h.kind == to) == (s.Options["wrong"] == "") {
			continue
		}
		u := &pb.UpdateContainerRequest{}
		u.SetContainerId(h.id.PB())
		u.SetContainerVersion(h.version)
		u.SetUpdateType(kind)
		u.SetExecutionType(to)
		m.updates = append(m.updates, u)
		count--
	}
	if count > 0 {
		return fmt.Errorf("%d of the containers: %w", count, errNotThere)
	}
	return m.allocate(ctx)
}

// updated notes which containers have another execution type, and which can't have it. The nodes of the former are told. The caller holds m.mu.
func (m *master) updated(resp *pb.AllocateResponse) {
	for _, u := range resp.GetUpdatedContainers() {
		c := u.GetContainer()
		id := records.ContainerIDFrom(c.GetId())
		for i := range m.held {
			if h := &m.held[i]; h.id == id {
				h.kind, h.version = c.GetExecutionType(), c.GetVersion()
				m.play.begun(h.host, func(n *node) { n.retype(id, h.kind) })
			}
		}
	}
	for _, e := range resp.GetUpdateErrors() {
		m.unchanged = append(m.unchanged, e.GetReason())
	}
}

// begun calls f for the node with an address, if it is there.
func (p *play) begun(host string, f func(*node)) {
	p.mu.Lock()
	n := p.queued[host]
	p.mu.Unlock()
	if n != nil {
		f(n)
	}
}

// showKinds records how many containers of an application are guaranteed and opportunistic, how many a node has ended, and what couldn't be changed.
func (m *master) showKinds(act *Act) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := map[pb.ExecutionType]int{}
	on := map[string]int{}
	for i := range m.held {
		h := &m.held[i]
		if of[h.kind]++; h.kind == pb.ExecutionType_OPPORTUNISTIC {
			on[m.play.nameOf(h.host)]++
		}
	}
	const form = "kinds %s guaranteed=%d opportunistic=%d killed=%d unchanged=%v"
	guaranteed, opportunistic := of[pb.ExecutionType_GUARANTEED], of[pb.ExecutionType_OPPORTUNISTIC]
	act.Queues = append(act.Queues, fmt.Sprintf(form, m.name, guaranteed, opportunistic, m.killed, m.unchanged))
	for _, name := range slices.Sorted(maps.Keys(on)) {
		act.Queues = append(act.Queues, fmt.Sprintf("kinds %s on %s=%d", m.name, name, on[name]))
	}
}
