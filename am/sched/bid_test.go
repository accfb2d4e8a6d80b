package sched

import (
	"math/rand/v2"
	"testing"
	"time"
)

func early(t *testing.T, tasks int) (*Scheduler, ID, []Node) {
	t.Helper()
	s := New(Config{Ratio: 2, Early: time.Second}, rand.New(rand.NewPCG(1, 2)))
	s.SetNodes([]Node{0, 1, 2, 3}, nil)
	id, to := s.Submit(0, Job{Tasks: tasks})
	if len(to) != 2*tasks {
		t.Fatalf("%d probes of %d tasks", len(to), tasks)
	}
	for _, n := range to {
		s.Answered(id, n, true, Bitmap{})
	}
	return s, id, append([]Node(nil), to...)
}

// When all probed nodes have bid, those with the least to do get the tasks. A node counts what it would get.
func TestLeastLoadedGetTheTasks(t *testing.T) {
	s, id, to := early(t, 2)
	var grants []Grant
	for i, n := range to { // each of four nodes once
		load := float64(n) / 2
		if g := s.Bid(0, id, Asking{Node: n, Load: load, Step: 1}, uint64(100+i)); len(g) > 0 {
			grants = g
			if i != 3 {
				t.Fatalf("%d bids were enough", i+1)
			}
		}
	}
	got := map[Node]Kind{}
	for _, g := range grants {
		if to[g.Ticket-100] != g.Node {
			t.Errorf("node %d has another's ticket", g.Node)
		}
		got[g.Node] = g.Answer.Kind
	}
	if len(got) != 4 || got[0] != Task || got[1] != Task || got[2] != None || got[3] != None {
		t.Errorf("%v", got)
	}
	if wait, _ := s.Left(id); wait != 0 {
		t.Errorf("%d tasks wait", wait)
	}
	// One node is idle and bids twice, the other has one task and a half.
	s, id, _ = early(t, 2)
	s.Bid(0, id, Asking{Node: 0, Load: 0, Step: 1}, 0)
	s.Bid(0, id, Asking{Node: 0, Load: 0, Step: 1}, 1)
	s.Bid(0, id, Asking{Node: 1, Load: .5, Step: 1}, 2)
	for _, g := range s.Bid(0, id, Asking{Node: 1, Load: .5, Step: 1}, 3) {
		if want := map[uint64]Kind{0: Task, 2: Task, 1: None, 3: None}[g.Ticket]; g.Answer.Kind != want {
			t.Errorf("bid %d gets %v, not %v", g.Ticket, g.Answer.Kind, want)
		}
	}
}

// Of nodes with as much to do the one goes first that has an input in memory.
func TestStagedInputsDecideBetweenEquals(t *testing.T) {
	s, id, _ := early(t, 1)
	s.Bid(0, id, Asking{Node: 0, Load: 1}, 0)
	g := s.Bid(0, id, Asking{Node: 1, Load: 1, Staged: []int32{0}}, 1)
	if len(g) != 2 || g[0].Node != 1 || g[0].Answer.Kind != Task {
		t.Errorf("%+v", g)
	}
}

// Slow nodes aren't waited for longer than Config.Early, and lost ones not at all.
func TestMissingBids(t *testing.T) {
	s, id, to := early(t, 1)
	if g := s.Bid(0, id, Asking{Node: to[0], Load: 9}, 7); len(g) > 0 {
		t.Fatal("one bid of two is enough")
	}
	if g := s.Settle(time.Second - 1); len(g) > 0 {
		t.Error("too soon")
	}
	if g := s.Settle(time.Second); len(g) != 1 || g[0].Ticket != 7 || g[0].Answer.Kind != Task {
		t.Errorf("%+v", g)
	}
	if g := s.Bid(time.Second, id, Asking{Node: to[1]}, 8); len(g) != 1 || g[0].Answer.Kind != None {
		t.Errorf("a late bid: %+v", g)
	}
	s, id, to = early(t, 1)
	s.Bid(0, id, Asking{Node: to[0]}, 7)
	s.Unbid(to[0])
	if g := s.Settle(time.Hour); len(g) > 0 {
		t.Errorf("a lost node gets %+v", g)
	}
	s.Forget(id)
	if g := s.Bid(0, id, Asking{Node: to[1]}, 9); len(g) != 1 || g[0].Ticket != 9 || g[0].Answer.Kind != None {
		t.Errorf("a bid for what is over: %+v", g)
	}
}

// Nodes that haven't said yet whether they take their probe are waited for. When no task waits, a bid is answered at once.
func TestBidsWaitForVerdicts(t *testing.T) {
	s := New(Config{Ratio: 2, Early: time.Second}, rand.New(rand.NewPCG(1, 2)))
	s.SetNodes([]Node{0, 1, 2, 3}, nil)
	id, to := s.Submit(0, Job{Tasks: 1})
	first, second := to[0], to[1]
	s.Answered(id, first, true, Bitmap{})
	if g := s.Bid(0, id, Asking{Node: first, Load: 9}, 1); len(g) > 0 {
		t.Errorf("%+v, though another node has said nothing", g)
	}
	s.Answered(id, second, true, Bitmap{})
	if g := s.Bid(0, id, Asking{Node: second}, 2); len(g) != 2 || g[0].Node != second || g[0].Answer.Kind != Task {
		t.Errorf("%+v", g)
	}
	s.find(id).unanswered = 1 // a probe of those that another round sends
	if g := s.Bid(0, id, Asking{Node: 3}, 3); len(g) != 1 || g[0].Answer.Kind != None {
		t.Errorf("when nothing waits: %+v", g)
	}
}

// Config.Early counts from the first bid of several.
func TestTheFirstBidWaitsForLongest(t *testing.T) {
	s, id, to := early(t, 2)
	s.Bid(0, id, Asking{Node: to[0]}, 1)
	s.Bid(time.Second/2, id, Asking{Node: to[1]}, 2)
	if g := s.Settle(time.Second); len(g) != 2 {
		t.Errorf("%+v", g)
	}
}

// A task adds its part of a node's processors: a large node may get two before a small one with a higher load gets any. Bids of nodes with as much to do are
// answered in their order.
func TestStepsOfNodes(t *testing.T) {
	s, id, _ := early(t, 2)
	s.Bid(0, id, Asking{Node: 0, Step: .25}, 0)
	s.Bid(0, id, Asking{Node: 0, Step: .25}, 1)
	s.Bid(0, id, Asking{Node: 1, Load: .5, Step: 1}, 2)
	for _, g := range s.Bid(0, id, Asking{Node: 1, Load: .5, Step: 1}, 3) {
		if want := g.Ticket < 2; (g.Answer.Kind == Task) != want {
			t.Errorf("bid %d: %+v", g.Ticket, g.Answer)
		}
	}
	s, id, to := early(t, 20)
	var grants []Grant
	for i := range to {
		grants = s.Bid(0, id, Asking{Node: Node(i % 2), Load: float64(1 - i%2)}, uint64(i))
	}
	for i, g := range grants {
		if want := uint64(2*i+1) % 40; i < 20 && g.Ticket != want || i >= 20 && g.Ticket != uint64(2*(i-20)) {
			t.Fatalf("bid %d is answered in place %d", g.Ticket, i)
		}
	}
	if len(grants) != 40 {
		t.Errorf("%d grants", len(grants))
	}
}
