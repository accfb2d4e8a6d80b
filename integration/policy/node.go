package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"heddle/integration/peer"
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
	peer.Node
	name string

	play   *play
	client *ipc.Client
	server *ipc.Server
	stop   context.CancelFunc
	wg     sync.WaitGroup
	rounds atomic.Int64 // answered heartbeats

	mu         sync.Mutex
	containers map[records.ContainerID]*pb.ContainerStatus
	attributes *pb.NodeAttributes // for the next heartbeat, nil: none
	sent       bool               // the heartbeat that is under way has them
	told       chan<- string      // whether they were taken: empty, or the reason why not
	queue      queue
}

// hostOf returns the address of a scenario's i-th node.
func hostOf(i int) string { return fmt.Sprintf("127.3.%d.%d", i/250, 1+i%250) }

func (p *play) newNode(ctx context.Context, name, host string, r records.Resource, waiting string) (*node, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	n := &node{name: name, play: p, client: ipc.NewClient(ipc.ClientConfig{}), containers: map[records.ContainerID]*pb.ContainerStatus{}}
	if n.queue.size = r; waiting != "" {
		if n.queue.most, err = strconv.Atoi(waiting); err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.queued[host] = n
		p.mu.Unlock()
	}
	n.Node = peer.Node{
		ID:         records.NodeID{Host: host, Port: int32(l.Addr().(*net.TCPAddr).Port)},
		RM:         n.client.Failover([]string{p.rm.tracker}, protocol.ResourceTracker, ipc.Identity{User: "yarn"}, patience),
		Resource:   p.types.PB(r),
		Containers: n.list, Beats: n.beats,
		Registers: func(req *pb.RegisterNodeManagerRequest) { req.SetContainerStatuses(nil) }, // it doesn't keep them
	}
	if n.server, err = ipc.NewServer(ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: n}); err != nil {
		return nil, err
	}
	protocol.StartContainers.Serve(n.server, n.startContainers)
	protocol.StopContainers.Serve(n.server, n.stopContainers)
	n.wg.Go(func() { _ = n.server.Serve(l) }) // runs until it is closed
	ctx, n.stop = context.WithCancel(ctx)
	if err := n.Register(ctx); err != nil {
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
	err := n.Leave(ctx)
	n.close()
	return err
}

// attributesRefused is why a node's attributes aren't taken, empty if they are.
func attributesRefused(resp *pb.NodeHeartbeatResponse) string {
	if resp.GetAreNodeAttributesAcceptedByRM() {
		return ""
	}
	return "not accepted: " + resp.GetDiagnosticsMessage()
}

func (n *node) heartbeat(ctx context.Context) error {
	resp, err := n.Heartbeat(ctx)
	if errors.Is(err, peer.ErrShutdown) {
		n.stop()
		return nil
	}
	if err != nil || resp == nil {
		return err
	}
	n.mu.Lock()
	if n.sent {
		n.sent, n.attributes = false, nil
		n.told <- attributesRefused(resp)
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

// list returns what the node says of its containers.
func (n *node) list() []*pb.ContainerStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.containers))
}

// beats completes a heartbeat.
func (n *node) beats(req *pb.NodeHeartbeatRequest) {
	health := req.GetNodeStatus().GetNodeHealthStatus()
	health.SetHealthReport("")
	health.SetLastHealthReportTime(n.play.begin.UnixMilli())
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.attributes != nil {
		req.SetNodeAttributes(n.attributes)
	}
	n.sent = n.attributes != nil
	if q := n.queue.status(); q != nil {
		req.GetNodeStatus().SetOpportunisticContainersStatus(q)
	}
}

// end ends the container of an ApplicationMaster. Other containers are unknown here.
func (n *node) end(id records.ContainerID, exit int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.containers[id]; s != nil && s.GetState() == pb.ContainerState_C_RUNNING {
		n.containers[id] = peer.Ended(id, exit)
		n.look()
	}
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
		n.containers[cid] = peer.Running(cid)
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
