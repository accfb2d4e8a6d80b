package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"heddle/conf"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Node speaks for a NodeManager that is healthy and at most runs what it says. Register and Heartbeat are called by one
// goroutine at a time.
type Node struct {
	ID       records.NodeID
	RM       ipc.Invoker // a ResourceManager's port for nodes
	Resource *pb.Resource
	WebPort  int // 8042 if it is 0; nothing needs to listen there
	// Containers returns what the node says of its containers, in heartbeats and when it registers; nil: it has none.
	Containers func() []*pb.ContainerStatus
	// Registers and Beats change a message before it is sent; nil: nothing.
	Registers func(*pb.RegisterNodeManagerRequest)
	Beats     func(*pb.NodeHeartbeatRequest)

	response int32

	mu   sync.Mutex
	keys [2]*pb.MasterKey // of containers' tokens, and of nodes'
}

// ErrShutdown is the answer to a heartbeat of a node that shall shut down.
var ErrShutdown = errors.New("told to shut down")

// Register registers the node.
func (n *Node) Register(ctx context.Context) error {
	req := &pb.RegisterNodeManagerRequest{}
	req.SetNodeId(n.ID.PB())
	req.SetHttpPort(int32(cmp.Or(n.WebPort, 8042)))
	req.SetResource(n.Resource)
	req.SetNmVersion(conf.HadoopVersion)
	for _, c := range n.containers() {
		s := &pb.NMContainerStatus{}
		s.SetContainerId(c.GetContainerId())
		s.SetContainerState(c.GetState())
		if c.GetState() == pb.ContainerState_C_COMPLETE {
			s.SetContainerExitStatus(c.GetExitStatus())
		}
		req.SetContainerStatuses(append(req.GetContainerStatuses(), s))
	}
	if n.Registers != nil {
		n.Registers(req)
	}
	resp, err := protocol.RegisterNodeManager.Call(ctx, n.RM, req)
	if err != nil {
		return fmt.Errorf("register node %v: %w", n.ID, err)
	}
	if resp.GetNodeAction() != pb.NodeAction_NORMAL {
		return fmt.Errorf("register node %v: %v: %s", n.ID, resp.GetNodeAction(), resp.GetDiagnosticsMessage())
	}
	n.response = 0
	n.learn(resp.GetContainerTokenMasterKey(), resp.GetNmTokenMasterKey())
	return nil
}

// Heartbeat sends a heartbeat and returns its answer. If the answer is to register again, the node does so, and Heartbeat
// returns nil. If it is to shut down, the error is ErrShutdown.
func (n *Node) Heartbeat(ctx context.Context) (*pb.NodeHeartbeatResponse, error) {
	health := &pb.NodeHealthStatus{}
	health.SetIsNodeHealthy(true)
	status := &pb.NodeStatus{}
	status.SetNodeId(n.ID.PB())
	status.SetResponseId(n.response)
	status.SetNodeHealthStatus(health)
	status.SetContainersStatuses(n.containers())
	req := &pb.NodeHeartbeatRequest{}
	req.SetNodeStatus(status)
	n.mu.Lock()
	req.SetLastKnownContainerTokenMasterKey(n.keys[0])
	req.SetLastKnownNmTokenMasterKey(n.keys[1])
	n.mu.Unlock()
	if n.Beats != nil {
		n.Beats(req)
	}
	resp, err := protocol.NodeHeartbeat.Call(ctx, n.RM, req)
	if err != nil {
		return nil, fmt.Errorf("heartbeat of node %v: %w", n.ID, err)
	}
	switch resp.GetNodeAction() {
	case pb.NodeAction_RESYNC:
		return nil, n.Register(ctx)
	case pb.NodeAction_SHUTDOWN:
		return nil, fmt.Errorf("heartbeat of node %v: %w: %s", n.ID, ErrShutdown, resp.GetDiagnosticsMessage())
	}
	n.response = resp.GetResponseId()
	n.learn(resp.GetContainerTokenMasterKey(), resp.GetNmTokenMasterKey())
	return resp, nil
}

// Leave unregisters the node.
func (n *Node) Leave(ctx context.Context) error {
	req := &pb.UnRegisterNodeManagerRequest{}
	req.SetNodeId(n.ID.PB())
	_, err := protocol.UnRegisterNodeManager.Call(ctx, n.RM, req)
	return err
}

func (n *Node) containers() []*pb.ContainerStatus {
	if n.Containers == nil {
		return nil
	}
	return n.Containers()
}

// learn takes keys, where there are new ones.
func (n *Node) learn(keys ...*pb.MasterKey) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, k := range keys {
		if k != nil {
			n.keys[i] = k
		}
	}
}

// Bearer implements ipc.Secrets for the port where ApplicationMasters call the node.
func (n *Node) Bearer(identifier []byte) (ipc.Bearer, error) {
	id, err := token.ParseNM(identifier)
	if err != nil {
		return ipc.Bearer{}, err
	}
	n.mu.Lock()
	key := token.MasterKeyFromPB(n.keys[1])
	n.mu.Unlock()
	if id.KeyID != key.ID() || id.Node != n.ID {
		return ipc.Bearer{}, ipc.NewException(ipc.InvalidToken, "Given NMToken for application : %v is not valid for current node manager.", id.Attempt)
	}
	return ipc.Bearer{Password: key.Sign(identifier), User: id.User(), Kind: token.KindNM, Identifier: id}, nil
}

// Status returns what a node says of a container.
func Status(id records.ContainerID, state pb.ContainerState, exit int32) *pb.ContainerStatus {
	s := &pb.ContainerStatus{}
	s.SetContainerId(id.PB())
	s.SetState(state)
	s.SetDiagnostics("")
	s.SetExitStatus(exit)
	return s
}

// Running is the status of a container that runs.
func Running(id records.ContainerID) *pb.ContainerStatus {
	return Status(id, pb.ContainerState_C_RUNNING, records.ExitInvalid)
}

// Ended is the status of a container that has ended.
func Ended(id records.ContainerID, exit int32) *pb.ContainerStatus {
	return Status(id, pb.ContainerState_C_COMPLETE, exit)
}

// Book has the containers of a node that starts nothing: they run until End is called for them or the ResourceManager wants
// them cleaned up. A Book tells an end until a heartbeat that told it is answered. It is safe for concurrent use.
type Book struct {
	mu      sync.Mutex
	running map[records.ContainerID]bool
	ended   []records.ContainerID
	told    int // of ended, the first that the last list had
}

// Start makes the node run a container.
func (b *Book) Start(id records.ContainerID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running == nil {
		b.running = map[records.ContainerID]bool{}
	}
	b.running[id] = true
}

// End makes the node tell a container's end with its next heartbeat.
func (b *Book) End(id records.ContainerID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, id)
	b.ended = append(b.ended, id)
}

// List returns what the node says of its containers.
func (b *Book) List() (all []*pb.ContainerStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.running {
		all = append(all, Running(id))
	}
	for _, id := range b.ended {
		all = append(all, Ended(id, records.ExitSuccess))
	}
	b.told = len(b.ended)
	return all
}

// Answered takes the answer to the heartbeat that told the last list; nil: there was none.
func (b *Book) Answered(resp *pb.NodeHeartbeatResponse) {
	if resp == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = b.ended[b.told:]
	b.told = 0
	for _, id := range resp.GetContainersToCleanup() {
		if id := records.ContainerIDFrom(id); b.running[id] {
			delete(b.running, id)
			b.ended = append(b.ended, id)
		}
	}
}
