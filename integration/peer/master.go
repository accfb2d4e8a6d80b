package peer

import (
	"errors"
	"testing"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Ports are how a test reaches a cluster, whichever ResourceManager leads.
type Ports struct {
	Client func(user string) ipc.Invoker
	Master func(token.Token) ipc.Invoker // by a connection of its own
	Node   func(records.NodeID, token.Token) ipc.Invoker
}

// Master is an ApplicationMaster that its test plays, message by message. It registers again with a new leader, and takes
// the tokens that come with answers. What am/client keeps from an honest ApplicationMaster, such as asking in another's
// name, its test can say. Its methods are for one goroutine.
type Master struct {
	Attempt      records.AttemptID
	Token        token.Token
	RM           ipc.Invoker                    // the ResourceManager's port for ApplicationMasters, with Token
	Nodes        map[records.NodeID]token.Token // for calls to nodes
	Registration *pb.RegisterApplicationMasterResponse
	// Completed has the containers whose end was told.
	Completed map[records.ContainerID]*pb.ContainerStatus

	t        testing.TB
	ports    Ports
	response int32
}

// Speak returns the ApplicationMaster of an attempt that has its token, registered.
func (p Ports) Speak(t testing.TB, attempt records.AttemptID, tok token.Token) *Master {
	t.Helper()
	m := &Master{
		Attempt: attempt, Token: tok, RM: p.Master(tok), Nodes: map[records.NodeID]token.Token{},
		Completed: map[records.ContainerID]*pb.ContainerStatus{}, t: t, ports: p,
	}
	m.Register()
	return m
}

// Unmanaged submits an application whose ApplicationMaster is the test, and registers it.
func (p Ports) Unmanaged(t testing.TB, user string, ctx *pb.ApplicationSubmissionContext) *Master {
	t.Helper()
	ctx.SetUnmanagedAm(true)
	to := p.Client(user)
	if _, err := protocol.SubmitApplication.Call(t.Context(), to, Submission(ctx)); err != nil {
		t.Fatalf("submit %v: %v", records.ApplicationIDFrom(ctx.GetApplicationId()), err)
	}
	ask := &pb.GetApplicationReportRequest{}
	ask.SetApplicationId(ctx.GetApplicationId())
	var r *pb.ApplicationReport
	await.Slowly(t, "the owner gets the token of their ApplicationMaster", func() bool {
		resp, err := protocol.GetApplicationReport.Call(t.Context(), to, ask)
		if err != nil {
			t.Fatal(err)
		}
		r = resp.GetApplicationReport()
		return len(r.GetAmRmToken().GetIdentifier()) > 0
	})
	return p.Speak(t, records.AttemptIDFrom(r.GetCurrentApplicationAttemptId()), token.FromPB(r.GetAmRmToken()))
}

// Submission is the request that submits an application.
func Submission(ctx *pb.ApplicationSubmissionContext) *pb.SubmitApplicationRequest {
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(ctx)
	return req
}

// App is the application.
func (m *Master) App() records.ApplicationID { return m.Attempt.App }

// Register registers with the ResourceManager that leads.
func (m *Master) Register() {
	m.t.Helper()
	req := &pb.RegisterApplicationMasterRequest{}
	req.SetHost("localhost")
	req.SetRpcPort(4711)
	resp, err := protocol.RegisterApplicationMaster.Call(m.t.Context(), m.RM, req)
	if err != nil {
		m.t.Fatalf("register %v: %v", m.Attempt, err)
	}
	m.Registration, m.response = resp, 0
	m.take(resp.GetNmTokensFromPreviousAttempts())
}

func (m *Master) take(list []*pb.NMToken) {
	for _, t := range list {
		m.Nodes[records.NodeIDFrom(t.GetNodeId())] = token.FromPB(t.GetToken())
	}
}

// Allocate sends a heartbeat, with the number of the last answer.
func (m *Master) Allocate(req *pb.AllocateRequest) (*pb.AllocateResponse, error) {
	req.SetResponseId(m.response)
	resp, err := protocol.Allocate.Call(m.t.Context(), m.RM, req)
	if ipc.IsClass(err, ipc.MasterNotRegistered) { // there is another leader
		m.Register()
		req.SetResponseId(m.response)
		resp, err = protocol.Allocate.Call(m.t.Context(), m.RM, req)
	}
	if err != nil {
		return nil, err
	}
	m.response = resp.GetResponseId()
	m.take(resp.GetNmTokens())
	for _, s := range resp.GetCompletedContainerStatuses() {
		m.Completed[records.ContainerIDFrom(s.GetContainerId())] = s
	}
	if resp.HasAmRmToken() {
		m.Token = token.FromPB(resp.GetAmRmToken())
		m.RM = m.ports.Master(m.Token)
	}
	return resp, nil
}

// Ask asks for containers of any node, with priority 1.
func Ask(n int32, size records.Resource) *pb.AllocateRequest {
	r := &pb.ResourceRequest{}
	p := &pb.Priority{}
	p.SetPriority(1)
	r.SetPriority(p)
	r.SetResourceName("*")
	r.SetNumContainers(n)
	r.SetCapability(records.ResourceTypes{}.PB(size))
	req := &pb.AllocateRequest{}
	req.SetAsk([]*pb.ResourceRequest{r})
	return req
}

// Granted asks for containers, and waits until they are there.
func (m *Master) Granted(n int, size records.Resource) (got []*pb.Container) {
	m.t.Helper()
	req := Ask(int32(n), size)
	await.Slowly(m.t, "containers are granted", func() bool {
		resp, err := m.Allocate(req)
		if err != nil {
			m.t.Fatal(err)
		}
		req = &pb.AllocateRequest{}
		got = append(got, resp.GetAllocatedContainers()...)
		return len(got) >= n
	})
	return got
}

// Ended waits until a container's end is told, and returns what is.
func (m *Master) Ended(id records.ContainerID) *pb.ContainerStatus {
	m.t.Helper()
	await.Slowly(m.t, "a container has ended", func() bool {
		if _, err := m.Allocate(&pb.AllocateRequest{}); err != nil {
			m.t.Fatal(err)
		}
		return m.Completed[id] != nil
	})
	return m.Completed[id]
}

// Node is the port of a container's node, called with the token for it.
func (m *Master) Node(c *pb.Container) ipc.Invoker {
	return m.NodeWith(c, m.Nodes[records.NodeIDFrom(c.GetNodeId())])
}

// NodeWith is the port of a container's node, called with any token.
func (m *Master) NodeWith(c *pb.Container, t token.Token) ipc.Invoker {
	return m.ports.Node(records.NodeIDFrom(c.GetNodeId()), t)
}

// Launch is the request to start a container.
func Launch(t *pb.Token, spec *pb.ContainerLaunchContext) *pb.StartContainersRequest {
	start := &pb.StartContainerRequest{}
	start.SetContainerLaunchContext(spec)
	start.SetContainerToken(t)
	req := &pb.StartContainersRequest{}
	req.SetStartContainerRequest([]*pb.StartContainerRequest{start})
	return req
}

// Command returns the launch context of a container that runs a command.
func Command(command ...string) *pb.ContainerLaunchContext {
	spec := &pb.ContainerLaunchContext{}
	spec.SetCommand(command)
	return spec
}

// Finish ends the application with success.
func (m *Master) Finish() {
	m.t.Helper()
	req := &pb.FinishApplicationMasterRequest{}
	req.SetFinalApplicationStatus(pb.FinalApplicationStatus_APP_SUCCEEDED)
	await.Slowly(m.t, "the farewell is taken", func() bool {
		resp, err := protocol.FinishApplicationMaster.Call(m.t.Context(), m.RM, req)
		if ipc.IsClass(err, ipc.MasterNotRegistered) { // there is another leader
			m.Register()
			return false
		}
		if err != nil && !errors.Is(err, m.t.Context().Err()) {
			m.t.Fatal(err)
		}
		return resp.GetIsUnregistered()
	})
}
