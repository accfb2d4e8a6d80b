package pipeline

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// world is a log, and one leader after the other that writes it. What each leader enters, the test proposes, commits and loses.
type world struct {
	t         *rapid.T
	committed *ledger.State
	p         *Pipeline
	work      *ledger.State
	clock     int64

	log  []entry // of the leader, proposed and neither committed nor lost
	late []entry // of deposed leaders, which may still be committed

	ops   []*operation // of this leader, in order
	told  map[int32]bool
	taken int // operations before it are answered
	heard int // hooks before it have run
}

type entry struct {
	batch   *Batch
	encoded []byte // as it was proposed
}

// operation is what somebody asked of a leader.
type operation struct {
	saw    int32 // the last id in the working copy
	id     int32 // that was handed out; 0: it changed nothing
	app    records.ApplicationID
	answer chan error // more than it needs
	told   bool       // its hook has run
}

func (w *world) fatalf(format string, args ...any) { w.t.Helper(); w.t.Fatalf(format, args...) }

// lead begins a leadership with what is committed.
func (w *world) lead() {
	w.work = w.committed.Clone()
	w.ops, w.taken, w.heard = nil, 0, 0
	w.p = New(w.work, func() int64 { w.clock++; return w.clock }, func(c proto.Message, err error) {
		w.fatalf("the working copy refuses %v: %v", c, err)
	})
	w.p.Enter(&ledgerpb.Command{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm", Refused: w.work.Refused}})
	if w.work.Timestamp == 0 {
		w.p.Enter(&ledgerpb.Command{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: 1}})
	}
}

// operate enters an operation; payload is how much its command takes.
func (w *world) operate(change, submit bool, payload int) {
	w.p.Split()
	o := &operation{answer: make(chan error, 3)}
	if change {
		w.p.Enter(&ledgerpb.Command{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}})
		o.id = w.work.LastApplication
		if submit {
			o.app = records.ApplicationID{ClusterTimestamp: w.work.Timestamp, ID: o.id}
			ctx := &pb.ApplicationSubmissionContext{}
			ctx.SetApplicationId(o.app.PB())
			ctx.SetApplicationName(strings.Repeat("x", payload))
			w.p.Enter(&ledgerpb.Command{ApplicationSubmitted: &ledgerpb.ApplicationSubmitted{
				App: ledger.AppRef(o.app), User: "alice", Queue: "root.default", Context: ctx, MaxAttempts: 1,
			}})
		}
	}
	o.saw = w.work.LastApplication
	n := len(w.ops)
	w.ops = append(w.ops, o)
	w.p.AfterCommit(func() {
		if n != w.heard {
			w.fatalf("hook %d ran, and %d had not", n, w.heard)
		}
		w.heard++
		o.told = true
		w.holds(o, "a hook ran")
	})
	w.p.Answer(o.answer, nil)
	w.answered()
}

// holds checks that what an operation's caller hears of is committed.
func (w *world) holds(o *operation, when string) {
	w.t.Helper()
	if o.saw > w.committed.LastApplication {
		w.fatalf("%s for one that saw %d, and %d is committed", when, o.saw, w.committed.LastApplication)
	}
	if o.app.ID != 0 && w.committed.Apps[o.app] == nil {
		w.fatalf("%s for %v, which is not committed", when, o.app)
	}
}

// answered takes the answers that have come, and checks that they came in order.
func (w *world) answered() {
	w.t.Helper()
	for n, o := range w.ops {
		select {
		case err := <-o.answer:
			if n != w.taken || !o.told || err != nil {
				w.fatalf("operation %d was answered %v; %d was next, and told: %v", n, err, w.taken, o.told)
			}
			w.taken++
			w.holds(o, "an answer came")
			if o.id != 0 && w.told[o.id] {
				w.fatalf("id %d was handed out twice", o.id)
			}
			w.told[o.id] = true
		default:
		}
	}
	for _, o := range w.ops[:w.taken] {
		if len(o.answer) > 0 {
			w.fatalf("somebody was answered twice")
		}
	}
}

func (w *world) propose() {
	b := w.p.Next()
	if b == nil {
		if len(w.log) < MaxInFlight && !w.p.Idle() && len(w.log) == 0 {
			w.fatalf("nothing to propose, and not everything is committed")
		}
		return
	}
	if len(w.log) >= MaxInFlight {
		w.fatalf("%d batches under way", len(w.log)+1)
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(b.PB)
	if err != nil {
		w.fatalf("%v", err)
	}
	if len(encoded) > MaxSize && len(b.PB.Commands) > 1 {
		w.fatalf("a batch of %d commands has %d bytes", len(b.PB.Commands), len(encoded))
	}
	w.log = append(w.log, entry{b, encoded})
}

func (w *world) apply(e entry) error {
	b := &ledgerpb.Batch{}
	if err := proto.Unmarshal(e.encoded, b); err != nil {
		w.fatalf("%v", err)
	}
	return w.committed.Apply(b)
}

// commit commits the oldest batch under way.
func (w *world) commit() {
	if len(w.log) == 0 {
		return
	}
	e := w.log[0]
	w.log = w.log[1:]
	if now, err := (proto.MarshalOptions{Deterministic: true}).Marshal(e.batch.PB); err != nil || !bytes.Equal(now, e.encoded) {
		w.fatalf("a batch was changed after it had been proposed (%v)", err)
	}
	if e.batch.Err = w.apply(e); e.batch.Err != nil {
		w.fatalf("the ledger refuses what the working copy took: %v", e.batch.Err)
	}
	if err := w.p.Settle(e.batch); err != nil {
		w.fatalf("%v", err)
	}
	w.answered()
	if w.p.Idle() {
		w.same()
	}
}

// depose ends the leadership. So many of its batches under way are committed nevertheless, unknown to it; the others may come late.
func (w *world) depose(kept int) {
	if len(w.log) > 0 {
		w.log[0].batch.Err = errors.New("leadership lost")
		if err := w.p.Settle(w.log[0].batch); err == nil {
			w.fatalf("a lost batch counts as committed")
		}
		w.answered()
	}
	w.p.Abandon()
	for n, o := range w.ops[w.taken:] {
		if len(o.answer) != 1 || !errors.Is(<-o.answer, ErrDeposed) || o.told {
			w.fatalf("operation %d, whose leader was deposed: %d answers, told: %v", w.taken+n, len(o.answer), o.told)
		}
	}
	for i, e := range w.log {
		if i >= kept {
			// Where not even a leader's first batch is committed, the next one's takes its place in the log, and none of them can come.
			if e.batch.PB.GetLeadership() <= w.committed.Leaders {
				w.late = append(w.late, e)
			}
		} else if err := w.apply(e); err != nil {
			w.fatalf("the ledger refuses what the working copy took: %v", err)
		}
	}
	w.log = nil
	w.lead()
	for id := range w.told {
		if id > w.work.LastApplication {
			w.fatalf("id %d was told, and the next leader doesn't know it", id)
		}
	}
}

// deliver commits a batch of a deposed leader. Once the next leader's first batch is committed it changes nothing.
func (w *world) deliver() {
	if len(w.late) == 0 || w.committed.Leaders != w.work.Leaders {
		return
	}
	before := w.snapshot(w.committed)
	if err := w.apply(w.late[0]); !errors.Is(err, ledger.ErrDeposed) {
		w.fatalf("the batch of a deposed leader: %v", err)
	}
	w.late = w.late[1:]
	if !bytes.Equal(before, w.snapshot(w.committed)) {
		w.fatalf("the batch of a deposed leader changed something")
	}
}

func (w *world) snapshot(s *ledger.State) []byte {
	var b bytes.Buffer
	if err := s.WriteSnapshot(&b); err != nil {
		w.fatalf("%v", err)
	}
	return b.Bytes()
}

func (w *world) same() {
	w.t.Helper()
	if !bytes.Equal(w.snapshot(w.work), w.snapshot(w.committed)) {
		w.fatalf("everything is committed, and the working copy differs from it")
	}
}

// Whatever becomes of batches and leaders: nobody hears of what isn't committed, nobody waits for ever, everybody is answered once
// and in order, no id is handed out twice, and a deposed leader changes nothing.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, committed: ledger.New(), told: map[int32]bool{}}
		w.lead()
		t.Repeat(map[string]func(*rapid.T){
			"read":  func(*rapid.T) { w.operate(false, false, 0) },
			"issue": func(*rapid.T) { w.operate(true, false, 0) },
			"submit": func(t *rapid.T) {
				w.operate(true, true, rapid.SampledFrom([]int{1, 100_000, 300_000, 500_000}).Draw(t, "payload"))
			},
			"propose": func(*rapid.T) { w.propose() },
			"commit":  func(*rapid.T) { w.commit() },
			"depose":  func(t *rapid.T) { w.depose(rapid.IntRange(0, MaxInFlight).Draw(t, "kept")) },
			"deliver": func(*rapid.T) { w.deliver() },
		})
		for !w.p.Idle() {
			w.propose()
			w.commit()
		}
		if w.taken != len(w.ops) || w.heard != len(w.ops) {
			t.Fatalf("of %d operations %d are answered, and %d hooks have run", len(w.ops), w.taken, w.heard)
		}
		w.same()
	})
}

// Ends of containers in a row are one command; anything between them begins another.
func TestCompletionsInARow(t *testing.T) {
	state := ledger.New()
	p := New(state, func() int64 { return 1 }, func(c proto.Message, err error) { t.Errorf("%v: %v", c, err) })
	app := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	attempt := records.AttemptID{App: app, Attempt: 1}
	node := records.NodeID{Host: "n1", Port: 1}
	size := records.NewResource(1024, 1)
	var grants []*ledgerpb.Grant
	for i := range int64(3) {
		grants = append(grants, &ledgerpb.Grant{Id: i + 1, Node: ledger.NodeRef(node), Resource: ledger.Amounts(size)})
	}
	issue := &ledgerpb.Command{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}}
	for _, c := range []*ledgerpb.Command{
		{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm"}},
		{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: 1}},
		{NodeRegistered: &ledgerpb.NodeRegistered{Node: ledger.NodeRef(node), Capability: ledger.Amounts(records.NewResource(8192, 8))}},
		issue,
		{ApplicationSubmitted: &ledgerpb.ApplicationSubmitted{App: ledger.AppRef(app), User: "a", Queue: "q", MaxAttempts: 1}},
		{AttemptStarted: &ledgerpb.AttemptStarted{Attempt: ledger.AttemptRef(attempt)}},
		{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ledger.AttemptRef(attempt), Grants: grants}},
	} {
		p.Enter(c)
	}
	end := func(id int64) {
		p.EnterCompletion(&ledgerpb.Completion{Container: ledger.ContainerRef(records.ContainerID{Attempt: attempt, ID: id})})
	}
	end(1)
	end(2)
	p.Enter(issue)
	end(3)
	var ends []int
	for _, c := range p.Next().PB.GetCommands() {
		if c.ContainersCompleted != nil {
			ends = append(ends, len(c.ContainersCompleted.Completions))
		}
	}
	if !slices.Equal(ends, []int{2, 1}) {
		t.Errorf("commands of %v ends", ends)
	}
}

// A command that the working copy refuses reaches no batch: every member would refuse it.
func TestRefusedCommandsStayOut(t *testing.T) {
	var refused []proto.Message
	p := New(ledger.New(), func() int64 { return 1 }, func(c proto.Message, _ error) { refused = append(refused, c) })
	p.Enter(&ledgerpb.Command{AttemptStarted: &ledgerpb.AttemptStarted{
		Attempt: ledger.AttemptRef(records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}),
	}})
	p.EnterCompletion(&ledgerpb.Completion{Container: ledger.ContainerRef(records.ContainerID{ID: 1})})
	if b := p.Next(); len(refused) != 2 || len(b.PB.GetCommands()) != 0 {
		t.Errorf("%d commands were refused, and %d are proposed", len(refused), len(b.PB.GetCommands()))
	}
}

// Batches are settled in the order in which they were proposed, and in no other.
func TestSettlingOutOfOrder(t *testing.T) {
	p := New(ledger.New(), func() int64 { return 1 }, func(c proto.Message, err error) { t.Errorf("%v: %v", c, err) })
	var batches []*Batch
	for range 2 {
		p.Enter(&ledgerpb.Command{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}})
		batches = append(batches, p.Next())
	}
	answer := make(chan error, 1)
	p.Answer(answer, nil)
	if err := p.Settle(batches[1]); err == nil || len(answer) != 0 {
		t.Errorf("the second batch before the first: %v", err)
	}
	for _, b := range append(batches, p.Next()) {
		if err := p.Settle(b); err != nil {
			t.Error(err)
		}
	}
	if len(answer) != 1 || <-answer != nil || !p.Idle() {
		t.Error("nobody was answered")
	}
}
