package policy

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"heddle/conf"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// beat is the time between heartbeats of a node, and between calls of an ApplicationMaster.
const beat = 50 * time.Millisecond

// node is a simulated NodeManager. The ResourceManager starts ApplicationMasters' containers on it, which live until
// they are ended or cleaned up. It knows nothing of other containers.
type node struct {
	name string
	id   records.NodeID

	play   *play
	client *ipc.Client
	rm     ipc.Invoker
	server *ipc.Server
	stop   context.CancelFunc
	wg     sync.WaitGroup
	rounds atomic.Int64 // answered heartbeats

	mu         sync.Mutex
	resource   records.Resource
	key        *token.MasterKey
	response   int32
	containers map[records.ContainerID]*pb.ContainerStatus
	attributes *pb.NodeAttributes // for the next heartbeat, nil: none
	told       chan<- string      // whether they were taken: empty, or the reason why not
}

// hostOf returns the address of a scenario's i-th node.
func hostOf(i int) string { return fmt.Sprintf("127.3.%d.%d", i/250, 1+i%250) }

func (p *play) newNode(ctx context.Context, name, host string, r records.Resource) (*node, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	n := &node{
		name: name, id: records.NodeID{Host: host, Port: int32(l.Addr().(*net.TCPAddr).Port)}, play: p, resource: r,
		client: ipc.NewClient(ipc.ClientConfig{}), containers: map[records.ContainerID]*pb.ContainerStatus{},
	}
	n.rm = n.client.Failover([]string{p.rm.tracker}, protocol.ResourceTracker, ipc.Identity{User: "yarn"}, patience)
	if n.server, err = ipc.NewServer(ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: n}); err != nil {
		return nil, err
	}
	protocol.StartContainers.Serve(n.server, n.startContainers)
	protocol.StopContainers.Serve(n.server, n.stopContainers)
	n.wg.Go(func() { _ = n.server.Serve(l) }) // runs until it is closed
	ctx, n.stop = context.WithCancel(ctx)
	if err := n.register(ctx); err != nil {
		n.close()
		return nil, err
	}
	n.wg.Go(func() {
		every(ctx, func() {
			if err := n.heartbeat(ctx); err != nil && ctx.Err() == nil {
				p.failed(err)
			}
		})
	})
	return n, nil
}

// close ends the node, silently.
func (n *node) close() {
	n.stop()
	n.server.Close()
	n.client.Close()
	n.wg.Wait()
}

// leave unregisters the node.
func (n *node) leave(ctx context.Context) error {
	n.stop()
	req := &pb.UnRegisterNodeManagerRequest{}
	req.SetNodeId(n.id.PB())
	_, err := protocol.UnRegisterNodeManager.Call(ctx, n.rm, req)
	n.close()
	return err
}

// Bearer implements ipc.Secrets.
func (n *node) Bearer(identifier []byte) (ipc.Bearer, error) {
	id, err := token.ParseNM(identifier)
	if err != nil {
		return ipc.Bearer{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return ipc.Bearer{Password: n.key.Sign(identifier), User: id.User(), Kind: token.KindNM, Identifier: id}, nil
}

func (n *node) register(ctx context.Context) error {
	n.mu.Lock()
	req := &pb.RegisterNodeManagerRequest{}
	req.SetNodeId(n.id.PB())
	req.SetHttpPort(8042)
	req.SetResource(n.play.types.PB(n.resource))
	req.SetNmVersion(conf.HadoopVersion)
	n.mu.Unlock()
	resp, err := protocol.RegisterNodeManager.Call(ctx, n.rm, req)
	if err != nil {
		return fmt.Errorf("register node %s: %w", n.name, err)
	}
	if resp.GetNodeAction() != pb.NodeAction_NORMAL {
		return fmt.Errorf("register node %s: %v: %s", n.name, resp.GetNodeAction(), resp.GetDiagnosticsMessage())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.response, n.key = 0, token.MasterKeyFromPB(resp.GetNmTokenMasterKey())
	return nil
}

// attributesRefused is why a node's attributes aren't taken, empty if they are.
func attributesRefused(resp *pb.NodeHeartbeatResponse) string {
	if resp.GetAreNodeAttributesAcceptedByRM() {
		return ""
	}
	return "not accepted: " + resp.GetDiagnosticsMessage()
}

func (n *node) heartbeat(ctx context.Context) error {
	status := &pb.NodeStatus{}
	status.SetNodeId(n.id.PB())
	health := &pb.NodeHealthStatus{}
	health.SetIsNodeHealthy(true)
	health.SetHealthReport("")
	health.SetLastHealthReportTime(n.play.begin.UnixMilli())
	status.SetNodeHealthStatus(health)
	n.mu.Lock()
	status.SetResponseId(n.response)
	var all []*pb.ContainerStatus
	for _, s := range n.containers {
		all = append(all, s)
	}
	status.SetContainersStatuses(all)
	req := &pb.NodeHeartbeatRequest{}
	req.SetNodeStatus(status)
	req.SetLastKnownNmTokenMasterKey(n.key.PB())
	if n.attributes != nil {
		req.SetNodeAttributes(n.attributes)
	}
	n.mu.Unlock()
	resp, err := protocol.NodeHeartbeat.Call(ctx, n.rm, req)
	if err != nil {
		return fmt.Errorf("heartbeat of node %s: %w", n.name, err)
	}
	switch resp.GetNodeAction() {
	case pb.NodeAction_RESYNC:
		return n.register(ctx)
	case pb.NodeAction_SHUTDOWN:
		n.stop()
		return nil
	}
	n.mu.Lock()
	n.response = resp.GetResponseId()
	if n.attributes != nil && req.HasNodeAttributes() {
		n.attributes = nil
		n.told <- attributesRefused(resp)
	}
	if k := resp.GetNmTokenMasterKey(); k != nil {
		n.key = token.MasterKeyFromPB(k)
	}
	for _, id := range resp.GetContainersToBeRemovedFromNm() {
		delete(n.containers, records.ContainerIDFrom(id))
	}
	n.mu.Unlock()
	for _, id := range resp.GetContainersToCleanup() {
		n.end(records.ContainerIDFrom(id), records.ExitKilledByResourceManager)
	}
	n.rounds.Add(1)
	return nil
}

// end ends the container of an ApplicationMaster. Other containers are unknown here.
func (n *node) end(id records.ContainerID, exit int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.containers[id]; s != nil && s.GetState() == pb.ContainerState_C_RUNNING {
		n.containers[id] = containerStatus(id, pb.ContainerState_C_COMPLETE, exit)
	}
}

func containerStatus(id records.ContainerID, state pb.ContainerState, exit int32) *pb.ContainerStatus {
	s := &pb.ContainerStatus{}
	s.SetContainerId(id.PB())
	s.SetState(state)
	s.SetDiagnostics("")
	s.SetExitStatus(exit)
	return s
}

// startContainers starts an ApplicationMaster.
func (n *node) startContainers(_ context.Context, req *pb.StartContainersRequest) (*pb.StartContainersResponse, error) {
	resp := &pb.StartContainersResponse{}
	for _, r := range req.GetStartContainerRequest() {
		id, err := token.ParseContainer(token.FromPB(r.GetContainerToken()).Identifier)
		if err != nil {
			return nil, err
		}
		c, err := token.DecodeCredentials(r.GetContainerLaunchContext().GetTokens())
		if err != nil {
			return nil, err
		}
		t, ok := c.OfKind(token.KindAMRM)
		if !ok {
			return nil, fmt.Errorf("no token for the ApplicationMaster in its credentials")
		}
		cid := records.ContainerIDFrom(id.GetContainerId())
		n.mu.Lock()
		n.containers[cid] = containerStatus(cid, pb.ContainerState_C_RUNNING, records.ExitInvalid)
		n.mu.Unlock()
		n.play.launched(cid, n, t)
		resp.SetSucceededRequests(append(resp.GetSucceededRequests(), id.GetContainerId()))
	}
	return resp, nil
}

func (n *node) stopContainers(_ context.Context, req *pb.StopContainersRequest) (*pb.StopContainersResponse, error) {
	resp := &pb.StopContainersResponse{}
	for _, id := range req.GetContainerId() {
		n.end(records.ContainerIDFrom(id), records.ExitKilledByAppMaster)
		resp.SetSucceededRequests(append(resp.GetSucceededRequests(), id))
	}
	return resp, nil
}

// every calls f at once and then every beat, until ctx ends.
func every(ctx context.Context, f func()) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for ctx.Err() == nil {
		f()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
