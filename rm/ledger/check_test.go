package ledger

import (
	"strings"
	"testing"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// checked is a state with all that Check looks at: an application that runs on its second attempt, with a container that lives, one
// that has ended and one that is past, and an application that has ended.
func checked(t *testing.T) *State {
	t.Helper()
	s := New()
	mustApply(t, s, commands{
		cluster(), register(node1, records.NewResource(8192, 8)), submit(1), submit(2),
		start(attempt(1, 1)), allocate(container(1, 1, 1), true),
		endAttempt(attempt(1, 1), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, false),
		start(attempt(1, 2)), allocate(container(1, 2, 1), true), allocate(container(1, 2, 2), false), complete(container(1, 2, 2), 0),
		start(attempt(2, 1)), endAttempt(attempt(2, 1), pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED, false),
		endApp(2, pb.YarnApplicationState_KILLED),
		{DelegationIssued: &ledgerpb.DelegationIssued{Sequence: 3, Identifier: []byte{1}}},
	}.at(0))
	return s
}

// Whatever Check says that it looks at is found when it is wrong.
func TestCheckFinds(t *testing.T) {
	for want, harm := range map[string]func(s *State, a *Application, n *Node){
		"its sums say 1 with <memory:513": func(_ *State, a *Application, _ *Node) { a.Used[records.Memory]++ },
		"its sums say 2 with":             func(_ *State, a *Application, _ *Node) { a.Live++ },
		"node n1:1 has 1 containers":      func(_ *State, _ *Application, n *Node) { n.Used[records.VCores]-- },
		"its claim is <memory:512, vCores:1": func(_ *State, a *Application, n *Node) {
			c := a.Containers.Get(n.Containers[0])
			c.Level, c.extras = ledgerpb.Level_SHRUNK, &extras{held: &records.Resource{513, 1}}
		},
		"with <memory:1, vCores:1>, 0 of them suspended and 1 suspended or shrunk; its sums say 1": func(_ *State, a *Application, n *Node) {
			c := a.Containers.Get(n.Containers[0])
			c.Level, c.extras = ledgerpb.Level_SHRUNK, &extras{held: &records.Resource{1, 1}}
		},
		"1 containers with <memory:512, vC": func(_ *State, _ *Application, n *Node) { n.Containers = append(n.Containers, records.ContainerID{}) },
		"is not filed under its node": func(_ *State, _ *Application, n *Node) {
			n.Containers[0].ID++
		},
		"is not filed under its node n1": func(s *State, _ *Application, _ *Node) { delete(s.Nodes, node1) },
		"is filed under another id": func(_ *State, a *Application, n *Node) {
			a.Containers.Get(n.Containers[0]).ID.Attempt.App.ID = 9
		},
		"and counts 3": func(_ *State, a *Application, _ *Node) { a.Containers.n++ },
		"_0001 is filed under application_": func(s *State, a *Application, _ *Node) {
			s.Apps[app(5)] = a
			delete(s.Apps, a.ID)
		},
		"node n1:1 is filed under n2:1": func(s *State, _ *Application, n *Node) {
			s.Nodes[records.NodeID{Host: "n2", Port: 1}] = n
			delete(s.Nodes, node1)
		},
		"1 of them suspended and 1 suspended or shrunk; its sums say 1": func(s *State, _ *Application, n *Node) { s.Container(n.Containers[0]).Level = ledgerpb.Level_FROZEN },
		"is FAILED and has 2 containers":                                func(s *State, a *Application, _ *Node) { a.State = AppFailed },
		"is ALLOCATED although it is over": func(s *State, a *Application, _ *Node) {
			a.State = AppFinished
		},
		"is RUNNING although it is over":         func(_ *State, a *Application, _ *Node) { a.Attempts[0].State = AttemptRunning },
		"000001 comes behind":                    func(_ *State, a *Application, _ *Node) { a.Attempts[1].ID.Attempt = 1 },
		"_0007_000001 is filed under appl":       func(_ *State, a *Application, _ *Node) { a.Attempts[0].ID.App.ID = 7 },
		"lives, and is with those that have":     func(_ *State, a *Application, _ *Node) { last(a.Past).State = ContainerRunning },
		"is of epoch 1, and there were none":     func(_ *State, a *Application, _ *Node) { last(a.Past).ID.ID |= 1 << records.EpochShift },
		"is of an attempt that was not started":  func(_ *State, a *Application, _ *Node) { last(a.Past).ID.Attempt.Attempt = 3 },
		"_02_000002 was not handed out: appatte": func(_ *State, a *Application, _ *Node) { a.Attempts[1].LastSequence = 1 },
		"as its ApplicationMaster's, and is at":  func(_ *State, a *Application, _ *Node) { a.Attempts[0].LastSequence = 0 },
		"3 applications were taken by queues, a": func(s *State, _ *Application, _ *Node) { s.Submitted++ },
		"2 applications were taken by queues, a": func(s *State, _ *Application, _ *Node) { delete(s.Ended, AppKilled) },
		"delegation token 3 was not handed out":  func(s *State, _ *Application, _ *Node) { s.LastDelegation = 2 },

		"and the counts say {live:map[] all:{Applications:0": func(s *State, a *Application, _ *Node) { s.Kept.Remove(&a.counted) },
	} {
		s := checked(t)
		a := s.Apps[app(1)]
		harm(s, a, s.Nodes[node1])
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not found: %v", want, err)
		}
	}
}

// Who gives a node more than it can hold is found; a node that shrank may hold more.
func TestCheckFindsWhatANodeCannotHold(t *testing.T) {
	s := New()
	two := records.NewResource(1024, 2)
	mustApply(t, s, commands{cluster(), register(node1, two), submit(1), start(attempt(1, 1))}.at(0))
	resize := func(to records.Resource) *ledgerpb.Command {
		return &ledgerpb.Command{ContainerResized: &ledgerpb.ContainerResized{
			Container: ContainerRef(container(1, 1, 2)), Resource: Amounts(to),
		}}
	}
	shrink := &ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{Node: NodeRef(node1), Capability: Amounts(small)}}
	for i, step := range []struct {
		cmds commands
		ok   bool
	}{
		{commands{allocate(container(1, 1, 1), true), allocate(container(1, 1, 2), false)}, true},
		{commands{resize(two)}, false},
		{commands{resize(small)}, true},
		{commands{allocate(container(1, 1, 3), false)}, false},
		{commands{complete(container(1, 1, 3), 0), shrink}, true},
		{commands{resize(records.NewResource(256, 1))}, true},
		{commands{allocate(container(1, 1, 4), false)}, false},
		{commands{register(node1, two.Times(2)), allocate(container(1, 1, 5), false)}, true},
	} {
		b := step.cmds.at(int64(i))
		mustApply(t, s, b)
		if err := s.CheckGrants(b); (err == nil) != step.ok {
			t.Errorf("step %d: %v", i, err)
		}
	}
}
