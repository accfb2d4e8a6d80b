package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"heddle/conf"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// node is a simulated NodeManager.
type node struct {
	run      *run
	id       records.NodeID
	client   *ipc.Client
	rm       ipc.Invoker
	response int32
	keys     [2]*pb.MasterKey
	label    string

	mu      sync.Mutex
	started []records.ContainerID // containers started since the last heartbeat
	running map[records.ContainerID]bool
	ended   []records.ContainerID
}

// newNode returns the i-th node.
func newNode(r *run, i int) *node {
	n := &node{
		run:     r,
		id:      nodeID(i),
		client:  r.o.client(),
		label:   labelOfNode(&r.o, i),
		running: map[records.ContainerID]bool{},
	}
	n.rm = n.client.Failover(r.o.Tracker, protocol.ResourceTracker, r.o.nodeManager(),
		ipc.RetryPolicy{MaxElapsed: 30 * time.Second})
	return n
}

func (n *node) register(ctx context.Context) error {
	req := &pb.RegisterNodeManagerRequest{}
	req.SetNodeId(n.id.PB())
	req.SetHttpPort(8042)
	req.SetResource(records.ResourceTypes{}.PB(n.run.o.NodeResource))
	req.SetPhysicalResource(records.ResourceTypes{}.PB(n.run.o.NodeResource))
	req.SetNmVersion(conf.HadoopVersion)
	if n.label != "" {
		l := &pb.NodeLabel{}
		l.SetName(n.label)
		req.SetNodeLabels(&pb.NodeLabels{})
		req.GetNodeLabels().SetNodeLabels([]*pb.NodeLabel{l})
	}
	n.mu.Lock()
	for id := range n.running {
		s := &pb.NMContainerStatus{}
		s.SetContainerId(id.PB())
		s.SetContainerState(pb.ContainerState_C_RUNNING)
		s.SetResource(records.ResourceTypes{}.PB(n.run.o.Container))
		s.SetPriority(&pb.Priority{})
		req.SetContainerStatuses(append(req.GetContainerStatuses(), s))
	}
	n.mu.Unlock()
	resp, err := protocol.RegisterNodeManager.Call(ctx, n.rm, req)
	if err != nil {
		return fmt.Errorf("register node %v: %w", n.id, err)
	}
	if resp.GetNodeAction() != pb.NodeAction_NORMAL {
		return fmt.Errorf("register node %v: %v: %s", n.id, resp.GetNodeAction(), resp.GetDiagnosticsMessage())
	}
	n.keys = [2]*pb.MasterKey{resp.GetContainerTokenMasterKey(), resp.GetNmTokenMasterKey()}
	n.response = 0
	return nil
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
		if err := n.heartbeat(ctx); err != nil {
			if ctx.Err() == nil {
				n.run.failed(err)
			}
			continue
		}
		n.run.beats.add(time.Since(begin))
	}
}

func (n *node) heartbeat(ctx context.Context) error {
	req := n.request()
	resp, err := protocol.NodeHeartbeat.Call(ctx, n.rm, req)
	if err != nil {
		return fmt.Errorf("heartbeat of node %v: %w", n.id, err)
	}
	switch resp.GetNodeAction() {
	case pb.NodeAction_RESYNC:
		return n.register(ctx)
	case pb.NodeAction_SHUTDOWN:
		return fmt.Errorf("heartbeat of node %v: told to shut down: %s", n.id, resp.GetDiagnosticsMessage())
	}
	n.response = resp.GetResponseId()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range resp.GetContainersToCleanup() {
		if id := records.ContainerIDFrom(id); n.running[id] {
			delete(n.running, id)
			n.ended = append(n.ended, id)
		}
	}
	return nil
}

func (n *node) request() *pb.NodeHeartbeatRequest {
	status := &pb.NodeStatus{}
	status.SetNodeId(n.id.PB())
	status.SetResponseId(n.response)
	health := &pb.NodeHealthStatus{}
	health.SetIsNodeHealthy(true)
	health.SetLastHealthReportTime(n.run.begin.UnixMilli())
	status.SetNodeHealthStatus(health)
	load := &pb.ResourceUtilization{}
	load.SetPmem(1024)
	load.SetVmem(2048)
	load.SetCpu(1)
	status.SetContainersUtilization(load)
	status.SetNodeUtilization(load)
	n.mu.Lock()
	for _, id := range n.started {
		n.running[id] = true
	}
	n.started = nil
	var all []*pb.ContainerStatus
	for id := range n.running {
		all = append(all, containerStatus(id, pb.ContainerState_C_RUNNING, records.ExitInvalid))
	}
	for _, id := range n.ended {
		all = append(all, containerStatus(id, pb.ContainerState_C_COMPLETE, records.ExitSuccess))
	}
	n.ended = nil
	n.mu.Unlock()
	status.SetContainersStatuses(all)
	req := &pb.NodeHeartbeatRequest{}
	req.SetNodeStatus(status)
	req.SetLastKnownContainerTokenMasterKey(n.keys[0])
	req.SetLastKnownNmTokenMasterKey(n.keys[1])
	return req
}

func containerStatus(id records.ContainerID, state pb.ContainerState, exit int32) *pb.ContainerStatus {
	s := &pb.ContainerStatus{}
	s.SetContainerId(id.PB())
	s.SetState(state)
	s.SetDiagnostics("")
	s.SetExitStatus(exit)
	return s
}

// start makes the node run a container until end is called for it.
func (n *node) start(id records.ContainerID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.started = append(n.started, id)
}

// end makes the node report a container's end with its next heartbeat.
func (n *node) end(id records.ContainerID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.running, id)
	n.ended = append(n.ended, id)
}
