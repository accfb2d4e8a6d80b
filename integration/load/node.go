package load

import (
	"context"
	"math/rand/v2"
	"time"

	"heddle/integration/peer"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// node is a simulated NodeManager.
type node struct {
	peer.Node
	peer.Book
	run    *run
	client *ipc.Client
	label  string
}

// newNode returns the i-th node.
func newNode(r *run, i int) *node {
	n := &node{run: r, client: r.o.client(), label: labelOfNode(&r.o, i)}
	n.Node = peer.Node{
		ID: nodeID(i), Resource: records.ResourceTypes{}.PB(r.o.NodeResource),
		RM:         n.client.Failover(r.o.Tracker, protocol.ResourceTracker, r.o.nodeManager(), ipc.RetryPolicy{MaxElapsed: 30 * time.Second}),
		Containers: n.List, Registers: n.registers, Beats: n.beats,
	}
	return n
}

// registers completes a registration.
func (n *node) registers(req *pb.RegisterNodeManagerRequest) {
	req.SetPhysicalResource(req.GetResource())
	if n.label != "" {
		l := &pb.NodeLabel{}
		l.SetName(n.label)
		req.SetNodeLabels(&pb.NodeLabels{})
		req.GetNodeLabels().SetNodeLabels([]*pb.NodeLabel{l})
	}
	for _, s := range req.GetContainerStatuses() {
		s.SetResource(records.ResourceTypes{}.PB(n.run.o.Container))
		s.SetPriority(&pb.Priority{})
	}
}

// beats completes a heartbeat.
func (n *node) beats(req *pb.NodeHeartbeatRequest) {
	status := req.GetNodeStatus()
	status.GetNodeHealthStatus().SetLastHealthReportTime(n.run.begin.UnixMilli())
	load := &pb.ResourceUtilization{}
	load.SetPmem(1024)
	load.SetVmem(2048)
	load.SetCpu(1)
	status.SetContainersUtilization(load)
	status.SetNodeUtilization(load)
}

// live sends heartbeats until ctx ends. Nodes spread theirs over the interval, as in a real cluster. A heartbeat's date doesn't depend on when
// the one before was sent: if this process once was suspended, the heartbeats of many nodes would come together in each interval afterwards.
func (n *node) live(ctx context.Context) {
	defer n.client.Close()
	interval := n.run.o.Heartbeat
	due := time.Now().Add(time.Duration(rand.Int64N(int64(interval))))
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if late := time.Since(due); late > interval { // a NodeManager doesn't make up for heartbeats that it has missed
			due = due.Add(late.Truncate(interval))
		}
		due = due.Add(interval)
		timer.Reset(time.Until(due))
		begin := time.Now()
		resp, err := n.Heartbeat(ctx)
		if err != nil {
			if ctx.Err() == nil {
				n.run.failed(err)
			}
			continue
		}
		n.Answered(resp)
		n.run.beats.add(time.Since(begin))
	}
}
