package client

import (
	"fmt"
	"maps"
	"slices"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// maxSwaps is how many wishes one message says, as a ResourceManager takes.
const maxSwaps = 64

// swaps are containers that the caller wants to be suspended, or to continue after that. All of it holds until the container has ended or continued,
// or the ResourceManager has refused it: another one that takes over is told again.
type swaps struct {
	taken bool // this ResourceManager understands them
	of    map[records.ContainerID]*swapping
}

type swapping struct {
	wish swapWish
	sent bool
}

type swapWish struct {
	id     records.ContainerID
	resume bool
	to     *wireID // of the class of the request that gets the room; nil: the next request
}

// RefusedSwap is a container that isn't suspended, though Swap wanted that.
type RefusedSwap struct {
	ID     records.ContainerID
	Reason string
}

// Swap suspends a running container, if the ResourceManager wants that as well, and gives its room to a request; with 0 to the next one.
// Allocation.Suspended says that it is suspended, Allocation.RefusedSwaps that it continues running. It fails if the request isn't outstanding.
func (m *Master) Swap(id records.ContainerID, to RequestID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := swapWish{id: id}
	if to != 0 {
		p := m.asks.wanted[to]
		if p == nil {
			return fmt.Errorf("container %v can't give its room to request %d, which is not outstanding", id, to)
		}
		w.to = &p.class.wireID
	}
	if m.known[id] {
		m.swaps.want(w)
	}
	return nil
}

// Unswap resumes a container that was to be suspended, as soon as its node has room for it. Allocation.Resumed says so.
func (m *Master) Unswap(id records.ContainerID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch x := m.swaps.of[id]; {
	case x == nil && !m.suspended[id] || !m.known[id]:
	case x != nil && !x.sent && !m.suspended[id]:
		delete(m.swaps.of, id) // it wasn't reported
	default:
		m.swaps.want(swapWish{id: id, resume: true})
	}
}

func (s *swaps) want(w swapWish) {
	if s.of == nil {
		s.of = map[records.ContainerID]*swapping{}
	}
	s.of[w.id] = &swapping{wish: w}
}

// news gathers what hasn't been sent yet. The wishes are shared, and don't change.
func (s *swaps) news() (out []*swapping) {
	if !s.taken {
		return nil
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.of), records.ContainerID.Compare) {
		if x := s.of[id]; !x.sent && len(out) < maxSwaps {
			out = append(out, x)
		}
	}
	return out
}

// refuse takes the wishes that this ResourceManager doesn't understand.
func (s *swaps) refuse(out *Allocation) {
	if s.taken || len(s.of) == 0 {
		return
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.of), records.ContainerID.Compare) {
		if !s.of[id].wish.resume {
			out.RefusedSwaps = append(out.RefusedSwaps, RefusedSwap{id, "the ResourceManager suspends no containers for their applications"})
		}
	}
	clear(s.of)
}

// markSwapsSent records that the ResourceManager has got wishes, of which some may have been replaced since.
func (m *Master) markSwapsSent(sent []*swapping) {
	for _, x := range sent {
		x.sent = true
		if id := x.wish.id; x.wish.resume && !m.suspended[id] && m.swaps.of[id] == x {
			delete(m.swaps.of, id) // there is nothing to wait for
		}
	}
}

// resumed records that a container has resumed. A later wish holds.
func (s *swaps) resumed(id records.ContainerID) {
	if x := s.of[id]; x != nil && (x.sent || x.wish.resume) {
		delete(s.of, id)
	}
}

// forget marks everything to be sent again.
func (s *swaps) forget() {
	for _, x := range s.of {
		x.sent = false
	}
}

// writeSwaps adds wishes to a call.
func writeSwaps(req *pb.AllocateRequest, news []*swapping) {
	var list []*pb.ContainerSwap
	for _, x := range news {
		w := &pb.ContainerSwap{}
		w.SetContainerId(x.wish.id.PB())
		if x.wish.resume {
			w.SetResume(true)
		}
		if to := x.wish.to; to != nil {
			w.SetPriority(to.priority)
			w.SetAllocationRequestId(to.requestID)
		}
		list = append(list, w)
	}
	req.SetHeddleSwaps(list)
}

// unswapped takes refused wishes out of an answer.
func (m *Master) unswapped(resp *pb.AllocateResponse, out *Allocation) {
	m.swaps.refuse(out)
	for _, r := range resp.GetHeddleRefusedSwaps() {
		id := records.ContainerIDFrom(r.GetContainerId())
		if x := m.swaps.of[id]; x != nil && x.sent && !x.wish.resume {
			delete(m.swaps.of, id)
			out.RefusedSwaps = append(out.RefusedSwaps, RefusedSwap{id, r.GetReason()})
		}
	}
}
