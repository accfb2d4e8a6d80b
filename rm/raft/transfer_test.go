package raft

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
)

// transfer hands leadership over, and tries again while members are too slow to answer. Whoever is to lead may do so by then.
func transfer(t *testing.T, lead *member, to string) {
	t.Helper()
	said := ""
	await.Until(t, "leadership is handed over", func() bool {
		err := lead.Transfer(t.Context(), to)
		if err != nil && err.Error() != said {
			said = err.Error()
			t.Log(said)
		}
		return err == nil || errors.Is(err, ErrNotLeader)
	})
}

// After each transfer that can't succeed the group has a leader that takes proposals.
func TestTransferToADeadMemberLeavesALeader(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	propose(t, lead, 1)
	var dead *member
	for _, m := range members {
		if m != lead {
			dead = m
		}
	}
	dead.stop(t)
	for range 5 {
		if err := lead.Transfer(t.Context(), dead.cfg.ID); err == nil || !strings.Contains(err.Error(), dead.cfg.ID+" at") {
			t.Errorf("leadership went to a dead member: %v", err)
		}
		propose(t, lead, 1)
	}
	transfer(t, lead, "") // to the member that is there
	next, _ := leader(t, members)
	propose(t, next, 1)
}

// The target takes connections, and never answers.
func TestTransferToAFrozenMemberLeavesALeader(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	propose(t, lead, 1)
	var frozen *member
	for _, m := range members {
		if m != lead {
			frozen = m
		}
	}
	at := frozen.cfg.Listener.Addr().String()
	frozen.stop(t)
	defer listen(t, at).Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 2 {
		if err := lead.Transfer(ctx, frozen.cfg.ID); err == nil || ctx.Err() != nil {
			t.Errorf("leadership went to a frozen member, or it took forever: %v", err)
		}
		propose(t, lead, 1)
	}
	if err := lead.CanLead(ctx, frozen.cfg.ID); err == nil {
		t.Error("a frozen member can lead")
	}
}

// The target dies between saying that it is there and taking leadership: proposals wait for a while, and go on then.
func TestTransferToAMemberThatDiesMeanwhile(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	propose(t, lead, 1)
	var dead *member
	for _, m := range members {
		if m != lead {
			dead = m
		}
	}
	target := await.Value(t, "the target answers", func() (MemberInfo, bool) {
		m, err := lead.successor(t.Context(), dead.cfg.ID)
		return m, err == nil
	})
	dead.stop(t)
	if err := lead.handOver(t.Context(), target); err == nil {
		t.Error("leadership went to a dead member")
	}
	propose(t, lead, 1)
	await.Until(t, "it leads on", lead.IsLeader)
}

// A target that lacks entries gets them before it leads.
func TestTransferWhileProposalsComeIn(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, term := leader(t, members)
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		acknowledged := 0
		defer func() { stopped <- acknowledged }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := lead.Propose(Entry{Data: []byte("x")}).Wait(); err == nil {
				acknowledged++
			}
		}
	}()
	var target *member
	for _, m := range members {
		if m != lead {
			target = m
		}
	}
	await.Until(t, "some entries", func() bool { return len(target.fsm.all()) > 20 })
	transfer(t, lead, target.cfg.ID)
	<-term.Done()
	close(stop)
	acknowledged := <-stopped
	if now, _ := leader(t, members); now != target {
		t.Fatalf("%s leads instead of %s", now.cfg.ID, target.cfg.ID)
	}
	if err := target.Barrier(); err != nil {
		t.Fatal(err)
	}
	if got := len(target.fsm.all()); got < acknowledged {
		t.Errorf("of %d acknowledged entries %d are there", acknowledged, got)
	}
}
