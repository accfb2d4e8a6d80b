package raft

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/ports"
)

// found leaves the state that the only member of a group has.
func found(t *testing.T, cfg Config) {
	t.Helper()
	cfg.Members, cfg.Listener = []Member{{ID: cfg.ID, Address: "0.0.0.0:8034"}}, nil
	n, err := Open(cfg, &register{})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

// apart are members of one configuration, none of which is started. Their addresses on loopback stay theirs until the test ends.
func apart(t *testing.T, n int) []*member {
	t.Helper()
	members := make([]*member, n)
	var list []Member
	for i, address := range ports.Loopback(t, n) {
		id := fmt.Sprintf("rm%d", i+1)
		list = append(list, Member{ID: id, Address: address})
		members[i] = &member{cfg: Config{
			ID: id, Cluster: "test", Dir: filepath.Join(t.TempDir(), id), Listener: listen(t, address), Log: quiet(),
			// long, so that nobody loses the leadership because other tests keep the machine busy
			HeartbeatTimeout: time.Second, ElectionTimeout: time.Second, LeaseTimeout: 800 * time.Millisecond,
		}}
	}
	for _, m := range members {
		m.cfg.Members = list
	}
	t.Cleanup(func() {
		for _, m := range members {
			m.stop(t)
		}
	})
	return members
}

func propose(t *testing.T, m *member, n int) {
	t.Helper()
	for i := range n {
		if _, err := m.Propose(Entry{Data: fmt.Appendf(nil, "%s %d", m.cfg.ID, i)}).Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// A ResourceManager that has been the only one gets two others, and those are started first: they must not form a group without
// it, which would have another log under the same name.
func TestGrowingWithTheNewMembersFirstLosesNothing(t *testing.T) {
	t.Parallel()
	members := apart(t, 3)
	old := members[0]
	alone := old.cfg
	alone.Members, alone.Listener = []Member{{ID: "rm1", Address: "0.0.0.0:8034"}}, nil
	grown := old.cfg
	old.cfg = alone
	old.start(t)
	leader(t, []*member{old})
	propose(t, old, 20)
	old.stop(t)

	members[1].start(t)
	members[2].start(t)
	for _, m := range members[1:] {
		waitsFor(t, m, "rm1 at")
		if m.raft.LastIndex() != 0 || m.Leader() != "" {
			t.Errorf("%s has %d entries and leader %q without having heard of the group's log", m.cfg.ID, m.raft.LastIndex(), m.Leader())
		}
	}

	old.cfg = grown
	old.start(t)
	lead, term := leader(t, members)
	if lead != old {
		t.Fatalf("%s leads, which has none of the log", lead.cfg.ID)
	}
	(&leadership{members, lead, term}).keepMembers(t)
	propose(t, old, 5)
	for _, m := range members {
		await.Until(t, m.cfg.ID+" has all entries", func() bool { return len(m.fsm.all()) == 25 })
		infos, err := m.Members()
		if err != nil || len(infos) != 3 {
			t.Fatalf("%v, %v", infos, err)
		}
		for _, i := range infos {
			if !i.Voter {
				t.Errorf("%s has no vote", i.ID)
			}
		}
		if a, b := m.dir.identity().Group, old.dir.identity().Group; a != b || a == "" {
			t.Errorf("%s belongs to group %q, rm1 to %q", m.cfg.ID, a, b)
		}
	}
	// now one can be lost
	old.stop(t)
	next, _ := leader(t, members)
	propose(t, next, 1)
}

// waitsFor waits until a member says that it lacks something for its group.
func waitsFor(t *testing.T, m *member, what string) {
	t.Helper()
	await.Until(t, m.cfg.ID+" waits for "+what, func() bool {
		err := m.tryForm(t.Context())
		return err != nil && strings.Contains(err.Error(), what)
	})
}

func TestTwoOfThreeFormNoGroup(t *testing.T) {
	t.Parallel()
	members := apart(t, 3)
	members[0].start(t)
	members[1].start(t)
	waitsFor(t, members[0], "rm3 at")
	waitsFor(t, members[1], "rm3 at")
	members[2].start(t)
	lead, _ := leader(t, members)
	propose(t, lead, 3)
	for _, m := range members {
		await.Until(t, m.cfg.ID+" has all entries", func() bool { return len(m.fsm.all()) == 3 })
	}
}

func TestAGroupThatWasBegunIsFormedAfterACrash(t *testing.T) {
	t.Parallel()
	members := apart(t, 3)
	d, err := lockDir(members[0].cfg.Dir, identity{Role: "rm", ID: "rm1", Cluster: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.join("begun", true), d.close()); err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		m.start(t)
	}
	lead, _ := leader(t, members)
	propose(t, lead, 1)
	for _, m := range members {
		await.Until(t, m.cfg.ID+" joined", func() bool { return m.dir.identity().Group == "begun" })
	}
	if members[0].dir.identity().Forming {
		t.Error("the group is formed, and rm1 still forms it")
	}
}

// The member that forms the group loses its disk before others have an entry. The group got the same id again, so that the lost disk, put back,
// passed for a member's with another first entry.
func TestAGroupThatLostItsFormingMemberGetsAnotherID(t *testing.T) {
	t.Parallel()
	members := apart(t, 3)
	for _, m := range members[1:] {
		d, err := lockDir(m.cfg.Dir, identity{Role: "rm", ID: m.cfg.ID, Cluster: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.join("begun", false), d.close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range members {
		m.start(t)
	}
	lead, _ := leader(t, members)
	propose(t, lead, 1)
	for _, m := range members {
		await.Until(t, m.cfg.ID+" has the entry", func() bool { return len(m.fsm.all()) == 1 })
	}
	group := lead.dir.identity().Group
	for _, m := range members {
		if got := m.dir.identity().Group; got != group || got == "begun" || got == "" {
			t.Errorf("%s belongs to group %q, the leader to %q", m.cfg.ID, got, group)
		}
	}
}

func TestConfigurationsThatDifferFormNoGroup(t *testing.T) {
	t.Parallel()
	members := apart(t, 3)
	members[2].cfg.Members = members[2].cfg.Members[1:]
	for _, m := range members {
		m.start(t)
	}
	waitsFor(t, members[1], "configuration of rm3 names the members rm2, rm3, ours rm1, rm2, rm3")
}

// Two groups of one name have nothing to do with each other.
func TestAMemberOfAnotherGroupIsRefused(t *testing.T) {
	t.Parallel()
	members := apart(t, 2)
	for _, m := range members {
		found(t, m.cfg)
		m.start(t)
	}
	lead, term := leader(t, members[:1])
	propose(t, lead, 3)
	_, err := members[0].ask(t.Context(), members[0].cfg.Members[1])
	if err == nil || !strings.Contains(err.Error(), "two groups were formed under the name \"test\"") {
		t.Errorf("it is asked: %v", err)
	}
	await.Until(t, "it is refused", func() bool {
		_, err := lead.AdoptMembers(term)
		return err != nil && strings.Contains(err.Error(), "two groups were formed")
	})
	if infos, err := lead.Members(); err != nil || len(infos) != 1 {
		t.Errorf("members: %v, %v", infos, err)
	}
	propose(t, lead, 1)
}

func TestTheStateOfAGroupOfSeveralIsNotStartedAlone(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	propose(t, lead, 1)
	m := members[0]
	m.stop(t)
	alone := m.cfg
	alone.Members, alone.Listener = m.cfg.Members[:1], nil
	n, err := Open(alone, &register{})
	if err == nil {
		_ = n.Close()
		t.Fatal("it started, and would wait for the others for ever")
	}
	if !strings.Contains(err.Error(), "a group that includes [rm2 rm3]") {
		t.Error(err)
	}
}

// A state folder of a version without group ids: all members find the same id.
func TestStateWithoutAGroupIsTakenOver(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	propose(t, lead, 2)
	for _, m := range members {
		await.Until(t, m.cfg.ID+" has the entries", func() bool { return len(m.fsm.all()) == 2 })
	}
	for _, m := range members {
		m.stop(t)
		d, err := lockDir(m.cfg.Dir, identity{Role: "rm", ID: m.cfg.ID, Cluster: "test"})
		if err != nil {
			t.Fatal(err)
		}
		d.me.Group = ""
		if err := errors.Join(d.save(d.me), d.close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range members {
		m.restart(t)
	}
	lead, _ = leader(t, members)
	propose(t, lead, 1)
	for _, m := range members {
		if m.dir.identity().Group != earlierGroup("test") {
			t.Errorf("%s: %q", m.cfg.ID, m.dir.identity().Group)
		}
	}
}

func TestAMemberLeaves(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, term := leader(t, members)
	propose(t, lead, 1)
	var gone, other *member
	for _, m := range members {
		switch {
		case m == lead:
		case gone == nil:
			gone = m
		default:
			other = m
		}
	}
	if err := lead.Remove(t.Context(), "rm9"); err == nil {
		t.Error("a stranger left")
	}
	if err := lead.Remove(t.Context(), lead.cfg.ID); err == nil || !strings.Contains(err.Error(), "hand leadership") {
		t.Errorf("the leader left: %v", err)
	}
	if err := other.Remove(t.Context(), gone.cfg.ID); !errors.Is(err, ErrNotLeader) {
		t.Errorf("a follower had one leave: %v", err)
	}
	await.Until(t, "the one that goes has something of the log", func() bool { return len(gone.fsm.all()) == 1 })
	gone.stop(t)
	if err := lead.Remove(t.Context(), gone.cfg.ID); err != nil {
		t.Fatal(err)
	}
	propose(t, lead, 1)
	// It is still in the configuration, and must not come back with what it has.
	gone.restart(t)
	reign := leadership{[]*member{lead, other}, lead, term}
	await.Until(t, "it is said why it stays out", func() bool {
		lead, term = reign.now(t)
		_, err := lead.AdoptMembers(term)
		return err != nil && strings.Contains(err.Error(), "start it with an empty state folder")
	})
	if infos, err := lead.Members(); err != nil || len(infos) != 2 {
		t.Errorf("members: %v, %v", infos, err)
	}
	gone.stop(t)
	gone.cfg.Dir = t.TempDir()
	gone.restart(t)
	reign.keepMembers(t)
	await.Until(t, "it has the log again", func() bool { return len(gone.fsm.all()) == 2 })
}

// The last but one can't leave while the last isn't enough of a majority.
func TestNobodyLeavesWhomAMajorityNeeds(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	propose(t, lead, 1)
	var ids []string
	for _, m := range members {
		if m != lead {
			m.stop(t)
			ids = append(ids, m.cfg.ID)
		}
	}
	// It leads until its lease is over, or no more: either way nobody leaves.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := lead.Remove(ctx, ids[0]); err == nil {
		t.Error("it left")
	}
}
