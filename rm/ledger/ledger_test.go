package ledger

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

const created = 1_795_253_712_789

type commands []*ledgerpb.Command

func (c commands) at(ms int64) *ledgerpb.Batch {
	return &ledgerpb.Batch{Time: created + ms, Commands: c}
}

func app(n int32) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: created, ID: n}
}

func attempt(a, n int32) records.AttemptID { return records.AttemptID{App: app(a), Attempt: n} }

func container(a, t int32, seq int64) records.ContainerID {
	return records.ContainerID{Attempt: attempt(a, t), ID: seq}
}

var (
	node1 = records.NodeID{Host: "n1", Port: 1}
	small = records.NewResource(512, 1)
)

func cluster() *ledgerpb.Command {
	return &ledgerpb.Command{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: created}}
}

func submit(n int32) *ledgerpb.Command {
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationName("sleep")
	return &ledgerpb.Command{ApplicationSubmitted: &ledgerpb.ApplicationSubmitted{
		App: AppRef(app(n)), User: "alice", Queue: "root.default", MaxAttempts: 2, Context: ctx,
		AmResource: Amounts(small),
	}}
}

func start(id records.AttemptID) *ledgerpb.Command {
	return &ledgerpb.Command{AttemptStarted: &ledgerpb.AttemptStarted{Attempt: AttemptRef(id)}}
}

func register(node records.NodeID, capability records.Resource) *ledgerpb.Command {
	return &ledgerpb.Command{NodeRegistered: &ledgerpb.NodeRegistered{
		Node: NodeRef(node), HttpPort: 8042, Rack: "/default-rack", Capability: Amounts(capability), Version: "3.4.2",
	}}
}

func allocate(id records.ContainerID, am bool) *ledgerpb.Command {
	return &ledgerpb.Command{ContainersAllocated: &ledgerpb.ContainersAllocated{
		Attempt: AttemptRef(id.Attempt),
		Grants: []*ledgerpb.Grant{{
			Id: id.ID, Node: NodeRef(node1), Resource: Amounts(small), Am: am, AllocationRequestId: -1, Waited: 4,
		}},
	}}
}

func complete(id records.ContainerID, exit int32) *ledgerpb.Command {
	return &ledgerpb.Command{ContainersCompleted: &ledgerpb.ContainersCompleted{
		Completions: []*ledgerpb.Completion{{Container: ContainerRef(id), ExitStatus: exit, Times: ledgerpb.NewContainerTimes(900, 800, -1, 0)}},
	}}
}

func endAttempt(id records.AttemptID, state pb.YarnApplicationAttemptState, keep bool) *ledgerpb.Command {
	return &ledgerpb.Command{AttemptEnded: &ledgerpb.AttemptEnded{
		Attempt: AttemptRef(id), State: int32(state), Diagnostics: "why", ExitStatus: 1, KeepContainers: keep,
	}}
}

func endApp(n int32, state pb.YarnApplicationState) *ledgerpb.Command {
	return &ledgerpb.Command{ApplicationEnded: &ledgerpb.ApplicationEnded{
		App: AppRef(app(n)), State: int32(state), FinalStatus: int32(pb.FinalApplicationStatus_APP_FAILED),
	}}
}

func mustApply(t testing.TB, s *State, b *ledgerpb.Batch) {
	t.Helper()
	if err := s.Apply(b); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

func snapshot(t testing.TB, s *State) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.WriteSnapshot(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLifeOfAnApplication(t *testing.T) {
	s := New()
	am, task := container(1, 1, 1), container(1, 1, 2)
	mustApply(t, s, commands{
		cluster(), register(node1, records.NewResource(8192, 8)), submit(1), start(attempt(1, 1)),
	}.at(0))
	a := s.Apps[app(1)]
	if a.State != AppAccepted || a.Current().State != AttemptScheduled {
		t.Fatalf("after submission: %v, %v", a.State, a.Current().State)
	}
	mustApply(t, s, commands{allocate(am, true)}.at(10))
	if c := a.Current(); c.State != AttemptAllocated || c.AMContainer != am || c.AMHTTPAddress != "n1:8042" {
		t.Fatalf("after allocation: %+v", c)
	}
	mustApply(t, s, commands{
		{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: AttemptRef(attempt(1, 1))}},
		{AttemptRegistered: &ledgerpb.AttemptRegistered{Attempt: AttemptRef(attempt(1, 1)), Host: "h", RpcPort: 9}},
		allocate(task, false),
		{ContainersRunning: &ledgerpb.ContainersRunning{Containers: ContainerRefs(am, task)}},
	}.at(1000))
	if a.State != AppRunning || a.LaunchTime != created+1000 || a.Used != small.Times(2) || a.Live != 2 {
		t.Fatalf("while running: %v, launched %d, %v in %d", a.State, a.LaunchTime, a.Used, a.Live)
	}
	mustApply(t, s, commands{complete(task, 0)}.at(5500))
	if want := records.NewResource(512*9/2, 4); a.ResourceSeconds != want {
		t.Errorf("4.5 s of %v count as %v, want %v", small, a.ResourceSeconds, want)
	}
	if c := s.Container(task); c == nil || c.State != ContainerCompleted {
		t.Errorf("an end that was not reported is forgotten: %v", c)
	}
	mustApply(t, s, commands{
		{ContainersReported: &ledgerpb.ContainersReported{Containers: ContainerRefs(task)}},
		{AttemptFinishing: &ledgerpb.AttemptFinishing{
			Attempt: AttemptRef(attempt(1, 1)), FinalStatus: int32(pb.FinalApplicationStatus_APP_SUCCEEDED),
		}},
	}.at(6000))
	if s.Container(task) != nil || a.State != AppFinishing || a.State.Public() != pb.YarnApplicationState_FINISHED {
		t.Errorf("finishing: task %v, application %v", s.Container(task), a.State)
	}
	mustApply(t, s, commands{
		endAttempt(attempt(1, 1), pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHED, false),
		endApp(1, pb.YarnApplicationState_FINISHED),
	}.at(7000))
	if a.Live != 0 || s.Nodes[node1].Used != (records.Resource{}) || s.Ended[AppFinished] != 1 {
		t.Errorf("at the end: %d live, node %v, ended %v", a.Live, s.Nodes[node1].Used, s.Ended)
	}
	mustApply(t, s, commands{
		{ApplicationsForgotten: &ledgerpb.ApplicationsForgotten{Apps: []*ledgerpb.AppRef{AppRef(app(1))}}},
	}.at(8000))
	if len(s.Apps) != 0 || s.Submitted != 1 {
		t.Errorf("%d applications of %d left", len(s.Apps), s.Submitted)
	}
}

func TestContainersOutliveTheirAttemptOnlyWhenKept(t *testing.T) {
	for _, keep := range []bool{false, true} {
		s := New()
		mustApply(t, s, commands{
			cluster(), register(node1, records.NewResource(8192, 8)), submit(1), start(attempt(1, 1)),
			allocate(container(1, 1, 1), true), allocate(container(1, 1, 2), false),
		}.at(0))
		mustApply(t, s, commands{
			endAttempt(attempt(1, 1), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, keep), start(attempt(1, 2)),
			allocate(container(1, 2, 1), true),
		}.at(100))
		want := 1
		if keep {
			want = 2
		}
		if a := s.Apps[app(1)]; a.Live != want || a.Attempts[0].State != AttemptFailed {
			t.Errorf("keep=%v: %d containers live, want %d", keep, a.Live, want)
		}
	}
}

func TestWrongCommandsAreRefusedAlone(t *testing.T) {
	s := New()
	mustApply(t, s, commands{
		cluster(), register(node1, records.NewResource(8192, 8)), submit(1), start(attempt(1, 1)),
		allocate(container(1, 1, 1), true),
	}.at(0))
	before := snapshot(t, s)
	for name, c := range map[string]*ledgerpb.Command{
		"cluster twice":              cluster(),
		"submitted twice":            submit(1),
		"attempt while one lives":    start(attempt(1, 2)),
		"unknown application":        start(attempt(9, 1)),
		"same container again":       allocate(container(1, 1, 1), false),
		"container of old attempt":   allocate(container(1, 7, 2), false),
		"completion of an unknown":   complete(container(1, 1, 5), 0),
		"end with a live attempt":    endApp(1, pb.YarnApplicationState_FAILED),
		"end in a state of life":     endApp(1, pb.YarnApplicationState_RUNNING),
		"attempt ends in a live one": endAttempt(attempt(1, 1), pb.YarnApplicationAttemptState_APP_ATTEMPT_RUNNING, false),
		"forget a live application": {ApplicationsForgotten: &ledgerpb.ApplicationsForgotten{
			Apps: []*ledgerpb.AppRef{AppRef(app(1))},
		}},
		"forget a live container": {ContainersReported: &ledgerpb.ContainersReported{
			Containers: ContainerRefs(container(1, 1, 1)),
		}},
		"forget a node in use": {NodeForgotten: &ledgerpb.NodeForgotten{Node: NodeRef(node1)}},
		"unknown node":         {NodeUpdated: &ledgerpb.NodeUpdated{Node: NodeRef(records.NodeID{Host: "x"})}},
		"empty":                {},
	} {
		if err := s.Apply(commands{c}.at(1)); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if !bytes.Equal(before, snapshot(t, s)) {
			t.Fatalf("%s: refused, and yet the state changed", name)
		}
	}

	err := s.Apply(commands{submit(1), submit(2), start(attempt(9, 1))}.at(1))
	if err == nil || !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "command 1 of 3") {
		t.Errorf("error of a batch with two wrong commands: %v", err)
	}
	if s.Apps[app(2)] == nil {
		t.Error("the good command between two wrong ones was lost")
	}
}

func TestIDsBroughtByClientsAreNotHandedOutAgain(t *testing.T) {
	s := New()
	mustApply(t, s, commands{cluster(), submit(2), submit(math.MaxInt32)}.at(0))
	for _, want := range []int32{1, 3, 4} {
		mustApply(t, s, commands{{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}}}.at(0))
		if s.LastApplication != want {
			t.Errorf("issued %d, not %d", s.LastApplication, want)
		}
	}
}

func TestBatchesOfDeposedLeadersAreRefused(t *testing.T) {
	s := New()
	lead := func(n int64) *ledgerpb.Batch {
		return &ledgerpb.Batch{Leadership: n, Commands: commands{
			{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm1"}}, {ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}},
		}}
	}
	issue := func(n int64) *ledgerpb.Batch {
		return &ledgerpb.Batch{Leadership: n, Commands: commands{{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}}}}
	}
	for i, c := range []struct {
		batch *ledgerpb.Batch
		ok    bool
	}{
		{lead(1), true},
		{issue(1), true},
		{issue(0), false},
		{issue(2), false},
		{lead(1), false},
		{lead(3), false},
		{lead(2), true},
		{issue(1), false},
		{issue(2), true},
	} {
		before := s.LastApplication
		err := s.Apply(c.batch)
		if c.ok != (err == nil) || !c.ok && !errors.Is(err, ErrDeposed) {
			t.Errorf("step %d: %v", i, err)
		}
		if issued := s.LastApplication - before; issued != 0 != c.ok {
			t.Errorf("step %d issued %d ids", i, issued)
		}
	}
	if s.Leaders != 2 || s.Epoch() != 1 {
		t.Errorf("%d leaders, epoch %d", s.Leaders, s.Epoch())
	}
}

func TestKeysRoll(t *testing.T) {
	s := New()
	for id := int32(1); id <= 3; id++ {
		mustApply(t, s, commands{{KeyRolled: &ledgerpb.KeyRolled{
			Kind: ledgerpb.KeyKind_NM, KeyId: id, Secret: []byte{byte(id)},
		}}}.at(int64(id)))
	}
	ring := s.Keys[ledgerpb.KeyKind_NM]
	if ring.Current.ID != 3 || ring.Previous.ID != 2 || ring.Current.Rolled != created+3 {
		t.Errorf("after three rolls: %+v", ring)
	}
	activate := commands{{KeyActivated: &ledgerpb.KeyActivated{Kind: ledgerpb.KeyKind_NM}}}
	if err := s.Apply(activate.at(4)); !errors.Is(err, ErrUnknown) {
		t.Errorf("activated a key that isn't there: %v", err)
	}
	mustApply(t, s, commands{{KeyRolled: &ledgerpb.KeyRolled{
		Kind: ledgerpb.KeyKind_NM, KeyId: 4, Secret: []byte{4}, Next: true,
	}}}.at(5))
	if ring := s.Keys[ledgerpb.KeyKind_NM]; ring.Current.ID != 3 || ring.Next.ID != 4 {
		t.Errorf("with a next key: %+v", ring)
	}
	restored, err := ReadSnapshot(bytes.NewReader(snapshot(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, restored, activate.at(6))
	if ring := restored.Keys[ledgerpb.KeyKind_NM]; ring.Current.ID != 4 || ring.Previous.ID != 3 || ring.Next.ID != 0 {
		t.Errorf("after activation: %+v", ring)
	}
}

func TestForeignSnapshotsAreRefused(t *testing.T) {
	s := New()
	mustApply(t, s, commands{cluster(), register(node1, small), submit(1)}.at(0))
	good := snapshot(t, s)
	for name, image := range map[string][]byte{
		"empty":     nil,
		"garbage":   []byte("garbage"),
		"truncated": good[:len(good)-3],
		"headless":  good[good[0]+1:],
	} {
		if _, err := ReadSnapshot(bytes.NewReader(image)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
