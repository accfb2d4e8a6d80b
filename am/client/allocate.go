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

// outgoing is what one Allocate tells.
type outgoing struct {
	changes  []change
	releases []records.ContainerID
	add, del []string
}

// Allocate tells what has changed since the last one and returns what has happened. If the ResourceManager can do so (see
// Holds) and there is nothing to tell yet, it takes as long as MasterOptions.Hold. It is also the sign of life; without one
// for some minutes the attempt is taken for dead.
//
// Another ResourceManager having taken over is dealt with and reported by Allocation.Resynced. Of errors ErrDismissed means
// that the attempt is over; after others Allocate may be tried again.
func (m *Master) Allocate(ctx context.Context) (*Allocation, error) {
	m.calling.Lock()
	defer m.calling.Unlock()
	out := &Allocation{}
	for {
		m.mu.Lock()
		o := m.collect()
		req := m.message(&o)
		if out.Resynced || len(out.Refused) > 0 {
			req.ClearHeddleWaitMs() // that is news enough
		}
		// From here on changes are too late for this call, and it may have to be nudged.
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
			// What the server refuses it has not taken.
			m.unsure = m.unsure || ipc.Class(err) == ""
			m.mu.Unlock()
			return nil, m.failed("allocating", err)
		}
	}
}

// refused reports whether a ResourceManager doesn't like what is asked for.
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

// sieve finds out which of the changes the ResourceManager refuses, by offering the requests of one class at a time, and
// drops those.
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
				m.asks.taken(group)
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

// collect gathers what is to be told.
func (m *Master) collect() outgoing {
	o := outgoing{changes: m.asks.changes(m.types)}
	for id, told := range m.releases {
		if !told {
			o.releases = append(o.releases, id)
		}
	}
	slices.SortFunc(o.releases, records.ContainerID.Compare)
	for name, told := range m.blacklist {
		if !told {
			o.add = append(o.add, name)
		}
	}
	slices.Sort(o.add)
	o.del = slices.Sorted(maps.Keys(m.unlist))
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
	if m.hold > 0 && !m.unsure {
		req.SetHeddleWaitMs(int32(m.hold / time.Millisecond))
	}
	return req
}

// told notes that everything has arrived.
func (m *Master) told(o *outgoing) {
	m.asks.taken(o.changes)
	for _, id := range o.releases {
		if _, waits := m.releases[id]; waits {
			m.releases[id] = true
		}
	}
	for _, name := range o.add {
		if _, on := m.blacklist[name]; on {
			m.blacklist[name] = true
		} else {
			m.unlist[name] = true // taken off while it was being told
		}
	}
	for _, name := range o.del {
		delete(m.unlist, name)
	}
}

// digest takes an answer in.
func (m *Master) digest(o *outgoing, resp *pb.AllocateResponse, out *Allocation) {
	if m.unsure {
		// This may be the repeated answer to an earlier call whose answer was lost. In that case what this call told was not
		// looked at: tell it again.
		m.unsure = false
	} else {
		m.told(o)
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
	// A ResourceManager that answers at once has served what it was just told. A stock one hands out what it had allocated
	// before.
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
			// Nobody has seen it, or its end was told already: a ResourceManager that has taken over repeats what it can't be
			// sure was heard.
			continue
		}
		delete(m.known, done.ID)
		out.Completed = append(out.Completed, done)
	}
	out.Previous = append(out.Previous, m.previous(resp.GetContainersFromPreviousAttempts())...)
	for _, n := range resp.GetUpdatedNodes() {
		out.Nodes = append(out.Nodes, nodeUpdate(n))
	}
	out.Preemption = append(out.Preemption, preemption(resp.GetPreempt())...)
	limit, err := m.types.From(resp.GetLimit())
	if err == nil {
		out.Headroom = limit
	}
	out.ClusterNodes = int(resp.GetNumClusterNodes())
	m.clusterNodes = out.ClusterNodes
}

// allocated matches a container with a request, or gives it back at once.
func (m *Master) allocated(c *pb.Container, told map[*row]bool, out *Allocation) {
	got := container(c, m.types)
	if m.known[got.ID] {
		return
	}
	p := m.asks.match(wireID{got.Priority, c.GetAllocationRequestId()}, got.Node.Host, got.Resource, told)
	if p == nil {
		m.log.WithField("container", got.ID.String()).Debug("Not needed (any more): released")
		m.release(got.ID)
		return
	}
	got.Request, got.Tags = p.id, p.Tags
	m.known[got.ID] = true
	out.Containers = append(out.Containers, got)
}

// previous returns the containers of earlier attempts that were not known.
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
