package faults

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

var onHeddle = hadooplab.OnHeddle()

var cleanUp func()

// program is what the tests run; "" is Hadoop.
var program = sync.OnceValues(func() (string, error) {
	if !onHeddle {
		return "", nil
	}
	b, remove, err := hadooplab.BuildHeddle()
	cleanUp = remove
	return b, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if cleanUp != nil {
		cleanUp()
	}
	os.Exit(code)
}

// cluster is a lab and somebody who speaks to it.
type cluster struct {
	*hadooplab.Lab
	t      *testing.T
	client *ipc.Client
	rms    int
}

func start(t *testing.T, o hadooplab.Options) *cluster {
	t.Helper()
	b, err := program()
	if err != nil {
		t.Fatal(err)
	}
	o.Heddle = b
	o.ResourceManager = true
	c := &cluster{Lab: hadooplab.Start(t, o), t: t, client: ipc.NewClient(ipc.ClientConfig{CallTimeout: time.Minute}), rms: o.ResourceManagers}
	t.Cleanup(c.client.Close)
	return c
}

// fresh is the cluster as somebody sees it who has no connection yet.
func (c *cluster) fresh() *cluster {
	d := *c
	d.client = ipc.NewClient(ipc.ClientConfig{CallTimeout: time.Minute})
	c.t.Cleanup(d.client.Close)
	return &d
}

// to is a port of the ResourceManager, of whichever leads.
func (c *cluster) to(service string, p ipc.Protocol, who ipc.Identity) ipc.Invoker {
	var addrs []string
	for i := range max(c.rms, 1) {
		name := service
		if c.rms > 0 {
			name = fmt.Sprint(service, i+1)
		}
		addrs = append(addrs, fmt.Sprintf("localhost:%d", c.Port(name)))
	}
	return c.client.Failover(addrs, p, who, ipc.RetryPolicy{MaxElapsed: 30 * time.Second, MaxAttempts: 200, Base: 50 * time.Millisecond, Max: time.Second})
}

func (c *cluster) as(user string) ipc.Invoker {
	return c.to("rm", protocol.ApplicationClient, ipc.Identity{User: user})
}

func (c *cluster) bearing(t token.Token) ipc.Invoker {
	return c.to("rm", protocol.ApplicationClient, ipc.Identity{User: "whoever", Token: &t})
}

func call[Req, Resp any](c *cluster, m protocol.Method[Req, Resp], to ipc.Invoker, req *Req) *Resp {
	c.t.Helper()
	resp, err := m.Call(c.t.Context(), to, req)
	if err != nil {
		c.t.Fatalf("%v: %v", m.Method, err)
	}
	return resp
}

// refused checks that a call ends with an exception whose text begins, after %s for anything, as it should.
func refused[Req, Resp any](c *cluster, what string, m protocol.Method[Req, Resp], to ipc.Invoker, req *Req, class, text string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	resp, err := m.Call(ctx, to, req)
	if err == nil {
		c.t.Errorf("%s: answered %v", what, resp)
		return
	}
	if got := ipc.Class(err); got != class || !strings.Contains(err.Error(), text) {
		c.t.Errorf("%s:\n got %s: %v\nwant %s: …%s", what, got, err, class, text)
	}
}

// resource is an amount as clients write it.
func resource(mb int64, vcores int32) *pb.Resource {
	r := &pb.Resource{}
	r.SetMemory(mb)
	r.SetVirtualCores(vcores)
	return r
}

// submission is an application whose ApplicationMaster is a command; without one it's unmanaged.
func (c *cluster) submission(user string, command ...string) *pb.ApplicationSubmissionContext {
	c.t.Helper()
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationId(call(c, protocol.GetNewApplication, c.as(user), &pb.GetNewApplicationRequest{}).GetApplicationId())
	ctx.SetApplicationName(c.t.Name())
	ctx.SetQueue("default")
	ctx.SetApplicationType("FAULTS")
	ctx.SetMaxAppAttempts(1)
	spec := &pb.ContainerLaunchContext{}
	if len(command) == 0 {
		ctx.SetUnmanagedAm(true)
	}
	spec.SetCommand(command)
	ctx.SetAmContainerSpec(spec)
	ctx.SetResource(resource(256, 1))
	return ctx
}

func submitRequest(ctx *pb.ApplicationSubmissionContext) *pb.SubmitApplicationRequest {
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(ctx)
	return req
}

func (c *cluster) submit(user string, ctx *pb.ApplicationSubmissionContext) records.ApplicationID {
	c.t.Helper()
	call(c, protocol.SubmitApplication, c.as(user), submitRequest(ctx))
	return records.ApplicationIDFrom(ctx.GetApplicationId())
}

func reportRequest(id records.ApplicationID) *pb.GetApplicationReportRequest {
	req := &pb.GetApplicationReportRequest{}
	req.SetApplicationId(id.PB())
	return req
}

func (c *cluster) report(user string, id records.ApplicationID) *pb.ApplicationReport {
	c.t.Helper()
	return call(c, protocol.GetApplicationReport, c.as(user), reportRequest(id)).GetApplicationReport()
}

func (c *cluster) kill(user string, id records.ApplicationID) {
	c.t.Helper()
	req := &pb.KillApplicationRequest{}
	req.SetApplicationId(id.PB())
	await.Slowly(c.t, "the application is killed", func() bool {
		return call(c, protocol.ForceKillApplication, c.as(user), req).GetIsKillCompleted()
	})
}

// ended waits for the end of an application.
func (c *cluster) ended(user string, id records.ApplicationID) *pb.ApplicationReport {
	c.t.Helper()
	var r *pb.ApplicationReport
	await.Slowly(c.t, fmt.Sprintf("%v has ended", id), func() bool {
		r = c.report(user, id)
		return r.GetYarnApplicationState() >= pb.YarnApplicationState_FINISHED
	})
	return r
}

// master is an ApplicationMaster that nobody launched: this test.
type master struct {
	*cluster
	user     string
	id       records.ApplicationID
	attempt  records.AttemptID
	token    token.Token
	rm       ipc.Invoker
	response int32
	nodes    map[records.NodeID]token.Token
	register *pb.RegisterApplicationMasterResponse
}

// unmanaged submits an application and registers as its ApplicationMaster.
func (c *cluster) unmanaged(user string, change func(*pb.ApplicationSubmissionContext)) *master {
	c.t.Helper()
	ctx := c.submission(user)
	if change != nil {
		change(ctx)
	}
	m := &master{cluster: c, user: user, id: c.submit(user, ctx), nodes: map[records.NodeID]token.Token{}}
	await.Slowly(c.t, "the owner gets the token of his ApplicationMaster", func() bool {
		r := c.report(user, m.id)
		m.attempt = records.AttemptIDFrom(r.GetCurrentApplicationAttemptId())
		m.token = token.FromPB(r.GetAmRmToken())
		return len(m.token.Identifier) > 0
	})
	m.rm = c.to("rm-scheduler", protocol.ApplicationMaster, ipc.Identity{Token: &m.token})
	m.enter()
	return m
}

func (m *master) enter() {
	m.t.Helper()
	req := &pb.RegisterApplicationMasterRequest{}
	req.SetHost("localhost")
	req.SetRpcPort(4711)
	m.register = call(m.cluster, protocol.RegisterApplicationMaster, m.rm, req)
	m.response = 0
}

// tryAllocate is a heartbeat; it takes the tokens that come with it.
func (m *master) tryAllocate(req *pb.AllocateRequest) (*pb.AllocateResponse, error) {
	req.SetResponseId(m.response)
	resp, err := protocol.Allocate.Call(m.t.Context(), m.rm, req)
	if ipc.IsClass(err, ipc.MasterNotRegistered) { // there is another leader
		m.enter()
		req.SetResponseId(m.response)
		resp, err = protocol.Allocate.Call(m.t.Context(), m.rm, req)
	}
	if err != nil {
		return nil, err
	}
	m.response = resp.GetResponseId()
	for _, t := range resp.GetNmTokens() {
		m.nodes[records.NodeIDFrom(t.GetNodeId())] = token.FromPB(t.GetToken())
	}
	if resp.HasAmRmToken() {
		m.token = token.FromPB(resp.GetAmRmToken())
		m.rm = m.fresh().to("rm-scheduler", protocol.ApplicationMaster, ipc.Identity{Token: &m.token})
	}
	return resp, nil
}

// containers asks for some until they are there.
func (m *master) containers(n int32) []*pb.Container {
	m.t.Helper()
	ask := &pb.ResourceRequest{}
	p := &pb.Priority{}
	p.SetPriority(1)
	ask.SetPriority(p)
	ask.SetResourceName("*")
	ask.SetNumContainers(n)
	ask.SetCapability(resource(256, 1))
	req := &pb.AllocateRequest{}
	req.SetAsk([]*pb.ResourceRequest{ask})
	var got []*pb.Container
	await.Slowly(m.t, "containers are granted", func() bool {
		resp, err := m.tryAllocate(req)
		if err != nil {
			m.t.Fatal(err)
		}
		req = &pb.AllocateRequest{}
		got = append(got, resp.GetAllocatedContainers()...)
		return len(got) >= int(n)
	})
	return got
}

// node speaks to the node of a container.
func (m *master) node(c *pb.Container) ipc.Invoker {
	return m.nodeWith(c, m.nodes[records.NodeIDFrom(c.GetNodeId())])
}

func (m *master) nodeWith(c *pb.Container, t token.Token) ipc.Invoker {
	return m.fresh().client.Endpoint(records.NodeIDFrom(c.GetNodeId()).String(), protocol.ContainerManagement, ipc.Identity{Token: &t})
}

// launch is the request to start a container.
func launch(containerToken token.Token, command ...string) *pb.StartContainersRequest {
	spec := &pb.ContainerLaunchContext{}
	spec.SetCommand(command)
	start := &pb.StartContainerRequest{}
	start.SetContainerLaunchContext(spec)
	start.SetContainerToken(containerToken.PB())
	req := &pb.StartContainersRequest{}
	req.SetStartContainerRequest([]*pb.StartContainerRequest{start})
	return req
}

func tokenOf(c *pb.Container) token.Token { return token.FromPB(c.GetContainerToken()) }

// completed waits for the end of containers.
func (m *master) completed(ids ...records.ContainerID) map[records.ContainerID]*pb.ContainerStatus {
	m.t.Helper()
	got := map[records.ContainerID]*pb.ContainerStatus{}
	await.Slowly(m.t, "containers have ended", func() bool {
		resp, err := m.tryAllocate(&pb.AllocateRequest{})
		if err != nil {
			m.t.Fatal(err)
		}
		for _, s := range resp.GetCompletedContainerStatuses() {
			got[records.ContainerIDFrom(s.GetContainerId())] = s
		}
		for _, id := range ids {
			if got[id] == nil {
				return false
			}
		}
		return true
	})
	return got
}

func (m *master) finish() {
	m.t.Helper()
	req := &pb.FinishApplicationMasterRequest{}
	req.SetFinalApplicationStatus(pb.FinalApplicationStatus_APP_SUCCEEDED)
	await.Slowly(m.t, "the farewell is taken", func() bool {
		resp, err := protocol.FinishApplicationMaster.Call(m.t.Context(), m.rm, req)
		if ipc.IsClass(err, ipc.MasterNotRegistered) { // there is another leader
			m.enter()
			return false
		}
		if err != nil {
			m.t.Fatal(err)
		}
		return resp.GetIsUnregistered()
	})
}
