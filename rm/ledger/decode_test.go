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
	"heddle/rm/ledger/ledgertest"
	"heddle/rm/ledger/shape"
)

func mustEncode(t testing.TB, b *ledgerpb.Batch) []byte {
	t.Helper()
	data, err := Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestWhatThisVersionDoesNotKnowIsNeverPassedOver(t *testing.T) {
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1)
	for _, c := range ledgertest.EveryCommand("x") {
		b := &ledgerpb.Batch{Time: created, Leadership: 1, Commands: []*ledgerpb.Command{c}}
		got, err := Decode(mustEncode(t, b))
		if err != nil || !proto.Equal(got, b) {
			t.Fatalf("%v: %v", c, err)
		}
		ledgertest.Messages(b.ProtoReflect(), func(m protoreflect.Message) {
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
	if _, err := Decode(mustEncode(t, commands{submit(1)}.at(0))[:20]); !errors.Is(err, shape.ErrTorn) {
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
	for _, c := range ledgertest.EveryCommand("x") {
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
		b.Leadership = expected(b, s.Leaders)
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
		if err := batchShape.Check(data); err != nil {
			b.Fatal(err)
		}
	}
}

// appended is a batch with something behind it.
func appended(t *testing.T, tail []byte) []byte {
	t.Helper()
	return append(mustEncode(t, commands{submit(1)}.at(0)), tail...)
}

func TestVersionIsFoundInWhatIsDamagedOrNew(t *testing.T) {
	field := func(n protowire.Number, kind protowire.Type, rest ...byte) []byte {
		return append(protowire.AppendTag(nil, n, kind), rest...)
	}
	version := func(v uint64) []byte { return protowire.AppendVarint(field(versionField, protowire.VarintType), v) }
	for name, c := range map[string]struct {
		data []byte
		want NewerError
	}{
		"newer":                    {version(Version + 1), NewerError{Version: Version + 1}},
		"far newer":                {version(1 << 40), NewerError{Version: 1 << 30}},
		"newer, and in a new form": {append(version(Version+2), field(77, protowire.Fixed32Type, 1, 2, 3, 4)...), NewerError{Version: Version + 2}},
		"newer, and breaks off":    {append(version(Version+2), field(77, protowire.Fixed32Type, 1)...), NewerError{Version: Version + 2}},
		"newer, and half a tag":    {append(version(Version+2), 0x80), NewerError{Version: Version + 2}},
		"no number":                {field(versionField, protowire.BytesType, 1, 9), NewerError{What: "field 4 of heddle.ledger.Batch"}},
		"a new field":              {field(77, protowire.VarintType, 9), NewerError{What: "field 77 of heddle.ledger.Batch"}},
		"a field of another kind":  {field(1, protowire.BytesType, 1, 9), NewerError{What: "field 1 of heddle.ledger.Batch"}},
		"commands as a number":     {field(2, protowire.VarintType, 1), NewerError{What: "field 2 of heddle.ledger.Batch"}},
	} {
		var newer *NewerError
		if _, err := Decode(appended(t, c.data)); !errors.As(err, &newer) || *newer != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, v := range []uint64{0, 1, Version} {
		if b, err := Decode(appended(t, version(v))); err != nil || b.GetVersion() != int32(v) {
			t.Errorf("version %d: %v", v, err)
		}
	}
	for name, tail := range map[string][]byte{
		"half a tag": {0x80}, "half a number": field(1, protowire.VarintType, 0x80), "half a command": field(2, protowire.BytesType, 5, 1),
	} {
		if _, err := Decode(appended(t, tail)); !errors.Is(err, shape.ErrTorn) || !strings.Contains(err.Error(), "heddle.ledger.Batch: it is damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Decode(mustEncode(t, commands{{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "x"}}}.at(0))); err != nil {
		t.Error(err)
	}
	damaged := mustEncode(t, commands{{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "x"}}}.at(0))
	if _, err := Decode(bytes.Replace(damaged, []byte("x"), []byte{0xff}, 1)); err == nil {
		t.Error("a string that is no UTF-8 is taken")
	}
}

// Numbers may come together or one by one; only amounts of resources are bounded.
func TestListsOfNumbers(t *testing.T) {
	// A command of a kind whose only message has a list.
	command := func(kind protowire.Number, list []byte) []byte {
		msg := protowire.AppendBytes(protowire.AppendTag(nil, kind, protowire.BytesType), list)
		return protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), msg)
	}
	singly := func(field protowire.Number, n int) (list []byte) {
		for range n {
			list = append(protowire.AppendTag(list, field, protowire.VarintType), 1)
		}
		return list
	}
	together := func(field protowire.Number, n int) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), bytes.Repeat([]byte{1}, n))
	}
	const resized, ended = 36, 52 // ContainerResized, DelegationsEnded
	amounts := func(list []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), list)
	}
	for n, ok := range map[int]bool{0: true, 8: true, 9: false} {
		for form, list := range map[string][]byte{"singly": singly(1, n), "together": together(1, n), "both": append(singly(1, n/2), together(1, n-n/2)...)} {
			b, err := Decode(command(resized, amounts(list)))
			var newer *NewerError
			if ok && (err != nil || len(b.GetCommands()[0].ContainerResized.GetResource().GetAmount()) != n) || !ok && (!errors.As(err, &newer) || newer.What != "9 resource types") {
				t.Errorf("%d amounts, %s: %v", n, form, err)
			}
		}
	}
	for form, list := range map[string][]byte{"singly": singly(1, 30), "together": together(1, 30)} {
		if b, err := Decode(command(ended, list)); err != nil || len(b.GetCommands()[0].DelegationsEnded.GetSequences()) != 30 {
			t.Errorf("%s: %v", form, err)
		}
	}
	for name, c := range map[string]struct{ list, want string }{
		"fixed": {string(protowire.AppendTag(nil, 1, protowire.Fixed32Type)) + "1234", "field 1 of heddle.ledger.DelegationsEnded"},
	} {
		var newer *NewerError
		if _, err := Decode(command(ended, []byte(c.list))); !errors.As(err, &newer) || newer.What != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	var newer *NewerError
	if _, err := Decode(command(99, nil)); !errors.As(err, &newer) || newer.What != "field 99 of heddle.ledger.Command" {
		t.Errorf("%v", err)
	}
	if _, err := Decode(protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), nil)); !errors.As(err, &newer) || newer.What != "a Command of 0 kinds" {
		t.Errorf("%v", err)
	}
}

// YARN's own messages may lack what YARN requires of them.
func TestPartsOfYARNsMessagesMayBeMissing(t *testing.T) {
	b := commands{submitted(1, nil)}.at(0)
	got, err := Decode(mustEncode(t, b))
	if err != nil || !proto.Equal(got, b) {
		t.Errorf("%v", err)
	}
	// Also in a batch that names the release which raises the version.
	b.Commands = append(b.Commands, &ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: Version + 1, Release: "9.9"}}, submit(2))
	b.Version = Version + 1
	var newer *NewerError
	if _, err := Decode(mustEncode(t, b)); !errors.As(err, &newer) || *newer != (NewerError{Version: Version + 1, Release: "9.9"}) {
		t.Errorf("%v", err)
	}
	if _, err := Decode(append(mustEncode(t, b), 0x80)); !errors.As(err, &newer) || *newer != (NewerError{Version: Version + 1}) {
		t.Errorf("in a damaged batch: %v", err)
	}
}
