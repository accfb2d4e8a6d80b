package client

import (
	"context"
	"maps"
	"slices"
	"time"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// outgoing holds what one Allocate call sends to the ResourceManager.
type outgoing struct {
	changes  []change
	releases []records.ContainerID
	add, del []string
	stages   stageNews
	swaps    []*swapping
}

// Allocate sends what has changed since the last call, and returns what has happened. If there is nothing to send, a
// ResourceManager that can hold answers back (see Holds) may take as long as MasterOptions.Hold. Allocate is also the
// sign of life: call it at least once within yarn.am.liveness-monitor.expiry-interval-ms, or the attempt counts as
// dead.
//
// When another ResourceManager has taken over, Allocate registers again and sets Allocation.Resynced. ErrDismissed means
// that the attempt is over. Allocate may be tried again after any other error.
func (m *Master) Allocate(ctx context.Context) (*Allocation, error) {
	m.calling.Lock()
	defer m.calling.Unlock()
	out := &Allocation{}
	for {
		m.mu.Lock()
		o := m.collect()
		req := m.message(&o)
		if out.Resynced || len(out.Refused) > 0 {
			req.ClearHeddleWaitMs() // there is something to tell the caller already
		}
		// Changes from here on miss this call. If it waits, Nudge ends it.
		m.holding = req.GetHeddleWaitMs() > 0
		m.mu.Unlock()
		resp, err := m.allocate(ctx, req)
		switch {
		case err == nil:
			m.mu.Lock()
			defer m.mu.Unlock()
			m.digest(&o, resp, out)
			if resp.GetAMCommand() == pb.AMCommand_AM_SHUTDOWN {
				return out, m.failed("allocating", ErrDismissed)
			}
			return out, nil
		case ipc.IsClass(err, ipc.MasterNotRegistered):
			previous, err := m.resync(ctx)
			if err != nil {
				return nil, err
			}
			out.Resynced = true
			out.Previous = append(out.Previous, previous...)
		case refused(err) && len(o.changes) > 0:
			refusals, err := m.sieve(ctx, o.changes, err)
			if err != nil {
				return nil, err
			}
			out.Refused = append(out.Refused, refusals...)
		default:
			m.mu.Lock()
			// A request that the server refused had no effect.
			m.unsure = m.unsure || ipc.Class(err) == ""
			m.mu.Unlock()
			return nil, m.failed("allocating", err)
		}
	}
}

// refused reports whether the ResourceManager rejects something that the call asks for.
func refused(err error) bool {
	return slices.Contains([]string{
		ipc.InvalidResourceRequest, ipc.InvalidLabelRequest,
	}, ipc.Class(err))
}

func (m *Master) allocate(ctx context.Context, req *pb.AllocateRequest) (*pb.AllocateResponse, error) {
	resp, err := protocol.Allocate.Call(ctx, m.rm, req)
	m.mu.Lock()
	m.holding = false
	m.mu.Unlock()
	return resp, err
}

// sieve finds out which of the changes the ResourceManager refuses, and drops those. For that it offers the requests of
// one class at a time.
func (m *Master) sieve(ctx context.Context, changes []change, err error) ([]Refusal, error) {
	groups := byClass(changes)
	var out []Refusal
	for _, group := range groups {
		because := err
		if len(groups) > 1 {
			o := outgoing{changes: group}
			m.mu.Lock()
			req := m.message(&o)
			req.ClearHeddleWaitMs()
			m.mu.Unlock()
			resp, err := m.allocate(ctx, req)
			if err == nil {
				m.mu.Lock()
				m.asks.markSent(group)
				m.backlog = append(m.backlog, resp)
				m.responseID = resp.GetResponseId()
				m.mu.Unlock()
				continue
			}
			if !refused(err) {
				return out, m.failed("allocating", err)
			}
			because = err
		}
		m.mu.Lock()
		out = append(out, Refusal{m.asks.refuse(group), because})
		m.mu.Unlock()
	}
	return out, nil
}

// collect gathers what hasn't been sent yet.
func (m *Master) collect() outgoing {
	o := outgoing{changes: m.asks.changes(m.types)}
	for id, sent := range m.releases {
		if !sent {
			o.releases = append(o.releases, id)
		}
	}
	slices.SortFunc(o.releases, records.ContainerID.Compare)
	for name, sent := range m.blacklist {
		if !sent {
			o.add = append(o.add, name)
		}
	}
	slices.Sort(o.add)
	o.del = slices.Sorted(maps.Keys(m.unlist))
	if m.hold > 0 { // others than Heddle's would skip it
		o.stages = m.stages.news()
	}
	o.swaps = m.swaps.news()
	return o
}

func (m *Master) message(o *outgoing) *pb.AllocateRequest {
	req := &pb.AllocateRequest{}
	req.SetResponseId(m.responseID)
	req.SetProgress(m.progress)
	if m.o.TrackingURL != "" {
		req.SetTrackingUrl(m.o.TrackingURL)
	}
	rows := make([]*pb.ResourceRequest, len(o.changes))
	for i := range o.changes {
		rows[i] = o.changes[i].message
	}
	req.SetAsk(rows)
	var releases []*pb.ContainerId
	for _, id := range o.releases {
		releases = append(releases, id.PB())
	}
	req.SetRelease(releases)
	if len(o.add)+len(o.del) > 0 {
		b := &pb.ResourceBlacklistRequest{}
		b.SetBlacklistAdditions(o.add)
		b.SetBlacklistRemovals(o.del)
		req.SetBlacklistRequest(b)
	}
	if m.o.Probes {
		req.SetHeddleProbes(true)
	}
	writeSwaps(req, o.swaps)
	o.stages.write(req, m.hold > 0 && m.stages.wants)
	if m.hold > 0 && !m.unsure {
		req.SetHeddleWaitMs(int32(m.hold / time.Millisecond))
	}
	return req
}

// markSent records that the ResourceManager has got everything in o.
func (m *Master) markSent(o *outgoing) {
	m.asks.markSent(o.changes)
	m.stages.markSent(o.stages)
	m.markSwapsSent(o.swaps)
	for _, id := range o.releases {
		if _, waits := m.releases[id]; waits {
			m.releases[id] = true
		}
	}
	for _, name := range o.add {
		if _, on := m.blacklist[name]; on {
			m.blacklist[name] = true
		} else {
			m.unlist[name] = true // taken off the list while the call was under way
		}
	}
	for _, name := range o.del {
		delete(m.unlist, name)
	}
}

// digest applies the answer to a call.
func (m *Master) digest(o *outgoing, resp *pb.AllocateResponse, out *Allocation) {
	if m.unsure {
		// This may be the repeated answer to an earlier call whose answer was lost. Then the ResourceManager ignored
		// what this call carried, so it is sent again.
		m.unsure = false
	} else {
		m.markSent(o)
	}
	m.responseID = resp.GetResponseId()
	for _, earlier := range m.backlog {
		m.take(nil, earlier, out)
	}
	m.backlog = nil
	m.take(o.changes, resp, out)
}

func (m *Master) take(changes []change, resp *pb.AllocateResponse, out *Allocation) {
	m.nm.learn(resp.GetNmTokens())
	m.o.Racks.Learn(resp.GetUpdatedNodes())
	if t := resp.GetAmRmToken(); t != nil {
		renewed := token.FromPB(t)
		m.o.Token = renewed
		m.rm.SetIdentity(ipc.Identity{Token: &renewed})
	}
	// A ResourceManager that answers at once has already considered what this call asked for. A stock one hands out
	// what it allocated before the call.
	var rows map[*row]bool
	if m.hold == 0 {
		rows = rowsOf(changes)
	}
	for _, c := range resp.GetAllocatedContainers() {
		m.allocated(c, rows, out)
	}
	for _, s := range resp.GetCompletedContainerStatuses() {
		done := completed(s)
		delete(m.releases, done.ID)
		if !m.known[done.ID] {
			// The caller doesn't know the container, or has heard of its end. A ResourceManager that has taken over
			// repeats completions if it can't know that they were delivered.
			continue
		}
		delete(m.known, done.ID)
		delete(m.suspended, done.ID)
		delete(m.swaps.of, done.ID)
		out.Completed = append(out.Completed, done)
	}
	out.Previous = append(out.Previous, m.previous(resp.GetContainersFromPreviousAttempts())...)
	for _, n := range resp.GetUpdatedNodes() {
		out.Nodes = append(out.Nodes, nodeUpdate(n))
	}
	for _, n := range resp.GetHeddleProbeNodes() {
		out.ProbeNodes = append(out.ProbeNodes, ProbeNode{records.NodeIDFrom(n.GetNodeId()), int(n.GetPort()), token.FromPB(n.GetToken()), n.GetLong(), n.GetShort()})
	}
	for _, id := range resp.GetHeddleProbeNodesGone() {
		out.ProbesGone = append(out.ProbesGone, records.NodeIDFrom(id))
	}
	m.standing(resp, out)
	m.unswapped(resp, out)
	out.Preemption = append(out.Preemption, preemption(resp.GetPreempt())...)
	hinted(resp, out)
	limit, err := m.types.From(resp.GetLimit())
	if err == nil {
		out.Headroom = limit
	}
	out.ClusterNodes = int(resp.GetNumClusterNodes())
	m.clusterNodes = out.ClusterNodes
}

// standing finds out which containers have been suspended, and which continue. A ResourceManager names all that are suspended, and nothing
// to an ApplicationMaster that knows; one that has registered knows of none.
func (m *Master) standing(resp *pb.AllocateResponse, out *Allocation) {
	if !resp.HasHeddleSuspended() && !m.fresh {
		return
	}
	m.fresh = false
	now := map[records.ContainerID]bool{}
	for _, c := range resp.GetHeddleSuspended().GetContainerId() {
		id := records.ContainerIDFrom(c)
		if m.known[id] && !now[id] {
			if now[id] = true; !m.suspended[id] {
				out.Suspended = append(out.Suspended, id)
			}
		}
	}
	for id := range m.suspended {
		if !now[id] {
			out.Resumed = append(out.Resumed, id)
			m.swaps.resumed(id)
		}
	}
	slices.SortFunc(out.Resumed, records.ContainerID.Compare)
	m.suspended = now
}

// allocated matches a container with a request. It releases the container if no request needs it.
func (m *Master) allocated(c *pb.Container, sent map[*row]bool, out *Allocation) {
	got := container(c, m.types)
	if m.known[got.ID] {
		return
	}
	p := m.asks.match(wireID{got.Priority, c.GetAllocationRequestId()}, got.Node.Host, got.Resource, sent)
	if p == nil {
		m.log.WithField("container", got.ID.String()).Debug("not needed (any more): released")
		m.release(got.ID)
		return
	}
	got.Request, got.Tags = p.id, p.Tags
	m.known[got.ID] = true
	out.Containers = append(out.Containers, got)
}

// previous returns those containers of earlier attempts that the caller doesn't know yet.
func (m *Master) previous(list []*pb.Container) []Container {
	var out []Container
	for _, c := range list {
		got := container(c, m.types)
		if !m.known[got.ID] {
			m.known[got.ID] = true
			out = append(out, got)
		}
	}
	return out
}
