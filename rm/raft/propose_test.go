package raft

import (
	"errors"
	"path/filepath"
	"testing"

	"heddle/internal/await"
)

// gated applies nothing before its gate is open.
type gated struct {
	register
	gate chan struct{}
}

func (g *gated) Apply(e Entry) any {
	<-g.gate
	return g.register.Apply(e)
}

func TestCloseAnswersWhatIsUnderWay(t *testing.T) {
	fsm := &gated{gate: make(chan struct{})}
	n, err := Open(Config{ID: "rm", Cluster: "test", Dir: filepath.Join(t.TempDir(), "rm"), Members: []Member{{ID: "rm", Address: "127.0.0.1:1"}}, Log: quiet()}, fsm)
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it leads", n.IsLeader)
	under := make([]Proposal, 20)
	for i := range under {
		under[i] = n.Propose(Entry{Data: []byte{byte(i)}})
	}
	closed := make(chan error)
	go func() { closed <- n.Close() }()
	await.Until(t, "it takes no more", func() bool {
		p := n.Propose(Entry{Data: []byte("late")})
		if p.answer != nil {
			under = append(under, p)
		}
		return p.answer == nil
	})
	close(fsm.gate)
	for i, p := range under {
		if _, err := p.Wait(); err != nil {
			t.Errorf("proposal %d: %v", i, err)
		}
	}
	if _, err := n.Propose(Entry{Data: []byte("later")}).Wait(); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if got := fsm.all(); len(got) != len(under) {
		t.Errorf("%d of %d entries were applied", len(got), len(under))
	}
}

func TestProposeRefusesWhatTheLogCannotReadBack(t *testing.T) {
	cfg := Config{ID: "rm", Cluster: "test", Dir: filepath.Join(t.TempDir(), "rm"), Members: []Member{{ID: "rm", Address: "127.0.0.1:1"}}, Log: quiet()}
	lead := func(fsm FSM) *Node {
		n, err := Open(cfg, fsm)
		if err != nil {
			t.Fatal(err)
		}
		await.Until(t, "it leads", n.IsLeader)
		return n
	}
	n := lead(&register{})
	if _, err := n.Propose(Entry{Data: make([]byte, MaxEntry+1)}).Wait(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, err := n.Propose(Entry{Data: make([]byte, MaxEntry)}).Wait(); err != nil {
		t.Errorf("as large as can be: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	fsm := &register{}
	n = lead(fsm)
	if err := n.Barrier(); err != nil {
		t.Error(err)
	}
	if got := fsm.all(); len(got) != 1 || len(got[0]) != MaxEntry {
		t.Errorf("%d entries were read back", len(got))
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}
