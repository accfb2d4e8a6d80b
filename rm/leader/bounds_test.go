package leader

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"heddle/rm/hosts"
	"heddle/rm/leader/delegation"
	"heddle/rm/leader/pipeline"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger/limit"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

const latin1 = "caf\xe9 \xff"

func TestBytesThatAreNoUTF8DontEndTheLeader(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		must[NodeReply](t)(w.RegisterNode(NodeRegistration{
			Node: nodeID(2), HTTPPort: 8042, Capability: records.NewResource(4096, 4), Version: latin1, NodeCaller: NodeCaller{Address: latin1},
			Features: []string{latin1}, Missing: []string{latin1},
		}))
		am.allocate(AllocateCall{TrackingURL: latin1})
		before := len(w.batches)
		am.allocate(AllocateCall{TrackingURL: latin1})
		if len(w.batches) > before {
			t.Error("a tracking URL is put on record again with every call")
		}
		c := am.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
		n.heartbeat(runs(c))
		n.heartbeat(NodeContainer{ID: c, State: pb.ContainerState_C_COMPLETE, ExitStatus: 1, Diagnostics: latin1})
		if got := am.allocate(AllocateCall{}).Completed; len(got) != 1 || got[0].Diagnostics != "caf\uFFFD \uFFFD" {
			t.Errorf("completed: %+v", got)
		}
		must[NodeReply](t)(w.HeartbeatNode(NodeCall{
			NodeCaller: atHome, Node: n.node, ResponseID: n.response, Status: NodeStatus{HealthReport: latin1},
		}))
		id := w.submit(nil)
		if err := w.Kill(id, latin1); err != nil {
			t.Fatal(err)
		}
		id = w.submit(func(ctx *pb.ApplicationSubmissionContext) { ctx.SetUnmanagedAm(true); ctx.SetApplicationName(latin1) })
		attempt := records.AttemptID{App: id, Attempt: 1}
		must[Registration](t)(w.Register(attempt, latin1, 1, latin1))
		if err := w.Finish(attempt, pb.FinalApplicationStatus_APP_FAILED, latin1, latin1); err != nil {
			t.Fatal(err)
		}
		if got := w.app(id).Diagnostics; !utf8.ValidString(got) {
			t.Errorf("diagnostics %q", got)
		}
		w.same()
	})
}

func TestNamesThatAreNoUTF8AreRefused(t *testing.T) {
	run(t, func(w *world) {
		long := strings.Repeat("x", limit.MaxName+1)
		for _, name := range []string{latin1, long} {
			id, _, err := w.NewApplication("alice")
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Submit(name, submission(id, nil)); !refusal.Is(err, refusal.Refused) {
				t.Errorf("user %.20q: %v", name, err)
			}
			queue := submission(id, func(ctx *pb.ApplicationSubmissionContext) { ctx.SetQueue(name) })
			if err := w.Submit("alice", queue); !refusal.Is(err, refusal.Refused) {
				t.Errorf("queue %.20q: %v", name, err)
			}
			reply, err := w.RegisterNode(NodeRegistration{
				Node: records.NodeID{Host: name, Port: 1}, Capability: records.NewResource(4096, 4), NodeCaller: atHome,
			})
			if err != nil || reply.Action != pb.NodeAction_SHUTDOWN || !strings.Contains(reply.Diagnostics, "yarn.nodemanager.hostname") {
				t.Errorf("host %.20q: %+v, %v", name, reply, err)
			}
		}
		if len(w.state().Apps)+len(w.state().Nodes) > 0 {
			t.Error("something was taken")
		}
	})
}

// withContext makes a submission's context so many bytes longer.
func withContext(bytes int) func(*pb.ApplicationSubmissionContext) {
	return func(ctx *pb.ApplicationSubmissionContext) { ctx.GetAmContainerSpec().SetTokens(make([]byte, bytes)) }
}

func TestSubmissionTooLargeForTheLogIsRefused(t *testing.T) {
	runWorld(t, func(s *Settings) { s.MaxSubmission = 1 << 20 }, func(w *world) {
		id, _, err := w.NewApplication("alice")
		if err != nil {
			t.Fatal(err)
		}
		err = w.Submit("alice", submission(id, withContext(1<<20)))
		if !refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), "heddle.submission.max-bytes") {
			t.Errorf("%v", err)
		}
		if err := w.Submit("alice", submission(id, withContext(1<<19))); err != nil {
			t.Error(err)
		}
	})
}

// small fails the test if a batch is larger than batches are to be.
func (w *world) small() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, b := range w.batches {
		if n := proto.Size(b); n > pipeline.MaxSize {
			w.t.Errorf("batch %d of %d, with %d commands, has %d bytes", i, len(w.batches), len(b.GetCommands()), n)
		}
	}
}

// The leader remembers who asked for the last hundred thousand ids. So nobody with a long name gets one.
func TestNobodyWithALongNameGetsAnID(t *testing.T) {
	run(t, func(w *world) {
		for n, refused := range map[int]bool{limit.MaxName: false, limit.MaxName + 1: true} {
			if _, _, err := w.NewApplication(strings.Repeat("u", n)); refusal.Is(err, refusal.Refused) != refused {
				t.Errorf("a name of %d bytes: %v", n, err)
			}
		}
		if n := w.state().LastApplication; n != 1 {
			t.Errorf("%d ids were given", n)
		}
	})
}

func TestManySubmissionsAtOnceComeIntoSeveralBatches(t *testing.T) {
	run(t, func(w *world) {
		var all sync.WaitGroup
		for range 150 {
			all.Go(func() {
				id, _, err := w.NewApplication("alice")
				if err == nil {
					err = w.Submit("alice", submission(id, withContext(900_000)))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := len(w.state().Apps); n != 150 {
			t.Errorf("%d applications", n)
		}
		w.small()
		w.same()
	})
}

func TestEndsOfManyContainersInOneHeartbeatComeIntoSeveralBatches(t *testing.T) {
	run(t, func(w *world) {
		const many = 5000
		n := &peer{w: w, node: w.nodeOf(1, records.NewResource(4096*many, 2*many))}
		am := w.am(nil)
		grants := am.allocate(AllocateCall{Asks: ask(many)}).Grants
		if len(grants) != many {
			t.Fatalf("%d containers", len(grants))
		}
		var ends []NodeContainer
		for i := range grants {
			ends = append(ends, NodeContainer{
				ID: grants[i].ID, State: pb.ContainerState_C_COMPLETE, Diagnostics: fmt.Sprint(i, strings.Repeat("ü", 1000)),
			})
		}
		n.heartbeat(ends...)
		done := am.allocate(AllocateCall{}).Completed
		if len(done) != many {
			t.Errorf("%d ends", len(done))
		}
		am.allocate(AllocateCall{}) // after which the session knows them
		w.small()
		w.same()
	})
}

// A leader that is deposed answers those, too, whose commands wait behind full batches.
func TestNobodyWaitsForBatchesOfADeposedLeader(t *testing.T) {
	run(t, func(w *world) {
		w.mu.Lock()
		w.lost = true
		w.mu.Unlock()
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				id := records.ApplicationID{ClusterTimestamp: 1, ID: int32(i + 1)}
				if err := w.Submit("alice", submission(id, withContext(900_000))); err == nil {
					t.Error("a submission was acknowledged")
				}
			})
		}
		all.Wait()
	})
}

// lasting is a leadership that many inputs of a fuzz target share: to begin one takes longer than all that an input does. It runs in real time.
type lasting struct {
	tb    testing.TB
	begin func(w *world) // prepares a new one
	w     *world
	left  int // inputs that it takes
}

// fuzzedLength is the length of the texts that are fuzzed. The fuzzer tries thousands of variations of an input that it shrinks, and would take
// minutes for each long one: tests have these.
const fuzzedLength = 1 << 10

// fuzzed reports whether texts are short enough.
func fuzzed(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return len(s) > fuzzedLength })
}

// next returns the leadership for the next input. After some hundred it is another one, so that what inputs leave behind stays small.
func (l *lasting) next(t *testing.T) *world {
	if l.left == 0 {
		l.end()
		l.w, l.left = newWorld(t), 200
		l.w.lead()
		l.begin(l.w)
	}
	l.left--
	l.w.t = t
	return l.w
}

// end deposes the leader, and checks what it has left in the ledger.
func (l *lasting) end() {
	if l.w == nil {
		return
	}
	l.w.depose()
	if err := l.w.state().Check(); err != nil {
		l.tb.Error(err)
	}
}

// holds checks that what was committed can be read, is small, and is what the leader believes.
func (l *lasting) holds(t *testing.T) {
	t.Helper()
	if _, _, err := l.w.NewApplication("alice"); err != nil { // comes behind everything
		t.Fatalf("it doesn't go on: %v", err)
	}
	l.w.small()
	l.w.mu.Lock()
	l.w.batches = nil
	l.w.mu.Unlock()
	l.w.compare()
}

// reports are of nodes that tell of containers that have ended, and that register.
type reports struct {
	lasting
	n *peer
}

func newReports(tb testing.TB) *reports {
	r := &reports{lasting: lasting{tb: tb}}
	r.begin = func(w *world) { r.n = &peer{w: w, node: w.nodeOf(1, records.NewResource(1<<20, 1000))} }
	tb.Cleanup(r.end)
	return r
}

// try has one node tell of ends, and another one register.
func (r *reports) try(t *testing.T, host, version, feature, diagnostics, health string, exit int32, many int) {
	w := r.next(t)
	other := records.NodeID{Host: host, Port: exit}
	if other == r.n.node {
		return // it would take the place of the first one
	}
	am := &peer{w: w, attempt: records.AttemptID{App: w.submit(func(ctx *pb.ApplicationSubmissionContext) {
		ctx.SetApplicationName(host)
		ctx.SetUnmanagedAm(true)
	}), Attempt: 1}}
	must[Registration](t)(w.Register(am.attempt, "host", 4711, ""))
	grants := am.allocate(AllocateCall{Asks: ask(int32(many & 0x3f)), TrackingURL: health, BlacklistAdd: []string{feature}}).Grants
	var ends []NodeContainer
	for i := range grants {
		ends = append(ends, NodeContainer{
			ID: grants[i].ID, State: pb.ContainerState_C_COMPLETE, ExitStatus: exit, Diagnostics: diagnostics,
		})
	}
	r.n.tell(NodeStatus{Healthy: exit == 0, HealthReport: health}, ends...)
	must[NodeReply](t)(w.RegisterNode(NodeRegistration{
		Node: other, Capability: records.NewResource(1024, 1), Version: version, NodeCaller: NodeCaller{Address: host},
		Features: []string{feature, version}, Missing: []string{diagnostics}, Instance: feature,
	}))
	_ = w.UnregisterNode(other, NodeCaller{Address: host})
	_ = w.Kill(am.attempt.App, diagnostics)
	r.n.tell(NodeStatus{Healthy: true}) // for the next input
	r.holds(t)
}

func FuzzNodeReports(f *testing.F) {
	f.Add("n1", "3.4.2", "/rack", "said so", "well", int32(0), 3)
	f.Add(latin1, latin1, latin1, latin1, latin1, int32(-1), 40)
	r := newReports(f)
	f.Fuzz(func(t *testing.T, host, version, feature, diagnostics, health string, exit int32, many int) {
		if fuzzed(host, version, feature, diagnostics, health) {
			r.try(t, host, version, feature, diagnostics, health, exit, many)
		}
	})
}

func TestLongReportsOfNodes(t *testing.T) {
	newReports(t).try(t, strings.Repeat("ü", 2000), "", "", strings.Repeat("\xff", 70_000), strings.Repeat("日", 40_000), 1, 40)
}

// trySubmission has a user submit an application, which registers and ends.
func (l *lasting) trySubmission(t *testing.T, user, queue, name, url, diagnostics string, number int32) {
	w := l.next(t)
	id, _, err := w.NewApplication("alice")
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Submit(user, submission(id, func(ctx *pb.ApplicationSubmissionContext) {
		ctx.SetQueue(queue)
		ctx.SetApplicationName(name)
		ctx.SetApplicationTags([]string{url})
		ctx.SetUnmanagedAm(number&1 == 0)
		ctx.SetMaxAppAttempts(number)
	}))
	attempt := records.AttemptID{App: id, Attempt: 1}
	_, _ = w.Register(attempt, url, number, url)
	_ = w.Finish(attempt, pb.FinalApplicationStatus(number), diagnostics, url)
	_ = w.Kill(id, diagnostics)
	_, _ = w.Move(id, queue)
	_ = w.Delegations().Issue(delegation.Names{Owner: user, Renewer: name}, func(delegation.Draft) ([]byte, []byte) { return []byte(user), []byte(name) })
	_ = w.Hosts().RefreshNodes(&hosts.Lists{}, true, 0)
	l.holds(t)
}

func FuzzSubmit(f *testing.F) {
	f.Add("alice", "default", "sleep", "http://host:1/", "done", int32(0))
	f.Add(latin1, latin1, latin1, latin1, latin1, int32(5))
	l := &lasting{tb: f, begin: func(*world) {}}
	f.Cleanup(l.end)
	f.Fuzz(func(t *testing.T, user, queue, name, url, diagnostics string, number int32) {
		if fuzzed(user, queue, name, url, diagnostics) {
			l.trySubmission(t, user, queue, name, url, diagnostics, number)
		}
	})
}

func TestLongSubmissions(t *testing.T) {
	l := &lasting{tb: t, begin: func(*world) {}}
	t.Cleanup(l.end)
	l.trySubmission(t, "alice", strings.Repeat("a.", 600), "x", strings.Repeat("ü", 10_000), strings.Repeat("\xff", 90_000), -1)
}
