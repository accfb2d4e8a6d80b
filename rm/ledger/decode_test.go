package ledger

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"heddle/rm/ledger/ledgerpb"
)

func mustEncode(t testing.TB, b *ledgerpb.Batch) []byte {
	t.Helper()
	data, err := Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// messages calls f with a message and all the ledger's that are in it.
func messages(m protoreflect.Message, f func(protoreflect.Message)) {
	f(m)
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil || fd.IsMap() || fd.Message().FullName().Parent() != "heddle.ledger":
		case fd.IsList():
			for i := range v.List().Len() {
				messages(v.List().Get(i).Message(), f)
			}
		default:
			messages(v.Message(), f)
		}
		return true
	})
}

func TestWhatThisVersionDoesNotKnowIsNeverPassedOver(t *testing.T) {
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1)
	for _, c := range everyCommand("x") {
		b := &ledgerpb.Batch{Time: created, Leadership: 1, Commands: []*ledgerpb.Command{c}}
		got, err := Decode(mustEncode(t, b))
		if err != nil || !proto.Equal(got, b) {
			t.Fatalf("%v: %v", c, err)
		}
		messages(b.ProtoReflect(), func(m protoreflect.Message) {
			m.SetUnknown(unknown)
			defer m.SetUnknown(nil)
			var newer *NewerError
			if _, err := Decode(mustEncode(t, b)); !errors.As(err, &newer) || !strings.Contains(err.Error(), string(m.Descriptor().FullName())) {
				t.Errorf("a new field in %s: %v", m.Descriptor().FullName(), err)
			}
		})
	}
	kind := &ledgerpb.Command{}
	kind.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 999, protowire.BytesType), []byte("new")))
	two := &ledgerpb.Command{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}, KeyActivated: &ledgerpb.KeyActivated{}}
	types := &ledgerpb.Command{ContainerResized: &ledgerpb.ContainerResized{Resource: &ledgerpb.Amounts{Amount: make([]int64, 9)}}}
	for name, c := range map[string]*ledgerpb.Command{"a new kind": kind, "no kind": {}, "two kinds": two, "nine resource types": types} {
		var newer *NewerError
		if _, err := Decode(mustEncode(t, &ledgerpb.Batch{Commands: []*ledgerpb.Command{c}})); !errors.As(err, &newer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Decode(mustEncode(t, commands{submit(1)}.at(0))[:20]); !errors.Is(err, errTorn) {
		t.Errorf("half a batch: %v", err)
	}
	// Clients' own messages may be newer than Heddle; they are kept as they came.
	c := submit(1)
	c.ApplicationSubmitted.Context.ProtoReflect().SetUnknown(unknown)
	b, err := Decode(mustEncode(t, commands{c}.at(0)))
	if err != nil || !bytes.Equal(b.Commands[0].ApplicationSubmitted.Context.ProtoReflect().GetUnknown(), unknown) {
		t.Errorf("a client's own field: %v", err)
	}
}

// Each of an application's sums has all resource types that a cluster may have.
func TestSumsOfAllResourceTypesAreRead(t *testing.T) {
	s := New()
	mustApply(t, s, commands{cluster(), submit(1)}.at(0))
	a := s.Apps[app(1)]
	for i := range a.Preempted {
		a.Preempted[i], a.PreemptedSeconds[i], a.ResourceSeconds[i] = 1, 2, 3
	}
	if again, err := ReadSnapshot(bytes.NewReader(snapshot(t, s))); err != nil || again.Apps[app(1)].ResourceSeconds != a.ResourceSeconds {
		t.Errorf("%v", err)
	}
}

func TestNewerVersionIsNamed(t *testing.T) {
	raise := &ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: Version + 1, Release: "9.9"}}
	b := commands{raise}.at(0)
	b.Version = Version + 1
	want := func(err error) {
		t.Helper()
		var newer *NewerError
		if !errors.As(err, &newer) || newer.Version != Version+1 || !strings.Contains(err.Error(), "install Heddle 9.9") {
			t.Errorf("%v", err)
		}
	}
	_, err := Decode(mustEncode(t, b))
	want(err)
	s := New()
	before := snapshot(t, s)
	if err := s.Apply(b); err == nil || !bytes.Equal(before, snapshot(t, s)) {
		t.Errorf("applied, or something of it: %v", err)
	}
	s.Version, s.Release = Version+1, "9.9"
	_, err = ReadSnapshot(bytes.NewReader(snapshot(t, s)))
	want(err)
}

// raised is a cluster of this version under its first leader.
func raised(t testing.TB) *State {
	t.Helper()
	s := New()
	b := commands{
		{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm1"}},
		cluster(),
		{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: Version, Release: "test"}},
	}.at(0)
	b.Leadership = 1
	mustApply(t, s, b)
	return s
}

func TestMembersWithDifferentLedgersFindOut(t *testing.T) {
	led := func(n int64, c ...*ledgerpb.Command) *ledgerpb.Batch {
		return &ledgerpb.Batch{Time: created, Leadership: n, Version: Version, Commands: c}
	}
	takeOver := func(refused int64) *ledgerpb.Command {
		return &ledgerpb.Command{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm2", Refused: refused}}
	}
	var diverged *DivergedError
	good, bad := raised(t), raised(t)
	mustApply(t, bad, led(1, submit(1))) // by a defect, or a hand
	if err := bad.Apply(led(1, submit(1))); err == nil {
		t.Fatal("it was not refused")
	}
	mustApply(t, good, led(1, submit(1)))
	mustApply(t, good, led(2, takeOver(0)))
	if err := bad.Apply(led(2, takeOver(0))); !errors.As(err, &diverged) || bad.Leaders != 1 {
		t.Errorf("under a leader that has refused nothing: %v", err)
	}

	// All refuse the same: what came behind it is void for all, and they go on with the next leader.
	for range 2 {
		s := raised(t)
		if err := s.Apply(led(1, submit(1), submit(1))); err == nil {
			t.Fatal("it was not refused")
		}
		if err := s.Apply(led(1, submit(2))); !errors.Is(err, ErrDeposed) || s.Apps[app(2)] != nil {
			t.Errorf("behind what was refused: %v", err)
		}
		again, err := ReadSnapshot(bytes.NewReader(snapshot(t, s)))
		if err != nil {
			t.Fatal(err)
		}
		mustApply(t, again, led(2, takeOver(1)))
		mustApply(t, again, led(2, submit(3)))
	}

	// A leader that goes on and on has refused nothing.
	for i := range 100 {
		err := bad.Apply(led(1, submit(int32(10+i))))
		if errors.As(err, &diverged) {
			return
		}
		if !errors.Is(err, ErrDeposed) {
			t.Fatal(err)
		}
	}
	t.Error("it follows a leader that has another ledger")
}

func TestFirstVersionIsWrittenAsItWas(t *testing.T) {
	s := New()
	mustApply(t, s, commands{cluster(), register(node1, small), submit(1), start(attempt(1, 1))}.at(0))
	var first ledgerpb.SnapshotRecord
	data := snapshot(t, s)
	n, size := protowire.ConsumeVarint(data)
	if err := proto.Unmarshal(data[size:size+int(n)], &first); err != nil {
		t.Fatal(err)
	}
	if want := (&ledgerpb.Cluster{Format: 1, Timestamp: created, Submitted: 1}); !proto.Equal(first.GetCluster(), want) {
		t.Errorf("%v", first.GetCluster())
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range everyCommand("x") {
		f.Add(mustEncode(f, &ledgerpb.Batch{Time: created, Leadership: 1, Commands: []*ledgerpb.Command{c}}))
	}
	f.Add(mustEncode(f, commands{cluster(), register(node1, small), submit(1), start(attempt(1, 1)), allocate(container(1, 1, 1), true)}.at(0)))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Decode(mustEncode(t, b))
		if err != nil || !proto.Equal(again, b) {
			t.Fatalf("decoded anew: %v", err)
		}
		s := New()
		_ = s.Apply(commands{cluster(), register(node1, small), submit(1), start(attempt(1, 1))}.at(0))
		b.Leadership = s.expected(b)
		_ = s.Apply(b)
		_ = snapshot(t, s)
	})
}

func FuzzReadSnapshot(f *testing.F) {
	f.Add(snapshot(f, New()))
	s := raised(f)
	b := commands{register(node1, small), submit(1), start(attempt(1, 1)), allocate(container(1, 1, 1), true)}.at(0)
	b.Leadership = 1
	mustApply(f, s, b)
	f.Add(snapshot(f, s))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadSnapshot(bytes.NewReader(data))
		if err != nil {
			return
		}
		image := snapshot(t, s)
		again, err := ReadSnapshot(bytes.NewReader(image))
		if err != nil || !bytes.Equal(snapshot(t, again), image) {
			t.Fatalf("read anew: %v", err)
		}
		_ = s.Clone().Check()
	})
}

func thousandGrants(b *testing.B) []byte {
	c := &ledgerpb.ContainersAllocated{Attempt: AttemptRef(attempt(1, 1))}
	for i := range 1000 {
		c.Grants = append(c.Grants, &ledgerpb.Grant{Id: int64(i), Node: NodeRef(node1), Resource: Amounts(small), Priority: 20, Waited: 5})
	}
	return mustEncode(b, commands{{ContainersAllocated: c}}.at(0))
}

func BenchmarkDecode(b *testing.B) {
	data := thousandGrants(b)
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckBatch(b *testing.B) {
	data := thousandGrants(b)
	for b.Loop() {
		if err := batchShape.check(data); err != nil {
			b.Fatal(err)
		}
	}
}
