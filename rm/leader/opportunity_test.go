package leader

import (
	"strings"
	"testing"
	"time"

	"heddle/rm/leader/lending"
	"heddle/rm/leader/level"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/policy/partition"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// shortNode is a node that takes probes, and does what it is told.
type shortNode struct {
	*peer
	port       int32
	lent, used records.Resource
	waiting    int
	wait       time.Duration // of the short tasks that it tells of
	containers []NodeContainer
	atWork     bool // it is still about what it was told of its containers, and says nothing of that
}

var shortNodeHas = records.NewResource(8192, 8)

func (w *world) shortNode(i int) *shortNode {
	n := &shortNode{peer: &peer{w: w, node: nodeID(i)}, port: int32(7000 + i)}
	n.register()
	return n
}

// register registers it, as one that knows what it was lent.
func (n *shortNode) register() {
	n.w.t.Helper()
	reply := must[NodeReply](n.w.t)(n.w.RegisterNode(NodeRegistration{
		Node: n.node, HTTPPort: 8042, Capability: shortNodeHas, Version: "3.4.2", NodeCaller: atHome, Names: []string{atHome.Address},
		Features: everything, ProbePort: n.port, Containers: n.containers, Lent: n.lent,
	}))
	n.lent, n.response = reply.FirstLent, 0
}

// beat is a heartbeat each second, for a while, of this node and others.
func (n *shortNode) beat(seconds int, others ...*shortNode) {
	n.w.t.Helper()
	for range seconds {
		time.Sleep(time.Second)
		for _, x := range append(others, n) {
			x.say()
		}
	}
}

func (n *shortNode) say() {
	n.w.t.Helper()
	call := NodeCall{
		NodeCaller: atHome, Node: n.node, ResponseID: n.response, Containers: n.containers,
		Status: NodeStatus{
			Healthy: true, Waiting: n.waiting,
			ShortTasks: &lending.Report{Lent: n.lent, Used: n.used, News: lending.News{Started: 1, Waited: n.wait}},
		},
	}
	for _, c := range n.containers {
		if on := n.w.state().Container(c.ID); on != nil && on.LevelVersion > 0 && !n.atWork {
			l := map[ledgerpb.Level]pb.ContainerLevel{ledgerpb.Level_RUNNING: pb.ContainerLevel_LEVEL_RUNNING, ledgerpb.Level_RECLAIMED: pb.ContainerLevel_LEVEL_RECLAIMED}[on.Level]
			call.Levels = append(call.Levels, level.Report{Container: c.ID, Version: on.LevelVersion, Wanted: l, Level: l, Held: on.Held()})
		}
	}
	r := must[NodeReply](n.w.t)(n.w.HeartbeatNode(call))
	if n.response = r.ResponseID; r.Lent != nil {
		n.lent = *r.Lent
	}
}

// preempting are settings by which Dice asks both of two nodes at the longest wait.
func preemptingForShortTasks(s *Settings) {
	s.Lending.Least = records.NewResource(1024, 1)
	s.Division.Settings = partition.Eagle(time.Minute, 0)
	s.Division.Dice = partition.Study(0)
	s.Division.Dice.Most, s.Division.Dice.Longest, s.Division.Dice.Multiplier = 50, 10*time.Second, 1000
}

// large asks for a container that takes most of such a node.
func large() []*pb.ResourceRequest {
	r := ask(1)
	r[0].SetCapability(records.ResourceTypes{}.PB(records.NewResource(5120, 4)))
	return r
}

// runLong has a long application run a large container on one of two nodes.
func (w *world) runLong() (n, other *shortNode, am *peer, id records.ContainerID) {
	w.t.Helper()
	w.raise()
	n, other = w.shortNode(1), w.shortNode(2)
	n.beat(1, other)
	am = w.am(func(ctx *pb.ApplicationSubmissionContext) { ctx.SetApplicationTags([]string{"heddle-task-time:2m"}) })
	g := am.allocate(AllocateCall{Asks: large()}).Grants
	if len(g) != 1 {
		w.t.Fatalf("%+v", g)
	}
	id = g[0].ID
	if g[0].Node != n.node {
		n, other = other, n
	}
	n.containers = []NodeContainer{sub(id, pb.ContainerSubState_CSS_RUNNING)}
	if master := w.state().Container(w.app(am.attempt.App).Current().AMContainer); master.Node == n.node {
		n.containers = append(n.containers, sub(master.ID, pb.ContainerSubState_CSS_RUNNING))
	} else {
		other.containers = []NodeContainer{sub(master.ID, pb.ContainerSubState_CSS_RUNNING)}
	}
	n.beat(1)
	return n, other, am, id
}

// While short tasks wait for long, a long container of a node that Dice asks is suspended, and its room is lent to them, and to nobody else. After 100 s the node gives it back, and the
// container resumes in it: twice, and not again. Nobody has the room twice, neither while the node tells of tasks that still run there nor in the ledger.
func TestDiceSuspendsLongContainersForShortTasks(t *testing.T) {
	runWorld(t, preemptingForShortTasks, func(w *world) {
		n, other, am, id := w.runLong()
		least := records.NewResource(1024, 1)
		claim := w.state().Container(id).Resource
		room := claim.Sub(records.NewResource(64, 0))
		nodes := func(seconds int) {
			for range seconds {
				n.beat(1, other)
				am.allocate(AllocateCall{}) // it lives
			}
		}
		long := false // the node, as ApplicationMasters hear
		for _, x := range am.allocate(AllocateCall{Probes: true}).ProbeNodes {
			long = long || x.Long && x.ID == n.node
		}
		if !long {
			t.Error("short tasks don't avoid a node with a long one")
		}
		offered := func() records.Resource { return w.state().Nodes[n.node].Capability }
		n.waiting, n.wait, other.wait = 3, 20*time.Second, 20*time.Second
		nodes(30)
		if c := w.state().Container(id); c.Suspended() || n.lent != least {
			t.Errorf("before the first window has ended: suspended %v, %v is lent", c.Suspended(), n.lent)
		}
		for times := 1; times <= 2; times++ {
			n.atWork = true
			for range 200 {
				if nodes(1); w.state().Container(id).Suspended() {
					break
				}
			}
			c := w.state().Container(id)
			if !c.Suspended() || c.Suspension().User != ledger.ForShortTasks || c.Held() != claim.Sub(room) {
				t.Fatalf("%v with %v, for %q", c.Level, c.Held(), c.Suspension().User)
			}
			if n.lent != least {
				t.Errorf("%v is lent before the node has said that it is there", n.lent)
			}
			for _, x := range am.allocate(AllocateCall{Probes: true}).ProbeNodes {
				long = long && (x.Long || x.ID != n.node)
			}
			if long {
				t.Error("short tasks avoid a node that has suspended a long one for them")
			}
			if got := offered(); got != shortNodeHas.Sub(least).Sub(room) {
				t.Errorf("the node offers %v to containers", got)
			}
			n.atWork = false
			nodes(2) // it says that the room is there
			if n.lent != least.Add(room) {
				t.Errorf("the node is lent %v", n.lent)
			}
			if err := w.Resume(t.Context(), id); err == nil || !strings.Contains(err.Error(), "for short tasks that wait on its node") {
				t.Errorf("somebody has it resume in the room that is lent: %v", err)
			}
			n.used = n.lent
			nodes(95)
			if c := w.state().Container(id); !c.Suspended() {
				t.Error("it resumes before its time is up")
			}
			nodes(10)
			if c := w.state().Container(id); !c.Suspended() || n.lent != least || offered() != shortNodeHas.Sub(least).Sub(room) {
				t.Errorf("while short tasks run in its room: suspended %v, %v lent, %v offered", c.Suspended(), n.lent, offered())
			}
			n.used = least
			nodes(3)
			if c := w.state().Container(id); c.Level != ledgerpb.Level_RUNNING || c.Held() != claim || offered() != shortNodeHas.Sub(least) || w.isFrozen(id) {
				t.Errorf("when they have ended: %v with %v, %v offered", c.Level, c.Held(), offered())
			}
		}
		nodes(300)
		if c := w.state().Container(id); c.Suspended() || c.Suspension().Times != 2 {
			t.Errorf("suspended %d times", c.Suspension().Times)
		}
		w.same()
	})
}

// Nothing is suspended where no short task waits, of applications with short tasks or such as can't stand still, or by rules without Dice.
func TestWhatDiceDoesNotSuspend(t *testing.T) {
	for name, change := range map[string]struct {
		settings func(*Settings)
		node     func(*shortNode)
		tags     []string
	}{
		"nobody waits":     {node: func(n *shortNode) { n.waiting = 0 }},
		"short tasks":      {tags: []string{"heddle-task-time:5s"}},
		"never-suspend":    {tags: []string{NeverSuspend}},
		"no requests":      {settings: func(s *Settings) { s.Division.Dice.Multiplier = 0 }},
		"Eagle":            {settings: func(s *Settings) { s.Division.Dice = nil }},
		"waits are short":  {node: func(n *shortNode) { n.wait = 0 }},
		"what is expected": {}, // or this test couldn't fail
	} {
		runWorld(t, func(s *Settings) {
			preemptingForShortTasks(s)
			if change.settings != nil {
				change.settings(s)
			}
		}, func(w *world) {
			w.raise()
			n := w.shortNode(1)
			w.shortNode(2)
			n.beat(1)
			am := w.am(func(ctx *pb.ApplicationSubmissionContext) { ctx.SetApplicationTags(change.tags) })
			id := am.allocate(AllocateCall{Asks: large()}).Grants[0].ID
			if node := w.state().Container(id).Node; node != n.node {
				n = &shortNode{peer: &peer{w: w, node: node}, lent: n.lent}
			}
			n.containers = []NodeContainer{sub(id, pb.ContainerSubState_CSS_RUNNING)}
			if master := w.state().Container(w.app(am.attempt.App).Current().AMContainer); master.Node == n.node {
				n.containers = append(n.containers, sub(master.ID, pb.ContainerSubState_CSS_RUNNING))
			}
			n.waiting, n.wait = 1, 20*time.Second
			if change.node != nil {
				change.node(n)
			}
			for range 70 {
				n.beat(1)
				am.allocate(AllocateCall{})
			}
			if got := w.state().Container(id).Suspended(); got != (name == "what is expected") {
				t.Errorf("%s: suspended %v", name, got)
			}
		})
	}
}

// A new leader charges a node what it says that it was lent, and has the container resume that an earlier one has suspended, as soon as the node has given back its room. A container that ends while
// it is suspended leaves its room to nobody before that, either.
func TestSuspensionsForShortTasksOutliveLeaders(t *testing.T) {
	for _, ends := range []bool{false, true} {
		runWorld(t, preemptingForShortTasks, func(w *world) {
			n, other, am, id := w.runLong()
			n.waiting, n.wait, other.wait = 3, 20*time.Second, 20*time.Second
			for range 70 {
				n.beat(1, other)
				am.allocate(AllocateCall{})
			}
			claim, full := w.state().Container(id).Resource, n.lent
			if c := w.state().Container(id); !c.Suspended() || full.MemoryMB() != 1024+claim.MemoryMB()-64 {
				t.Fatalf("suspended %v, %v lent", c.Suspended(), full)
			}
			n.used = full
			if ends {
				n.containers = append([]NodeContainer{ended(id, 0)}, n.containers[1:]...)
				n.beat(1)
				n.containers = n.containers[1:]
				n.beat(2)
			} else {
				w.depose()
				w.lead()
				n.register()
				other.register()
				n.beat(3)
			}
			if got := w.state().Nodes[n.node].Capability; !got.Add(full).FitsIn(shortNodeHas) {
				t.Errorf("the node uses %v for short tasks, and offers %v to others", full, got)
			}
			n.waiting = 0
			n.used = records.NewResource(1024, 1)
			n.beat(5)
			if got := w.state().Nodes[n.node].Capability; got != shortNodeHas.Sub(n.used) {
				t.Errorf("at the end it offers %v", got)
			}
			if c := w.state().Container(id); !ends && (c.Level != ledgerpb.Level_RUNNING || c.Held() != claim) {
				t.Errorf("%v with %v", c.Level, c.Held())
			}
			w.same()
		})
	}
}
