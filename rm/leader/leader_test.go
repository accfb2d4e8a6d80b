package leader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// world is a cluster with one log and, at any time, one leader. It runs in a synctest bubble: time is virtual.
type world struct {
	t         *testing.T
	mu        sync.Mutex
	committed *ledger.State
	lost      bool // the leader's proposals don't arrive any more

	*Leader
	stop     context.CancelFunc
	stopped  chan error
	launched chan Launch
	refuse   error // what nodes answer to launches
	stops    []records.ContainerID
	frozen   map[records.ContainerID]bool
	keys     int32
	change   func(*Settings)
	tokens   Tokens
	record   *eventlog.Writer
}

func run(t *testing.T, test func(w *world)) {
	t.Helper()
	runWorld(t, nil, test)
}

// runWorld is run with settings of the test's own.
func runWorld(t *testing.T, change func(*Settings), test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.change = change
		w.lead()
		test(w)
		w.depose()
		if err := w.state().Check(); err != nil {
			t.Error(err)
		}
	})
}

func newWorld(t *testing.T) *world {
	return &world{t: t, committed: ledger.New(), launched: make(chan Launch, 100), frozen: map[records.ContainerID]bool{}}
}

func (w *world) settings() Settings {
	s := Settings{
		ID:            "rm1",
		MinAllocation: records.NewResource(256, 1), MaxAllocation: records.NewResource(8192, 4),
		MaxAttempts: 2, GlobalMaxAttempts: 3, MaxCompleted: 3,
		AMExpiry: time.Minute, NodeExpiry: 2 * time.Minute, AllocationExpiry: 5 * time.Minute,
		HeartbeatInterval: time.Second, DecommissionTimeout: time.Hour,
		KeyLifetime: map[ledgerpb.KeyKind]time.Duration{
			ledgerpb.KeyKind_AM_RM: 24 * time.Hour, ledgerpb.KeyKind_NM: 24 * time.Hour, ledgerpb.KeyKind_CONTAINER: 24 * time.Hour,
		},
		PageURL: func(id records.ApplicationID) string { return "http://rm/cluster/app/" + id.String() },
	}
	if w.change != nil {
		w.change(&s)
	}
	return s
}

// lead puts a new leader in place, which begins with what is committed.
func (w *world) lead() {
	log := logrus.New()
	log.SetOutput(io.Discard)
	w.mu.Lock()
	w.lost = false
	state := w.committed.Clone()
	w.mu.Unlock()
	w.Leader = New(Config{
		Settings: w.settings(), State: state, Propose: w.propose, Launcher: nodes{w}, Now: time.Now, NewKey: w.newKey,
		Rack: func(string) string { return "/default-rack" }, Log: logrus.NewEntry(log), Tokens: w.tokens,
		Record: w.record, RecordedQueues: &eventlog.Source{Keys: map[string]string{"yarn.resourcemanager.scheduler.class": "capacity"}},
	})
	ctx, cancel := context.WithCancel(context.Background())
	w.stop, w.stopped = cancel, make(chan error, 1)
	ready := make(chan struct{})
	leader := w.Leader
	go func() { w.stopped <- leader.Run(ctx, func() { close(ready) }) }()
	<-ready
}

func (w *world) depose() {
	w.stop()
	<-w.stopped
}

func (w *world) propose(entry []byte) func() error {
	return func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.lost {
			return errors.New("leadership lost")
		}
		var b ledgerpb.Batch
		if err := proto.Unmarshal(entry, &b); err != nil {
			return err
		}
		return w.committed.Apply(&b)
	}
}

func (w *world) newKey(ledgerpb.KeyKind) (int32, []byte, error) {
	w.keys++
	return w.keys, []byte(fmt.Sprint("secret ", w.keys)), nil
}

// nodes is all NodeManagers, as the leader calls them.
type nodes struct{ *world }

func (w nodes) Launch(_ context.Context, l Launch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return w.refuse
	}
	w.launched <- l
	return nil
}

func (w *world) nodesAnswer(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = err
}

func (w nodes) Stop(_ context.Context, _ records.NodeID, _ records.AttemptID, id records.ContainerID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stops = append(w.stops, id)
	return nil
}

func (w *world) freeze(id records.ContainerID, frozen bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frozen[id] = frozen
	return nil
}

func (w nodes) Suspend(_ context.Context, _ records.NodeID, _ records.AttemptID, id records.ContainerID) error {
	return w.freeze(id, true)
}

func (w nodes) Resume(_ context.Context, _ records.NodeID, _ records.AttemptID, id records.ContainerID) error {
	return w.freeze(id, false)
}

// same checks that the working copy is what was committed, once nothing is under way.
func (w *world) same() {
	w.t.Helper()
	var working, committed bytes.Buffer
	err := w.do(func(t *turn) error { return t.work.WriteSnapshot(&working) })
	if err == nil {
		w.mu.Lock()
		err = w.committed.WriteSnapshot(&committed)
		w.mu.Unlock()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if !bytes.Equal(working.Bytes(), committed.Bytes()) {
		w.t.Error("the working copy differs from what was committed")
	}
}

// state is a copy of what is committed.
func (w *world) state() *ledger.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.committed.Clone()
}

func (w *world) app(id records.ApplicationID) *ledger.Application { return w.state().Apps[id] }

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func submission(id records.ApplicationID, change func(*pb.ApplicationSubmissionContext)) *pb.ApplicationSubmissionContext {
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationId(id.PB())
	ctx.SetApplicationName("sleep")
	ctx.SetResource(records.ResourceTypes{}.PB(records.NewResource(512, 1)))
	ctx.SetAmContainerSpec(&pb.ContainerLaunchContext{})
	if change != nil {
		change(ctx)
	}
	return ctx
}

func (w *world) submit(change func(*pb.ApplicationSubmissionContext)) records.ApplicationID {
	w.t.Helper()
	id, _, err := w.NewApplication()
	if err == nil {
		err = w.Submit("alice", submission(id, change))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func nodeID(i int) records.NodeID { return records.NodeID{Host: fmt.Sprintf("n%d", i), Port: 45454} }

func (w *world) node(i int, containers ...NodeContainer) records.NodeID {
	w.t.Helper()
	return w.nodeOf(i, records.NewResource(4096, 4), containers...)
}

func (w *world) nodeOf(i int, capability records.Resource, containers ...NodeContainer) records.NodeID {
	w.t.Helper()
	reply, err := w.RegisterNode(NodeRegistration{
		Node: nodeID(i), HTTPPort: 8042, Capability: capability, Version: "3.4.2", Peer: "10.0.0.1",
		Containers: containers, Features: []string{FeatureSuspend},
	})
	if err != nil || reply.Action != pb.NodeAction_NORMAL {
		w.t.Fatalf("registration: %+v, %v", reply, err)
	}
	return nodeID(i)
}

// peer is a NodeManager's or ApplicationMaster's side of the dialogue.
type peer struct {
	w        *world
	node     records.NodeID
	attempt  records.AttemptID
	response int32
}

func (p *peer) heartbeat(containers ...NodeContainer) NodeReply {
	p.w.t.Helper()
	r := must[NodeReply](p.w.t)(p.w.HeartbeatNode(NodeCall{
		Node: p.node, ResponseID: p.response, Containers: containers, Status: NodeStatus{Healthy: true},
	}))
	p.response = r.ResponseID
	return r
}

func (p *peer) allocate(call AllocateCall) AllocateReply {
	p.w.t.Helper()
	call.ResponseID = p.response
	r := must[AllocateReply](p.w.t)(p.w.Allocate(p.attempt, call))
	p.response = r.ResponseID
	return r
}

func ask(count int32) []*pb.ResourceRequest {
	r := &pb.ResourceRequest{}
	p := &pb.Priority{}
	p.SetPriority(20)
	r.SetPriority(p)
	r.SetResourceName("*")
	r.SetCapability(records.ResourceTypes{}.PB(records.NewResource(1000, 1)))
	r.SetNumContainers(count)
	return []*pb.ResourceRequest{r}
}

func runs(id records.ContainerID) NodeContainer {
	return NodeContainer{ID: id, State: pb.ContainerState_C_RUNNING}
}

func ended(id records.ContainerID, exit int32) NodeContainer {
	return NodeContainer{ID: id, State: pb.ContainerState_C_COMPLETE, ExitStatus: exit, Diagnostics: "said so"}
}

// am submits an application and registers its ApplicationMaster.
func (w *world) am(change func(*pb.ApplicationSubmissionContext)) *peer {
	w.t.Helper()
	w.submit(change)
	return w.registered(<-w.launched)
}

func (w *world) registered(l Launch) *peer {
	w.t.Helper()
	must[Registration](w.t)(w.Register(l.Container.ID.Attempt, "host", 4711, "http://host:1/"))
	return &peer{w: w, attempt: l.Container.ID.Attempt}
}

func TestLifeOfAnApplication(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		id := w.submit(nil)
		l := <-w.launched
		if l.User != "alice" || l.Container.ID.String() != fmt.Sprintf("container_%d_0001_01_000001", id.ClusterTimestamp) {
			t.Fatalf("launched: %+v", l)
		}
		if a := w.app(id); a.State != ledger.AppAccepted || a.Used != records.NewResource(512, 1) {
			t.Errorf("after the launch: %v with %v", a.State, a.Used)
		}
		n.heartbeat(runs(l.Container.ID))

		am := w.registered(l)
		r := am.allocate(AllocateCall{Asks: ask(2), Progress: 0.5})
		if len(r.Grants) != 2 || r.Grants[0].Resource != records.NewResource(1024, 1) || len(r.NewNodes) != 1 || r.Nodes != 1 ||
			r.Limit != records.NewResource(4096-512-2048, 1) || r.Grants[0].NodeHTTPAddress != "n1:8042" {
			t.Fatalf("what was asked for is not in the same answer: %+v", r)
		}
		if p := w.Progress(am.attempt); p != 0.5 {
			t.Errorf("progress %v", p)
		}
		first, second := r.Grants[0].ID, r.Grants[1].ID
		if r := am.allocate(AllocateCall{}); len(r.Grants) != 0 {
			t.Errorf("granted twice: %+v", r)
		}
		n.heartbeat(runs(l.Container.ID), runs(first), runs(second))
		if c := w.state().Container(first); c.State != ledger.ContainerRunning {
			t.Errorf("%v is not known to run", first)
		}
		reply := n.heartbeat(runs(l.Container.ID), ended(first, 3), runs(second))
		if diff := cmp.Diff([]records.ContainerID{first}, reply.Removed); diff != "" {
			t.Error(diff)
		}
		r = am.allocate(AllocateCall{Releases: []records.ContainerID{second}})
		want := []Completion{
			{ID: first, Resource: records.NewResource(1024, 1), ExitStatus: 3, Diagnostics: "said so", Execution: pb.ExecutionType_GUARANTEED},
			{
				ID: second, Resource: records.NewResource(1024, 1), ExitStatus: records.ExitAborted,
				Diagnostics: "Container released by application", Execution: pb.ExecutionType_GUARANTEED,
			},
		}
		if diff := cmp.Diff(want, r.Completed); diff != "" {
			t.Error(diff)
		}
		if r := am.allocate(AllocateCall{}); len(r.Completed) != 0 || w.state().Container(first) != nil {
			t.Errorf("an end that was told is told again: %+v", r)
		}
		if reply := n.heartbeat(runs(l.Container.ID)); len(reply.Cleanup) != 1 || reply.Cleanup[0] != second {
			t.Errorf("the node is not told to end %v: %+v", second, reply)
		}

		if err := w.Finish(am.attempt, pb.FinalApplicationStatus_APP_SUCCEEDED, "done", "http://history/"); err != nil {
			t.Fatal(err)
		}
		if a := w.app(id); a.State != ledger.AppFinishing || w.Progress(am.attempt) != 1 {
			t.Errorf("after the farewell: %v, progress %v", a.State, w.Progress(am.attempt))
		}
		reply = n.heartbeat(ended(l.Container.ID, 0))
		a := w.app(id)
		if a.State != ledger.AppFinished || a.FinalStatus != pb.FinalApplicationStatus_APP_SUCCEEDED || a.Diagnostics != "done" ||
			a.Current().State != ledger.AttemptFinished || a.Current().TrackingURL != "http://history/" {
			t.Errorf("at the end: %v, %v, %+v", a.State, a.FinalStatus, a.Current())
		}
		if len(reply.CleanupApps) != 1 || reply.CleanupApps[0] != id {
			t.Errorf("the node is not told that the application is over: %+v", reply)
		}
		if err := w.Finish(am.attempt, pb.FinalApplicationStatus_APP_SUCCEEDED, "", ""); err != nil {
			t.Errorf("a repeated farewell: %v", err)
		}
		w.same()
	})
}

func TestLostAnswersAreGivenAgain(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		first := am.allocate(AllocateCall{Asks: ask(1)})
		again := must[AllocateReply](t)(w.Allocate(am.attempt, AllocateCall{ResponseID: first.ResponseID - 1}))
		if diff := cmp.Diff(first, again); diff != "" {
			t.Error(diff)
		}
		_, err := w.Allocate(am.attempt, AllocateCall{ResponseID: 7})
		if !IsReason(err, InvalidAMRequest) || !strings.Contains(err.Error(), "expect responseId to be 1, but get 7") {
			t.Errorf("wrong response id: %v", err)
		}
		if _, err := w.Register(am.attempt, "", 0, ""); !IsReason(err, InvalidAMRequest) {
			t.Errorf("registered twice: %v", err)
		}

		one := n.heartbeat(runs(first.Grants[0].ID))
		same := must[NodeReply](t)(w.HeartbeatNode(NodeCall{Node: n.node, ResponseID: 0, Status: NodeStatus{Healthy: true}}))
		if diff := cmp.Diff(one, same); diff != "" {
			t.Error(diff)
		}
		far := must[NodeReply](t)(w.HeartbeatNode(NodeCall{Node: n.node, ResponseID: 9}))
		if far.Action != pb.NodeAction_RESYNC || far.Diagnostics != "Too far behind rm response id:1 nm response id:9" {
			t.Errorf("a node that is far off: %+v", far)
		}
		unknown := must[NodeReply](t)(w.HeartbeatNode(NodeCall{Node: nodeID(8)}))
		if unknown.Action != pb.NodeAction_RESYNC || unknown.Diagnostics != "Node not found resyncing n8:45454" {
			t.Errorf("an unknown node: %+v", unknown)
		}
	})
}

func TestNewLeaderKeepsContainers(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		am := w.am(nil)
		r := am.allocate(AllocateCall{Asks: ask(2)})
		kept, granted := r.Grants[0].ID, r.Grants[1].ID
		n := &peer{w: w, node: nodeID(1)}
		amc := w.app(am.attempt.App).Current().AMContainer
		n.heartbeat(runs(amc), runs(kept))

		w.depose()
		w.lead()
		if _, err := w.Allocate(am.attempt, AllocateCall{ResponseID: am.response}); !IsReason(err, NotRegistered) {
			t.Fatalf("an ApplicationMaster that didn't register again: %v", err)
		}
		if r := must[NodeReply](t)(w.HeartbeatNode(NodeCall{Node: n.node, ResponseID: 1})); r.Action != pb.NodeAction_RESYNC {
			t.Fatalf("a node that didn't register again: %+v", r)
		}
		if a := w.app(am.attempt.App); a.State != ledger.AppRunning || a.Live != 3 {
			t.Errorf("after the change of leaders: %v with %d containers", a.State, a.Live)
		}
		am.response = 0
		must[Registration](t)(w.Register(am.attempt, "host", 4711, ""))
		r = am.allocate(AllocateCall{Asks: ask(1)})
		if len(r.Grants) != 1 || r.Grants[0].ID.Epoch() != 1 || r.Grants[0].ID.Sequence() != 4 {
			t.Errorf("the new leader grants at once, with an epoch: %+v", r.Grants)
		}
		w.node(1, runs(amc), runs(kept))
		if c := w.state().Container(granted); c == nil || !c.Live() {
			t.Errorf("%v was granted, and is forgotten because it had not been started", granted)
		}
		if a := w.app(am.attempt.App); a.Live != 4 {
			t.Errorf("%d containers live, want 4", a.Live)
		}
		w.same()
	})
}

func TestNodeThatComesBackWithoutItsContainers(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		r := am.allocate(AllocateCall{Asks: ask(1)})
		amc := w.app(am.attempt.App).Current().AMContainer
		n.heartbeat(runs(amc), runs(r.Grants[0].ID))
		stray := records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}, ID: 1}
		w.node(1, runs(amc), runs(stray))
		done := am.allocate(AllocateCall{})
		if len(done.Completed) != 1 || done.Completed[0].ID != r.Grants[0].ID || done.Completed[0].ExitStatus != records.ExitAborted {
			t.Errorf("the lost container was not reported: %+v", done.Completed)
		}
		n.response = 0
		if reply := n.heartbeat(runs(amc)); len(reply.Cleanup) != 1 || reply.Cleanup[0] != stray {
			t.Errorf("a container that nobody knows goes on: %+v", reply)
		}
		if a := w.app(am.attempt.App); a.State != ledger.AppRunning {
			t.Errorf("the application is %v", a.State)
		}
	})
}

func TestFailedAttemptsAreRepeatedUpToTheLimit(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		id := am.attempt.App
		am.allocate(AllocateCall{Asks: ask(1)})
		n.heartbeat(ended(w.app(id).Current().AMContainer, 17))
		if a := w.app(id); a.State != ledger.AppAccepted || len(a.Attempts) != 2 || a.Attempts[0].State != ledger.AttemptFailed {
			t.Fatalf("after the first failure: %v, %d attempts", a.State, len(a.Attempts))
		}
		if _, err := w.Allocate(am.attempt, AllocateCall{ResponseID: am.response}); !IsReason(err, NoSuchAttempt) {
			t.Errorf("the failed attempt still speaks: %v", err)
		}
		second := <-w.launched
		n.heartbeat(ended(second.Container.ID, 18))
		a := w.app(id)
		want := fmt.Sprintf("Application %v failed 2 times (global limit =3; local limit is =2) due to AM Container for %v exited "+
			"with  exitCode: 18\nFailing this attempt.Diagnostics: said so", id, second.Container.ID.Attempt)
		if a.State != ledger.AppFailed || !strings.HasPrefix(a.Diagnostics, want) || !strings.HasSuffix(a.Diagnostics, "Failing the application.") {
			t.Errorf("%v: %q", a.State, a.Diagnostics)
		}
		w.same()
	})
}

func TestWhatIsNotTheApplicationsFaultDoesNotCount(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		for range 5 {
			n.heartbeat(ended(w.app(am.attempt.App).Current().AMContainer, records.ExitPreempted))
			<-w.launched
		}
		if a := w.app(am.attempt.App); a.State != ledger.AppAccepted || len(a.Attempts) != 6 {
			t.Errorf("%v after %d attempts", a.State, len(a.Attempts))
		}
	})
}

func TestKeptContainersGoOverToTheNextAttempt(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(func(c *pb.ApplicationSubmissionContext) { c.SetKeepContainersAcrossApplicationAttempts(true) })
		task := am.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
		n.heartbeat(runs(task), ended(w.app(am.attempt.App).Current().AMContainer, 1))
		l := <-w.launched
		r := must[Registration](t)(w.Register(l.Container.ID.Attempt, "h", 1, ""))
		if len(r.Previous) != 1 || r.Previous[0].ID != task || len(r.NewNodes) != 1 {
			t.Fatalf("the second attempt isn't told of its container: %+v", r)
		}
		second := &peer{w: w, attempt: l.Container.ID.Attempt}
		n.heartbeat(ended(task, 0))
		if done := second.allocate(AllocateCall{}); len(done.Completed) != 1 || done.Completed[0].ID != task {
			t.Errorf("nor of its end: %+v", done)
		}
		w.same()
	})
}

func TestKill(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		task := am.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
		id := am.attempt.App
		amc := w.app(id).Current().AMContainer
		n.heartbeat(runs(amc), runs(task))
		if err := w.Kill(id, "killed by alice"); err != nil {
			t.Fatal(err)
		}
		a := w.app(id)
		if a.State != ledger.AppKilled || a.Diagnostics != "killed by alice" || a.Live != 0 || a.FinalStatus != pb.FinalApplicationStatus_APP_KILLED {
			t.Errorf("%v, %q, %d containers", a.State, a.Diagnostics, a.Live)
		}
		if reply := n.heartbeat(); len(reply.Cleanup) != 2 || len(reply.CleanupApps) != 1 {
			t.Errorf("the node is not told everything: %+v", reply)
		}
		synctest.Wait()
		if len(w.stops) != 1 || w.stops[0] != amc {
			t.Errorf("the ApplicationMaster is not stopped at once: %v", w.stops)
		}
		if err := w.Kill(id, "again"); err != nil {
			t.Errorf("killing what is over: %v", err)
		}
		if err := w.Kill(records.ApplicationID{ClusterTimestamp: 1, ID: 1}, ""); !IsReason(err, NoSuchApplication) {
			t.Errorf("killing what isn't there: %v", err)
		}
		w.same()
	})
}

func TestSubmissionsThatAreRefused(t *testing.T) {
	run(t, func(w *world) {
		id := records.ApplicationID{ClusterTimestamp: 5, ID: 1}
		large := submission(id, func(c *pb.ApplicationSubmissionContext) {
			c.SetResource(records.ResourceTypes{}.PB(records.NewResource(10000, 1)))
		})
		err := w.Submit("alice", large)
		if !IsReason(err, InvalidResource) || !strings.Contains(err.Error(), "Requested resource type=[memory-mb], Requested resource=<memory:10000, vCores:1>, maximum allowed allocation=<memory:8192, vCores:4>") {
			t.Errorf("too large: %v", err)
		}
		w.node(1)
		err = w.Submit("alice", submission(id, func(c *pb.ApplicationSubmissionContext) {
			c.SetResource(records.ResourceTypes{}.PB(records.NewResource(5000, 1)))
		}))
		if !IsReason(err, InvalidResource) || !strings.Contains(err.Error(), "maximum allowed allocation=<memory:4096, vCores:4>") {
			t.Errorf("larger than any node: %v", err)
		}
		err = w.Submit("alice", submission(id, func(c *pb.ApplicationSubmissionContext) { c.SetNodeLabelExpression("gpu") }))
		if !IsReason(err, InvalidLabel) {
			t.Errorf("a label: %v", err)
		}
		if err := w.Submit("alice", &pb.ApplicationSubmissionContext{}); !IsReason(err, NoApplicationID) {
			t.Errorf("no id: %v", err)
		}
		if w.app(id) != nil {
			t.Error("a refused application is there")
		}
		lost := w.submit(func(c *pb.ApplicationSubmissionContext) { c.SetQueue("nowhere") })
		if a := w.app(lost); a.State != ledger.AppFailed || a.Diagnostics != fmt.Sprintf("Application %v submitted by user alice to unknown queue: nowhere", lost) {
			t.Errorf("unknown queue: %v, %q", a.State, a.Diagnostics)
		}
		again := w.submit(nil)
		if err := w.Submit("bob", submission(again, nil)); err != nil || w.app(again).User != "alice" {
			t.Errorf("submitted again: %v, now of %s", err, w.app(again).User)
		}
	})
}

func TestAsksThatAreRefused(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		am := w.am(nil)
		for name, c := range map[string]struct {
			change func(*AllocateCall)
			reason Reason
		}{
			"too large": {func(c *AllocateCall) {
				c.Asks[0].SetCapability(records.ResourceTypes{}.PB(records.NewResource(1<<20, 1)))
			}, InvalidResource},
			"negative": {func(c *AllocateCall) {
				c.Asks[0].SetCapability(records.ResourceTypes{}.PB(records.NewResource(-1, 1)))
			}, InvalidResource},
			"less than none":  {func(c *AllocateCall) { c.Asks[0].SetNumContainers(-1) }, InvalidResource},
			"label":           {func(c *AllocateCall) { c.Asks[0].SetNodeLabelExpression("gpu") }, InvalidLabel},
			"blacklist of *":  {func(c *AllocateCall) { c.BlacklistAdd = []string{"*"} }, InvalidBlacklist},
			"foreign release": {func(c *AllocateCall) { c.Releases = []records.ContainerID{{}} }, InvalidRelease},
		} {
			call := AllocateCall{ResponseID: am.response, Asks: ask(1)}
			c.change(&call)
			if _, err := w.Allocate(am.attempt, call); !IsReason(err, c.reason) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if r := am.allocate(AllocateCall{}); len(r.Grants) != 0 || r.ResponseID != 1 {
			t.Errorf("a refused call left something behind: %+v", r)
		}
	})
}

func TestSilence(t *testing.T) {
	run(t, func(w *world) {
		n1 := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		n2 := &peer{w: w, node: w.node(2)}
		var onSecond records.ContainerID
		for _, g := range am.allocate(AllocateCall{Asks: ask(4)}).Grants {
			if g.Node == n2.node {
				onSecond = g.ID
			}
		}
		n2.heartbeat(runs(onSecond))
		for range 13 { // n2 says nothing for 130 s
			time.Sleep(10 * time.Second)
			n1.heartbeat()
			if r := am.allocate(AllocateCall{}); len(r.Completed) > 0 {
				break
			}
		}
		if s := w.state().Nodes[n2.node].State; s != pb.NodeState_NS_LOST {
			t.Errorf("the silent node is %v", s)
		}
		if c := w.state().Container(onSecond); c != nil && c.Live() {
			t.Errorf("%v lives on a lost node", onSecond)
		}
		for range 7 { // and the ApplicationMaster says nothing for 70 s
			time.Sleep(10 * time.Second)
			n1.heartbeat()
		}
		a := w.app(am.attempt.App)
		if len(a.Attempts) != 2 || a.Attempts[0].Diagnostics != fmt.Sprintf("ApplicationMaster for attempt %v timed out", am.attempt) {
			t.Errorf("%d attempts, the first: %+v", len(a.Attempts), a.Attempts[0])
		}
		w.same()
	})
}

func TestGrantsThatAreNeverUsedExpire(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		used, unused := am.allocate(AllocateCall{Asks: ask(2)}).Grants, records.ContainerID{}
		n.heartbeat(runs(used[0].ID))
		unused = used[1].ID
		var done []Completion
		for range 31 {
			time.Sleep(10 * time.Second)
			n.heartbeat()
			done = append(done, am.allocate(AllocateCall{}).Completed...)
		}
		if len(done) != 1 || done[0].ID != unused || done[0].Diagnostics != "Container expired since it was unused" {
			t.Errorf("expired: %+v", done)
		}
	})
}

func TestLifetime(t *testing.T) {
	run(t, func(w *world) {
		id := w.submit(func(c *pb.ApplicationSubmissionContext) {
			to := &pb.ApplicationTimeoutMap{}
			to.SetApplicationTimeoutType(pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME)
			to.SetTimeout(30)
			c.SetApplicationTimeouts([]*pb.ApplicationTimeoutMap{to})
		})
		time.Sleep(29 * time.Second)
		if a := w.app(id); a.State != ledger.AppAccepted {
			t.Fatalf("too early: %v", a.State)
		}
		time.Sleep(3 * time.Second)
		if a := w.app(id); a.State != ledger.AppKilled || !strings.Contains(a.Diagnostics, "exceeded the lifetime period") {
			t.Errorf("%v: %q", a.State, a.Diagnostics)
		}
	})
}

func TestUnhealthyNodesLoseTheirContainers(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		amc := w.app(am.attempt.App).Current().AMContainer
		n.heartbeat(runs(amc))
		r := must[NodeReply](t)(w.HeartbeatNode(NodeCall{
			Node: n.node, ResponseID: n.response, Status: NodeStatus{HealthReport: "disks are full"},
		}))
		n.response = r.ResponseID
		a := w.app(am.attempt.App)
		if len(a.Attempts) != 2 || !a.Attempts[0].Excused || a.Current().State != ledger.AttemptScheduled {
			t.Errorf("%d attempts, the last is %v", len(a.Attempts), a.Current().State)
		}
		n.heartbeat()
		if l := <-w.launched; l.Container.Node != n.node {
			t.Errorf("the node got well, and yet %+v", l)
		}
	})
}

// A NodeManager of Hadoop's can't check tokens before it has the keys, which come with the answer to its registration.
func TestNodesOfHadoopGetContainersAfterTheirFirstHeartbeat(t *testing.T) {
	run(t, func(w *world) {
		register := func(containers ...NodeContainer) *peer {
			must[NodeReply](t)(w.RegisterNode(NodeRegistration{
				Node: nodeID(1), HTTPPort: 8042, Capability: records.NewResource(4096, 4), Version: "3.4.2", Peer: "10.0.0.1",
				Containers: containers,
			}))
			return &peer{w: w, node: nodeID(1)}
		}
		n := register()
		w.submit(nil)
		time.Sleep(5 * time.Second)
		if len(w.launched) > 0 {
			t.Fatal("it was given a container before")
		}
		n.heartbeat()
		am := w.registered(<-w.launched)
		master := runs(records.ContainerID{Attempt: am.attempt, ID: 1})
		n = register(master) // anew
		if got := am.allocate(AllocateCall{Asks: ask(1)}).Grants; len(got) > 0 {
			t.Errorf("granted before the first heartbeat after another registration: %v", got)
		}
		n.heartbeat(master)
		if got := am.allocate(AllocateCall{}).Grants; len(got) != 1 {
			t.Errorf("granted: %v", got)
		}
	})
}

func TestTwinsAreRefused(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		twin := NodeRegistration{Node: nodeID(1), Capability: records.NewResource(4096, 4), Peer: "10.0.0.2"}
		r := must[NodeReply](t)(w.RegisterNode(twin))
		if r.Action != pb.NodeAction_SHUTDOWN || !strings.Contains(r.Diagnostics, "is registered already, from 10.0.0.1, and alive; this one came from 10.0.0.2") {
			t.Errorf("a twin: %+v", r)
		}
		time.Sleep(4 * time.Second)
		if r := must[NodeReply](t)(w.RegisterNode(twin)); r.Action != pb.NodeAction_NORMAL {
			t.Errorf("the node moved after it fell silent: %+v", r)
		}
		small := NodeRegistration{Node: nodeID(2), Capability: records.NewResource(100, 1)}
		if r := must[NodeReply](t)(w.RegisterNode(small)); r.Action != pb.NodeAction_SHUTDOWN {
			t.Errorf("a node below the minimum: %+v", r)
		}
	})
}

func TestDeposedLeaderAnswersNobody(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		am := w.am(nil)
		w.mu.Lock()
		w.lost = true
		w.mu.Unlock()
		if _, err := w.Allocate(am.attempt, AllocateCall{ResponseID: am.response, Asks: ask(1)}); !errors.Is(err, ErrDeposed) {
			t.Errorf("a grant that nobody will remember was made: %v", err)
		}
		if _, _, err := w.NewApplication(); !errors.Is(err, ErrDeposed) {
			t.Errorf("an id that nobody will remember was handed out: %v", err)
		}
		w.depose()
		w.lead()
		if a := w.app(am.attempt.App); a.Live != 1 {
			t.Errorf("%d containers", a.Live)
		}
	})
}

func TestFailedLaunches(t *testing.T) {
	run(t, func(w *world) {
		w.nodesAnswer(refuse(Refused, "Unauthorized request to start container."))
		w.node(1)
		id := w.submit(nil)
		time.Sleep(time.Second)
		a := w.app(id)
		if a.State != ledger.AppFailed || !strings.Contains(a.Diagnostics, "Got exception: Unauthorized request to start container.") {
			t.Errorf("%v: %s", a.State, a.Diagnostics)
		}
		w.nodesAnswer(errors.New("connection refused"))
		id = w.submit(nil)
		time.Sleep(70 * time.Second)
		w.nodesAnswer(nil)
		l := <-w.launched
		if a := w.app(id); l.Container.ID.Attempt.Attempt != 3 || a.State != ledger.AppAccepted {
			t.Errorf("a node that could not be reached cost the application its attempts: %v, %v", l.Container.ID, a.State)
		}
	})
}

func TestLaunchIsRepeatedByTheNextLeader(t *testing.T) {
	run(t, func(w *world) {
		w.nodesAnswer(errors.New("connection refused"))
		w.node(1)
		id := w.submit(nil)
		w.depose()
		w.nodesAnswer(nil)
		w.lead()
		l := <-w.launched
		if l.Container.ID != w.app(id).Current().AMContainer {
			t.Errorf("launched %v", l.Container.ID)
		}
	})
}

func TestOldApplicationsAreForgotten(t *testing.T) {
	run(t, func(w *world) {
		var ids []records.ApplicationID
		for range 6 {
			id := w.submit(nil)
			ids = append(ids, id)
			if err := w.Kill(id, ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		for i, id := range ids {
			if known := w.app(id) != nil; known != (i >= 3) {
				t.Errorf("application %d: known %v", i, known)
			}
		}
	})
}

func TestUnmanagedApplicationMasters(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		id := w.submit(func(c *pb.ApplicationSubmissionContext) {
			c.SetUnmanagedAm(true)
			c.ClearResource()
		})
		attempt := records.AttemptID{App: id, Attempt: 1}
		if a := w.app(id); a.Current().State != ledger.AttemptLaunched || a.Live != 0 {
			t.Fatalf("%v with %d containers", a.Current().State, a.Live)
		}
		must[Registration](t)(w.Register(attempt, "", -1, ""))
		am := &peer{w: w, attempt: attempt}
		if r := am.allocate(AllocateCall{Asks: ask(1)}); len(r.Grants) != 1 || r.Grants[0].AM {
			t.Errorf("granted: %+v", r.Grants)
		}
		if err := w.Finish(attempt, pb.FinalApplicationStatus_APP_SUCCEEDED, "", ""); err != nil {
			t.Fatal(err)
		}
		if a := w.app(id); a.State != ledger.AppFinished || a.Live != 0 {
			t.Errorf("%v with %d containers", a.State, a.Live)
		}
	})
}

func TestSuspendAndResume(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		task := am.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
		if err := w.Suspend(w.t.Context(), task); !IsReason(err, Refused) {
			t.Errorf("suspended before its start: %v", err)
		}
		n.heartbeat(runs(task))
		if err := w.Suspend(w.t.Context(), task); err != nil || !w.frozen[task] || !w.state().Container(task).Suspended {
			t.Errorf("suspend: %v", err)
		}
		if err := w.Resume(w.t.Context(), task); err != nil || w.frozen[task] || w.state().Container(task).Suspended {
			t.Errorf("resume: %v", err)
		}
		if err := w.Suspend(w.t.Context(), records.ContainerID{}); !IsReason(err, NoSuchContainer) {
			t.Errorf("suspended what isn't there: %v", err)
		}
	})
}

func TestAnswersCanWaitForNews(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		task := am.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
		n.heartbeat(runs(task))
		begin := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			n.heartbeat(ended(task, 0))
		}()
		r := am.allocate(AllocateCall{Wait: time.Minute})
		if took := time.Since(begin); took != 3*time.Second || len(r.Completed) != 1 {
			t.Errorf("after %v: %+v", took, r)
		}
		begin = time.Now()
		if r := am.allocate(AllocateCall{Wait: time.Second}); time.Since(begin) != time.Second || !r.empty() {
			t.Errorf("after %v: %+v", time.Since(begin), r)
		}
		go func() {
			time.Sleep(time.Second)
			w.Nudge(am.attempt)
		}()
		begin = time.Now()
		if am.allocate(AllocateCall{Wait: time.Minute}); time.Since(begin) != time.Second {
			t.Errorf("a nudge had no effect")
		}
	})
}

func TestKeysRollWithoutBreakingTokens(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		first := w.Keys(ledgerpb.KeyKind_NM).Current
		beat := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(30 * time.Second) {
				n.heartbeat()
			}
		}
		beat(24*time.Hour + time.Minute)
		ring := w.Keys(ledgerpb.KeyKind_NM)
		if ring.Current.ID != first.ID || ring.Next.Secret == nil {
			t.Fatalf("a key signs before nodes have it: %+v", ring)
		}
		if am := w.Keys(ledgerpb.KeyKind_AM_RM); am.Previous.Secret == nil {
			t.Errorf("a key that only we check waits: %+v", am)
		}
		next := ring.Next.ID
		beat(4 * time.Minute)
		if ring := w.Keys(ledgerpb.KeyKind_NM); ring.Current.ID != next || ring.Previous.ID != first.ID {
			t.Errorf("after every node has the key: %+v", ring)
		}
	})
}
