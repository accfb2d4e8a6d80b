package nm

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/nm/container"
	"heddle/nm/heartbeat"
	"heddle/nm/store"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// status returns what a heartbeat says of a container.
func status(b *pb.NodeHeartbeatRequest, id records.ContainerID) *pb.ContainerStatus {
	for _, s := range b.GetNodeStatus().GetContainersStatuses() {
		if records.ContainerIDFrom(s.GetContainerId()) == id {
			return s
		}
	}
	return nil
}

func TestRegistrationAndHeartbeats(t *testing.T) {
	l := newLab(t).up()
	r := l.rm.registrations()[0]
	if records.NodeIDFrom(r.GetNodeId()) != l.node.Node() || r.GetHttpPort() != int32(l.node.identity.WebPort) ||
		r.GetNmVersion() != "3.4.2" || r.GetResource().GetMemory() != 4096 || r.GetResource().GetVirtualCores() != 8 ||
		r.GetPhysicalResource().GetMemory() <= 0 || !r.GetNodeStatus().GetNodeHealthStatus().GetIsNodeHealthy() {
		t.Errorf("registered as %v", r)
	}
	if c := r.GetHeddleCapabilities(); len(c.GetFeatures()) == 0 || c.GetRelease() != conf.Version {
		t.Errorf("capabilities %v", c)
	}
	l.rm.seen("two heartbeats", func(b []*pb.NodeHeartbeatRequest) bool { return len(b) > 1 })
	l.rm.mu.Lock()
	first, second := l.rm.beats[0], l.rm.beats[1]
	l.rm.mu.Unlock()
	if first.GetNodeStatus().GetResponseId() != 0 || second.GetNodeStatus().GetResponseId() != 1 || first.GetTokenSequenceNo() != 0 || second.GetTokenSequenceNo() != 1 {
		t.Errorf("heartbeats\n%v\n%v", first, second)
	}
	if k := second.GetLastKnownContainerTokenMasterKey(); k.GetKeyId() != containerKey.ID() || string(k.GetBytes()) != string(containerKey.Secret()) {
		t.Errorf("container key %v", k)
	}
	if k := second.GetLastKnownNmTokenMasterKey(); k.GetKeyId() != nodeKey.ID() {
		t.Errorf("node key %v", k)
	}
	if u := second.GetNodeStatus().GetNodeUtilization(); u.GetPmem() <= 0 {
		t.Errorf("node utilization %v", u)
	}
	node := l.node.Node()
	l.stop()
	l.rm.mu.Lock()
	defer l.rm.mu.Unlock()
	if len(l.rm.gone) != 1 || l.rm.gone[0] != node {
		t.Errorf("unregistered: %v", l.rm.gone)
	}
}

// A node that ends before its registration is answered takes its leave nevertheless: otherwise it would get containers until it expires.
func TestNodeThatEndsWhileItRegisters(t *testing.T) {
	l := newLab(t)
	l.rm.onRegister = func(*pb.RegisterNodeManagerResponse) { l.cancel() }
	l.start()
	node := l.node.Node()
	if err := l.wait(); err != nil {
		t.Errorf("the node ended with %v", err)
	}
	l.rm.mu.Lock()
	defer l.rm.mu.Unlock()
	if len(l.rm.registered) != 1 || len(l.rm.gone) != 1 || l.rm.gone[0] != node {
		t.Errorf("%d registrations, unregistered: %v", len(l.rm.registered), l.rm.gone)
	}
}

// ended reports whether some heartbeat says that a container ended with an exit code. It is said once, and so in the last one for a moment only.
func ended(beats []*pb.NodeHeartbeatRequest, id records.ContainerID, exitCode int32, why string) bool {
	return slices.ContainsFunc(beats, func(b *pb.NodeHeartbeatRequest) bool {
		s := status(b, id)
		return s.GetState() == pb.ContainerState_C_COMPLETE && s.GetExitStatus() == exitCode && strings.Contains(s.GetDiagnostics(), why)
	})
}

func TestEndsAreToldAtOnceAndOnce(t *testing.T) {
	l := newLab(t)
	l.rm.interval = 3600_000
	l.up()
	id := containerID(1, 1)
	began := time.Now()
	l.run(id, "exit 3")
	var at int
	l.rm.seen("the end", func(beats []*pb.NodeHeartbeatRequest) bool {
		for i, b := range beats {
			if s := status(b, id); s.GetState() == pb.ContainerState_C_COMPLETE {
				at = i
				return s.GetExitStatus() == 3 && s.GetContainerSubState() == pb.ContainerSubState_CSS_DONE
			}
		}
		return false
	})
	t.Logf("start to told: %v", time.Since(began))
	other := l.run(containerID(1, 2), "sleep 600; :")
	l.running(other)
	l.rm.seen("the next one running", func(beats []*pb.NodeHeartbeatRequest) bool {
		s := status(beats[len(beats)-1], other.ID())
		return s.GetContainerSubState() == pb.ContainerSubState_CSS_RUNNING && len(s.GetContainerAttributes()) == 2
	})
	l.rm.mu.Lock()
	for _, b := range l.rm.beats[at+1:] {
		if s := status(b, id); s != nil {
			t.Errorf("told again: %v", s)
		}
	}
	l.rm.mu.Unlock()
	// it is there until the ResourceManager has taken note
	if _, err := l.node.Containers().Container(id); err != nil {
		t.Error(err)
	}
	l.rm.reply(func(m *pb.NodeHeartbeatResponse) { m.SetContainersToBeRemovedFromNm(ids(id)) })
	l.node.kick()
	await.Until(t, "removal", func() bool {
		_, err := l.node.Containers().Container(id)
		return errors.Is(err, container.ErrStoppedBefore)
	})
	l.rm.reply(func(m *pb.NodeHeartbeatResponse) { m.SetContainersToCleanup(ids(other.ID())) })
	l.node.kick()
	l.rm.seen("the kill", func(beats []*pb.NodeHeartbeatRequest) bool {
		return ended(beats, other.ID(), records.ExitKilledByResourceManager, "Container Killed by ResourceManager\n")
	})
}

// The ResourceManager orders levels by a call, and heartbeats say how far the node is.
func TestLevelsOverTheWire(t *testing.T) {
	l := newLab(t).up()
	if r := l.rm.registrations()[0]; !slices.Contains(r.GetHeddleCapabilities().GetFeatures(), "levels") {
		t.Errorf("features %v", r.GetHeddleCapabilities())
	}
	c := l.run(containerID(1, 1), "while :; do sleep 0.01; done")
	l.running(c)
	order := func(level pb.ContainerLevel, version int32) *pb.ContainerOrder {
		m := &pb.ContainerOrder{}
		m.SetContainerId(c.ID().PB())
		m.SetLevel(level)
		m.SetVersion(version)
		m.SetBeneficiary("short")
		return m
	}
	told := func(what string, ok func(*pb.ContainerSuspension) bool) {
		t.Helper()
		l.rm.seen(what, func(b []*pb.NodeHeartbeatRequest) bool {
			last := b[len(b)-1]
			return len(last.GetHeddleSuspensions()) == 1 && last.HasHeddleMemory() && ok(last.GetHeddleSuspensions()[0])
		})
	}
	req := &pb.OrderContainersRequest{}
	req.SetOrder([]*pb.ContainerOrder{order(pb.ContainerLevel_LEVEL_FROZEN, 1)})
	if _, err := protocol.OrderContainers.Call(t.Context(), l.as(records.AttemptID{App: attempt(1).App}), req); err != nil {
		t.Fatal(err)
	}
	l.node.kick()
	told("it is frozen", func(s *pb.ContainerSuspension) bool {
		return s.GetVersion() == 1 && s.GetLevel() == pb.ContainerLevel_LEVEL_FROZEN && s.GetHeld().GetMemory() == c.Grant().Resource.MemoryMB()
	})
	if s := c.Status(); s.State != container.Paused || s.Suspension.For != "short" {
		t.Errorf("%s, %+v", s.State, s.Suspension)
	}
	req.SetOrder([]*pb.ContainerOrder{order(pb.ContainerLevel_LEVEL_RUNNING, 2), order(pb.ContainerLevel(9), 3)})
	resp, err := protocol.OrderContainers.Call(t.Context(), l.as(attempt(1)), req)
	if err == nil || !strings.Contains(err.Error(), "only the ResourceManager may") {
		t.Errorf("its ApplicationMaster orders: %v, %v", resp, err)
	}
	resp, err = protocol.OrderContainers.Call(t.Context(), l.as(records.AttemptID{App: attempt(1).App}), req)
	if err != nil || len(resp.GetSuspension()) != 2 || len(resp.GetFailedRequests()) != 1 {
		t.Fatalf("%v, %v", resp, err)
	}
	if s := resp.GetSuspension(); s[0].GetVersion() != 2 || s[0].GetLevel() != pb.ContainerLevel_LEVEL_RUNNING || s[0].GetFailed() || !s[1].GetFailed() || s[1].GetReason() == "" {
		t.Errorf("%v", s)
	}
	told("that the last one makes no sense", func(s *pb.ContainerSuspension) bool {
		return s.GetVersion() == 3 && s.GetFailed() && s.GetLevel() == pb.ContainerLevel_LEVEL_RUNNING
	})
	resp, err = protocol.OrderContainers.Call(t.Context(), l.as(records.AttemptID{App: attempt(2).App}), req)
	if err != nil || len(resp.GetSuspension()) != 0 || len(resp.GetFailedRequests()) != 2 {
		t.Errorf("another application: %v, %v", resp, err)
	}
}

func TestOrdersOfTheResourceManager(t *testing.T) {
	l := newLab(t).up()
	c := l.run(containerID(1, 1), "trap 'touch heard' QUIT; touch ready; while :; do sleep 0.01; done")
	l.running(c)
	await.Until(t, "the trap", func() bool { _, err := os.Stat(c.Status().WorkDir + "/ready"); return err == nil })
	await.Until(t, "the signal", func() bool {
		l.rm.reply(func(m *pb.NodeHeartbeatResponse) {
			s := &pb.SignalContainerRequest{}
			s.SetContainerId(c.ID().PB())
			s.SetCommand(pb.SignalContainerCommand_OUTPUT_THREAD_DUMP)
			m.SetContainersToSignal([]*pb.SignalContainerRequest{s})
		})
		l.node.kick()
		_, err := os.Stat(c.Status().WorkDir + "/heard")
		return err == nil
	})
	// another size, decided by the ResourceManager
	up := &pb.Container{}
	up.SetId(c.ID().PB())
	up.SetContainerToken(l.grant(c.ID(), func(m *pb.ContainerTokenIdentifier) {
		m.SetVersion(1)
		m.SetResource(records.ResourceTypes{}.PB(records.NewResource(300, 1)))
	}))
	l.rm.reply(func(m *pb.NodeHeartbeatResponse) {
		m.SetContainersToUpdate([]*pb.Container{up})
		m.SetResource(records.ResourceTypes{}.PB(records.NewResource(2048, 4)))
	})
	l.node.kick()
	await.Until(t, "the other size", func() bool { return c.Grant().Resource.MemoryMB() == 300 })

	// new keys: tokens of the old ones stay good, until there are newer ones still
	for i := range int32(2) {
		next := token.NewMasterKey(100+i, []byte{1, 2, 3, byte(i)})
		l.rm.reply(func(m *pb.NodeHeartbeatResponse) {
			m.SetContainerTokenMasterKey(next.PB())
			m.SetNmTokenMasterKey(next.PB())
		})
		l.node.kick()
		l.rm.seen("the new keys", func(b []*pb.NodeHeartbeatRequest) bool {
			last := b[len(b)-1]
			return last.GetLastKnownContainerTokenMasterKey().GetKeyId() == next.ID() && last.GetLastKnownNmTokenMasterKey().GetKeyId() == next.ID()
		})
		fresh := ipc.NewClient(ipc.ClientConfig{}) // a connection is not asked again for its token
		l.client.Close()
		l.client = fresh
		_, err := protocol.GetContainerStatuses.Call(t.Context(), l.as(attempt(2)), &pb.GetContainerStatusesRequest{})
		if (err != nil) != (i > 0) {
			t.Errorf("after %d new keys: %v", i+1, err)
		}
		if err != nil && !strings.Contains(err.Error(), "seems to have been generated illegally") {
			t.Error(err)
		}
	}
	// an attempt that has containers keeps the key of its token
	if _, err := protocol.GetContainerStatuses.Call(t.Context(), l.as(attempt(1)), &pb.GetContainerStatusesRequest{}); err != nil {
		t.Errorf("an attempt with containers: %v", err)
	}
	l.rm.reply(func(m *pb.NodeHeartbeatResponse) {
		m.SetApplicationsToCleanup([]*pb.ApplicationId{attempt(1).App.PB()})
	})
	l.node.kick()
	await.Until(t, "the end of the application", func() bool { _, found := l.node.Containers().Application(attempt(1).App); return !found })
	l.client.Close()
	l.client = ipc.NewClient(ipc.ClientConfig{})
	if _, err := protocol.GetContainerStatuses.Call(t.Context(), l.as(attempt(1)), &pb.GetContainerStatusesRequest{}); !ipc.IsClass(err, ipc.InvalidToken) {
		t.Errorf("after its end: %v", err)
	}
}

func TestResync(t *testing.T) {
	l := newLab(t).up()
	running := l.run(containerID(1, 1), "sleep 600; :")
	ended := l.run(containerID(1, 2), "exit 5")
	l.running(running)
	if err := ended.WaitDone(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.rm.mu.Lock()
	l.rm.identifier++
	l.rm.next.SetNodeAction(pb.NodeAction_RESYNC)
	l.rm.next.SetDiagnosticsMessage("Node not found resyncing " + l.node.Node().String())
	l.rm.mu.Unlock()
	l.node.kick()
	await.Until(t, "another registration", func() bool { return len(l.rm.registrations()) == 2 })
	r := l.rm.registrations()[1]
	if len(r.GetContainerStatuses()) != 2 || len(r.GetRunningApplications()) != 1 {
		t.Fatalf("registered with %v", r)
	}
	for _, s := range r.GetContainerStatuses() {
		if s.GetPriority().GetPriority() != 7 || s.GetResource().GetMemory() != 256 || s.GetCreationTime() == 0 {
			t.Errorf("status %v", s)
		}
		switch records.ContainerIDFrom(s.GetContainerId()) {
		case running.ID():
			if s.GetContainerState() != pb.ContainerState_C_RUNNING || s.GetContainerExitStatus() != records.ExitInvalid {
				t.Errorf("status %v", s)
			}
		case ended.ID():
			if s.GetContainerState() != pb.ContainerState_C_COMPLETE || s.GetContainerExitStatus() != 5 {
				t.Errorf("status %v", s)
			}
		}
	}
	l.rm.seen("the first heartbeat after it", func(b []*pb.NodeHeartbeatRequest) bool {
		var first []*pb.NodeStatus // of each registration; others may have come since
		for _, beat := range b {
			if s := beat.GetNodeStatus(); s.GetResponseId() == 0 {
				first = append(first, s)
			}
		}
		return len(first) == 2 && len(first[1].GetContainersStatuses()) == 1
	})
	if running.State() != container.Running {
		t.Errorf("the container is %s", running.State())
	}
	// a container of the old life is refused now
	resp, err := protocol.StartContainers.Call(t.Context(), l.as(attempt(1)), startRequest(l.request(containerID(1, 3), "true")))
	if err != nil || len(resp.GetFailedRequests()) != 1 ||
		!strings.Contains(resp.GetFailedRequests()[0].GetException().GetMessage(), "rejected as it is allocated by a previous RM") ||
		resp.GetFailedRequests()[0].GetException().GetClassName() != ipc.InvalidContainer {
		t.Errorf("%v, %v", resp, err)
	}
}

// The ResourceManager is told once that a container's process has started, while it runs.
func TestStartsAreToldOnce(t *testing.T) {
	l := newLab(t).up()
	c := l.run(containerID(1, 1), "sleep 600; :")
	l.running(c)
	l.rm.seen("the start is told, and not again", func(b []*pb.NodeHeartbeatRequest) bool {
		told, since := 0, 0
		for _, beat := range b {
			if s := status(beat, c.ID()); s != nil && s.GetHeddleTimes().HasLaunched() {
				told, since = told+1, 0
			} else {
				since++
			}
		}
		return told == 1 && since >= 2
	})
}

func TestSentAway(t *testing.T) {
	l := newLab(t).up()
	c := l.run(containerID(1, 1), "sleep 600; :")
	l.running(c)
	state := l.node.s.state
	l.rm.reply(func(m *pb.NodeHeartbeatResponse) {
		m.SetNodeAction(pb.NodeAction_SHUTDOWN)
		m.SetDiagnosticsMessage("Disallowed NodeManager nodeId: localhost:1 hostname: localhost")
	})
	l.node.kick()
	if err := l.wait(); !errors.Is(err, heartbeat.ErrShutdown) || !strings.Contains(err.Error(), "Disallowed NodeManager nodeId") {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(state + "/nm.db"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state is left: %v", err)
	}
}

func TestRefusedAtRegistration(t *testing.T) {
	l := newLab(t)
	l.rm.onRegister = func(m *pb.RegisterNodeManagerResponse) {
		m.SetNodeAction(pb.NodeAction_SHUTDOWN)
		m.SetDiagnosticsMessage("Disallowed NodeManager from  localhost, Sending SHUTDOWN signal to the NodeManager.")
	}
	l.start()
	if err := l.wait(); !errors.Is(err, heartbeat.ErrShutdown) || !strings.Contains(err.Error(), "Disallowed NodeManager from") {
		t.Errorf("it ended with %v", err)
	}
}

func TestASupervisedNodeLeavesItsContainers(t *testing.T) {
	l := newLab(t, "yarn.nodemanager.recovery.supervised=true").up()
	node, web := l.node.Node(), l.node.WebAddress()
	c := l.run(containerID(1, 1), "while ! [ -e "+l.dir+"/go ]; do sleep 0.01; done; exit 9")
	l.running(c)
	port := func() string { return string(l.node.aux.Metadata()["mapreduce_shuffle"]) }
	shuffle := port()
	l.stop()
	l.up()
	if l.node.Node() != node || l.node.WebAddress() != web || port() != shuffle {
		t.Errorf("the node is %s, %s now, was %s, %s", l.node.Node(), l.node.WebAddress(), node, web)
	}
	r := l.rm.registrations()[1]
	if len(r.GetContainerStatuses()) != 1 || r.GetContainerStatuses()[0].GetContainerState() != pb.ContainerState_C_RUNNING {
		t.Errorf("registered with %v", r)
	}
	// the AM goes on with its token
	req := &pb.GetContainerStatusesRequest{}
	req.SetContainerId(ids(c.ID()))
	resp, err := protocol.GetContainerStatuses.Call(t.Context(), l.as(attempt(1)), req)
	if err != nil || len(resp.GetStatus()) != 1 || resp.GetStatus()[0].GetContainerSubState() != pb.ContainerSubState_CSS_RUNNING {
		t.Errorf("%v, %v", resp, err)
	}
	if err := os.WriteFile(l.dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.rm.seen("the end", func(b []*pb.NodeHeartbeatRequest) bool {
		return ended(b, c.ID(), 9, "")
	})
	// stop it as a whole
	l.set = nil
	l.stop()
	l.up()
}

func TestStateOfAnotherNode(t *testing.T) {
	l := newLab(t, "yarn.nodemanager.recovery.supervised=true", "heddle.node.id=n", "yarn.resourcemanager.cluster-id=one").up()
	// a second one with the same folder
	_, err := New(Options{Conf: l.conf(), Log: quiet()})
	if !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), l.dir+"/heddle/nm-n") {
		t.Errorf("a second NodeManager: %v", err)
	}
	c := l.run(containerID(1, 1), "sleep 600; :")
	l.running(c)
	l.stop()
	good := l.set
	for _, c := range []struct{ setting, want string }{
		{"yarn.nodemanager.address=127.0.0.1:0", "holds containers of the node localhost:"},
		{"yarn.nodemanager.address=localhost:1", "holds containers of the node localhost:"},
		{"yarn.resourcemanager.cluster-id=two", `holds containers of the cluster "one"`},
	} {
		l.set = append(good[:len(good):len(good)], c.setting)
		n, err := New(Options{Conf: l.conf(), Log: quiet()})
		if err == nil {
			n.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), l.dir) {
			t.Errorf("%s: %v", c.setting, err)
		}
	}
	l.set = append(good[1:len(good):len(good)], "yarn.nodemanager.recovery.supervised=false")
	l.up()
	l.stop() // its containers end
	l.set = append(l.set, "yarn.nodemanager.address=127.0.0.1:0", "yarn.resourcemanager.cluster-id=two")
	l.up()
}

// A port that a node got in an earlier life may be somebody else's by now. Only where containers know it, the node can't do without.
func TestAPortThatIsTakenMeanwhile(t *testing.T) {
	l := newLab(t, "yarn.nodemanager.recovery.supervised=true", "heddle.node.id=n").up()
	first := l.node.Node()
	l.stop()
	taken, err := net.Listen("tcp", first.String())
	if err != nil {
		t.Fatal(err)
	}
	l.up()
	if second := l.node.Node(); second.Host != first.Host || second.Port == first.Port {
		t.Errorf("%v after %v", second, first)
	}
	taken.Close()
	l.running(l.run(containerID(1, 1), "sleep 600; :"))
	second := l.node.Node()
	l.stop()
	if taken, err = net.Listen("tcp", second.String()); err != nil {
		t.Fatal(err)
	}
	n, err := New(Options{Conf: l.conf(), Log: quiet()})
	if err == nil {
		n.Close()
	}
	if want := fmt.Sprintf("yarn.nodemanager.address: port %d, which containers of this node know", second.Port); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	taken.Close()
	l.set = append(l.set, "yarn.nodemanager.recovery.supervised=false")
	if l.up(); l.node.Node() != second {
		t.Errorf("%v, and %v before", l.node.Node(), second)
	}
}

// An ApplicationMaster that is refused containers often tells nobody but its log.
func TestRefusedStartsAreToldToTheResourceManager(t *testing.T) {
	l := newLab(t)
	l.rm.interval = 3600_000
	l.up()
	start := func(id records.ContainerID, service string) {
		t.Helper()
		r := l.request(id, "sleep 600")
		if service != "" {
			d := &pb.StringBytesMap{}
			d.SetKey(service)
			r.GetContainerLaunchContext().SetServiceData([]*pb.StringBytesMap{d})
		}
		resp, err := protocol.StartContainers.Call(t.Context(), l.as(id.Attempt), startRequest(r))
		if err != nil || len(resp.GetFailedRequests()) != 0 && service == "" {
			t.Fatalf("%v, %v", resp, err)
		}
	}
	told := func(what string, want map[records.ApplicationID]string) {
		t.Helper()
		l.rm.seen(what, func(beats []*pb.NodeHeartbeatRequest) bool {
			got := beats[len(beats)-1].GetHeddleRefusals()
			for _, r := range got {
				if begin, ok := want[records.ApplicationIDFrom(r.GetApplicationId())]; !ok || !strings.HasPrefix(r.GetReason(), begin) {
					return false
				}
			}
			return len(got) == len(want)
		})
	}
	start(containerID(1, 1), "spark_shuffle")
	start(containerID(2, 1), "nosuch")
	first, second := attempt(1).App, attempt(2).App
	told("refusals", map[records.ApplicationID]string{
		first:  "The auxService:spark_shuffle does not exist: Spark's shuffle service isn't among yarn.nodemanager.aux-services of this node.",
		second: "The auxService:nosuch does not exist. Set yarn.nodemanager.aux-services on the nodes",
	})
	start(containerID(1, 2), "") // one that starts
	told("what is refused still", map[records.ApplicationID]string{second: "The auxService:nosuch "})
	l.rm.reply(func(m *pb.NodeHeartbeatResponse) { m.SetApplicationsToCleanup([]*pb.ApplicationId{second.PB()}) })
	l.node.kick()
	l.rm.seen("nothing refused", func(beats []*pb.NodeHeartbeatRequest) bool {
		l.node.kick()
		return len(beats[len(beats)-1].GetHeddleRefusals()) == 0
	})
}

// What the ResourceManager gets for applications reaches the node with heartbeats.
func TestSystemCredentialsReachTheNode(t *testing.T) {
	l := newLab(t).up()
	app := records.ApplicationID{ClusterTimestamp: rmIdentifier, ID: 1}
	system, err := (&token.Credentials{Tokens: []token.NamedToken{{Alias: "a", Token: token.Token{Kind: token.KindHDFS, Service: "a"}}}}).Encode(token.FormatWritable)
	if err != nil {
		t.Fatal(err)
	}
	m := &pb.SystemCredentialsForApps{}
	m.SetAppId(app.PB())
	m.SetCredentialsForApp(system)
	l.rm.reply(func(r *pb.NodeHeartbeatResponse) { r.SetSystemCredentialsForApps([]*pb.SystemCredentialsForApps{m}) })
	l.node.kick()
	await.Until(t, "the token", func() bool {
		c, err := token.DecodeCredentials(l.node.system.For(app, nil))
		return err == nil && len(c.Tokens) == 1
	})
	if len(l.node.system.For(records.ApplicationID{ID: 2}, nil)) != 0 {
		t.Error("another application has it, too")
	}
}
