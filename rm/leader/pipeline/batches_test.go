package pipeline

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// begun is the pipeline of a leadership over a cluster with an application (1) that has live containers, and has nothing to propose. Its
// clock yields 1, 2, 3 ….
func begun(t *testing.T, containers int64) (*Pipeline, *ledger.State) {
	t.Helper()
	state := ledger.New()
	clock := int64(0)
	p := New(state, func() int64 { clock++; return clock }, func(c proto.Message, err error) { t.Errorf("%v: %v", c, err) })
	app := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	node := records.NodeID{Host: "n1", Port: 1}
	grants := &ledgerpb.ContainersAllocated{Attempt: ledger.AttemptRef(records.AttemptID{App: app, Attempt: 1})}
	for i := range containers {
		grants.Grants = append(grants.Grants, &ledgerpb.Grant{Id: i + 1, Node: ledger.NodeRef(node)})
	}
	for _, c := range []*ledgerpb.Command{
		{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm"}},
		{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: 1}},
		{NodeRegistered: &ledgerpb.NodeRegistered{Node: ledger.NodeRef(node)}},
		submission(1, 1),
		{AttemptStarted: &ledgerpb.AttemptStarted{Attempt: grants.GetAttempt()}},
		{ContainersAllocated: grants},
	} {
		p.Enter(c)
	}
	if err := p.Settle(p.Next()); err != nil || !p.Idle() {
		t.Fatalf("%v", err)
	}
	return p, state
}

func submission(id int32, name int) *ledgerpb.Command {
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationName(strings.Repeat("x", name))
	app := records.ApplicationID{ClusterTimestamp: 1, ID: id}
	return &ledgerpb.Command{ApplicationSubmitted: &ledgerpb.ApplicationSubmitted{App: ledger.AppRef(app), User: "u", Queue: "q", Context: ctx}}
}

// sized is a submission of which the bound is a size.
func sized(t *testing.T, id int32, size int) *ledgerpb.Command {
	t.Helper()
	for name := size; ; {
		c := submission(id, name)
		over := limit.SizeBound(c) - size
		if over == 0 {
			return c
		}
		name -= over
	}
}

func ended(id int64, diagnostics string) *ledgerpb.Completion {
	attempt := records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}
	return &ledgerpb.Completion{Container: ledger.ContainerRef(records.ContainerID{Attempt: attempt, ID: id}), Diagnostics: diagnostics}
}

// commands are how many each batch has that there is to propose.
func commands(p *Pipeline) (all []int) {
	for b := p.Next(); b != nil; b = p.Next() {
		all = append(all, len(b.PB.GetCommands()))
	}
	return all
}

// A batch is filled up to its bound and no further.
func TestBatchesAreFilledUpToTheirBound(t *testing.T) {
	const half = MaxSize / 2
	for name, c := range map[string]struct {
		sizes []int
		want  []int
	}{
		"just full":                     {[]int{half, MaxSize - overhead - half}, []int{2}},
		"a byte too much":               {[]int{half, MaxSize - overhead - half + 1}, []int{1, 1}},
		"too large together":            {[]int{half, half, 1000, half}, []int{1, 2, 1}},
		"too large by itself":           {[]int{1000, 2 * MaxSize, 1000}, []int{1, 1, 1}},
		"too large, and nothing before": {[]int{2 * MaxSize, 1000}, []int{1, 1}},
	} {
		p, _ := begun(t, 0)
		p.Time() // which begins a batch
		for i, size := range c.sizes {
			p.Enter(sized(t, int32(i+2), size))
		}
		if p.Congested() != (len(c.want) > 1) {
			t.Errorf("%s: congested: %v", name, p.Congested())
		}
		if got := commands(p); !slices.Equal(got, c.want) {
			t.Errorf("%s: batches of %v commands, to be %v", name, got, c.want)
		}
	}
}

// A batch that is more than half full is closed before the next operation, so that what this enters comes together.
func TestOperationsAreSplitWhereABatchIsHalfFull(t *testing.T) {
	for size, want := range map[int][]int{MaxSize/2 - overhead: {2}, MaxSize/2 - overhead + 1: {1, 1}} {
		p, _ := begun(t, 0)
		p.Split()
		if !p.Idle() {
			t.Error("splitting nothing begins a batch")
		}
		p.Enter(sized(t, 2, size))
		p.Split()
		p.Enter(sized(t, 3, 1000))
		if got := commands(p); !slices.Equal(got, want) {
			t.Errorf("behind %d bytes: batches of %v commands, to be %v", size, got, want)
		}
	}
}

// The ends of containers count for the size of a batch, also those that join a command.
func TestEndsOfContainersFillBatches(t *testing.T) {
	p, _ := begun(t, 40)
	long := strings.Repeat("d", limit.MaxText+100)
	for id := range int64(40) {
		p.EnterCompletion(ended(id+1, long))
	}
	batches, ends := 0, 0
	for {
		b := p.Next()
		if b == nil {
			break
		}
		if n := proto.Size(b.PB); n > MaxSize || len(b.PB.GetCommands()) != 1 {
			t.Errorf("a batch of %d commands with %d bytes", len(b.PB.GetCommands()), n)
		}
		list := b.PB.GetCommands()[0].ContainersCompleted.GetCompletions()
		for _, done := range list {
			if len(done.GetDiagnostics()) != limit.MaxText {
				t.Errorf("%d bytes of diagnostics", len(done.GetDiagnostics()))
			}
		}
		batches, ends = batches+1, ends+len(list)
	}
	if batches != 3 || ends != 40 {
		t.Errorf("%d ends in %d batches", ends, batches)
	}
}

// What is entered is made fit to be encoded first.
func TestCommandsAreCleanedBeforeTheyAreEntered(t *testing.T) {
	p, state := begun(t, 0)
	c := submission(2, 1)
	c.ApplicationSubmitted.User = "caf\xe9"
	p.Enter(c)
	b := p.Next()
	if _, err := proto.Marshal(b.PB); err != nil {
		t.Error(err)
	}
	if got := state.Apps[records.ApplicationID{ClusterTimestamp: 1, ID: 2}].User; got != "caf\uFFFD" {
		t.Errorf("%q", got)
	}
}

// All commands of a batch are applied at its time, which is when it was begun.
func TestTimeOfABatch(t *testing.T) {
	p, state := begun(t, 0)
	at := p.Time()
	p.Enter(submission(2, 1))
	p.Enter(submission(3, 1))
	for _, id := range []int32{2, 3} {
		if app := state.Apps[records.ApplicationID{ClusterTimestamp: 1, ID: id}]; app.SubmitTime != at {
			t.Errorf("%v at %d, not %d", app.ID, app.SubmitTime, at)
		}
	}
	if again := p.Time(); again != at || at == 0 {
		t.Errorf("%d, and then %d", at, again)
	}
	if b := p.Next(); b.PB.GetTime() != at || b.PB.GetLeadership() != 1 {
		t.Errorf("%v", b.PB)
	}
	if next := p.Time(); next <= at {
		t.Errorf("the next batch begins at %d, and the one before at %d", next, at)
	}
}

// A batch says which version of the ledger it needs, as soon as all members can apply more than the first.
func TestVersionOfABatch(t *testing.T) {
	p, _ := begun(t, 0)
	p.Enter(submission(2, 1))
	if b := p.Next(); b.PB.GetVersion() != 0 {
		t.Errorf("of the first version: %d", b.PB.GetVersion())
	}
	p.Enter(&ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: ledger.Version}})
	if b := p.Next(); b.PB.GetVersion() != ledger.Version {
		t.Errorf("afterwards: %d", b.PB.GetVersion())
	}
}

// Where everything is committed, nothing is waited for, and no batch is made for it.
func TestNobodyWaitsWhereEverythingIsCommitted(t *testing.T) {
	p, _ := begun(t, 0)
	called, answer := false, make(chan error, 1)
	p.AfterCommit(func() { called = true })
	p.Answer(answer, nil)
	if !called || len(answer) != 1 || !p.Idle() || p.Next() != nil {
		t.Errorf("called: %v, answers: %d, idle: %v", called, len(answer), p.Idle())
	}
	if err := p.Settle(&Batch{PB: &ledgerpb.Batch{}}); err == nil {
		t.Error("a batch was settled while none is under way")
	}
}

// Nobody goes on before it is known what became of each batch.
func TestCarrierIsClosedWhenEveryFateIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fate := make(chan error)
		c := NewCarrier(func(*ledgerpb.Batch) func() error { return func() error { return <-fate } })
		c.Carry(&Batch{PB: &ledgerpb.Batch{Commands: []*ledgerpb.Command{{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}}}}})
		closed := make(chan struct{})
		go func() { c.Close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("it was closed before")
		default:
		}
		fate <- nil
		<-closed
		if len(c.Settled()) != 1 {
			t.Error("the batch didn't come back")
		}
	})
}
