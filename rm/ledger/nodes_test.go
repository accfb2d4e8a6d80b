package ledger

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/nodeattributes"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func TestRegistrationOfANode(t *testing.T) {
	s := world(t)
	id := records.NodeID{Host: "::1", Port: 3}
	r := &ledgerpb.NodeRegistered{
		Node: NodeRef(id), HttpPort: 80, Rack: "/r", Capability: Amounts(small), Version: "1", Features: []string{"freeze"}, Missing: []string{"quotas"},
	}
	node := Node{
		ID: id, HTTPPort: 80, Rack: "/r", Capability: small, Version: "1", Features: []string{"freeze"}, Missing: []string{"quotas"},
		State: pb.NodeState_NS_RUNNING, RegisteredAt: created + 40, httpAddress: "[::1]:80",
	}
	expect(t, s, 40, &ledgerpb.Command{NodeRegistered: r}, func(want *State) { n := node; want.Nodes[id] = &n })
	if s.Nodes[id].HTTPAddress() != "[::1]:80" {
		t.Errorf("its address is %q", s.Nodes[id].HTTPAddress())
	}
	run(t, s, 50, &ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{
		Node: NodeRef(id), State: proto.Int32(int32(pb.NodeState_NS_UNHEALTHY)), HealthReport: proto.String("ill"), DecommissionDeadline: proto.Int64(9),
	}})
	// It comes back with other things, and is well again.
	bare := &ledgerpb.NodeRegistered{Node: NodeRef(id), Rack: "/s", Capability: Amounts(small.Times(2)), Version: "2"}
	expect(t, s, 60, &ledgerpb.Command{NodeRegistered: bare}, func(want *State) {
		want.Nodes[id] = &Node{ID: id, Rack: "/s", Capability: small.Times(2), Version: "2", State: pb.NodeState_NS_RUNNING, RegisteredAt: created + 60}
	})
}

// The containers of a node that registers again stay.
func TestRegistrationKeepsContainers(t *testing.T) {
	s := world(t)
	expect(t, s, 40, register(node1, records.NewResource(8192, 8)), func(want *State) { want.Nodes[node1].RegisteredAt = created + 40 })
}

func TestUpdateOfANodeChangesWhatItNamesAlone(t *testing.T) {
	s := world(t)
	update := func(u *ledgerpb.NodeUpdated) *ledgerpb.Command {
		u.Node = NodeRef(node1)
		return &ledgerpb.Command{NodeUpdated: u}
	}
	n := func(s *State) *Node { return s.Nodes[node1] }
	expect(t, s, 40, update(&ledgerpb.NodeUpdated{}), func(*State) {})
	expect(t, s, 40, update(&ledgerpb.NodeUpdated{State: proto.Int32(int32(pb.NodeState_NS_LOST))}), func(want *State) { n(want).State = pb.NodeState_NS_LOST })
	expect(t, s, 40, update(&ledgerpb.NodeUpdated{Capability: Amounts(small)}), func(want *State) { n(want).Capability = small })
	expect(t, s, 40, update(&ledgerpb.NodeUpdated{HealthReport: proto.String("ill")}), func(want *State) { n(want).HealthReport = "ill" })
	expect(t, s, 40, update(&ledgerpb.NodeUpdated{DecommissionDeadline: proto.Int64(5)}), func(want *State) { n(want).DecommissionDeadline = 5 })
	expect(t, s, 40, update(&ledgerpb.NodeUpdated{}), func(*State) {})
}

func TestNodesAreForgottenWhenTheyAreEmpty(t *testing.T) {
	s := world(t)
	expect(t, s, 40, &ledgerpb.Command{NodeForgotten: &ledgerpb.NodeForgotten{Node: NodeRef(node2)}}, func(want *State) { delete(want.Nodes, node2) })
	refuse(t, s, &ledgerpb.Command{NodeForgotten: &ledgerpb.NodeForgotten{Node: NodeRef(node1)}}, nil)
}

// The capacity of a cluster is that of the nodes that run, and of those that leave and still do.
func TestCapacityIsThatOfUsableNodes(t *testing.T) {
	for state, counts := range map[pb.NodeState]bool{
		pb.NodeState_NS_NEW: false, pb.NodeState_NS_RUNNING: true, pb.NodeState_NS_UNHEALTHY: false, pb.NodeState_NS_DECOMMISSIONED: false,
		pb.NodeState_NS_LOST: false, pb.NodeState_NS_REBOOTED: false, pb.NodeState_NS_DECOMMISSIONING: true, pb.NodeState_NS_SHUTDOWN: false,
	} {
		s := world(t)
		number := int32(state)
		if err := s.ApplyCommand(41, &ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{Node: NodeRef(node2), State: &number}}); err != nil {
			t.Fatal(err)
		}
		want := records.NewResource(8192, 8)
		if counts {
			want = records.NewResource(12288, 12)
		}
		if s.Capacity() != want {
			t.Errorf("with a node that is %v: %v", state, s.Capacity())
		}
	}
}

// What the nodes of a host have said of its attributes is forgotten with the last of them. What administrators have said stays.
func TestReportedAttributesGoWithTheLastNodeOfTheirHost(t *testing.T) {
	s := New()
	twin := node1
	twin.Port++
	var nodes commands
	for _, id := range []records.NodeID{node1, twin} {
		nodes = append(nodes, &ledgerpb.Command{NodeRegistered: &ledgerpb.NodeRegistered{Node: NodeRef(id)}})
	}
	host := func(reported bool) *ledgerpb.HostAttributes {
		return &ledgerpb.HostAttributes{Host: node1.Host, Reported: reported, Attributes: []*ledgerpb.NodeAttribute{{Name: "a", Value: "1"}}}
	}
	nodes = append(nodes, &ledgerpb.Command{NodeAttributesChanged: &ledgerpb.NodeAttributesChanged{Hosts: []*ledgerpb.HostAttributes{host(true), host(false)}}})
	mustApply(t, s, nodes.at(0))
	for i, want := range []int{2, 1} {
		mustApply(t, s, commands{{NodeForgotten: &ledgerpb.NodeForgotten{Node: NodeRef([]records.NodeID{twin, node1}[i])}}}.at(0))
		if got := s.Attributes.All(node1.Host); len(got) != want || got[len(got)-1].Prefix != nodeattributes.Central {
			t.Errorf("%d: %v", i, got)
		}
	}
}
