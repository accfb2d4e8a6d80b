package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader"
	"heddle/rm/leader/level"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/service/certificates"
	"heddle/yarn/flow"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Launcher speaks to NodeManagers for the leader (leader.Launcher). As in Hadoop the ResourceManager comes to a node as the
// attempt whose container it is, with a token that it made itself.
type Launcher struct {
	*Service
	Client *ipc.Client
	Issuer *certificates.Issuer
}

// node returns a connection to a node on behalf of an attempt.
func (c *Launcher) node(id records.NodeID, attempt records.AttemptID, p ipc.Protocol) (ipc.Invoker, *leader.Leader, error) {
	l, err := c.leader()
	if err != nil {
		return nil, nil, err
	}
	t := c.nmToken(l, attempt, id, c.owner(attempt.App).user)
	return c.Client.Endpoint(id.Address(), p, ipc.Identity{User: attempt.String(), Token: &t}), l, nil
}

// Launch implements leader.Launcher.
func (c *Launcher) Launch(ctx context.Context, launch leader.Launch) error {
	id := launch.Container.ID
	if err := c.Handed.Await(ctx, launch.Container.Node, id.Attempt.App); refusal.Is(err, refusal.Refused) {
		return err
	} else if err != nil {
		return fmt.Errorf("node %v has not got the tokens of %v: %w", launch.Container.Node, id.Attempt.App, err)
	}
	node, l, err := c.node(launch.Container.Node, id.Attempt, protocol.ContainerManagement)
	if err != nil {
		return err
	}
	o := c.owner(id.Attempt.App)
	p := c.parts()
	defer c.done(p)
	t, err := c.containerToken(l, id.PB(), c.forms(launch.Container.Node), &launch.Container, o, p)
	if err != nil {
		return err
	}
	extra := &token.Credentials{}
	if err := c.Issuer.Add(ctx, l.Keys(ledgerpb.KeyKind_PROXY_CA).Current.Secret, extra, id.Attempt.App); err != nil {
		return err
	}
	spec, err := c.launchContext(l, &launch, extra)
	if err != nil {
		return &refusal.Error{Reason: refusal.Refused, Text: err.Error()}
	}
	start := &pb.StartContainerRequest{}
	start.SetContainerLaunchContext(spec)
	start.SetContainerToken(t.PB())
	req := &pb.StartContainersRequest{}
	req.SetStartContainerRequest([]*pb.StartContainerRequest{start})
	resp, err := protocol.StartContainers.Call(ctx, node, req)
	if err != nil {
		return c.nodeError(launch.Container.Node, err)
	}
	if failed := resp.GetFailedRequests(); len(failed) > 0 && !again(failed[0].GetException()) {
		return &refusal.Error{Reason: refusal.Refused, Text: failed[0].GetException().GetMessage()}
	}
	return nil
}

// again reports whether a node refuses because it has the container already, from a launch whose answer was lost.
func again(e *pb.SerializedException) bool {
	return e.GetClassName() == ipc.YarnException && strings.Contains(e.GetMessage(), "Attempt to relaunch the same container")
}

// nodeError makes what a node says final, as opposed to failing to reach it.
func (c *Launcher) nodeError(node records.NodeID, err error) error {
	var remote *ipc.RemoteError
	if errors.As(err, &remote) && !ipc.IsClass(err, ipc.NMNotYetReady) && !ipc.IsClass(err, ipc.RetriableException) {
		return &refusal.Error{Reason: refusal.Refused, Text: fmt.Sprintf("node %v: %v", node, err)}
	}
	return fmt.Errorf("node %v: %w", node, err)
}

// launchContext completes what was submitted, also with extra secrets (Hadoop: AMLauncher.setupTokens, createAMContainerLaunchContext).
func (c *Launcher) launchContext(l *leader.Leader, launch *leader.Launch, extra *token.Credentials) (*pb.ContainerLaunchContext, error) {
	spec := proto.CloneOf(launch.Context.GetAmContainerSpec())
	if spec == nil {
		spec = &pb.ContainerLaunchContext{}
	}
	app := launch.Container.ID.Attempt.App
	add := []string{webProxyBase, "/proxy/" + app.String(), submitTime, strconv.FormatInt(launch.Submitted, 10)}
	if c.Collectors != nil {
		add = append(add, flow.Of(app, launch.Context.GetApplicationName(), c.View.Tags(launch.Context), launch.Submitted).Variables()...)
	}
	spec.SetEnvironment(withEnv(spec.GetEnvironment(), add))
	creds := &token.Credentials{}
	if raw := spec.GetTokens(); len(raw) > 0 {
		var err error
		if creds, err = token.DecodeCredentials(raw); err != nil {
			return nil, fmt.Errorf("the credentials that %v was submitted with are damaged: %w", app, err)
		}
	}
	creds.SetToken("", c.amrmToken(l, launch.Container.ID.Attempt))
	for _, s := range extra.Secrets {
		creds.SetSecret(s.Alias, s.Secret)
	}
	raw, err := creds.Encode(token.FormatWritable)
	if err != nil {
		return nil, fmt.Errorf("credentials of %v: %w", app, err)
	}
	spec.SetTokens(raw)
	return spec, nil
}

// Variables that the ResourceManager adds to an ApplicationMaster's environment.
const (
	webProxyBase = "APPLICATION_WEB_PROXY_BASE"
	submitTime   = "APP_SUBMIT_TIME_ENV"
)

// withEnv returns variables with others, of which names and values come in turn.
func withEnv(list []*pb.StringStringMap, add []string) (out []*pb.StringStringMap) {
	given := map[string]bool{}
	for i := 0; i < len(add); i += 2 {
		given[add[i]] = true
	}
	for _, m := range list {
		if !given[m.GetKey()] {
			out = append(out, m)
		}
	}
	for i := 0; i < len(add); i += 2 {
		m := &pb.StringStringMap{}
		m.SetKey(add[i])
		m.SetValue(add[i+1])
		out = append(out, m)
	}
	return out
}

// Stop implements leader.Launcher.
func (c *Launcher) Stop(ctx context.Context, node records.NodeID, attempt records.AttemptID, id records.ContainerID) error {
	to, _, err := c.node(node, attempt, protocol.ContainerManagement)
	if err != nil {
		return err
	}
	req := &pb.StopContainersRequest{}
	req.SetContainerId([]*pb.ContainerId{id.PB()})
	resp, err := protocol.StopContainers.Call(ctx, to, req)
	if err != nil {
		return c.nodeError(node, err)
	}
	return failure(node, resp.GetFailedRequests())
}

// Suspend implements leader.Launcher.
func (c *Launcher) Suspend(ctx context.Context, node records.NodeID, attempt records.AttemptID, id records.ContainerID) error {
	to, _, err := c.node(node, attempt, protocol.ContainerControl)
	if err != nil {
		return err
	}
	req := &pb.SuspendContainersRequest{}
	req.SetContainerId([]*pb.ContainerId{id.PB()})
	resp, err := protocol.SuspendContainers.Call(ctx, to, req)
	if err != nil {
		return c.nodeError(node, err)
	}
	return failure(node, resp.GetFailedRequests())
}

// Resume implements leader.Launcher.
func (c *Launcher) Resume(ctx context.Context, node records.NodeID, attempt records.AttemptID, id records.ContainerID) error {
	to, _, err := c.node(node, attempt, protocol.ContainerControl)
	if err != nil {
		return err
	}
	req := &pb.ResumeContainersRequest{}
	req.SetContainerId([]*pb.ContainerId{id.PB()})
	resp, err := protocol.ResumeContainers.Call(ctx, to, req)
	if err != nil {
		return c.nodeError(node, err)
	}
	return failure(node, resp.GetFailedRequests())
}

// breathEvery is the time in ms between two moments in which a container that is suspended runs, so that its heartbeats go out. Frameworks
// wait for them for two minutes (Spark) and more. Those of quickBreaths don't.
const breathEvery = 45_000

// quickBreaths are the same times for applications of types that wait less. Flink sends heartbeats 10 s apart and gives up after 50 s. Tez gives up after
// 300 s (tez.task.timeout-ms). But its tasks close a connection that they have not used for 10 s, so each heartbeat connects again: it takes three breaths
// of the task, and three of an ApplicationMaster that is suspended, too. At 45 s those are 135 s, and two breaths that come too late are too many.
var quickBreaths = map[string]int64{"Apache Flink": 20_000, "TEZ": 20_000}

// breathPeriod returns the time in ms between two breaths of a container; 0: it never breathes.
func breathPeriod(o level.Order) int64 {
	if o.BreathEvery != 0 {
		return max(o.BreathEvery, 0)
	}
	return cmp.Or(quickBreaths[o.Type], breathEvery)
}

// Order implements leader.Launcher.
func (c *Launcher) Order(ctx context.Context, node records.NodeID, o level.Order) error {
	m := &pb.ContainerOrder{}
	m.SetLevel(levelPB(o.Level))
	m.SetHeld(c.Types.PB(o.Held))
	m.SetBreathEveryMs(breathPeriod(o))
	m.SetVersion(o.Version)
	m.SetBeneficiary(o.For)
	resp, err := c.order(ctx, node, o.Container, m)
	if err != nil {
		return err
	}
	return carriedOut(node, resp, o.Version)
}

// carriedOut returns why a node has not carried out an order of a version, by its answer; nil: it has.
func carriedOut(node records.NodeID, resp *pb.OrderContainersResponse, version int32) error {
	for _, s := range resp.GetSuspension() {
		if s.GetFailed() && s.GetVersion() == version {
			return &refusal.Error{Reason: refusal.Refused, Text: fmt.Sprintf("node %v: %s", node, s.GetReason())}
		}
	}
	if err := failure(node, resp.GetFailedRequests()); err != nil {
		return err
	}
	if level.StillAbout(resp.GetSuspension(), version) {
		return fmt.Errorf("node %v has not finished the order", node)
	}
	return nil
}

// Ahead implements leader.Launcher.
func (c *Launcher) Ahead(ctx context.Context, node records.NodeID, id records.ContainerID, waits bool) error {
	m := &pb.ContainerOrder{}
	m.SetLevel(pb.ContainerLevel_LEVEL_RECLAIMED)
	m.SetAhead(waits)
	resp, err := c.order(ctx, node, id, m)
	if err != nil {
		return err
	}
	return failure(node, resp.GetFailedRequests())
}

// order sends a node one order for a container. Its token names no attempt: no ApplicationMaster has such a token, and nodes take orders from no other.
func (c *Launcher) order(ctx context.Context, node records.NodeID, id records.ContainerID, m *pb.ContainerOrder) (*pb.OrderContainersResponse, error) {
	to, _, err := c.node(node, records.AttemptID{App: id.Attempt.App}, protocol.ContainerControl)
	if err != nil {
		return nil, err
	}
	m.SetContainerId(id.PB())
	req := &pb.OrderContainersRequest{}
	req.SetOrder([]*pb.ContainerOrder{m})
	resp, err := protocol.OrderContainers.Call(ctx, to, req)
	if err != nil {
		return nil, c.nodeError(node, err)
	}
	return resp, nil
}

// levelPB returns a level on the wire.
func levelPB(l ledgerpb.Level) pb.ContainerLevel {
	switch l {
	case ledgerpb.Level_SHRUNK:
		return pb.ContainerLevel_LEVEL_SHRUNK
	case ledgerpb.Level_FROZEN:
		return pb.ContainerLevel_LEVEL_FROZEN
	case ledgerpb.Level_RECLAIMED:
		return pb.ContainerLevel_LEVEL_RECLAIMED
	default:
		return pb.ContainerLevel_LEVEL_RUNNING
	}
}

func failure(node records.NodeID, failed []*pb.ContainerExceptionMap) error {
	if len(failed) == 0 {
		return nil
	}
	return &refusal.Error{
		Reason: refusal.Refused, Text: fmt.Sprintf("node %v: %s", node, failed[0].GetException().GetMessage()),
	}
}
