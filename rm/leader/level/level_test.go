package level_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/level"
	"heddle/rm/leader/loop/looptest"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// world is a ledger with a container that runs on a node, and what is between them. The scheduler knows the container as 7, the node as 3.
type world struct {
	*looptest.Loop
	*level.Levels
	t    *testing.T
	node records.NodeID
	task records.ContainerID

	mu     sync.Mutex
	orders []level.Order
	ahead  []bool // what its node was told of room that waits
	frozen bool
	thawed []records.ContainerID // by Resume
	answer error                 // of the node

	able     drive.Ability
	held     records.Resource
	chosenBy string // for whom the scheduler has suspended the container; "": it hasn't
	returns  bool
	past     [2]int64 // times, and ms in all
	used     int64    // bytes
	took     int64    // ms
	stopped  bool     // the scheduler isn't to choose the container
	calls    []string
}

var claim = records.NewResource(1024, 2)

func begin(t *testing.T, features ...string) *world {
	w := &world{Loop: looptest.New(t), t: t, node: records.NodeID{Host: "n1", Port: 1}, held: claim}
	app := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	attempt := records.AttemptID{App: app, Attempt: 1}
	w.task = records.ContainerID{Attempt: attempt, ID: 2}
	log := logrus.New()
	log.SetOutput(io.Discard)
	w.Levels = level.New(w.Loop, w.State, level.Config{
		Scheduler: w, Nodes: func() level.Nodes { return w }, Log: logrus.NewEntry(log),
		HandleOf: func(*ledger.Container) (scheduler.ContainerHandle, bool) { return 7, true },
		Step:     func() records.Resource { return records.NewResource(300, 1) },
	})
	w.do(func() {
		for _, c := range []*ledgerpb.Command{
			{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm1"}},
			{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: 1}},
			{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: ledger.Version}},
			{NodeRegistered: &ledgerpb.NodeRegistered{Node: ledger.NodeRef(w.node), Capability: ledger.Amounts(claim.Times(3)), Features: features, Missing: []string{"it is a test"}}},
			{ApplicationSubmitted: &ledgerpb.ApplicationSubmitted{
				App: ledger.AppRef(app), User: "u", Queue: "root.a", MaxAttempts: 1, Context: &pb.ApplicationSubmissionContext{}, AmResource: ledger.Amounts(claim),
			}},
			{AttemptStarted: &ledgerpb.AttemptStarted{Attempt: ledger.AttemptRef(attempt)}},
			{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ledger.AttemptRef(attempt), Grants: []*ledgerpb.Grant{{
				Id: 1, Node: ledger.NodeRef(w.node), Resource: ledger.Amounts(claim), Am: true, AllocationRequestId: -1,
			}}}},
			{AttemptRegistered: &ledgerpb.AttemptRegistered{Attempt: ledger.AttemptRef(attempt)}},
			{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ledger.AttemptRef(attempt), Grants: []*ledgerpb.Grant{{
				Id: 2, Node: ledger.NodeRef(w.node), Resource: ledger.Amounts(claim),
			}}}},
			{ContainersRunning: &ledgerpb.ContainersRunning{Containers: ledger.ContainerRefs(w.task)}},
		} {
			w.Enter(c)
		}
		w.Show(w.node, 3, level.Memory{})
	})
	return w
}

func (w *world) do(f func()) {
	w.t.Helper()
	if err := w.Do(func() error { f(); return nil }); err != nil {
		w.t.Fatal(err)
	}
}

// decide has the driver decide on the container.
func (w *world) decide(k drive.Kind, held records.Resource) {
	w.t.Helper()
	w.held = held
	w.do(func() {
		w.Decided(&drive.Decision{Kind: k, Container: 7, Resource: held, For: "root.b", Reason: "why"})
	})
	synctest.Wait()
}

// expect holds what is on record against what should be.
func (w *world) expect(l ledgerpb.Level, held records.Resource, version int32) {
	w.t.Helper()
	w.do(func() {
		if c := w.State.Container(w.task); c.Level != l || c.Held() != held || c.LevelVersion != version {
			w.t.Errorf("%v with %v, version %d; want %v with %v, version %d", c.Level, c.Held(), c.LevelVersion, l, held, version)
		}
	})
}

func (w *world) Suspend(context.Context, records.NodeID, records.AttemptID, records.ContainerID) error {
	return w.freeze(true)
}

func (w *world) Resume(_ context.Context, _ records.NodeID, _ records.AttemptID, id records.ContainerID) error {
	w.mu.Lock()
	w.thawed = append(w.thawed, id)
	w.mu.Unlock()
	return w.freeze(false)
}

func (w *world) resumed() []records.ContainerID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.thawed)
}

func (w *world) freeze(to bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answer == nil {
		w.frozen = to
	}
	return w.answer
}

func (w *world) Order(_ context.Context, _ records.NodeID, o level.Order) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.orders = append(w.orders, o)
	return w.answer
}

func (w *world) Ahead(_ context.Context, node records.NodeID, id records.ContainerID, waits bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if node == w.node && id == w.task {
		w.ahead = append(w.ahead, waits)
	}
	return w.answer
}

func (w *world) sent() []level.Order {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.orders)
}

func (w *world) answers(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = err
}

func (w *world) ContainerID(scheduler.ContainerHandle) records.ContainerID { return w.task }
func (w *world) Held(scheduler.ContainerHandle) records.Resource           { return w.held }
func (w *world) Suspended(scheduler.ContainerHandle) (int64, string, bool) {
	return 0, w.chosenBy, w.chosenBy != ""
}

func (w *world) Apply(e *eventlog.Event) bool {
	switch e.Op {
	case eventlog.SetAbility:
		w.able = *e.Ability
	case eventlog.SetHeld, eventlog.NoteHeld:
		w.held = records.Resource(e.Resource)
	case eventlog.SetMemory:
		w.used = e.Total
	case eventlog.SetStopped:
		w.stopped = e.Open
	case eventlog.Took:
		w.took = e.Total
	case eventlog.SetPast:
		w.past = [2]int64{int64(e.Times), e.Total}
	case eventlog.Refused, eventlog.NotBegun:
		w.calls, w.held = append(w.calls, map[bool]string{true: "refused", false: "not begun"}[e.Op == eventlog.Refused]), claim
	case eventlog.Return:
		if e.Forced || w.returns {
			w.held, w.chosenBy = claim, ""
		}
		return e.Forced || w.returns
	}
	return true
}

var half = records.NewResource(512, 1)

// What nodes can do depends on their features, on the ledger's version, and on what they say of their memory.
func TestAbilities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels, level.FeatureReclaim)
		for want, m := range map[drive.Ability]level.Memory{
			{Suspend: true, Shrink: true, Reclaim: true}:                  {},
			{Suspend: true, Shrink: true, Reclaim: true, Out: 100, In: 7}: {Out: 100, In: 7},
			{Suspend: true, Shrink: true}:                                 {Full: true},
		} {
			if w.do(func() { w.Show(w.node, 3, m) }); w.able != want {
				t.Errorf("%+v: %+v", m, w.able)
			}
		}
		if w := begin(t, level.FeatureSuspend, level.FeatureReclaim); w.able != (drive.Ability{Suspend: true}) {
			t.Errorf("without levels: %+v", w.able)
		}
	})
	for x, want := range map[[2]level.Memory]bool{
		{{}, {}}: false, {{}, {Full: true}}: true, {{}, {Out: 1}}: true, {{In: 100}, {In: 120}}: false, {{In: 100}, {In: 126}}: true, {{Out: 126}, {Out: 100}}: true,
	} {
		if x[0].Differs(x[1]) != want {
			t.Errorf("%+v and %+v", x[0], x[1])
		}
	}
}

// Decisions go on record before the node hears of them; what it doesn't answer is sent again, with the same version.
func TestDecisionsAreCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels, level.FeatureReclaim)
		w.answers(errors.New("connection reset"))
		w.decide(drive.Shrink, half)
		w.expect(ledgerpb.Level_SHRUNK, half, 1)
		w.answers(nil)
		for range 8 {
			time.Sleep(time.Second)
			w.do(func() { w.Tick(w.Now()) })
			synctest.Wait()
		}
		first := level.Order{Container: w.task, Level: ledgerpb.Level_SHRUNK, Held: half, Version: 1, For: "root.b", Type: "YARN"}
		if got := w.sent(); !slices.Equal(got, []level.Order{first, first}) {
			t.Errorf("sent: %+v", got)
		}
		least := records.NewResource(64, 0)
		w.decide(drive.Suspend, least)
		w.expect(ledgerpb.Level_RECLAIMED, least, 2)
		w.decide(drive.Charge, half)
		w.expect(ledgerpb.Level_RECLAIMED, half, 3)
		w.decide(drive.Resume, claim)
		w.expect(ledgerpb.Level_RUNNING, claim, 4)
		got := w.sent()
		if len(got) != 4 || got[2].Level != ledgerpb.Level_RECLAIMED || got[3].Level != ledgerpb.Level_RUNNING || got[3].Version != 4 {
			t.Errorf("sent: %+v", got)
		}
	})
}

// Where suspended containers are left their footprint, they run on with no vcores, on nodes that can have them do so.
func TestSuspendedContainersRunOnWithTheirFootprint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		least := records.NewResource(64, 0)
		for want, features := range map[ledgerpb.Level][]string{
			ledgerpb.Level_SHRUNK: {level.FeatureSuspend, level.FeatureLevels, level.FeatureReclaim}, ledgerpb.Level_FROZEN: {level.FeatureSuspend},
		} {
			w := begin(t, features...)
			w.Footprint = func() bool { return true }
			w.decide(drive.Suspend, least)
			w.expect(want, least, 1)
		}
	})
}

// What a node can't do is taken back, whether it says so in its answer or in a heartbeat.
func TestRefusedOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels)
		w.answers(refusal.New(refusal.Refused, "no"))
		w.decide(drive.Suspend, half)
		w.expect(ledgerpb.Level_RUNNING, claim, 2)
		w.answers(nil)
		w.decide(drive.Suspend, half)
		w.chosenBy = "root.b"
		w.do(func() { w.Failed([]level.Failed{{Container: w.task, Version: 2}, {Version: 3}}) })
		w.expect(ledgerpb.Level_FROZEN, half, 3)
		w.do(func() { w.Failed([]level.Failed{{Container: w.task, Version: 3, Reason: "the disk is full"}}) })
		w.expect(ledgerpb.Level_RUNNING, claim, 4)
		if !slices.Equal(w.calls, []string{"refused", "refused"}) {
			t.Errorf("the driver hears %v", w.calls)
		}
	})
}

// A container that its ApplicationMaster has not started yet is unknown to its node. It may be chosen again.
func TestOrdersForWhatHasNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels)
		w.do(func() { w.State.Container(w.task).State = ledger.ContainerAllocated })
		w.answers(refusal.New(refusal.Refused, "it is not handled by this node"))
		w.decide(drive.Suspend, half)
		w.expect(ledgerpb.Level_RUNNING, claim, 2)
		if !slices.Equal(w.calls, []string{"not begun"}) {
			t.Errorf("the driver hears %v", w.calls)
		}
	})
}

// What a container is charged changes without an order, and with it the version on record. What the node then says of its last order still counts.
func TestRefusedOrdersOfAnEarlierVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, level.FeatureSuspend, level.FeatureLevels, level.FeatureReclaim)
		w.decide(drive.Suspend, half)
		w.decide(drive.Charge, records.NewResource(600, 0))
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(600, 0), 2)
		w.chosenBy = "root.b"
		w.do(func() { w.Failed([]level.Failed{{Container: w.task, Version: 3, Reason: "it says so of the future"}}) })
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(600, 0), 2)
		w.do(func() { w.Failed([]level.Failed{{Container: w.task, Version: 1, Reason: "the disk is full"}}) })
		w.expect(ledgerpb.Level_RUNNING, claim, 3)
	})
}
