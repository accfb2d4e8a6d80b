package leader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/delegation"
	"heddle/rm/leader/level"
	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// world is a cluster with one log and, at any time, one leader. It runs in a synctest bubble: time is virtual.
type world struct {
	t         *testing.T
	mu        sync.Mutex
	committed *ledger.State
	lost      bool      // the leader's proposals don't arrive any more
	fates     chan bool // if there is one, whether each proposal arrives

	*Leader
	stop     context.CancelFunc
	stopped  chan error
	launched chan Launch
	refuse   error // what nodes answer to launches
	stops    []records.ContainerID
	batches  []*ledgerpb.Batch // committed, in order
	frozen   map[records.ContainerID]bool
	ordered  []level.Order
	keys     int32
	change   func(*Settings)
	tokens   delegation.TokenRenewer
	record   *eventlog.Writer
	ahead    atomic.Int64         // ns: by which the clock on the wall was set forward
	passes   func() time.Duration // the time that passes, if it isn't the test's
	versions func(context.Context) (int32, error)
	times    loop.Chronicle
	disk     atomic.Uint32 // limit.Disk
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
		Disk:     func() limit.Disk { return limit.Disk(w.disk.Load()) },
		Settings: w.settings(), State: state, Propose: w.propose, Launcher: nodes{w}, Elapsed: w.passes, Past: &w.times,
		Wall: func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }, NewKey: w.newKey,
		Rack: func(string) string { return "/default-rack" }, Log: logrus.NewEntry(log), Tokens: w.tokens, Versions: w.versions,
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

func (w *world) propose(batch *ledgerpb.Batch) func() error {
	entry, err := proto.Marshal(batch)
	return func() error {
		if err != nil {
			return err
		}
		w.mu.Lock()
		fates := w.fates
		w.mu.Unlock()
		arrives := fates == nil || <-fates
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.lost = w.lost || !arrives; w.lost {
			return errors.New("leadership lost")
		}
		b := &ledgerpb.Batch{}
		if err := proto.Unmarshal(entry, b); err != nil {
			return err
		}
		w.batches = append(w.batches, b)
		w.times.Note(b.GetTime())
		return w.committed.Apply(b)
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

func (w nodes) Order(_ context.Context, _ records.NodeID, o level.Order) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ordered = append(w.ordered, o)
	w.frozen[o.Container] = o.Level == ledgerpb.Level_FROZEN || o.Level == ledgerpb.Level_RECLAIMED
	return nil
}

func (w nodes) Ahead(context.Context, records.NodeID, records.ContainerID, bool) error { return nil }

func (w *world) ordersSent() []level.Order {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ordered)
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
	synctest.Wait() // nothing is under way
	w.compare()
}

// compare is same in real time, where the caller has waited for all that it has begun.
func (w *world) compare() {
	w.t.Helper()
	var working, committed bytes.Buffer
	err := w.Do(func() error { return w.work.WriteSnapshot(&working) })
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
	id, _, err := w.NewApplication("alice")
	if err == nil {
		err = w.Submit("alice", submission(id, change))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// atHome is where all nodes call from.
var atHome = NodeCaller{Address: "10.0.0.1"}

func nodeID(i int) records.NodeID { return records.NodeID{Host: fmt.Sprintf("n%d", i), Port: 45454} }

func (w *world) node(i int, containers ...NodeContainer) records.NodeID {
	w.t.Helper()
	return w.nodeOf(i, records.NewResource(4096, 4), containers...)
}

func (w *world) nodeOf(i int, capability records.Resource, containers ...NodeContainer) records.NodeID {
	w.t.Helper()
	reply, err := w.RegisterNode(NodeRegistration{
		Node: nodeID(i), HTTPPort: 8042, Capability: capability, Version: "3.4.2", NodeCaller: atHome, Names: []string{atHome.Address, nodeID(i).Host},
		Containers: containers, Features: []string{level.FeatureSuspend},
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
	return p.tell(NodeStatus{Healthy: true}, containers...)
}

func (p *peer) tell(status NodeStatus, containers ...NodeContainer) NodeReply {
	p.w.t.Helper()
	r := must[NodeReply](p.w.t)(p.w.HeartbeatNode(NodeCall{
		NodeCaller: atHome, Node: p.node, ResponseID: p.response, Containers: containers, Status: status,
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
