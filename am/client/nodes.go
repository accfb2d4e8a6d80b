package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// NMTokens holds the tokens by which an ApplicationMaster identifies itself to NodeManagers. It is safe for concurrent
// use.
type NMTokens struct {
	mu sync.Mutex
	of map[records.NodeID]token.Token
}

func (n *NMTokens) learn(list []*pb.NMToken) {
	if len(list) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = map[records.NodeID]token.Token{}
	}
	for _, t := range list {
		n.of[records.NodeIDFrom(t.GetNodeId())] = token.FromPB(t.GetToken())
	}
}

// Of returns the token for a node, and whether there is one.
func (n *NMTokens) Of(node records.NodeID) (token.Token, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t, ok := n.of[node]
	return t, ok
}

// Nodes starts and stops containers. It is safe for concurrent use.
type Nodes struct {
	attempt  records.AttemptID
	tokens   *NMTokens
	rpc      *ipc.Client
	log      *logrus.Entry
	types    records.ResourceTypes
	patience time.Duration
	pause    time.Duration // the longest between two tries
	slots    chan struct{}
}

// Nodes returns the calls of an attempt to NodeManagers. At most so many calls are under way at a time; 0 stands for
// 100.
func (c *Cluster) Nodes(attempt records.AttemptID, tokens *NMTokens, calls int) *Nodes {
	if calls <= 0 {
		calls = 100
	}
	return &Nodes{
		attempt: attempt, tokens: tokens, rpc: c.rpc, log: c.log, types: c.types, slots: make(chan struct{}, calls),
		patience: c.conf.Limit("yarn.client.nodemanager-connect.max-wait-ms"),
		pause:    c.conf.Duration("yarn.client.nodemanager-connect.retry-interval-ms"),
	}
}

func (n *Nodes) node(id records.NodeID) (*ipc.Endpoint, error) {
	t, ok := n.tokens.Of(id)
	if !ok {
		return nil, fmt.Errorf("no NMToken for node %v: the ResourceManager gives one with the first container there", id)
	}
	return n.rpc.Endpoint(id.Address(), protocol.ContainerManagement,
		ipc.Identity{User: n.attempt.String(), Token: &t}), nil
}

// Start starts a container, and returns what the auxiliary services of its node answer. That may be nil if an answer
// was lost. If a node can't be reached or isn't ready, Start tries again for as long as
// yarn.client.nodemanager-connect.max-wait-ms says. A refusal of the container is a *ContainerError; one of the whole
// call is an *ipc.RemoteError.
func (n *Nodes) Start(ctx context.Context, c *Container, launch *pb.ContainerLaunchContext) (map[string][]byte, error) {
	start := &pb.StartContainerRequest{}
	start.SetContainerLaunchContext(launch)
	start.SetContainerToken(c.Token.PB())
	req := &pb.StartContainersRequest{}
	req.SetStartContainerRequest([]*pb.StartContainerRequest{start})
	var services map[string][]byte
	err := n.try(ctx, c.Node, func(node *ipc.Endpoint, again bool) error {
		resp, err := protocol.StartContainers.Call(ctx, node, req)
		if err != nil {
			return err
		}
		for _, f := range resp.GetFailedRequests() {
			if e := refusal(c.Node, f); !again || !e.relaunch() {
				return e
			}
		}
		services = make(map[string][]byte, len(resp.GetServicesMetaData()))
		for _, s := range resp.GetServicesMetaData() {
			services[s.GetKey()] = s.GetValue()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("starting container %v on node %v: %w", c.ID, c.Node, err)
	}
	return services, nil
}

// Stop stops a container. It returns nil if the container has ended, or if its node doesn't know it.
func (n *Nodes) Stop(ctx context.Context, node records.NodeID, id records.ContainerID) error {
	req := &pb.StopContainersRequest{}
	req.SetContainerId([]*pb.ContainerId{id.PB()})
	err := n.try(ctx, node, func(to *ipc.Endpoint, _ bool) error {
		_, err := protocol.StopContainers.Call(ctx, to, req)
		return err
	})
	if err != nil {
		return fmt.Errorf("stopping container %v on node %v: %w", id, node, err)
	}
	return nil
}

// ContainerStatus is a node's report of a container.
type ContainerStatus struct {
	State       pb.ContainerState
	SubState    pb.ContainerSubState
	ExitStatus  int32 // records.ExitInvalid while it runs
	Diagnostics string
}

// Status asks a node about a container. If the node doesn't know the container, the error is a *ContainerError.
func (n *Nodes) Status(ctx context.Context, node records.NodeID, id records.ContainerID) (ContainerStatus, error) {
	req := &pb.GetContainerStatusesRequest{}
	req.SetContainerId([]*pb.ContainerId{id.PB()})
	var status ContainerStatus
	err := n.try(ctx, node, func(to *ipc.Endpoint, _ bool) error {
		resp, err := protocol.GetContainerStatuses.Call(ctx, to, req)
		if err != nil {
			return err
		}
		for _, f := range resp.GetFailedRequests() {
			return refusal(node, f)
		}
		for _, s := range resp.GetStatus() {
			status = ContainerStatus{s.GetState(), s.GetContainerSubState(), s.GetExitStatus(), s.GetDiagnostics()}
			return nil
		}
		return errors.New("the answer is empty")
	})
	if err != nil {
		return ContainerStatus{}, fmt.Errorf("status of container %v on node %v: %w", id, node, err)
	}
	return status, nil
}

// try makes a call until it succeeds, or until trying again is pointless. again tells the call that an earlier try may
// have taken effect.
func (n *Nodes) try(ctx context.Context, id records.NodeID, call func(node *ipc.Endpoint, again bool) error) error {
	begin := time.Now()
	again := false
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, n.pause) {
		node, err := n.node(id)
		if err != nil {
			return err
		}
		select {
		case n.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		err = call(node, again)
		<-n.slots
		if err == nil || !worthRepeating(err) {
			return err
		}
		var c *ipc.ConnError
		again = again || errors.As(err, &c) && c.Sent
		if time.Since(begin)+pause > n.patience {
			return fmt.Errorf("gave up after %v: %w", time.Since(begin).Round(time.Millisecond), err)
		}
		n.log.WithError(err).WithField("node", id.String()).Debug("trying again")
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w; before that: %w", ctx.Err(), err)
		}
	}
}

// worthRepeating reports whether a later try may succeed: the node can't be reached, has just been started, or asks the
// caller to wait.
func worthRepeating(err error) bool {
	if errors.Is(err, ipc.ErrClientClosed) {
		return false
	}
	var c *ipc.ConnError
	return errors.As(err, &c) || IsClass(err, ipc.NMNotYetReady) || IsClass(err, ipc.RetriableException) ||
		IsClass(err, ipc.StandbyException)
}
