package leader

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue"
	"heddle/rm/queue/template"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// A leader that is killed between the creation of a queue and the record of the application for which that was made leaves nothing half done: both are one entry of the
// log. And if they weren't, the next leader would go on from any part of it: the client submits again, and its application is in the queue, of which there is one.
func TestALeaderDiesBetweenAQueuesCreationAndTheSubmission(t *testing.T) {
	source := queuesIn{
		"root.queues": "default,dyn", "root.default.capacity": "1w", "root.dyn.capacity": "1w", "root.dyn.auto-queue-creation-v2.enabled": "true", "maximum-am-resource-percent": "1",
	}
	change := func(s *Settings) { s.Queues, s.QueueSource = must[*queue.Tree](t)(source.Build(source)), source }
	runWorld(t, change, func(w *world) {
		w.newest()
		w.node(1)
		inQueue := func(ctx *pb.ApplicationSubmissionContext) { ctx.SetQueue("root.dyn.team.leaf") }
		before := w.state()
		w.mu.Lock()
		first := len(w.batches)
		w.mu.Unlock()
		id := w.submit(inQueue)
		w.mu.Lock()
		batches := slices.Clone(w.batches[first:])
		w.mu.Unlock()
		var entry *ledgerpb.Batch
		for _, b := range batches {
			creates := slices.ContainsFunc(b.GetCommands(), func(c *ledgerpb.Command) bool { return c.GetQueuesChanged() != nil })
			submits := slices.ContainsFunc(b.GetCommands(), func(c *ledgerpb.Command) bool { return c.GetApplicationSubmitted() != nil })
			if creates != submits {
				t.Errorf("an entry of the log creates queues: %v, and submits: %v", creates, submits)
			}
			if creates {
				entry = b
			}
		}
		if entry == nil {
			t.Fatal("no queue is created")
		}
		for n := range len(entry.GetCommands()) + 1 {
			part := proto.CloneOf(entry)
			part.Commands = part.GetCommands()[:n]
			state := before.Clone()
			if err := state.Apply(part); err != nil {
				t.Fatal(err)
			}
			next := newWorld(t)
			next.change, next.committed = change, state
			next.lead()
			next.afterCreation(id, inQueue, n)
			next.depose()
		}
	})
}

// queuesIn are queues whose files never change.
type queuesIn map[string]string

func (q queuesIn) Mutable() bool                                               { return false }
func (q queuesIn) Read() (settings map[string]string, at time.Time, err error) { return q, at, nil }
func (q queuesIn) Build(settings map[string]string) (*queue.Tree, error) {
	return queue.ParseCapacity(settings)
}

// afterCreation submits again what an earlier leader has or hasn't recorded.
func (w *world) afterCreation(id records.ApplicationID, inQueue func(*pb.ApplicationSubmissionContext), n int) {
	w.t.Helper()
	w.node(1)
	if err := w.Submit("alice", submission(id, inQueue)); err != nil {
		w.t.Errorf("after %d commands: %v", n, err)
		return
	}
	w.same()
	s := w.state()
	if err := s.Check(); err != nil {
		w.t.Errorf("after %d commands: %v", n, err)
	}
	var paths []string
	for _, q := range s.Created.List {
		paths = append(paths, q.Path)
	}
	app := s.Apps[id]
	if app == nil || app.Queue != "root.dyn.team.leaf" || app.State.Ended() || !slices.Equal(paths, []string{"root.dyn.team", "root.dyn.team.leaf"}) {
		w.t.Errorf("after %d commands: %+v in %q", n, app, paths)
	}
	if q, ok := w.tree.Find("root.dyn.team.leaf"); !ok || q.Made != template.Flexible {
		w.t.Errorf("after %d commands the queue isn't there", n)
	}
}
