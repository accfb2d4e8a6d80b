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
