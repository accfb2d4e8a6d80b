package leader

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/level"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue/suspension"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// suspending are halves that take resources from containers by suspending them.
func suspending(t *testing.T, means suspension.Means) func(*Settings) {
	tree := halves(t)
	tree.Settings.Suspension.Means = means
	for _, q := range tree.Queues() {
		q.Means = means
	}
	return func(s *Settings) { s.Queues = tree }
}

// raise has the ledger know levels.
func (w *world) raise() {
	w.t.Helper()
	if err := w.Do(func() error {
		w.Enter(&ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: ledger.Version}})
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
}

// ableNode registers a node that can do everything, with what it runs.
func (w *world) ableNode(size records.Resource, features []string, containers ...NodeContainer) *peer {
	w.t.Helper()
	reply, err := w.RegisterNode(NodeRegistration{
		Node: nodeID(1), HTTPPort: 8042, Capability: size, Version: "3.4.2", NodeCaller: atHome, Names: []string{atHome.Address, nodeID(1).Host},
		Containers: containers, Features: features,
	})
	if err != nil || reply.Diagnostics != "" {
		w.t.Fatalf("%+v, %v", reply, err)
	}
	return &peer{w: w, node: nodeID(1)}
}

// roomy is what two ApplicationMasters and three containers take, and what a suspended one is left.
var roomy = records.NewResource(4096+64, 8)

var everything = []string{level.FeatureSuspend, level.FeatureLevels, level.FeatureReclaim}

// full has an application of root.a fill a node, and one of root.b ask for a container that gets room by a suspension.
func (w *world) full(features []string) (rich, starved, n *peer, victim *ledger.Container) {
	w.t.Helper()
	w.raise()
	n = w.ableNode(roomy, features)
	rich = w.am(to("root.a"))
	var held []records.ContainerID
	for _, g := range rich.allocate(AllocateCall{Asks: ask(3)}).Grants {
		held = append(held, g.ID)
	}
	if len(held) != 3 {
		w.t.Fatalf("%d containers", len(held))
	}
	n.heartbeat(runs(held[0]), runs(held[1]), runs(held[2]))
	starved = w.am(to("root.b"))
	return rich, starved, n, w.state().Container(held[2])
}

// A request that finds no room gets that of a suspended container with the same heartbeat. The suspension is on record before the node is
// told, and the container resumes when room has waited for it for a while.
func TestPreemptionSuspends(t *testing.T) {
	runWorld(t, suspending(t, suspension.Immediate), func(w *world) {
		_, starved, n, victim := w.full(everything)
		told := 0
		w.Launcher = answering{nodes{w}, func(id records.ContainerID) error {
			if c := w.state().Container(id); c.Level != ledgerpb.Level_RECLAIMED && c.Level != ledgerpb.Level_RUNNING {
				t.Errorf("the node is told of what isn't on record: %v", c.Level)
			}
			if told++; told == 1 {
				return errors.New("connection reset")
			}
			return nil
		}}
		r := starved.allocate(AllocateCall{Asks: ask(1)})
		if len(r.Grants) != 1 {
			t.Fatalf("granted: %+v", r.Grants)
		}
		w.same()
		c := w.state().Container(victim.ID)
		if c.Level != ledgerpb.Level_RECLAIMED || c.Held() != records.NewResource(64, 0) || w.state().Apps[c.ID.Attempt.App].Used.MemoryMB() < 4*1024-512 {
			t.Fatalf("%v with %v", c.Level, c.Held())
		}
		time.Sleep(10 * time.Second)
		if o := w.ordersSent(); len(o) != 1 || o[0].Container != c.ID || o[0].Level != c.Level || o[0].Held != c.Held() || o[0].Version != 1 || o[0].For != "root.b" {
			t.Errorf("the node is told %+v", o)
		}
		n.heartbeat(ended(r.Grants[0].ID, 0))
		time.Sleep(6 * time.Second)
		if c := w.state().Container(victim.ID); c.Level != ledgerpb.Level_RUNNING || c.Held() != c.Resource || w.isFrozen(c.ID) || c.LevelVersion != 3 {
			t.Errorf("%v with %v, version %d", c.Level, c.Held(), c.LevelVersion)
		}
		w.same()
	})
}

// An ApplicationMaster hears which of its containers stand still, and that they go on once the node says so. One that registers anew, at
// another leader or as another attempt, hears of all that do.
func TestMastersHearOfSuspensions(t *testing.T) {
	runWorld(t, suspending(t, suspension.Immediate), func(w *world) {
		rich, starved, _, victim := w.full(everything)
		told := func(p *peer, want ...records.ContainerID) {
			t.Helper()
			r := p.allocate(AllocateCall{})
			if r.Suspended == nil || !slices.Equal(r.Suspended.IDs, want) {
				t.Errorf("suspended are %v, want %v", r.Suspended, want)
			}
			if r = p.allocate(AllocateCall{}); r.Suspended != nil {
				t.Errorf("told again: %v", r.Suspended)
			}
		}
		if r := rich.allocate(AllocateCall{}); r.Suspended != nil {
			t.Errorf("told of %v", r.Suspended)
		}
		answer, asked := make(chan error), make(chan struct{})
		w.Launcher = answering{nodes{w}, func(records.ContainerID) error {
			asked <- struct{}{}
			return <-answer
		}}
		waited := make(chan AllocateReply)
		go func() { waited <- rich.allocate(AllocateCall{Wait: time.Minute}) }()
		synctest.Wait()
		grant := starved.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
		if r := <-waited; r.Suspended == nil || !slices.Equal(r.Suspended.IDs, []records.ContainerID{victim.ID}) {
			t.Errorf("a call that waits returns with %v", r.Suspended)
		}
		<-asked
		answer <- nil
		w.depose()
		w.lead()
		w.Launcher = answering{nodes{w}, func(records.ContainerID) error {
			asked <- struct{}{}
			return <-answer
		}}
		var all []NodeContainer
		state := w.state()
		for c := range state.On(state.Nodes[victim.Node]) {
			all = append(all, runs(c.ID))
		}
		n := w.ableNode(roomy, everything, all...)
		n.heartbeat(all...)
		if _, err := w.Register(rich.attempt, "h", 1, ""); err != nil {
			t.Fatal(err)
		}
		rich.response = 0
		told(rich, victim.ID)
		n.heartbeat(append(all[:len(all):len(all)], ended(grant, 0))...)
		select {
		case <-asked: // to resume
		case <-time.After(time.Minute):
			t.Fatal("it isn't resumed")
		}
		if r := rich.allocate(AllocateCall{}); r.Suspended != nil {
			t.Errorf("told of %v before the node has answered", r.Suspended)
		}
		answer <- nil
		synctest.Wait()
		told(rich)
	})
}

// A new leader knows who is suspended, has the node do so, and lets the container resume. Nobody can resume it before there is room.
func TestSuspensionOutlivesALeader(t *testing.T) {
	runWorld(t, suspending(t, suspension.Immediate), func(w *world) {
		_, starved, _, victim := w.full(everything)
		grant := starved.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
		w.depose()
		w.lead()
		unreported := func() bool {
			_, is := w.Levels().UnderWayOf(victim.ID)
			return is
		}
		if !unreported() {
			t.Error("it counts as suspended before its node has registered")
		}
		var all []NodeContainer
		state := w.state()
		for c := range state.On(state.Nodes[victim.Node]) {
			all = append(all, runs(c.ID))
		}
		n := w.ableNode(roomy, everything, all...)
		if !unreported() {
			t.Error("it counts as suspended before its node has told of it")
		}
		n.heartbeat(sub(victim.ID, pb.ContainerSubState_CSS_RUNNING))
		time.Sleep(2 * time.Second)
		if o := w.ordersSent(); unreported() || len(o) == 0 || o[len(o)-1].Container != victim.ID {
			t.Errorf("its node has been told %v and has answered, and it doesn't count as suspended", o)
		}
		n.heartbeat(all...)
		time.Sleep(10 * time.Second)
		if c := w.state().Container(victim.ID); c.Level != ledgerpb.Level_RECLAIMED {
			t.Errorf("%v", c.Level)
		}
		err := w.Resume(context.Background(), victim.ID)
		if !refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), "no room") {
			t.Errorf("resumed without room: %v", err)
		}
		if err := w.Suspend(context.Background(), victim.ID, level.Wish{}); !refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), "resume it first") {
			t.Errorf("suspended twice: %v", err)
		}
		n.heartbeat(append(all[:len(all):len(all)], ended(grant, 0))...)
		time.Sleep(6 * time.Second)
		if c := w.state().Container(victim.ID); c.Level != ledgerpb.Level_RUNNING || c.Held() != c.Resource {
			t.Errorf("%v with %v", c.Level, c.Held())
		}
		w.same()
	})
}

// What a node can't do is taken back: the container runs on with its claim on record, and isn't chosen again.
func TestSuspensionThatANodeRefuses(t *testing.T) {
	runWorld(t, suspending(t, suspension.Immediate), func(w *world) {
		_, starved, _, victim := w.full(everything)
		asked := map[records.ContainerID]int{}
		w.Launcher = answering{nodes{w}, func(id records.ContainerID) error {
			asked[id]++
			return refusal.New(refusal.Refused, "the swap file's disk is full")
		}}
		starved.allocate(AllocateCall{Asks: ask(1)})
		time.Sleep(10 * time.Second)
		if c := w.state().Container(victim.ID); c.Level != ledgerpb.Level_RUNNING || c.Held() != c.Resource {
			t.Errorf("%v with %v", c.Level, c.Held())
		}
		for id, n := range asked {
			if n != 1 {
				t.Errorf("%v was to be suspended %d times", id, n)
			}
		}
		w.same()
	})
}

// A node that can't suspend keeps its containers. One that can only freeze frees cores alone.
func TestNodesThatCannotSuspend(t *testing.T) {
	for _, features := range [][]string{nil, {level.FeatureSuspend}} {
		runWorld(t, suspending(t, suspension.Graceful), func(w *world) {
			_, starved, _, _ := w.full(append(features, "cpu-limit"))
			if r := starved.allocate(AllocateCall{Asks: ask(1)}); len(r.Grants) != 0 {
				t.Errorf("with %v: %+v", features, r.Grants)
			}
			time.Sleep(40 * time.Second)
			for _, app := range w.state().Apps {
				if app.PreemptedContainers != 0 {
					t.Errorf("with %v: %d containers are killed", features, app.PreemptedContainers)
				}
			}
			w.same()
		})
	}
}

// A new leader knows for whom and since when a container is suspended, and counts its suspensions on: one that was suspended as often as may
// be isn't chosen again.
func TestBoundsOutliveALeader(t *testing.T) {
	queues := func(s *Settings) {
		suspending(t, suspension.Immediate)(s)
		s.Queues.Settings.Suspension.Most = 1
	}
	runWorld(t, queues, func(w *world) {
		_, starved, _, victim := w.full(everything)
		grant := starved.allocate(AllocateCall{Asks: ask(1)}).Grants[0].ID
		began := w.state().Container(victim.ID).Suspension()
		if began.Queue != "root.b" || began.App != grant.Attempt.App || began.Since == 0 || began.Times != 1 {
			t.Errorf("%+v", began)
		}
		time.Sleep(10 * time.Second)
		w.depose()
		w.lead()
		if x := w.state().Container(victim.ID).Suspension(); !reflect.DeepEqual(x, began) {
			t.Errorf("%+v, it was %+v", x, began)
		}
		var all []NodeContainer
		state := w.state()
		for c := range state.On(state.Nodes[victim.Node]) {
			all = append(all, runs(c.ID))
		}
		n := w.ableNode(roomy, everything, all...)
		n.heartbeat(append(all[:len(all):len(all)], ended(grant, 0))...)
		time.Sleep(6 * time.Second)
		x := w.state().Container(victim.ID).Suspension()
		if x.Since != 0 || x.Times != 1 || x.Total < 10_000 || len(x.Spans) != 1 || x.Spans[0].Cause.Queue != "root.b" {
			t.Errorf("%+v", x)
		}
		w.depose()
		w.lead()
		w.ableNode(roomy, everything, all...).heartbeat(all...)
		must[Registration](t)(w.Register(starved.attempt, "host", 4711, "http://host:1/"))
		(&peer{w: w, attempt: starved.attempt}).allocate(AllocateCall{Asks: ask(2)})
		time.Sleep(time.Second)
		if c := w.state().Container(victim.ID); c.Level != ledgerpb.Level_RUNNING {
			t.Errorf("it is suspended once more: %+v", c.Suspension())
		}
		w.same()
	})
}

// How much a node has paged out is known as it says it, though nobody acts on that. What it says no more is forgotten.
func TestNodesTellOfLevels(t *testing.T) {
	runWorld(t, suspending(t, suspension.Immediate), func(w *world) {
		_, _, n, victim := w.full(everything)
		say := func(all ...level.Report) {
			reply := must[NodeReply](t)(w.HeartbeatNode(NodeCall{
				NodeCaller: atHome, Node: n.node, ResponseID: n.response, Status: NodeStatus{Healthy: true}, Levels: all,
			}))
			n.response = reply.ResponseID
		}
		for _, swapped := range []int64{5, 9} {
			say(level.Report{Container: victim.ID, Version: 1, Swapped: swapped})
			if r, ok := w.LevelReport(n.node, victim.ID); !ok || r.Swapped != swapped {
				t.Errorf("%+v, %v after %d bytes", r, ok, swapped)
			}
		}
		say()
		if r, ok := w.LevelReport(n.node, victim.ID); ok {
			t.Errorf("%+v is still there", r)
		}
	})
}

// The driver and its record of events hear of no progress that is none.
func TestProgressThatIsNoNumber(t *testing.T) {
	runWorld(t, suspending(t, suspension.Immediate), func(w *world) {
		rich, _, _, _ := w.full(everything)
		for _, x := range []struct{ said, want float32 }{{0.25, 0.25}, {float32(math.NaN()), 0.25}, {float32(math.Inf(1)), 0.25}, {-1, 0.25}, {0.5, 0.5}} {
			rich.allocate(AllocateCall{Progress: x.said})
			var got float32
			if err := w.Do(func() error { got = w.apps[rich.attempt.App].progress; return nil }); err != nil || got != x.want {
				t.Errorf("%v instead of %v after %v, %v", got, x.want, x.said, err)
			}
		}
	})
}

// A container ends in whatever way while its node has been told to suspend it, and hasn't answered. Its room is there as soon as the node says
// that it has ended, and nothing is charged for it any more, whatever the node answers then.
func TestContainersThatEndOnTheirWay(t *testing.T) {
	kill := func(w *world, p *peer, _ records.ContainerID) { _ = w.Kill(p.attempt.App, "enough") }
	release := func(_ *world, p *peer, id records.ContainerID) {
		p.allocate(AllocateCall{Releases: []records.ContainerID{id}})
	}
	for name, ends := range map[string]func(*world, *peer, records.ContainerID){
		"its application is killed": kill, "it is released": release, "it completes": func(*world, *peer, records.ContainerID) {},
	} {
		for _, answer := range []error{nil, errors.New("connection reset"), refusal.New(refusal.NoSuchContainer, "it has ended"), refusal.New(refusal.Refused, "its disk is full")} {
			runWorld(t, suspending(t, suspension.Immediate), func(w *world) {
				rich, starved, n, victim := w.full(everything)
				asked, answers := make(chan struct{}), make(chan error)
				first := true
				w.Launcher = answering{nodes{w}, func(records.ContainerID) error {
					if !first {
						return answer
					}
					first = false
					asked <- struct{}{}
					return <-answers
				}}
				grants := starved.allocate(AllocateCall{Asks: ask(1)}).Grants
				<-asked
				ends(w, rich, victim.ID)
				n.heartbeat(ended(victim.ID, 143))
				grants = append(grants, starved.allocate(AllocateCall{Asks: ask(1)}).Grants...)
				var left []NodeContainer
				state := w.state()
				for c := range state.On(state.Nodes[victim.Node]) {
					if c.ID.Attempt == rich.attempt {
						left = append(left, ended(c.ID, 143))
					}
				}
				n.heartbeat(left...)
				if grants = append(grants, starved.allocate(AllocateCall{}).Grants...); len(grants) != 2 {
					t.Errorf("%s: %d containers in its room, and in that of the others", name, len(grants))
				}
				answers <- answer
				time.Sleep(30 * time.Second)
				if q, _ := w.containers.sched.Queue("root.a"); w.containers.sched.Withheld("root.a") != (records.Resource{}) || q.Used != w.state().Apps[rich.attempt.App].Used {
					t.Errorf("%s: %+v is charged", name, q.Used)
				}
				w.same()
			})
		}
	}
}
