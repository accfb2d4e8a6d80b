package client

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heddle/integration/minicluster"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

var small = records.NewResource(1024, 1)

// world is a cluster with a node on which the first container is an ApplicationMaster that the test plays itself.
type world struct {
	*minicluster.Cluster
	t       *testing.T
	cluster *Cluster
	node    *minicluster.Node
	apps    *Applications
	masters chan minicluster.Container
}

func newWorld(t *testing.T, rms int, o minicluster.NodeOptions) *world {
	t.Helper()
	w := &world{Cluster: minicluster.Start(t, rms, nil), t: t, masters: make(chan minicluster.Container, 1)}
	run := o.Run
	o.Run = func(ctx context.Context, c minicluster.Container) int {
		if c.ID.Sequence() == 1 {
			w.masters <- c
		} else if run != nil {
			return run(ctx, c)
		}
		<-ctx.Done()
		return 143
	}
	w.node = w.Node(o)
	var err error
	if w.cluster, err = NewCluster(w.Conf, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.cluster.Close)
	if w.apps, err = w.cluster.Applications("alice"); err != nil {
		t.Fatal(err)
	}
	return w
}

// launch submits an application and returns its ApplicationMaster, not yet registered.
func (w *world) launch() *Master {
	w.t.Helper()
	id, _, err := w.apps.New(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.apps.Submit(w.t.Context(), Submission{ID: id, Name: "test", Resource: small}); err != nil {
		w.t.Fatal(err)
	}
	return w.master(<-w.masters)
}

func (w *world) master(c minicluster.Container) *Master {
	w.t.Helper()
	creds, err := token.DecodeCredentials(c.Launch.GetTokens())
	if err != nil {
		w.t.Fatal(err)
	}
	tok, ok := creds.OfKind(token.KindAMRM)
	if !ok {
		w.t.Fatal("launched without a token")
	}
	m, err := w.cluster.Master(MasterOptions{Attempt: c.ID.Attempt, Token: tok, Host: "amhost", Port: 4711, TrackingURL: "http://amhost/"})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) registered() *Master {
	w.t.Helper()
	m := w.launch()
	if _, err := m.Register(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return m
}

// until allocates until enough has come.
func (w *world) until(m *Master, what string, enough func(*Allocation) bool) *Allocation {
	w.t.Helper()
	all := &Allocation{}
	for begin := time.Now(); ; {
		a, err := m.Allocate(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		all.Containers = append(all.Containers, a.Containers...)
		all.Completed = append(all.Completed, a.Completed...)
		all.Nodes = append(all.Nodes, a.Nodes...)
		all.Refused = append(all.Refused, a.Refused...)
		all.Resynced = all.Resynced || a.Resynced
		all.Headroom, all.ClusterNodes = a.Headroom, a.ClusterNodes
		if enough(all) {
			return all
		}
		if time.Since(begin) > 60*time.Second {
			w.t.Fatalf("waited in vain for %s: %+v", what, all)
		}
	}
}

func TestLifeOfAnApplication(t *testing.T) {
	ended := make(chan struct{})
	w := newWorld(t, 1, minicluster.NodeOptions{
		Services: map[string][]byte{"mapreduce_shuffle": {0, 0, 1, 2}},
		Run: func(ctx context.Context, c minicluster.Container) int {
			if v, _ := c.Env("WHAT"); v == "fail" {
				return 3
			}
			<-ctx.Done()
			close(ended)
			return 143
		},
	})
	m := w.launch()
	app := m.o.Attempt.App
	r, err := m.Register(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Queue != "root.default" || r.Maximum != records.NewResource(8192, 4) && r.Maximum != records.NewResource(8192, 8) || !r.Holds {
		t.Errorf("registered: %+v", r)
	}
	rep, err := w.apps.Wait(t.Context(), app, func(r Report) bool { return r.State == pb.YarnApplicationState_RUNNING })
	if err != nil || rep.Host != "amhost" || rep.Port != 4711 || rep.OriginalTrackingURL != "http://amhost/" || rep.User != "alice" {
		t.Errorf("report: %+v, %v", rep, err)
	}
	id, err := m.Request(Request{Resource: small, Count: 2, Tags: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	m.SetProgress(0.5)
	a := w.until(m, "two containers", func(a *Allocation) bool { return len(a.Containers) == 2 })
	for _, c := range a.Containers {
		if c.Request != id || !slices.Equal(c.Tags, []string{"a", "b"}) || c.Node != w.node.ID || c.Resource != small {
			t.Errorf("container: %+v", c)
		}
	}
	if m.Outstanding() != 0 || a.ClusterNodes != 1 {
		t.Errorf("outstanding %d, nodes %d", m.Outstanding(), a.ClusterNodes)
	}
	nodes := w.cluster.Nodes(m.o.Attempt, m.NMTokens(), 0)
	failing, err := Launch{Env: map[string]string{"WHAT": "fail"}}.PB()
	if err != nil {
		t.Fatal(err)
	}
	services, err := nodes.Start(t.Context(), &a.Containers[0], failing)
	if err != nil || len(services["mapreduce_shuffle"]) != 4 {
		t.Errorf("services %v, %v", services, err)
	}
	if _, err := nodes.Start(t.Context(), &a.Containers[1], &pb.ContainerLaunchContext{}); err != nil {
		t.Error(err)
	}
	done := w.until(m, "a failure", func(a *Allocation) bool { return len(a.Completed) == 1 }).Completed[0]
	if done.ID != a.Containers[0].ID || done.ExitStatus != 3 {
		t.Errorf("completed: %+v", done)
	}
	status, err := nodes.Status(t.Context(), w.node.ID, a.Containers[1].ID)
	if err != nil || status.State != pb.ContainerState_C_RUNNING || status.ExitStatus != records.ExitInvalid {
		t.Errorf("status: %+v, %v", status, err)
	}
	if err := nodes.Stop(t.Context(), w.node.ID, a.Containers[1].ID); err != nil {
		t.Error(err)
	}
	<-ended
	done = w.until(m, "the end of the other", func(a *Allocation) bool { return len(a.Completed) == 1 }).Completed[0]
	if done.ID != a.Containers[1].ID || done.ExitStatus != records.ExitKilledByAppMaster {
		t.Errorf("completed: %+v", done)
	}
	stranger := a.Containers[0]
	stranger.ID.ID = 1 << 30
	if _, err := nodes.Status(t.Context(), w.node.ID, stranger.ID); !IsClass(err, ipc.YarnException) {
		t.Errorf("status of a container that isn't there: %v", err)
	}
	if _, err := nodes.Status(t.Context(), records.NodeID{Host: "elsewhere", Port: 1}, stranger.ID); err == nil {
		t.Error("a node without a token answers")
	}
	if err := m.Finish(t.Context(), pb.FinalApplicationStatus_APP_SUCCEEDED, "all is well", "http://history/"); err != nil {
		t.Fatal(err)
	}
	w.node.Kill()
	rep, err = w.apps.Wait(t.Context(), app, nil)
	if err != nil || !rep.Succeeded() || rep.Diagnostics != "all is well" || rep.OriginalTrackingURL != "http://history/" {
		t.Errorf("at the end: %+v, %v", rep, err)
	}
}

func TestReleasedContainersAreNotHeardOfUnlessKnown(t *testing.T) {
	w := newWorld(t, 1, minicluster.NodeOptions{})
	m := w.registered()
	id, _ := m.Request(Request{Resource: small})
	c := w.until(m, "a container", func(a *Allocation) bool { return len(a.Containers) == 1 }).Containers[0]
	m.Release(c.ID, c.ID)
	foreign := c.ID
	foreign.Attempt.App.ID++
	m.Release(foreign)
	done := w.until(m, "its end", func(a *Allocation) bool { return len(a.Completed) > 0 }).Completed
	if len(done) != 1 || done[0].ID != c.ID || done[0].ExitStatus != records.ExitAborted {
		t.Errorf("completed: %+v", done)
	}
	if n := m.Withdraw(id, 5); n != 0 {
		t.Errorf("%d containers of a request that was served are withdrawn", n)
	}
	if len(m.releases) != 0 {
		t.Errorf("releases that were confirmed are kept: %v", m.releases)
	}
}

func TestNudgeEndsTheWait(t *testing.T) {
	w := newWorld(t, 1, minicluster.NodeOptions{})
	m := w.registered()
	m.o.Hold, m.hold = 30*time.Second, 30*time.Second
	begin := time.Now()
	got := make(chan *Allocation, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			a, err := m.Allocate(ctx)
			if err != nil {
				return
			}
			got <- a
		}
	}()
	w.Until("a call waits", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.holding
	})
	if _, err := m.Request(Request{Resource: small}); err != nil {
		t.Fatal(err)
	}
	if err := m.Nudge(t.Context()); err != nil {
		t.Fatal(err)
	}
	for len((<-got).Containers) == 0 {
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("the container came after %v, though the wait was ended", took)
	}
	cancel()
	<-ended
}

func TestRequestsBeyondTheCluster(t *testing.T) {
	w := newWorld(t, 1, minicluster.NodeOptions{})
	m := w.registered()
	_, err := m.Request(Request{Resource: records.NewResource(100000, 1)})
	var large *TooLargeError
	if !errors.As(err, &large) || large.Type.Name != "memory-mb" || large.Requested != 100000 || large.Maximum != 8192 {
		t.Errorf("a request beyond the cluster: %v", err)
	}
	for _, bad := range []Request{{Resource: small, Count: -1}, {Resource: records.NewResource(-1, 1)}, {Resource: small, Hosts: []string{"*"}}} {
		if _, err := m.Request(bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	// Where the maximum isn't known the ResourceManager refuses the call; what is wrong with it has to be found out.
	m.maximum = records.Resource{}
	big, err := m.Request(Request{Resource: records.NewResource(100000, 1), Priority: 1})
	if err != nil {
		t.Fatal(err)
	}
	good, err := m.Request(Request{Resource: small, Priority: 2})
	if err != nil {
		t.Fatal(err)
	}
	a := w.until(m, "a container", func(a *Allocation) bool { return len(a.Containers) == 1 })
	if a.Containers[0].Request != good {
		t.Errorf("got %+v", a.Containers[0])
	}
	if len(a.Refused) != 1 || !slices.Equal(a.Refused[0].Requests, []RequestID{big}) || !ipc.IsClass(a.Refused[0].Err, ipc.InvalidResourceRequest) {
		t.Errorf("refused: %+v", a.Refused)
	}
	if m.Outstanding() != 0 {
		t.Errorf("%d containers are still asked for", m.Outstanding())
	}
}

func TestBlacklist(t *testing.T) {
	w := newWorld(t, 1, minicluster.NodeOptions{})
	m := w.registered()
	m.Blacklist([]string{"127.0.0.1", "127.0.0.1", "*", ""}, nil)
	if _, err := m.Request(Request{Resource: small}); err != nil {
		t.Fatal(err)
	}
	m.hold = 300 * time.Millisecond
	if a, err := m.Allocate(t.Context()); err != nil || len(a.Containers) != 0 {
		t.Fatalf("with the only node on the blacklist: %+v, %v", a, err)
	}
	m.Blacklist(nil, []string{"127.0.0.1"})
	w.until(m, "a container", func(a *Allocation) bool { return len(a.Containers) == 1 })
}

func TestDismissal(t *testing.T) {
	w := newWorld(t, 1, minicluster.NodeOptions{})
	m := w.registered()
	if err := w.apps.Kill(t.Context(), m.o.Attempt.App, "enough"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Allocate(t.Context()); !errors.Is(err, ErrDismissed) {
		t.Errorf("the ApplicationMaster of an application that was killed is sent: %v", err)
	}
	rep, err := w.apps.Wait(t.Context(), m.o.Attempt.App, nil)
	if err != nil || rep.State != pb.YarnApplicationState_KILLED {
		t.Errorf("report: %+v, %v", rep, err)
	}
	if _, err := w.apps.Report(t.Context(), records.ApplicationID{ClusterTimestamp: 1, ID: 1}); !IsNotFound(err) {
		t.Errorf("report of an unknown application: %v", err)
	}
}

// Three ResourceManagers; the leader goes while requests, releases and a blacklist are outstanding.
func TestFailover(t *testing.T) {
	w := newWorld(t, 3, minicluster.NodeOptions{})
	m := w.registered()
	if _, err := m.Request(Request{Resource: small, Count: 2}); err != nil {
		t.Fatal(err)
	}
	before := w.until(m, "two containers", func(a *Allocation) bool { return len(a.Containers) == 2 }).Containers
	tooMany, err := m.Request(Request{Resource: records.NewResource(3072, 1), Count: 3})
	if err != nil {
		t.Fatal(err)
	}
	big := w.until(m, "what fits", func(a *Allocation) bool { return len(a.Containers) == 1 }).Containers
	m.Blacklist([]string{"elsewhere"}, nil)
	m.hold = 50 * time.Millisecond // there will be nothing to tell
	if _, err := m.Allocate(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.Release(before[0].ID)
	w.StopRM(w.Leader())
	m.Release(big[0].ID)
	a := w.until(m, "the other containers and both ends", func(a *Allocation) bool {
		return len(a.Containers) == 2 && len(a.Completed) == 2
	})
	if !a.Resynced || a.Containers[0].Request != tooMany || a.Containers[0].ID.Epoch() == 0 {
		t.Errorf("after the change of leaders: %+v", a)
	}
	for _, c := range append(before, big...) {
		if c.ID == a.Containers[0].ID {
			t.Errorf("%v is given out twice", c.ID)
		}
	}
	if m.Outstanding() != 0 {
		t.Errorf("%d containers are asked for", m.Outstanding())
	}
	if sent := m.blacklist["elsewhere"]; !sent {
		t.Error("the new leader doesn't know the blacklist")
	}
	if err := m.Finish(t.Context(), pb.FinalApplicationStatus_APP_SUCCEEDED, "", ""); err != nil {
		t.Error(err)
	}
}

func TestStartIsRepeatedUntilTheNodeIsReady(t *testing.T) {
	var calls atomic.Int32
	w := newWorld(t, 1, minicluster.NodeOptions{Fail: func() error {
		if n := calls.Add(1); n == 2 || n == 3 {
			return ipc.NewException(ipc.NMNotYetReady, "Rejecting new containers as NodeManager has not yet connected with ResourceManager")
		}
		return nil
	}})
	m := w.registered()
	_, _ = m.Request(Request{Resource: small})
	c := w.until(m, "a container", func(a *Allocation) bool { return len(a.Containers) == 1 }).Containers[0]
	nodes := w.cluster.Nodes(m.o.Attempt, m.NMTokens(), 1)
	if _, err := nodes.Start(t.Context(), &c, &pb.ContainerLaunchContext{}); err != nil || calls.Load() != 4 {
		t.Errorf("after %d calls: %v", calls.Load(), err)
	}
	// The second start is refused: nothing says that an answer was lost.
	_, err := nodes.Start(t.Context(), &c, &pb.ContainerLaunchContext{})
	var refused *ContainerError
	if !errors.As(err, &refused) || !refused.relaunch() || refused.Container != c.ID {
		t.Errorf("a second start: %v", err)
	}
}

func TestUnreachableNode(t *testing.T) {
	w := newWorld(t, 1, minicluster.NodeOptions{})
	m := w.registered()
	_, _ = m.Request(Request{Resource: small})
	c := w.until(m, "a container", func(a *Allocation) bool { return len(a.Containers) == 1 }).Containers[0]
	nodes := w.cluster.Nodes(m.o.Attempt, m.NMTokens(), 0)
	nodes.patience = 300 * time.Millisecond
	w.node.Kill()
	_, err := nodes.Start(t.Context(), &c, &pb.ContainerLaunchContext{})
	var conn *ipc.ConnError
	if !errors.As(err, &conn) {
		t.Errorf("starting on a dead node: %v", err)
	}
}

func TestSubmissionRefused(t *testing.T) {
	w := newWorld(t, 1, minicluster.NodeOptions{})
	id, maximum, err := w.apps.New(t.Context())
	if err != nil || maximum.MemoryMB() != 8192 {
		t.Fatalf("maximum %v, %v", maximum, err)
	}
	err = w.apps.Submit(t.Context(), Submission{ID: id, Resource: records.NewResource(1<<20, 1)})
	if !IsClass(err, ipc.InvalidResourceRequest) {
		t.Errorf("an ApplicationMaster of 1 TiB: %v", err)
	}
	err = w.apps.Submit(t.Context(), Submission{ID: id, Resource: small, AM: Launch{Resources: map[string]Resource{"x": {URL: "nowhere"}}}})
	if err == nil {
		t.Error("a resource without a place is accepted")
	}
}

func TestNobodyAnswers(t *testing.T) {
	w := newWorld(t, 1, minicluster.NodeOptions{})
	w.node.Kill()
	w.StopRM(0)
	w.Conf.Set("yarn.resourcemanager.connect.max-wait.ms", "200")
	apps, err := w.cluster.Applications("alice")
	if err != nil {
		t.Fatal(err)
	}
	addr := w.Conf.Text("yarn.resourcemanager.address")
	if _, _, err = apps.New(t.Context()); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("%v; it should name %s", err, addr)
	}
}
