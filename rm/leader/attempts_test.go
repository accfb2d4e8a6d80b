package leader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func TestFailedAttemptsAreRepeatedUpToTheLimit(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		id := am.attempt.App
		am.allocate(AllocateCall{Asks: ask(1)})
		n.heartbeat(ended(w.app(id).Current().AMContainer, 17))
		if a := w.app(id); a.State != ledger.AppAccepted || len(a.Attempts) != 2 || a.Attempts[0].State != ledger.AttemptFailed {
			t.Fatalf("after the first failure: %v, %d attempts", a.State, len(a.Attempts))
		}
		if _, err := w.Allocate(am.attempt, AllocateCall{ResponseID: am.response}); !refusal.Is(err, refusal.NoSuchAttempt) {
			t.Errorf("the failed attempt still speaks: %v", err)
		}
		second := <-w.launched
		n.heartbeat(ended(second.Container.ID, 18))
		a := w.app(id)
		want := fmt.Sprintf("Application %v failed 2 times (global limit =3; local limit is =2) due to AM Container for %v exited "+
			"with  exitCode: 18\nFailing this attempt.Diagnostics: said so", id, second.Container.ID.Attempt)
		if a.State != ledger.AppFailed || !strings.HasPrefix(a.Diagnostics, want) || !strings.HasSuffix(a.Diagnostics, "Failing the application.") {
			t.Errorf("%v: %q", a.State, a.Diagnostics)
		}
		w.same()
	})
}

func TestWhatIsNotTheApplicationsFaultDoesNotCount(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(nil)
		for range 5 {
			n.heartbeat(ended(w.app(am.attempt.App).Current().AMContainer, records.ExitPreempted))
			<-w.launched
		}
		if a := w.app(am.attempt.App); a.State != ledger.AppAccepted || len(a.Attempts) != 6 {
			t.Errorf("%v after %d attempts", a.State, len(a.Attempts))
		}
	})
}

func TestKeptContainersGoOverToTheNextAttempt(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		am := w.am(func(c *pb.ApplicationSubmissionContext) { c.SetKeepContainersAcrossApplicationAttempts(true) })
		task := am.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
		n.heartbeat(runs(task), ended(w.app(am.attempt.App).Current().AMContainer, 1))
		l := <-w.launched
		r := must[Registration](t)(w.Register(l.Container.ID.Attempt, "h", 1, ""))
		if len(r.Previous) != 1 || r.Previous[0].ID != task || len(r.NewNodes) != 1 {
			t.Fatalf("the second attempt isn't told of its container: %+v", r)
		}
		second := &peer{w: w, attempt: l.Container.ID.Attempt}
		n.heartbeat(ended(task, 0))
		if done := second.allocate(AllocateCall{}); len(done.Completed) != 1 || done.Completed[0].ID != task {
			t.Errorf("nor of its end: %+v", done)
		}
		w.same()
	})
}

func TestFailedLaunches(t *testing.T) {
	run(t, func(w *world) {
		w.nodesAnswer(refusal.New(refusal.Refused, "Unauthorized request to start container."))
		w.node(1)
		id := w.submit(nil)
		time.Sleep(time.Second)
		a := w.app(id)
		if a.State != ledger.AppFailed || !strings.Contains(a.Diagnostics, "Got exception: Unauthorized request to start container.") {
			t.Errorf("%v: %s", a.State, a.Diagnostics)
		}
		w.nodesAnswer(errors.New("connection refused"))
		id = w.submit(nil)
		time.Sleep(70 * time.Second)
		w.nodesAnswer(nil)
		l := <-w.launched
		if a := w.app(id); l.Container.ID.Attempt.Attempt != 3 || a.State != ledger.AppAccepted {
			t.Errorf("a node that could not be reached cost the application its attempts: %v, %v", l.Container.ID, a.State)
		}
	})
}

func TestLaunchIsRepeatedByTheNextLeader(t *testing.T) {
	run(t, func(w *world) {
		w.nodesAnswer(errors.New("connection refused"))
		w.node(1)
		id := w.submit(nil)
		w.depose()
		w.nodesAnswer(nil)
		w.lead()
		l := <-w.launched
		if l.Container.ID != w.app(id).Current().AMContainer {
			t.Errorf("launched %v", l.Container.ID)
		}
	})
}

func TestUnmanagedApplicationMasters(t *testing.T) {
	run(t, func(w *world) {
		w.node(1)
		id := w.submit(func(c *pb.ApplicationSubmissionContext) {
			c.SetUnmanagedAm(true)
			c.ClearResource()
		})
		attempt := records.AttemptID{App: id, Attempt: 1}
		if a := w.app(id); a.Current().State != ledger.AttemptLaunched || a.Live != 0 {
			t.Fatalf("%v with %d containers", a.Current().State, a.Live)
		}
		must[Registration](t)(w.Register(attempt, "", -1, ""))
		am := &peer{w: w, attempt: attempt}
		if r := am.allocate(AllocateCall{Asks: ask(1)}); len(r.Grants) != 1 || r.Grants[0].AM {
			t.Errorf("granted: %+v", r.Grants)
		}
		if err := w.Finish(attempt, pb.FinalApplicationStatus_APP_SUCCEEDED, "", ""); err != nil {
			t.Fatal(err)
		}
		if a := w.app(id); a.State != ledger.AppFinished || a.Live != 0 {
			t.Errorf("%v with %d containers", a.State, a.Live)
		}
	})
}

// deaf has one node refuse the leader's calls, though it sends heartbeats.
type deaf struct {
	nodes
	host string
}

func (d deaf) Launch(ctx context.Context, l Launch) error {
	if l.Container.Node.Host == d.host {
		return errors.New("connection refused")
	}
	return d.nodes.Launch(ctx, l)
}

// A node that sends heartbeats and refuses calls gets an application's ApplicationMaster once, and its other containers all the same.
func TestMasterGoesToAnotherNodeThanTheOneThatRefusesCalls(t *testing.T) {
	run(t, func(w *world) {
		bad := &peer{w: w, node: w.node(1)}
		good := &peer{w: w, node: w.nodeOf(2, records.NewResource(1024, 1))}
		w.Launcher = deaf{nodes{w}, bad.node.Host}
		id := w.submit(nil)
		for len(w.launched) == 0 {
			time.Sleep(time.Second)
			bad.heartbeat()
			good.heartbeat()
			if n := len(w.app(id).Attempts); n > 2 {
				t.Fatalf("attempt %d", n)
			}
		}
		am := w.registered(<-w.launched)
		if at := w.app(id).Current().AMContainer; w.app(id).Containers.Get(at).Node != good.node {
			t.Error("the ApplicationMaster runs on the node that refuses calls")
		}
		if r := am.allocate(AllocateCall{Asks: ask(2)}); len(r.Grants) != 2 || r.Grants[0].Node != bad.node {
			t.Errorf("other containers are kept from that node: %+v", r.Grants)
		}
	})
}

// Where there is no other node, launches that nobody answers count after a while: the application doesn't go on for ever.
func TestLaunchesThatNobodyAnswersCountInTheEnd(t *testing.T) {
	run(t, func(w *world) {
		n := &peer{w: w, node: w.node(1)}
		w.Launcher = deaf{nodes{w}, n.node.Host}
		id := w.submit(nil)
		for i := 0; !w.app(id).State.Ended(); i++ {
			time.Sleep(time.Second)
			n.heartbeat()
			if i > 1000 {
				t.Fatalf("%d attempts, and no end", len(w.app(id).Attempts))
			}
		}
		if a := w.app(id); a.State != ledger.AppFailed || !strings.Contains(a.Diagnostics, "connection refused") {
			t.Errorf("%v after %d attempts: %s", a.State, len(a.Attempts), a.Diagnostics)
		}
	})
}
