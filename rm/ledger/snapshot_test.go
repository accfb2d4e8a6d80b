package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/shape"
	"heddle/yarn/pb"
)

// image is a snapshot of records.
func image(t *testing.T, records ...*ledgerpb.SnapshotRecord) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, r := range records {
		if _, err := protodelim.MarshalTo(&b, r); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestRecordsThatCannotBeAreRefused(t *testing.T) {
	cluster := &ledgerpb.SnapshotRecord{Cluster: &ledgerpb.Cluster{Format: Version}}
	node := &ledgerpb.SnapshotRecord{Node: &ledgerpb.Node{Registered: &ledgerpb.NodeRegistered{Node: NodeRef(node1)}}}
	application := func(a *ledgerpb.Application) *ledgerpb.SnapshotRecord {
		a.Submitted = &ledgerpb.ApplicationSubmitted{App: AppRef(app(1))}
		return &ledgerpb.SnapshotRecord{Application: a}
	}
	attempt := func(state int32) *ledgerpb.SnapshotRecord {
		return application(&ledgerpb.Application{Attempts: []*ledgerpb.Attempt{{Attempt: 1, State: state}}})
	}
	lives := func() *ledgerpb.SnapshotRecord {
		return application(&ledgerpb.Application{Containers: []*ledgerpb.Container{{Attempt: 1, Grant: &ledgerpb.Grant{Id: 1, Node: NodeRef(node1)}}}})
	}
	token := &ledgerpb.SnapshotRecord{Delegation: &ledgerpb.DelegationIssued{Sequence: 5}}
	for want, records := range map[string][]*ledgerpb.SnapshotRecord{
		"": {cluster, node, lives(), token},
		"record 0: it doesn't begin with the cluster":             {node, cluster},
		"record 0: version 0: it is damaged":                      {{Cluster: &ledgerpb.Cluster{}}},
		"record 1: a node without a host":                         {cluster, {Node: &ledgerpb.Node{Registered: &ledgerpb.NodeRegistered{}}}},
		"_0001: unknown state -1":                                 {cluster, application(&ledgerpb.Application{State: -1})},
		"_0001: unknown state 6":                                  {cluster, application(&ledgerpb.Application{State: int32(len(appStates))})},
		"_0001: unknown state 7":                                  {cluster, application(&ledgerpb.Application{State: int32(len(appStates)) + 1})},
		"record 2: application_1795253712789_0001 is there twice": {cluster, application(&ledgerpb.Application{}), application(&ledgerpb.Application{})},
		"_000001: unknown state -1":                               {cluster, attempt(-1)},
		"_000001: unknown state 8":                                {cluster, attempt(int32(len(attemptStates)))},
		"_000001: unknown state 9":                                {cluster, attempt(int32(len(attemptStates)) + 1)},
		"lives on node n1:1: not in the ledger":                   {cluster, lives()},
		"delegation token 5 was issued already":                   {cluster, token, token},
	} {
		s, err := ReadSnapshot(bytes.NewReader(image(t, records...)))
		if (want == "") != (err == nil) || err != nil && (!strings.HasPrefix(err.Error(), "snapshot: record ") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
		if err != nil && s != nil {
			t.Errorf("%q: there is a state all the same", want)
		}
	}
	var newer *NewerError
	for name, record := range map[string]*ledgerpb.SnapshotRecord{"none": {}, "two": {Node: node.Node, Delegation: token.Delegation}} {
		if _, err := ReadSnapshot(bytes.NewReader(image(t, cluster, record))); !errors.As(err, &newer) || !strings.Contains(newer.What, "a SnapshotRecord of ") {
			t.Errorf("a record of %s: %v", name, err)
		}
	}
}

func TestSnapshotsThatBreakOff(t *testing.T) {
	whole := snapshot(t, world(t))
	first, n := protowire.ConsumeVarint(whole)
	for at := range whole {
		_, err := ReadSnapshot(bytes.NewReader(whole[:at]))
		switch {
		case at == 0 && !errors.Is(err, io.EOF):
			t.Errorf("nothing: %v", err)
		case at > n && at < n+int(first) && (!errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), fmt.Sprintf("record 0: unexpected EOF, it should have %d bytes", first))):
			t.Errorf("%d bytes: %v", at, err)
		}
	}
	for size, want := range map[uint64]error{maxRecord: io.ErrUnexpectedEOF, maxRecord + 1: shape.ErrTorn} {
		if _, err := ReadSnapshot(bytes.NewReader(protowire.AppendVarint(nil, size))); !errors.Is(err, want) {
			t.Errorf("a record of %d bytes: %v", size, err)
		}
	}
}

// fullDisk has room for so many bytes more.
type fullDisk struct{ room int }

var errFull = errors.New("full")

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestSnapshotThatCannotBeWrittenSaysWhere(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for want, grow := range map[string]func(*State){
		"full":                        func(*State) {},
		"snapshot: cluster: full":     func(s *State) { s.Queues = QueueConf{Version: 1, Settings: map[string]string{"a": long}} },
		"snapshot: node n2:2: full":   func(s *State) { s.Nodes[node2].HealthReport = long },
		"snapshot: application_17952": func(s *State) { s.Apps[app(1)].Diagnostics = long },
		"snapshot: delegation token 4: full": func(s *State) {
			s.Delegations[4] = Delegation{Identifier: []byte(long)}
			s.LastDelegation = 4
		},
	} {
		s := world(t)
		grow(s)
		if err := s.WriteSnapshot(&fullDisk{}); !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// Equal states give equal bytes, in whatever order their maps are gone through.
func TestSnapshotsOfEqualStatesAreEqual(t *testing.T) {
	s := world(t)
	s.Ended = map[AppState]int64{AppFinished: 1, AppFailed: 2, AppKilled: 3}
	s.Queues = QueueConf{Version: 1, Settings: map[string]string{}}
	for i := range 20 {
		s.Queues.Settings[fmt.Sprint(i)] = "x"
	}
	first := snapshot(t, s)
	for range 20 {
		if !bytes.Equal(snapshot(t, s.Clone()), first) {
			t.Fatal("they differ")
		}
	}
}

// What isn't known or isn't there takes no place in a snapshot, and comes back as it was.
func TestSnapshotLeavesOutWhatIsNotThere(t *testing.T) {
	s := world(t)
	run(t, s, 40, start(attempt(2, 1)))
	run(t, s, 40, &ledgerpb.Command{KeyRolled: &ledgerpb.KeyRolled{Kind: ledgerpb.KeyKind_NM, KeyId: 1, Secret: []byte{1}}})
	c := s.Container(container(1, 2, 2))
	if r := c.record(); r.GetGrant().GetWaited() != 4 || r.GetConfirmed() != nil {
		t.Errorf("%v", r)
	}
	c.Asked = 0
	c.setConfirmed(small.Times(0))
	if r := c.record(); r.GetGrant().GetWaited() != 0 || r.GetConfirmed() == nil {
		t.Errorf("asked for at an unknown time: %v", r)
	}
	if r := s.clusterRecord(); len(r.GetKeys()) != 1 || r.GetQueues() != nil {
		t.Errorf("%v", r)
	}
	again, err := ReadSnapshot(bytes.NewReader(snapshot(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences(again, s) {
		t.Error(d)
	}
	// The end of an application is among those of its state.
	run(t, again, 50, endAttempt(attempt(2, 1), pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED, false), endApp(2, pb.YarnApplicationState_KILLED))
	if r := again.clusterRecord().GetEnded(); len(r) != 1 || r[0].GetState() != int32(pb.YarnApplicationState_KILLED) || r[0].GetCount() != 1 {
		t.Errorf("%v", r)
	}
}
