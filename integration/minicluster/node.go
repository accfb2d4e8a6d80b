package minicluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"heddle/integration/peer"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Container describes a container to the Program that runs in it.
type Container struct {
	ID     records.ContainerID
	Node   *Node
	User   string
	Launch *pb.ContainerLaunchContext
}

// Env returns a variable of the launch context.
func (c *Container) Env(name string) (string, bool) {
	for _, e := range c.Launch.GetEnvironment() {
		if e.GetKey() == name {
			return e.GetValue(), true
		}
	}
	return "", false
}

// Program takes the place of a container's processes. It returns the exit status. Its context ends when the container
// is stopped.
type Program func(ctx context.Context, c Container) int

// NodeOptions describe a node. Zero values mean the defaults at the fields.
type NodeOptions struct {
	Host     string           // 127.0.0.1
	Resource records.Resource // 8192 MiB, 8 vcores
	Run      Program          // runs in all containers; the default returns 0 at once
	// Refuse makes the node refuse a container. If it returns nil, the node starts the container.
	Refuse func(records.ContainerID) *pb.SerializedException
	// Fail returns an error with which a whole call to start containers fails, or nil.
	Fail func() error
	// Services are the metadata of auxiliary services.
	Services map[string][]byte
	WebPort  int         // 8042, where nothing needs to listen
	Left     func(error) // hears that the node is to shut down, which it then does; nil: that fails the test
}

// Node is a NodeManager whose containers are functions.
type Node struct {
	peer.Node

	c      *Cluster
	o      NodeOptions
	rpc    *ipc.Client
	server *ipc.Server
	kick   chan struct{}
	stop   context.CancelFunc
	wg     sync.WaitGroup

	mu         sync.Mutex
	containers map[records.ContainerID]*running
	gone       bool
}

type running struct {
	cancel context.CancelFunc
	done   bool
	exit   int32
}

// Node adds a node to the cluster. It leaves when the test ends.
func (c *Cluster) Node(o NodeOptions) *Node {
	c.t.Helper()
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	if o.Resource.IsZero() {
		o.Resource = records.NewResource(8192, 8)
	}
	if o.Run == nil {
		o.Run = func(context.Context, Container) int { return 0 }
	}
	l, err := net.Listen("tcp", net.JoinHostPort(o.Host, "0"))
	if err != nil {
		c.t.Fatal(err)
	}
	n := &Node{
		c: c, o: o, rpc: ipc.NewClient(ipc.ClientConfig{ConnectTimeout: 2 * time.Second}),
		kick: make(chan struct{}, 1), containers: map[records.ContainerID]*running{},
	}
	at, err := c.Conf.RMAddresses("yarn.resourcemanager.resource-tracker.address")
	if err != nil {
		c.t.Fatal(err)
	}
	var addrs []string
	for _, a := range at {
		addrs = append(addrs, a.String())
	}
	n.Node = peer.Node{
		ID: records.NodeID{Host: o.Host, Port: int32(l.Addr().(*net.TCPAddr).Port)}, WebPort: o.WebPort, Resource: records.ResourceTypes{}.PB(o.Resource),
		RM:         n.rpc.Failover(addrs, protocol.ResourceTracker, ipc.Identity{User: "yarn"}, ipc.RetryPolicy{Max: 200 * time.Millisecond}),
		Containers: n.list,
	}
	if n.server, err = ipc.NewServer(ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: n}); err != nil {
		c.t.Fatal(err)
	}
	protocol.StartContainers.Serve(n.server, n.startContainers)
	protocol.StopContainers.Serve(n.server, n.stopContainers)
	protocol.GetContainerStatuses.Serve(n.server, n.statuses)
	ctx, cancel := context.WithCancel(context.Background())
	n.stop = cancel
	if err := n.Register(ctx); err != nil {
		c.t.Fatal(err)
	}
	n.wg.Go(func() { _ = n.server.Serve(l) }) // until Shutdown
	n.wg.Go(func() { n.beat(ctx) })
	c.t.Cleanup(n.Kill)
	return n
}

// Kill ends the node and all of its containers, silently.
func (n *Node) Kill() {
	n.mu.Lock()
	if n.gone {
		n.mu.Unlock()
		return
	}
	n.gone = true
	for _, r := range n.containers {
		r.cancel()
	}
	n.mu.Unlock()
	n.stop()
	n.server.Close()
	n.rpc.Close()
	n.wg.Wait()
}

// Running returns the number of containers that run.
func (n *Node) Running() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for _, r := range n.containers {
		if !r.done {
			count++
		}
	}
	return count
}

// beat sends heartbeats. When a container has ended, it sends one at once.
func (n *Node) beat(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := n.heartbeat(ctx); errors.Is(err, peer.ErrShutdown) && n.o.Left != nil {
			n.o.Left(err)
			return
		} else if err != nil && ctx.Err() == nil {
			n.c.t.Errorf("node %v: %v", n.ID, err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-n.kick:
		}
	}
}

func (n *Node) heartbeat(ctx context.Context) error {
	resp, err := n.Heartbeat(ctx)
	if err != nil || resp == nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range resp.GetContainersToCleanup() {
		n.cancel(records.ContainerIDFrom(id))
	}
	for _, id := range resp.GetContainersToBeRemovedFromNm() {
		if r := n.containers[records.ContainerIDFrom(id)]; r != nil && r.done {
			delete(n.containers, records.ContainerIDFrom(id))
		}
	}
	return nil
}

// list returns what the node says of its containers.
func (n *Node) list() (all []*pb.ContainerStatus) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, r := range n.containers {
		all = append(all, r.status(id))
	}
	return all
}

func (n *Node) cancel(id records.ContainerID) bool {
	r := n.containers[id]
	if r == nil {
		return false
	}
	r.cancel()
	return true
}

func (r *running) status(id records.ContainerID) *pb.ContainerStatus {
	if r.done {
		return peer.Ended(id, r.exit)
	}
	return peer.Running(id)
}

func (n *Node) startContainers(ctx context.Context, req *pb.StartContainersRequest) (*pb.StartContainersResponse, error) {
	if n.o.Fail != nil {
		if err := n.o.Fail(); err != nil {
			return nil, err
		}
	}
	resp := &pb.StartContainersResponse{}
	for name, data := range n.o.Services {
		m := &pb.StringBytesMap{}
		m.SetKey(name)
		m.SetValue(data)
		resp.SetServicesMetaData(append(resp.GetServicesMetaData(), m))
	}
	for _, r := range req.GetStartContainerRequest() {
		id, err := token.ParseContainer(token.FromPB(r.GetContainerToken()).Identifier)
		if err != nil {
			return nil, err
		}
		cid := records.ContainerIDFrom(id.GetContainerId())
		if caller, _ := ipc.CallFrom(ctx).Identifier.(token.NM); caller.Attempt.App != cid.Attempt.App {
			return nil, ipc.NewException(ipc.YarnException, "NMToken of %v used for %v", caller.Attempt, cid)
		}
		if e := n.start(Container{cid, n, id.GetAppSubmitter(), r.GetContainerLaunchContext()}); e != nil {
			f := &pb.ContainerExceptionMap{}
			f.SetContainerId(cid.PB())
			f.SetException(e)
			resp.SetFailedRequests(append(resp.GetFailedRequests(), f))
			continue
		}
		resp.SetSucceededRequests(append(resp.GetSucceededRequests(), cid.PB()))
	}
	return resp, nil
}

// Exception returns an exception in its wire form.
func Exception(class, text string) *pb.SerializedException {
	e := &pb.SerializedException{}
	e.SetClassName(class)
	e.SetMessage(text)
	return e
}

func (n *Node) start(c Container) *pb.SerializedException {
	if n.o.Refuse != nil {
		if e := n.o.Refuse(c.ID); e != nil {
			return e
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone || n.containers[c.ID] != nil {
		return Exception(ipc.YarnException, fmt.Sprintf("Unauthorized request to start container.  Attempt to relaunch the same container with id %v.", c.ID))
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel}
	n.containers[c.ID] = r
	n.wg.Go(func() {
		exit := n.o.Run(ctx, c)
		stopped := ctx.Err() != nil
		cancel()
		n.mu.Lock()
		r.done, r.exit = true, int32(exit)
		if stopped {
			r.exit = records.ExitKilledByAppMaster
		}
		n.mu.Unlock()
		select {
		case n.kick <- struct{}{}:
		default:
		}
	})
	return nil
}

func (n *Node) stopContainers(_ context.Context, req *pb.StopContainersRequest) (*pb.StopContainersResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	resp := &pb.StopContainersResponse{}
	for _, id := range req.GetContainerId() {
		if n.cancel(records.ContainerIDFrom(id)) {
			resp.SetSucceededRequests(append(resp.GetSucceededRequests(), id))
			continue
		}
		resp.SetFailedRequests(append(resp.GetFailedRequests(), unknown(id)))
	}
	return resp, nil
}

func (n *Node) statuses(_ context.Context, req *pb.GetContainerStatusesRequest) (*pb.GetContainerStatusesResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	resp := &pb.GetContainerStatusesResponse{}
	for _, id := range req.GetContainerId() {
		cid := records.ContainerIDFrom(id)
		if r := n.containers[cid]; r != nil {
			resp.SetStatus(append(resp.GetStatus(), r.status(cid)))
			continue
		}
		resp.SetFailedRequests(append(resp.GetFailedRequests(), unknown(id)))
	}
	return resp, nil
}

func unknown(id *pb.ContainerId) *pb.ContainerExceptionMap {
	f := &pb.ContainerExceptionMap{}
	f.SetContainerId(id)
	f.SetException(Exception(ipc.YarnException, fmt.Sprintf("Container %v is not handled by this NodeManager", records.ContainerIDFrom(id))))
	return f
}
