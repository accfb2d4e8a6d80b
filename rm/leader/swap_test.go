package leader

import (
	"strings"
	"testing"
	"time"

	"heddle/rm/leader/level"
	"heddle/rm/leader/swap"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// swapFor has a container of an application give its room to a small request, which the call makes, too.
func (p *peer) swapFor(id records.ContainerID) AllocateReply {
	p.w.t.Helper()
	small := &pb.ResourceRequest{}
	priority := &pb.Priority{}
	priority.SetPriority(7)
	small.SetPriority(priority)
	small.SetResourceName("*")
	small.SetNumContainers(1)
	small.SetRelaxLocality(true)
	small.SetAllocationRequestId(5)
	size := &pb.Resource{}
	size.SetMemory(1024)
	size.SetVirtualCores(1)
	small.SetCapability(size)
	return p.allocate(AllocateCall{Asks: []*pb.ResourceRequest{small}, Swaps: []swap.Wish{{Container: id, Priority: 7, Request: 5}}})
}

// An application has one of its containers stand still, and gets the room with the same answer. It is on record for whom, and the next leader has
// it go on as soon as there is room, before others.
func TestApplicationsSwapTheirContainers(t *testing.T) {
	runWorld(t, suspending(t, suspension.Immediate), func(w *world) {
		rich, starved, n, victim := w.full(everything)
		r := rich.swapFor(victim.ID)
		if len(r.Grants) != 1 || r.Grants[0].Priority != 7 || len(r.Unswapped) > 0 || r.Suspended == nil || r.Suspended.IDs[0] != victim.ID {
			t.Fatalf("%+v", r)
		}
		lent := r.Grants[0].ID
		n.heartbeat(runs(lent))
		c := w.state().Container(victim.ID)
		if by := c.Suspension(); c.Level != ledgerpb.Level_RECLAIMED || by.App != victim.ID.Attempt.App || by.Queue != "root.a" || by.Times != 1 {
			t.Fatalf("%v, %+v", c.Level, by)
		}
		w.depose()
		w.lead()
		var all []NodeContainer
		state := w.state()
		for c := range state.On(state.Nodes[victim.Node]) {
			all = append(all, runs(c.ID))
		}
		n = w.ableNode(roomy, everything, all...)
		n.heartbeat(all...)
		if _, err := w.Register(rich.attempt, "h", 1, ""); err != nil {
			t.Fatal(err)
		}
		rich.response = 0
		again := rich.allocate(AllocateCall{Swaps: []swap.Wish{{Container: victim.ID, Priority: 7, Request: 5}}})
		if len(again.Unswapped) > 0 || again.Suspended == nil {
			t.Errorf("told again: %+v", again)
		}
		if _, err := w.Register(starved.attempt, "h", 1, ""); err != nil {
			t.Fatal(err)
		}
		starved.response = 0
		rich.allocate(AllocateCall{Swaps: []swap.Wish{{Container: victim.ID, Resume: true}}, Releases: []records.ContainerID{lent}})
		time.Sleep(2 * time.Second)
		if c := w.state().Container(victim.ID); c.Level != ledgerpb.Level_RUNNING || c.Held() != c.Resource || w.isFrozen(c.ID) {
			t.Errorf("%v with %v", c.Level, c.Held())
		}
		w.same()
	})
}

// What can't be is refused with the reason: for nodes and queues that don't suspend, applications that must not be, and where it is of no use.
func TestSwapsThatAreRefused(t *testing.T) {
	for _, x := range []struct {
		what     string
		means    suspension.Means
		features []string
		tags     []string
		size     records.Resource
		want     string
	}{
		{"its node", suspension.Immediate, []string{level.FeatureLevels}, nil, roomy, "its node can't suspend containers"},
		{"its queue", suspension.Kill, everything, nil, roomy, "preemption suspends no containers of queue root.a"},
		{"never", suspension.Immediate, everything, []string{"never-suspend"}, roomy, "its application may not be suspended"},
		{"no use", suspension.Immediate, everything, nil, records.NewResource(3*1024+512, 8), "that would not make enough room"},
	} {
		runWorld(t, suspending(t, x.means), func(w *world) {
			w.raise()
			n := w.ableNode(x.size, x.features)
			rich := w.am(func(ctx *pb.ApplicationSubmissionContext) {
				to("root.a")(ctx)
				ctx.SetApplicationTags(x.tags)
			})
			held := rich.allocate(AllocateCall{Asks: ask(3)}).Grants
			for i := range held {
				n.heartbeat(runs(held[i].ID))
			}
			if len(held) != 3 {
				t.Fatalf("%s: %d containers", x.what, len(held))
			}
			r := rich.swapFor(held[2].ID)
			if len(r.Unswapped) != 1 || !strings.Contains(r.Unswapped[0].Reason, x.want) || w.state().Container(held[2].ID).Level != ledgerpb.Level_RUNNING {
				t.Errorf("%s: %+v", x.what, r.Unswapped)
			}
			w.same()
		})
	}
}

// A container that stands still for an application whose ApplicationMaster is gone goes on at once, if it outlives that.
func TestSwapsEndWithTheMaster(t *testing.T) {
	runWorld(t, suspending(t, suspension.Immediate), func(w *world) {
		w.raise()
		n := w.ableNode(roomy, everything)
		rich := w.am(func(ctx *pb.ApplicationSubmissionContext) {
			to("root.a")(ctx)
			ctx.SetKeepContainersAcrossApplicationAttempts(true)
			ctx.SetMaxAppAttempts(2)
		})
		held := rich.allocate(AllocateCall{Asks: ask(3)}).Grants
		for i := range held {
			n.heartbeat(runs(held[i].ID))
		}
		id := held[2].ID
		if r := rich.allocate(AllocateCall{Swaps: []swap.Wish{{Container: id, Request: drive.AnyRequest}}}); r.Suspended == nil {
			t.Fatalf("%+v", r)
		}
		app := w.app(id.Attempt.App)
		n.heartbeat(ended(app.Current().AMContainer, 1))
		time.Sleep(time.Second)
		if c := w.state().Container(id); !c.Live() || c.Level != ledgerpb.Level_RUNNING {
			t.Errorf("live %v, %v", c.Live(), c.Level)
		}
	})
}
