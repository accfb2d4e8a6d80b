package nm

import (
	"os"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/nm/container"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

func TestStrangersAreNotLetIn(t *testing.T) {
	l := newLab(t).up()
	ask := func(by ipc.Invoker) error {
		_, err := protocol.GetContainerStatuses.Call(t.Context(), by, &pb.GetContainerStatusesRequest{})
		return err
	}
	if err := ask(l.client.Endpoint(l.node.Node().String(), protocol.ContainerManagement, ipc.Identity{User: "root"})); !ipc.IsClass(err, ipc.AccessControlException) {
		t.Errorf("without a token: %v", err)
	}
	for name, c := range map[string]struct {
		change func(*token.NM)
		want   string
	}{
		"unknown key":  {func(id *token.NM) { id.KeyID++ }, "seems to have been generated illegally."},
		"another node": {func(id *token.NM) { id.Node.Port++ }, "is not valid for current node manager.expected : " + l.node.Node().String() + " found : "},
	} {
		err := ask(l.as(attempt(1), c.change))
		if !ipc.IsClass(err, ipc.InvalidToken) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	forged := token.Token{Identifier: token.NM{Attempt: attempt(1), Node: l.node.Node(), KeyID: nodeKey.ID()}.Encode(), Password: make([]byte, 20), Kind: token.KindNM}
	if err := ask(l.client.Endpoint(l.node.Node().String(), protocol.ContainerManagement, ipc.Identity{Token: &forged})); !ipc.IsClass(err, ipc.SaslException) {
		t.Errorf("a wrong password: %v", err)
	}
	if err := ask(l.as(attempt(1))); err != nil {
		t.Errorf("a good token: %v", err)
	}
}

func TestRefusedStarts(t *testing.T) {
	l := newLab(t).up()
	start := func(change func(*pb.StartContainerRequest), by records.AttemptID, grants ...func(*pb.ContainerTokenIdentifier)) (*pb.StartContainersResponse, error) {
		r := l.request(containerID(1, 1), "true")
		r.SetContainerToken(l.grant(containerID(1, 1), grants...))
		if change != nil {
			change(r)
		}
		return protocol.StartContainers.Call(t.Context(), l.as(by), startRequest(r))
	}
	for name, c := range map[string]struct {
		change func(*pb.StartContainerRequest)
		by     records.AttemptID
		grant  func(*pb.ContainerTokenIdentifier)
		whole  bool // the call fails as a whole
		class  string
		want   string
	}{
		"another application's token": {
			by: attempt(2), class: ipc.YarnException,
			want: "Unauthorized request to start container.\nNMToken for application attempt : " + attempt(2).String() +
				" was used for starting container with container token issued for application attempt : " + attempt(1).String(),
		},
		"expired": {
			grant: func(m *pb.ContainerTokenIdentifier) { m.SetExpiryTimeStamp(time.Now().Add(-time.Second).UnixMilli()) },
			class: ipc.YarnException, want: "Unauthorized request to start container.\nThis token is expired. current time is ",
		},
		"another node": {
			grant: func(m *pb.ContainerTokenIdentifier) { m.SetNmHostAddr("elsewhere:1") }, whole: true, class: ipc.InvalidToken,
			want: "identifier is not valid for current Node manager. Expected : " + l.node.Node().String() + " Found : elsewhere:1",
		},
		"unknown key": {
			grant: func(m *pb.ContainerTokenIdentifier) { m.SetMasterKeyId(1) }, whole: true, class: ipc.InvalidToken,
			want: "Given Container " + containerID(1, 1).String() + " seems to have an illegally generated token.",
		},
		"another life of the ResourceManager": {
			grant: func(m *pb.ContainerTokenIdentifier) { m.SetRmIdentifier(1) }, class: ipc.InvalidContainer,
			want: "\nContainer " + containerID(1, 1).String() + " rejected as it is allocated by a previous RM",
		},
		"unknown resource type": {
			grant: func(m *pb.ContainerTokenIdentifier) {
				r := &pb.ResourceInformation{}
				r.SetKey("yarn.io/gpu")
				r.SetValue(1)
				m.GetResource().SetResourceValueMap(append(m.GetResource().GetResourceValueMap(), r))
			},
			class: ipc.YarnException, want: "yarn.io/gpu",
		},
		"no token": {
			change: func(r *pb.StartContainerRequest) { r.ClearContainerToken() }, whole: true, class: ipc.InvalidToken, want: "Invalid ContainerToken",
		},
		"malformed token": {
			change: func(r *pb.StartContainerRequest) { r.GetContainerToken().SetIdentifier([]byte{0xff}) }, whole: true, class: ipc.InvalidToken,
			want: "Invalid container token used for starting container on : " + l.node.Node().String(),
		},
		"aux service": {
			change: func(r *pb.StartContainerRequest) {
				d := &pb.StringBytesMap{}
				d.SetKey("nosuch")
				r.GetContainerLaunchContext().SetServiceData([]*pb.StringBytesMap{d})
			},
			class: ipc.InvalidAuxService, want: "The auxService:nosuch does not exist",
		},
		"resource without URL": {
			change: func(r *pb.StartContainerRequest) {
				d := &pb.StringLocalResourceMap{}
				d.SetKey("x")
				r.GetContainerLaunchContext().SetLocalResources([]*pb.StringLocalResourceMap{d})
			},
			class: ipc.YarnException, want: "Null resource URL for local resource x : ",
		},
		"credentials": {
			change: func(r *pb.StartContainerRequest) { r.GetContainerLaunchContext().SetTokens([]byte("nonsense")) },
			class:  ipc.YarnException, want: "the credentials in the launch context can't be read",
		},
	} {
		if c.by == (records.AttemptID{}) {
			c.by = attempt(1)
		}
		grants := []func(*pb.ContainerTokenIdentifier){}
		if c.grant != nil {
			grants = append(grants, c.grant)
		}
		resp, err := start(c.change, c.by, grants...)
		if c.whole {
			if !ipc.IsClass(err, c.class) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, %v", name, resp, err)
			}
			continue
		}
		if err != nil || len(resp.GetFailedRequests()) != 1 || len(resp.GetSucceededRequests()) != 0 {
			t.Errorf("%s: %v, %v", name, resp, err)
			continue
		}
		e := resp.GetFailedRequests()[0].GetException()
		if e.GetClassName() != c.class || !strings.Contains(e.GetMessage(), c.want) {
			t.Errorf("%s: %s %q, want %s %q", name, e.GetClassName(), e.GetMessage(), c.class, c.want)
		}
	}
	if got := l.node.Containers().Containers(); len(got) != 0 {
		t.Errorf("refused containers are here: %v", got)
	}
}

// Spark sends the whole buffer that it has written credentials to.
func TestCredentialsWithZerosBehind(t *testing.T) {
	l := newLab(t).up()
	creds := &token.Credentials{}
	creds.SetSecret("s", []byte("secret"))
	b, err := creds.Encode(token.FormatProtobuf)
	if err != nil {
		t.Fatal(err)
	}
	r := l.request(containerID(1, 1), "sleep 600; :")
	r.GetContainerLaunchContext().SetTokens(append(b, make([]byte, 39)...))
	if _, err := protocol.StartContainers.Call(t.Context(), l.as(attempt(1)), startRequest(r)); err != nil {
		t.Fatal(err)
	}
	c, err := l.node.Containers().Container(containerID(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	l.running(c)
	file, err := os.ReadFile(c.Status().WorkDir + "/container_tokens")
	if err != nil {
		t.Fatal(err)
	}
	want, err := creds.Encode(token.FormatWritable)
	if err != nil || string(file) != string(want) {
		t.Errorf("container_tokens is %x, want %x, %v", file, want, err)
	}
}

func TestAnotherApplicationsContainers(t *testing.T) {
	l := newLab(t).up()
	c := l.run(containerID(1, 1), "sleep 600; :")
	l.running(c)
	other := l.as(attempt(2))
	stop := &pb.StopContainersRequest{}
	stop.SetContainerId(ids(c.ID()))
	stopped, err := protocol.StopContainers.Call(t.Context(), other, stop)
	if err != nil || len(stopped.GetFailedRequests()) != 1 ||
		!strings.Contains(stopped.GetFailedRequests()[0].GetException().GetMessage(), "attempted to stop non-application container : "+c.ID().String()) {
		t.Errorf("stop: %v, %v", stopped, err)
	}
	get := &pb.GetContainerStatusesRequest{}
	get.SetContainerId(ids(c.ID()))
	got, err := protocol.GetContainerStatuses.Call(t.Context(), other, get)
	if err != nil || len(got.GetStatus()) != 0 || len(got.GetFailedRequests()) != 1 {
		t.Errorf("status: %v, %v", got, err)
	}
	suspend := &pb.SuspendContainersRequest{}
	suspend.SetContainerId(ids(c.ID()))
	suspended, err := protocol.SuspendContainers.Call(t.Context(), other, suspend)
	if err != nil || len(suspended.GetFailedRequests()) != 1 {
		t.Errorf("suspend: %v, %v", suspended, err)
	}
	sig := &pb.SignalContainerRequest{}
	sig.SetContainerId(c.ID().PB())
	sig.SetCommand(pb.SignalContainerCommand_FORCEFUL_SHUTDOWN)
	if _, err := protocol.SignalRunningContainer.Call(t.Context(), other, sig); !ipc.IsClass(err, ipc.YarnException) {
		t.Errorf("signal: %v", err)
	}
	if _, err := protocol.RestartContainer.Call(t.Context(), other, c.ID().PB()); !ipc.IsClass(err, ipc.YarnException) {
		t.Errorf("restart: %v", err)
	}
	up := &pb.ContainerUpdateRequest{}
	up.SetUpdateContainerToken([]*pb.Token{l.grant(c.ID(), func(m *pb.ContainerTokenIdentifier) { m.SetVersion(1) })})
	updated, err := protocol.UpdateContainer.Call(t.Context(), other, up)
	if err != nil || len(updated.GetFailedRequests()) != 1 {
		t.Errorf("update: %v, %v", updated, err)
	}
	if c.State() != container.Running || c.Grant().Version != 0 {
		t.Errorf("the container is %s", c)
	}
}

func TestSuspendOverTheWire(t *testing.T) {
	l := newLab(t).up()
	c := l.run(containerID(1, 1), "sleep 600; :")
	l.running(c)
	by := l.as(attempt(1))
	suspend := &pb.SuspendContainersRequest{}
	suspend.SetContainerId(ids(c.ID(), containerID(1, 9)))
	s, err := protocol.SuspendContainers.Call(t.Context(), by, suspend)
	if err != nil || len(s.GetSucceededRequests()) != 1 || len(s.GetFailedRequests()) != 1 {
		t.Errorf("%v, %v", s, err)
	}
	l.rm.seen("the suspension", func(b []*pb.NodeHeartbeatRequest) bool {
		return status(b[len(b)-1], c.ID()).GetContainerSubState() == pb.ContainerSubState_CSS_PAUSED
	})
	resume := &pb.ResumeContainersRequest{}
	resume.SetContainerId(ids(c.ID()))
	r, err := protocol.ResumeContainers.Call(t.Context(), by, resume)
	if err != nil || len(r.GetSucceededRequests()) != 1 {
		t.Errorf("%v, %v", r, err)
	}
	l.rm.seen("the resumption", func(b []*pb.NodeHeartbeatRequest) bool {
		return status(b[len(b)-1], c.ID()).GetContainerSubState() == pb.ContainerSubState_CSS_RUNNING
	})
}

func TestChangesOverTheWire(t *testing.T) {
	l := newLab(t).up()
	by := l.as(attempt(1))
	c := l.run(containerID(1, 1), "sleep 600; :")
	l.running(c)
	if _, err := protocol.RollbackLastReInitialization.Call(t.Context(), by, c.ID().PB()); err == nil || !strings.Contains(err.Error(), "Nothing to rollback to !!") {
		t.Errorf("rollback: %v", err)
	}
	if _, err := protocol.CommitLastReInitialization.Call(t.Context(), by, c.ID().PB()); err == nil || !strings.Contains(err.Error(), "Nothing to Commit !!") {
		t.Errorf("commit: %v", err)
	}
	if _, err := protocol.RestartContainer.Call(t.Context(), by, containerID(1, 9).PB()); err == nil || !strings.Contains(err.Error(), "Specified "+containerID(1, 9).String()+" does not exist!") {
		t.Errorf("restart of an unknown one: %v", err)
	}
	re := &pb.ReInitializeContainerRequest{}
	re.SetContainerId(c.ID().PB())
	re.SetContainerLaunchContext(launchContext("touch again; sleep 600; :"))
	if _, err := protocol.ReInitializeContainer.Call(t.Context(), by, re); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the new command", func() bool { _, err := os.Stat(c.Status().WorkDir + "/again"); return err == nil })
	loc := &pb.ResourceLocalizationRequest{}
	loc.SetContainerId(c.ID().PB())
	if _, err := protocol.Localize.Call(t.Context(), by, loc); err != nil {
		t.Errorf("localize: %v", err)
	}
	st := &pb.GetLocalizationStatusesRequest{}
	st.SetContainerId(ids(c.ID(), containerID(1, 9)))
	got, err := protocol.GetLocalizationStatuses.Call(t.Context(), by, st)
	if err != nil || len(got.GetCntnLocalizationStatuses()) != 1 || len(got.GetFailedRequests()) != 1 {
		t.Errorf("localization statuses: %v, %v", got, err)
	}
	inc := &pb.IncreaseContainersResourceRequest{}
	inc.SetIncreaseContainers([]*pb.Token{l.grant(c.ID(), func(m *pb.ContainerTokenIdentifier) {
		m.SetVersion(1)
		m.SetResource(records.ResourceTypes{}.PB(records.NewResource(512, 2)))
	})})
	for i, wantFailed := range []int{0, 1} {
		resp, err := protocol.IncreaseContainersResource.Call(t.Context(), by, inc)
		if err != nil || len(resp.GetFailedRequests()) != wantFailed {
			t.Errorf("increase %d: %v, %v", i, resp, err)
		}
	}
	var told []*pb.Container
	l.rm.seen("word of the increase, and a heartbeat after it", func(beats []*pb.NodeHeartbeatRequest) bool {
		told = nil
		for _, b := range beats {
			told = append(told, b.GetNodeStatus().GetIncreasedContainers()...)
		}
		return len(told) > 0 && len(beats[len(beats)-1].GetNodeStatus().GetIncreasedContainers()) == 0
	})
	if len(told) != 1 || records.ContainerIDFrom(told[0].GetId()) != c.ID() || told[0].GetResource().GetMemory() != 512 || told[0].GetResource().GetVirtualCores() != 2 {
		t.Errorf("the ResourceManager is told %v", told)
	}
	stop := &pb.StopContainersRequest{}
	stop.SetContainerId(ids(c.ID()))
	if resp, err := protocol.StopContainers.Call(t.Context(), by, stop); err != nil || len(resp.GetSucceededRequests()) != 1 {
		t.Errorf("stop: %v, %v", resp, err)
	}
	if err := c.WaitDone(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.node.Containers().Forget(c.ID())
	// stopping what has stopped is what the caller wants
	if resp, err := protocol.StopContainers.Call(t.Context(), by, stop); err != nil || len(resp.GetSucceededRequests()) != 1 {
		t.Errorf("stop again: %v, %v", resp, err)
	}
}
