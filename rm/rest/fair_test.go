package rest

import (
	"testing"

	"heddle/rm/ledger"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// The FairScheduler's queues promised containers of the configured maximum that no node could take.
func TestTheLargestContainerFitsOnANode(t *testing.T) {
	configured := records.NewResource(8192, 4)
	node := func(mb, vcores int64, state pb.NodeState) view.Node {
		return view.Node{Node: ledger.Node{State: state, Capability: records.NewResource(mb, vcores)}}
	}
	if got := largestContainer(nil, configured); got != configured {
		t.Errorf("without nodes: %v", got)
	}
	nodes := []view.Node{
		node(2048, 16, pb.NodeState_NS_RUNNING), node(4096, 1, pb.NodeState_NS_RUNNING), node(1<<20, 99, pb.NodeState_NS_LOST),
	}
	if got := largestContainer(nodes, configured); got != records.NewResource(4096, 4) {
		t.Errorf("%v", got)
	}
}
