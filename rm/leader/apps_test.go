package leader

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/leader/level"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

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
			t.Errorf("after unregistering: %v, progress %v", a.State, w.Progress(am.attempt))
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
			t.Errorf("unregistered again: %v", err)
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
		if !refusal.Is(err, refusal.InvalidAMRequest) || !strings.Contains(err.Error(), "expect responseId to be 1, but get 7") {
			t.Errorf("wrong response id: %v", err)
		}
		if _, err := w.Register(am.attempt, "", 0, ""); !refusal.Is(err, refusal.InvalidAMRequest) {
			t.Errorf("registered twice: %v", err)
		}

		one := n.heartbeat(runs(first.Grants[0].ID))
		same := must[NodeReply](t)(w.HeartbeatNode(NodeCall{NodeCaller: atHome, Node: n.node, ResponseID: 0, Status: NodeStatus{Healthy: true}}))
		if diff := cmp.Diff(one, same); diff != "" {
			t.Error(diff)
		}
		far := must[NodeReply](t)(w.HeartbeatNode(NodeCall{NodeCaller: atHome, Node: n.node, ResponseID: 9}))
		if far.Action != pb.NodeAction_RESYNC || far.Diagnostics != "Too far behind rm response id:1 nm response id:9" {
			t.Errorf("a node that is far off: %+v", far)
		}
		unknown := must[NodeReply](t)(w.HeartbeatNode(NodeCall{NodeCaller: atHome, Node: nodeID(8)}))
		if unknown.Action != pb.NodeAction_RESYNC || unknown.Diagnostics != "Node not found resyncing n8:45454" {
			t.Errorf("an unknown node: %+v", unknown)
		}
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
		if err := w.Kill(records.ApplicationID{ClusterTimestamp: 1, ID: 1}, ""); !refusal.Is(err, refusal.NoSuchApplication) {
			t.Errorf("killing what isn't there: %v", err)
		}
		w.same()
	})
}

func TestSubmissionsThatAreRefused(t *testing.T) {
	run(t, func(w *world) {
		id, _, err := w.NewApplication("alice")
		if err != nil {
			t.Fatal(err)
		}
		large := submission(id, func(c *pb.ApplicationSubmissionContext) {
			c.SetResource(records.ResourceTypes{}.PB(records.NewResource(10000, 1)))
		})
		err = w.Submit("alice", large)
		if !refusal.Is(err, refusal.InvalidResource) || !strings.Contains(err.Error(), "Requested resource type=[memory-mb], Requested resource=<memory:10000, vCores:1>, maximum allowed allocation=<memory:8192, vCores:4>") {
			t.Errorf("too large: %v", err)
		}
		w.node(1)
		err = w.Submit("alice", submission(id, func(c *pb.ApplicationSubmissionContext) {
			c.SetResource(records.ResourceTypes{}.PB(records.NewResource(5000, 1)))
		}))
		if !refusal.Is(err, refusal.InvalidResource) || !strings.Contains(err.Error(), "maximum allowed allocation=<memory:4096, vCores:4>") {
			t.Errorf("larger than any node: %v", err)
		}
		err = w.Submit("alice", submission(id, func(c *pb.ApplicationSubmissionContext) { c.SetNodeLabelExpression("gpu") }))
		if !refusal.Is(err, refusal.InvalidLabel) {
			t.Errorf("a label: %v", err)
		}
		if err := w.Submit("alice", &pb.ApplicationSubmissionContext{}); !refusal.Is(err, refusal.NoApplicationID) {
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
		if err := w.Submit("alice", submission(again, nil)); err != nil {
			t.Errorf("submitted again: %v", err)
		}
	})
}

func TestAsksThatAreRefused(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		am := w.am(nil)
		for name, c := range map[string]struct {
			change func(*AllocateCall)
			reason refusal.Reason
		}{
			"too large": {func(c *AllocateCall) {
				c.Asks[0].SetCapability(records.ResourceTypes{}.PB(records.NewResource(1<<20, 1)))
			}, refusal.InvalidResource},
			"negative": {func(c *AllocateCall) {
				c.Asks[0].SetCapability(records.ResourceTypes{}.PB(records.NewResource(-1, 1)))
			}, refusal.InvalidResource},
			"less than none":  {func(c *AllocateCall) { c.Asks[0].SetNumContainers(-1) }, refusal.InvalidResource},
			"label":           {func(c *AllocateCall) { c.Asks[0].SetNodeLabelExpression("gpu") }, refusal.InvalidLabel},
			"blacklist of *":  {func(c *AllocateCall) { c.BlacklistAdd = []string{"*"} }, refusal.InvalidBlacklist},
			"foreign release": {func(c *AllocateCall) { c.Releases = []records.ContainerID{{}} }, refusal.InvalidRelease},
		} {
			call := AllocateCall{ResponseID: am.response, Asks: ask(1)}
			c.change(&call)
			if _, err := w.Allocate(am.attempt, call); !refusal.Is(err, c.reason) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if r := am.allocate(AllocateCall{}); len(r.Grants) != 0 || r.ResponseID != 1 {
			t.Errorf("a refused call left something behind: %+v", r)
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

func TestSuspendAndResume(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		task := am.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
		if err := w.Suspend(w.t.Context(), task, level.Wish{}); !refusal.Is(err, refusal.Refused) {
			t.Errorf("suspended before its start: %v", err)
		}
		n.heartbeat(sub(task, pb.ContainerSubState_CSS_SCHEDULED))
		for _, change := range []func() error{
			func() error { return w.Suspend(w.t.Context(), task, level.Wish{}) }, func() error { return w.Resume(w.t.Context(), task) },
		} {
			if err := change(); !refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), "has not begun yet") || w.state().Container(task).Suspension().Times > 0 {
				t.Errorf("before it began: %v", err)
			}
		}
		n.heartbeat(sub(task, pb.ContainerSubState_CSS_RUNNING))
		if err := w.Suspend(w.t.Context(), task, level.Wish{}); err != nil || !w.frozen[task] || !w.state().Container(task).Suspended() {
			t.Errorf("suspend: %v", err)
		}
		if err := w.Resume(w.t.Context(), task); err != nil || w.frozen[task] || w.state().Container(task).Suspended() {
			t.Errorf("resume: %v", err)
		}
		if err := w.Suspend(w.t.Context(), records.ContainerID{}, level.Wish{}); !refusal.Is(err, refusal.NoSuchContainer) {
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

// Tags are a set: ten that a client names twice were refused as twenty.
func TestTagsThatAreNamedTwiceCountOnce(t *testing.T) {
	run(t, func(w *world) {
		w.Settings.MaxTags = 10
		submit := func(tags string) error {
			id, _, err := w.NewApplication("alice")
			if err != nil {
				t.Fatal(err)
			}
			return w.Submit("alice", submission(id, func(ctx *pb.ApplicationSubmissionContext) {
				ctx.SetApplicationTags(strings.Split(tags, ""))
			}))
		}
		if err := submit("abcdefghijjihgfedcba"); err != nil {
			t.Error(err)
		}
		if err := submit("abcdefghijk"); !refusal.Is(err, refusal.InvalidTag) || !strings.Contains(err.Error(), "a maximum of only 10 are allowed") {
			t.Errorf("eleven: %v", err)
		}
	})
}
