package history

import (
	"context"
	"fmt"
	"sync"
	"time"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// node is a simulated NodeManager that starts nothing.
type node struct {
	w        *World
	id       records.NodeID
	rm       ipc.Invoker
	response int32

	mu      sync.Mutex
	running map[records.ContainerID]*pb.ContainerId
	ended   []*pb.ContainerId
}

func (n *node) register(ctx context.Context) error {
	req := &pb.RegisterNodeManagerRequest{}
	req.SetNodeId(n.id.PB())
	req.SetHttpPort(8042)
	req.SetResource(records.ResourceTypes{}.PB(n.w.o.Container.Times(int64(n.w.o.Capacity))))
	req.SetNmVersion("3.4.2")
	n.mu.Lock()
	for _, id := range n.running {
		s := &pb.NMContainerStatus{}
		s.SetContainerId(id)
		s.SetContainerState(pb.ContainerState_C_RUNNING)
		req.SetContainerStatuses(append(req.GetContainerStatuses(), s))
	}
	n.mu.Unlock()
	resp, err := protocol.RegisterNodeManager.Call(ctx, n.rm, req)
	if err != nil {
		return err
	}
	if resp.GetNodeAction() != pb.NodeAction_NORMAL {
		return fmt.Errorf("node %v: %v %s", n.id, resp.GetNodeAction(), resp.GetDiagnosticsMessage())
	}
	n.response = 0
	return nil
}

func (n *node) live(ctx context.Context) {
	beat := time.NewTicker(50 * time.Millisecond)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		if err := n.heartbeat(ctx); err != nil && ctx.Err() == nil {
			n.w.failed(err)
		}
	}
}

func (n *node) heartbeat(ctx context.Context) error {
	status := &pb.NodeStatus{}
	status.SetNodeId(n.id.PB())
	status.SetResponseId(n.response)
	health := &pb.NodeHealthStatus{}
	health.SetIsNodeHealthy(true)
	status.SetNodeHealthStatus(health)
	n.mu.Lock()
	var all []*pb.ContainerStatus
	for _, id := range n.running {
		all = append(all, statusOf(id, pb.ContainerState_C_RUNNING))
	}
	ended := n.ended
	n.mu.Unlock()
	for _, id := range ended {
		all = append(all, statusOf(id, pb.ContainerState_C_COMPLETE))
	}
	status.SetContainersStatuses(all)
	req := &pb.NodeHeartbeatRequest{}
	req.SetNodeStatus(status)
	resp, err := protocol.NodeHeartbeat.Call(ctx, n.rm, req)
	if err != nil {
		return err
	}
	switch resp.GetNodeAction() {
	case pb.NodeAction_RESYNC:
		return n.register(ctx)
	case pb.NodeAction_SHUTDOWN:
		return fmt.Errorf("node %v was told to shut down: %s", n.id, resp.GetDiagnosticsMessage())
	}
	n.response = resp.GetResponseId()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = n.ended[len(ended):]
	for _, id := range resp.GetContainersToCleanup() {
		key := records.ContainerIDFrom(id)
		if c, ok := n.running[key]; ok {
			delete(n.running, key)
			n.ended = append(n.ended, c)
		}
	}
	return nil
}

func statusOf(id *pb.ContainerId, state pb.ContainerState) *pb.ContainerStatus {
	s := &pb.ContainerStatus{}
	s.SetContainerId(id)
	s.SetState(state)
	s.SetExitStatus(0)
	return s
}

func (n *node) start(id *pb.ContainerId) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running[records.ContainerIDFrom(id)] = id
}
