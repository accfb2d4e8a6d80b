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
	"heddle/integration/peer"
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

func (c *cluster) submit(user string, ctx *pb.ApplicationSubmissionContext) records.ApplicationID {
	c.t.Helper()
	call(c, protocol.SubmitApplication, c.as(user), peer.Submission(ctx))
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
	*peer.Master
	*cluster
	id records.ApplicationID
}

// unmanaged submits an application and registers as its ApplicationMaster.
func (c *cluster) unmanaged(user string, change func(*pb.ApplicationSubmissionContext)) *master {
	c.t.Helper()
	ctx := c.submission(user)
	if change != nil {
		change(ctx)
	}
	m := c.ports().Unmanaged(c.t, user, ctx)
	return &master{m, c, m.App()}
}

// ports are how an ApplicationMaster reaches the cluster. Each has a connection of its own.
func (c *cluster) ports() peer.Ports {
	return peer.Ports{
		Client: c.as,
		Master: func(t token.Token) ipc.Invoker {
			return c.fresh().to("rm-scheduler", protocol.ApplicationMaster, ipc.Identity{Token: &t})
		},
		Node: func(node records.NodeID, t token.Token) ipc.Invoker {
			return c.fresh().client.Endpoint(node.String(), protocol.ContainerManagement, ipc.Identity{Token: &t})
		},
	}
}

// containers asks for some until they are there.
func (m *master) containers(n int) []*pb.Container {
	m.t.Helper()
	return m.Granted(n, records.NewResource(256, 1))
}

// launch is the request to start a container.
func launch(t token.Token, command ...string) *pb.StartContainersRequest {
	return peer.Launch(t.PB(), peer.Command(command...))
}

func tokenOf(c *pb.Container) token.Token { return token.FromPB(c.GetContainerToken()) }
