package client

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// swappingMaster is a Master without a ResourceManager, which has four containers and a request.
type swappingMaster struct {
	*Master
	t       *testing.T
	request RequestID
}

func newSwappingMaster(t *testing.T) swappingMaster {
	m := &Master{
		o: MasterOptions{Racks: &Racks{}}, nm: &NMTokens{}, known: map[records.ContainerID]bool{}, suspended: map[records.ContainerID]bool{},
		releases: map[records.ContainerID]bool{}, asks: newAsks((&Racks{}).Of), swaps: swaps{taken: true},
	}
	for n := range int64(4) {
		m.known[swapped(n)] = true
	}
	return swappingMaster{m, t, m.asks.add(Request{Priority: 20, Resource: records.NewResource(1024, 1)})}
}

func swapped(n int64) records.ContainerID {
	return records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}, ID: n}
}

// call makes a call, whose answer is lost if there is none. It returns what was sent, and what the answer says.
func (m swappingMaster) call(resp *pb.AllocateResponse) ([]*pb.ContainerSwap, Allocation) {
	o := m.collect()
	req := m.message(&o)
	var out Allocation
	if resp != nil {
		m.digest(&o, resp, &out)
	}
	return req.GetHeddleSwaps(), out
}

// expect compares what a call sends to the numbers of containers: those that are to go on are below 0.
func (m swappingMaster) expect(resp *pb.AllocateResponse, want ...int64) Allocation {
	m.t.Helper()
	sent, out := m.call(resp)
	var got []int64
	for _, w := range sent {
		n := records.ContainerIDFrom(w.GetContainerId()).ID
		if w.GetResume() {
			n = -n
		}
		got = append(got, n)
	}
	if !slices.Equal(got, want) {
		m.t.Errorf("sent %v, want %v", got, want)
	}
	return out
}

func standStill(ids ...int64) *pb.AllocateResponse {
	list, resp := &pb.SuspendedContainers{}, &pb.AllocateResponse{}
	for _, n := range ids {
		list.SetContainerId(append(list.GetContainerId(), swapped(n).PB()))
	}
	resp.SetHeddleSuspended(list)
	return resp
}

// Wishes are sent until they were answered, and to a ResourceManager that has taken over as long as they hold.
func TestSwapsAreSentOnce(t *testing.T) {
	m, nothing := newSwappingMaster(t), &pb.AllocateResponse{}
	if err := m.Swap(swapped(1), m.request+1); err == nil {
		t.Error("a request that nobody has made gets the room")
	}
	if err := m.Swap(swapped(1), m.request); err != nil {
		t.Fatal(err)
	}
	if err := m.Swap(swapped(2), 0); err != nil {
		t.Fatal(err)
	}
	if err := m.Swap(swapped(9), 0); err != nil { // it has ended
		t.Fatal(err)
	}
	sent, _ := m.call(nil)
	if len(sent) != 2 || sent[0].GetPriority() != 20 || !sent[0].HasAllocationRequestId() || sent[1].HasAllocationRequestId() {
		t.Errorf("sent %v", sent)
	}
	m.expect(standStill(1, 2), 1, 2)
	m.expect(nothing)
	m.swaps.forget()
	m.expect(standStill(1, 2), 1, 2)
	m.Unswap(swapped(1))
	m.Unswap(swapped(3)) // nobody has wanted anything
	m.expect(nil, -1)
	m.expect(nothing, -1)
	m.expect(nothing)
	m.swaps.forget()
	m.expect(nothing, -1, 2)
	m.expect(standStill(2))
	m.swaps.forget()
	end := &pb.ContainerStatus{}
	end.SetContainerId(swapped(2).PB())
	over := &pb.AllocateResponse{}
	over.SetCompletedContainerStatuses([]*pb.ContainerStatus{end})
	m.expect(over, 2)
	m.swaps.forget()
	if m.expect(nothing); len(m.swaps.of) > 0 {
		t.Errorf("%d wishes are kept", len(m.swaps.of))
	}
	if m.Swap(swapped(3), 0); m.swaps.of[swapped(3)] == nil {
		t.Error("it isn't wanted")
	}
	if m.Unswap(swapped(3)); len(m.swaps.of) > 0 {
		t.Error("it was never sent, and is wanted back")
	}
}

// A refusal ends a wish. So does a ResourceManager that doesn't know wishes, also one that takes over from one that does.
func TestRefusedSwaps(t *testing.T) {
	m := newSwappingMaster(t)
	resp, refusal := &pb.AllocateResponse{}, &pb.RefusedSwap{}
	refusal.SetContainerId(swapped(1).PB())
	refusal.SetReason("why")
	resp.SetHeddleRefusedSwaps([]*pb.RefusedSwap{refusal, {}})
	m.Swap(swapped(1), 0)
	if out := m.expect(resp, 1); !slices.Equal(out.RefusedSwaps, []RefusedSwap{{swapped(1), "why"}}) {
		t.Errorf("%v", out.RefusedSwaps)
	}
	if out := m.expect(resp); len(out.RefusedSwaps) > 0 || len(m.swaps.of) > 0 {
		t.Errorf("refused twice: %v", out.RefusedSwaps)
	}
	m.Swap(swapped(1), 0)
	m.Swap(swapped(2), 0)
	m.expect(standStill(1), 1, 2)
	m.Unswap(swapped(1))
	m.swaps.taken = false
	m.swaps.forget()
	if out := m.expect(&pb.AllocateResponse{}); len(out.RefusedSwaps) != 1 || out.RefusedSwaps[0].ID != swapped(2) {
		t.Errorf("%v", out.RefusedSwaps)
	}
}

// Whatever a ResourceManager says, only wishes that were sent are refused.
func FuzzRefusedSwaps(f *testing.F) {
	r, resp := &pb.RefusedSwap{}, &pb.AllocateResponse{}
	r.SetContainerId(swapped(1).PB())
	resp.SetHeddleRefusedSwaps([]*pb.RefusedSwap{r, r, {}})
	b, err := proto.Marshal(resp)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		resp := &pb.AllocateResponse{}
		if proto.Unmarshal(b, resp) != nil {
			return
		}
		m, out := newSwappingMaster(t), Allocation{}
		m.Swap(swapped(1), 0)
		m.Swap(swapped(2), 0)
		m.swaps.of[swapped(1)].sent = true
		if m.unswapped(resp, &out); len(out.RefusedSwaps) > 1 || len(m.swaps.of)+len(out.RefusedSwaps) != 2 {
			t.Errorf("%v of %v", out.RefusedSwaps, resp)
		}
	})
}
