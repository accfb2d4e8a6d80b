package raft

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/sirupsen/logrus"

	"heddle/internal/await"
)

// empty has a member's disk replaced by an empty one.
func (m *member) empty(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(m.cfg.Dir); err != nil {
		t.Fatal(err)
	}
}

// lines counts lines of a log.
type lines struct {
	mu sync.Mutex
	of map[string]int
}

func (l *lines) Levels() []logrus.Level { return logrus.AllLevels }

func (l *lines) Fire(e *logrus.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[e.Message]++
	return nil
}

func (l *lines) count(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[message]
}

// listenTo counts the lines that a member logs from its next start on.
func listenTo(m *member) *lines {
	l := &lines{of: map[string]int{}}
	log := logrus.New()
	log.SetOutput(io.Discard)
	log.SetLevel(logrus.TraceLevel)
	log.AddHook(l)
	m.cfg.Log = logrus.NewEntry(log)
	return l
}

// fails waits until a member has stood for election in vain several times.
func (m *member) fails(t *testing.T, heard *lines, times int) {
	t.Helper()
	await.Until(t, m.cfg.ID+" loses elections", func() bool {
		select {
		case <-m.Terms():
			t.Fatalf("%s was elected", m.cfg.ID)
		default:
		}
		return heard.count("Election timeout reached, restarting election") >= times
	})
}

// others returns the members other than the given ones.
func others(members []*member, but ...*member) (out []*member) {
	for _, m := range members {
		there := false
		for _, b := range but {
			there = there || b == m
		}
		if !there {
			out = append(out, m)
		}
	}
	return out
}

// One member lags, one loses its disk: the only one that has what was acknowledged starts last. The other two must not elect a leader
// without it.
func TestAVoterThatComesBackEmptyElectsNobodyWhoLacksEntries(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	propose(t, lead, 1)
	rest := others(members, lead)
	lagging, lost := rest[0], rest[1]
	await.Until(t, "the one that will lag has the first entry", func() bool { return len(lagging.fsm.all()) == 1 })
	lagging.stop(t)
	for i := range 10 {
		if _, err := lead.Propose(Entry{Data: fmt.Appendf(nil, "acknowledged %d", i)}).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	lead.stop(t)
	lost.stop(t)
	lost.empty(t)
	heard := listenTo(lagging)
	lagging.restart(t)
	lost.restart(t)
	waitsFor(t, lost, "has the state of a group")
	lagging.fails(t, heard, 3)
	lead.restart(t)
	reign := leadership{members: members}
	now, _ := reign.now(t)
	propose(t, now, 1)
	reign.keepMembers(t)
	for _, m := range members {
		await.Until(t, m.cfg.ID+" has all that was acknowledged", func() bool { return len(m.fsm.all()) == 12 })
	}
	// the one that was emptied is a full member again
	lead.stop(t)
	propose(t, first(leader(t, members)), 1)
}

func first[A, B any](a A, _ B) A { return a }

// copyDir copies a folder, which must not exist at its destination.
func copyDir(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func (m *member) putBack(t *testing.T, from string) {
	t.Helper()
	m.empty(t)
	copyDir(t, m.cfg.Dir, from)
}

// copied is a group in which a copy of a member's folder was taken, and ten entries were acknowledged since by that member and lead only. All
// are stopped.
type copied struct {
	members            []*member
	lead, lagging, old *member
	copy               string
}

func newCopied(t *testing.T) copied {
	t.Helper()
	c := copied{members: group(t, 3, nil), copy: filepath.Join(t.TempDir(), "copy")}
	lead, term := leader(t, c.members)
	c.lead = lead
	propose(t, c.lead, 1)
	rest := others(c.members, c.lead)
	c.lagging, c.old = rest[0], rest[1]
	for _, m := range rest {
		await.Until(t, m.cfg.ID+" has the first entry", func() bool { return len(m.fsm.all()) == 1 })
	}
	c.old.stop(t)
	copyDir(t, c.copy, c.old.cfg.Dir)
	c.old.restart(t)
	c.lagging.stop(t)
	reign := leadership{others(c.members, c.lagging), lead, term}
	now, _ := reign.now(t)
	propose(t, now, 10)
	c.lead.stop(t)
	c.old.stop(t)
	return c
}

func (c copied) all(t *testing.T) {
	t.Helper()
	reign := leadership{members: c.members}
	reign.keepMembers(t)
	lead, _ := reign.now(t)
	propose(t, lead, 1)
	for _, m := range c.members {
		await.Until(t, m.cfg.ID+" has all that was acknowledged", func() bool { return len(m.fsm.all()) == 12 })
	}
}

// The one that lags has seen a later start of the folder that was put back.
func TestAnOlderCopyThatWasPutBackElectsNobody(t *testing.T) {
	t.Parallel()
	c := newCopied(t)
	c.old.putBack(t, c.copy)
	heard := listenTo(c.lagging)
	c.lagging.restart(t)
	c.old.restart(t)
	c.lagging.fails(t, heard, 3)
	if kept, err := filepath.Glob(filepath.Join(c.old.cfg.Dir, asidePrefix+"*", logName)); err != nil || len(kept) != 1 {
		t.Errorf("set aside: %v, %v", kept, err)
	}
	c.lead.restart(t)
	c.all(t)
}

// Nobody who knows better can be reached when the copy starts.
func TestAnOlderCopyEndsWhenItMeetsSomebodyWhoKnows(t *testing.T) {
	t.Parallel()
	c := newCopied(t)
	c.old.putBack(t, c.copy)
	c.old.restart(t)
	c.lead.restart(t)
	await.Until(t, "the copy ends", func() bool { return errors.Is(c.old.Failure(), ErrForgotten) })
	c.old.restart(t)
	c.lagging.restart(t)
	c.all(t)
}

// The log alone is lost, or put back: the promises beside it show that.
func TestALogThatIsShorterThanItsPromisesIsSetAside(t *testing.T) {
	t.Parallel()
	c := newCopied(t)
	if err := os.RemoveAll(filepath.Join(c.old.cfg.Dir, logName)); err != nil {
		t.Fatal(err)
	}
	copyDir(t, filepath.Join(c.old.cfg.Dir, logName), filepath.Join(c.copy, logName))
	was := c.old.cfg.Dir
	c.old.restart(t)
	if kept, err := filepath.Glob(filepath.Join(was, asidePrefix+"*", logName)); err != nil || len(kept) != 1 {
		t.Errorf("set aside: %v, %v", kept, err)
	}
	c.lead.restart(t)
	c.lagging.restart(t)
	c.all(t)
}

// A leader that lacks what is committed wants it removed, from the log or by a snapshot.
func TestCommittedEntriesAreNeverRemoved(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	propose(t, lead, 5)
	whole := others(members, lead)[0]
	await.Until(t, "the follower has the entries", func() bool { return len(whole.fsm.all()) == 5 && whole.raft.CommitIndex() == lead.raft.LastIndex() })
	header := hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte(lead.dir.identity().serverID()), Addr: []byte(lead.transport.LocalAddr())}
	at, last := hraft.ServerAddress(whole.cfg.Listener.Addr().String()), whole.raft.LastIndex()
	install := &hraft.InstallSnapshotRequest{
		RPCHeader: header, SnapshotVersion: hraft.SnapshotVersionMax, Term: 99, LastLogIndex: last - 1, LastLogTerm: 99, Size: 4,
		Configuration: hraft.EncodeConfiguration(lead.raft.GetConfiguration().Configuration()),
	}
	err := lead.transport.InstallSnapshot(whole.dir.identity().serverID(), at, install, &hraft.InstallSnapshotResponse{}, strings.NewReader("none"))
	if err == nil || !strings.Contains(err.Error(), "committed") {
		t.Errorf("a snapshot that lacks a committed entry: %v", err)
	}
	var one hraft.Log
	if err := whole.log.GetLog(1, &one); err != nil {
		t.Fatal(err)
	}
	req := &hraft.AppendEntriesRequest{
		RPCHeader: header, Term: 99, PrevLogEntry: 1, PrevLogTerm: one.Term,
		Entries: []*hraft.Log{{Index: 2, Term: 99, Type: hraft.LogCommand, Data: []byte("another")}},
	}
	_ = lead.transport.AppendEntries(whole.dir.identity().serverID(), at, req, &hraft.AppendEntriesResponse{})
	<-whole.Failed()
	if err := whole.Failure(); !errors.Is(err, ErrCommitted) || !strings.Contains(err.Error(), lead.cfg.ID) {
		t.Errorf("it failed with %v", err)
	}
	whole.restart(t)
	if got := whole.raft.LastIndex(); got < last {
		t.Errorf("its log ends at %d, and ended at %d", got, last)
	}
}

// A normal restart of all members takes no longer than that of raft, and nobody forgets anything.
func TestARestartOfAllForgetsNothing(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	reign := leadership{members: members}
	for round := range 3 {
		lead, _ := reign.now(t)
		propose(t, lead, 20)
		for _, m := range members {
			m.stop(t)
		}
		for _, m := range members {
			m.restart(t)
		}
		reign = leadership{members: members}
		for _, m := range members {
			await.Until(t, m.cfg.ID+" has all entries", func() bool { return len(m.fsm.all()) == 20*(round+1) })
			if aside, err := filepath.Glob(filepath.Join(m.cfg.Dir, asidePrefix+"*")); err != nil || len(aside) > 0 {
				t.Errorf("%s: %v, %v", m.cfg.ID, aside, err)
			}
		}
	}
}

// Two of three disks are lost for good. The third goes on by an administrator's order, and takes the others in when they are empty; with their old
// folders they end.
func TestAnAdministratorMakesAMemberLead(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	propose(t, lead, 3)
	if _, err := lead.ForceLeader(t.Context(), "alice", true); err == nil || !strings.Contains(err.Error(), "nothing to force") {
		t.Errorf("forced although it leads: %v", err)
	}
	rest := others(members, lead)
	left, gone := rest[0], rest[1]
	await.Until(t, "all are in step", func() bool { return len(left.fsm.all()) == 3 && len(gone.fsm.all()) == 3 })
	gone.stop(t)
	lead.stop(t)
	lead.empty(t)
	lead.restart(t)
	waitsFor(t, lead, "has the state of a group")
	if _, err := lead.ForceLeader(t.Context(), "alice", true); err == nil {
		t.Error("an empty member was forced")
	}
	var loss string
	await.Until(t, "the loss is told", func() bool {
		var err error
		loss, err = left.ForceLeader(t.Context(), "alice", false)
		return err == nil
	})
	if !strings.Contains(loss, lead.cfg.ID+" has lost its state folder") || !strings.Contains(loss, gone.cfg.ID+" doesn't answer") || left.Failure() != nil {
		t.Errorf("the loss is %q", loss)
	}
	if _, err := left.ForceLeader(t.Context(), "alice", true); err != nil {
		t.Fatal(err)
	}
	<-left.Failed()
	left.restart(t)
	reign := leadership{members: []*member{left}}
	now, _ := reign.now(t)
	if err := now.Barrier(); err != nil {
		t.Fatal(err)
	}
	if got := len(now.fsm.all()); got != 3 {
		t.Errorf("it has %d entries", got)
	}
	propose(t, now, 1)
	gone.restart(t)
	await.Until(t, "the old folder ends", func() bool {
		_, _ = now.AdoptMembers(t.Context())
		return errors.Is(gone.Failure(), ErrReplaced)
	})
	gone.stop(t)
	gone.empty(t)
	gone.restart(t)
	reign.keepMembers(t)
	for _, m := range members {
		await.Until(t, m.cfg.ID+" has all entries", func() bool { return len(m.fsm.all()) == 4 })
	}
}
