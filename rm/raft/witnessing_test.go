package raft

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"heddle/internal/await"
	"heddle/rm/raft/witness"
)

// third is a witness that a test starts and stops.
type third struct {
	*Witness
	cfg    Config
	cancel context.CancelFunc
	done   chan error
	heard  *heard // since its last start
}

func (w *third) start(t *testing.T) {
	t.Helper()
	cfg := w.cfg
	w.heard = &heard{}
	cfg.Listener = recording{listen(t, w.cfg.member(WitnessID).Address), w.heard}
	var err error
	if w.Witness, err = OpenWitness(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.done = cancel, make(chan error, 1)
	go func() { w.done <- w.Run(ctx) }()
}

func (w *third) stop(t *testing.T) {
	t.Helper()
	if w.Witness == nil {
		return
	}
	w.cancel()
	if err := <-w.done; err != nil {
		t.Error(err)
	}
	w.Witness = nil
}

// heard is every byte that a witness was sent.
type heard struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heard) all() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.b.Bytes())
}

// recording is a listener whose connections write down what they get.
type recording struct {
	net.Listener
	heard *heard
}

func (r recording) Accept() (net.Conn, error) {
	c, err := r.Listener.Accept()
	return recorded{c, r.heard}, err
}

type recorded struct {
	net.Conn
	heard *heard
}

func (r recorded) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.heard.mu.Lock()
	defer r.heard.mu.Unlock()
	r.heard.b.Write(p[:n])
	return n, err
}

// refuses waits until a witness has refused its vote several times.
func (w *third) refuses(t *testing.T, times uint64) {
	t.Helper()
	was := w.part.Report().Refused
	await.Until(t, "the witness refuses its vote", func() bool { return w.part.Report().Refused >= was+times })
}

// trio starts two members and a witness.
func trio(t *testing.T, change func(*Config)) ([]*member, *third) {
	t.Helper()
	three := apart(t, 3)
	members, w := three[:2], &third{cfg: three[2].cfg}
	list := slices.Clone(w.cfg.Members)
	list[2].ID = WitnessID
	if err := w.cfg.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	w.cfg.ID, w.cfg.Members = WitnessID, list
	for _, m := range members {
		m.cfg.Members = list
		if change != nil {
			change(&m.cfg)
		}
		m.start(t)
	}
	t.Cleanup(func() { w.stop(t) })
	w.start(t)
	return members, w
}

func other(members []*member, m *member) *member { return others(members, m)[0] }

// With two members alone, the loss of either one stops the group.
func TestTwoMembersAndAWitnessSurviveTheLossOfEachOne(t *testing.T) {
	t.Parallel()
	members, w := trio(t, nil)
	reign := leadership{members: members}
	lead, _ := reign.now(t)
	propose(t, lead, 5)
	if len(lead.OneDisk()) != 0 {
		t.Errorf("with all there, %v are away", lead.OneDisk())
	}

	w.stop(t)
	propose(t, lead, 5)
	w.start(t)

	standby := other(members, lead)
	standby.stop(t)
	propose(t, lead, 5)
	await.Until(t, "the leader says what the other lacks", func() bool {
		away := lead.OneDisk()
		return len(away) == 1 && away[0].ID == standby.cfg.ID && away[0].Behind >= 5
	})
	standby.restart(t)
	await.Until(t, "both have all", func() bool { return len(standby.fsm.all()) == 15 && len(lead.OneDisk()) == 0 })

	lead.stop(t)
	next, _ := leader(t, []*member{standby})
	if err := next.Barrier(); err != nil || len(next.fsm.all()) != 15 {
		t.Fatalf("the new leader has %d of 15 entries, %v", len(next.fsm.all()), err)
	}
	propose(t, next, 5)
	lead.restart(t)
	await.Until(t, "both have all", func() bool { return len(lead.fsm.all()) == 20 && len(next.OneDisk()) == 0 })
	if a, b := lead.fsm.all(), next.fsm.all(); strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("members disagree:\n%v\n%v", a, b)
	}
	await.Until(t, "the witness knows of all entries", func() bool {
		s := w.status()
		return s.Last == next.raft.LastIndex() && s.Leader == next.cfg.ID
	})
}

// An entry that only a leader and a witness have lies on one disk. It must not be acknowledged while the other full member is merely slow.
func TestNothingIsAcknowledgedOnOneDiskWhileTheOtherMemberIsSlow(t *testing.T) {
	t.Parallel()
	disks := map[string]*hangingDisk{}
	members, w := trio(t, func(c *Config) {
		own := &hangingDisk{}
		disks[c.ID] = own
		c.disk = func(d *disk) { d.filer = hangingFiler{d.filer, own} }
	})
	lead, term := leader(t, members)
	propose(t, lead, 3)
	slow := other(members, lead)
	disks[slow.cfg.ID].Lock()
	index := lead.raft.LastIndex() + 1
	p := lead.Propose(Entry{Data: []byte("slow")})
	await.Until(t, "the leader has it on its disk", func() bool { return lead.raft.LastIndex() == index })
	for range 10 {
		was := slow.LastContact()
		await.Until(t, "another heartbeat", func() bool { return slow.LastContact().After(was) || term.Err() != nil })
	}
	if last := w.status().Last; last >= index && term.Err() == nil {
		t.Errorf("the witness has entry %d, and the other full member, which answers, doesn't", last)
	}
	disks[slow.cfg.ID].Unlock()
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if last := slow.raft.LastIndex(); last < index {
		t.Errorf("entry %d is acknowledged, and %s has %d", index, slow.cfg.ID, last)
	}
}

// The replicated state holds master keys and users' tokens. They must not lie on a third machine, nor cross the wire to it.
func TestNoEntryAndNoSnapshotReachesTheWitness(t *testing.T) {
	t.Parallel()
	const secret = "a master key"
	members, w := trio(t, func(c *Config) {
		c.SnapshotThreshold, c.SnapshotInterval, c.TrailingLogs = 20, 20*time.Millisecond, 1
	})
	lead, _ := leader(t, members)
	work := func() {
		for i := range 50 {
			if _, err := lead.Propose(Entry{Data: fmt.Appendf(nil, "%s %d", secret, i)}).Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}
	work()
	await.Until(t, "the witness has what was sent", func() bool { return w.status().Last >= 50 })
	sent := w.heard.all()
	w.stop(t)
	work()
	await.Until(t, "the leader has a snapshot, and not what went before", func() bool {
		first, err := lead.log.FirstIndex()
		return err == nil && first > 60
	})
	w.start(t)
	await.Until(t, "the witness knows of all", func() bool { return w.status().Last == lead.raft.LastIndex() })
	sent = append(sent, w.heard.all()...)
	if bytes.Contains(sent, []byte("master")) {
		t.Error("the witness was sent what it must not have")
	}
	if !bytes.Contains(sent, []byte("Entries")) || len(sent) < 2000 {
		t.Errorf("the witness was sent %d bytes; the test sees nothing", len(sent))
	}
	files := 0
	err := filepath.WalkDir(w.cfg.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte("master")) {
			t.Errorf("%s holds what it must not", path)
		}
		return err
	})
	if err != nil || files != 3 {
		t.Errorf("the witness has %d files, %v", files, err)
	}
}

// The only member that has what was acknowledged is away, and the witness has lost its disk: nobody may lead.
func TestAWitnessThatComesBackEmptyElectsNobody(t *testing.T) {
	t.Parallel()
	members, w := trio(t, nil)
	lead, _ := leader(t, members)
	propose(t, lead, 1)
	lagging := other(members, lead)
	await.Until(t, "the one that will lag has the first entry", func() bool { return len(lagging.fsm.all()) == 1 })
	lagging.stop(t)
	propose(t, lead, 10)
	lead.stop(t)
	lagging.restart(t)
	w.refuses(t, 2)
	await.Until(t, "it says whom it waits for", func() bool {
		return strings.Contains(lagging.Impasse(), "start "+lead.cfg.ID) && strings.Contains(lagging.Impasse(), fmt.Sprintf("%s lacks ", lagging.cfg.ID))
	})
	w.stop(t)
	if err := os.RemoveAll(w.cfg.Dir); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	await.Until(t, "the emptied one is asked for its vote", func() bool {
		return bytes.Count(w.heard.all(), []byte(`"folder":`)) >= 3
	})
	if lagging.IsLeader() {
		t.Error("it leads, and lacks what is committed")
	}
	lead.restart(t)
	reign := leadership{members: members}
	now, _ := reign.now(t)
	if err := now.Barrier(); err != nil || len(now.fsm.all()) != 11 {
		t.Fatalf("%s leads with %d of 11 entries, %v", now.cfg.ID, len(now.fsm.all()), err)
	}
	propose(t, now, 1)
	await.Until(t, "the witness has a vote again", func() bool {
		lead, term := reign.now(t)
		ctx, cancel := context.WithTimeout(term, 100*time.Millisecond)
		defer cancel()
		lead.KeepMembers(ctx)
		infos, err := lead.Members()
		return err == nil && slices.ContainsFunc(infos, func(m MemberInfo) bool {
			return m.Witness() && m.Voter && m.Incarnation == w.dir.identity().Incarnation
		})
	})
	now, _ = reign.now(t)
	left := other(members, now)
	await.Until(t, "the other one has all", func() bool { return len(left.fsm.all()) == 12 })
	now.stop(t)
	propose(t, first(leader(t, []*member{left})), 1)
}

func TestAWitnessNeverLeads(t *testing.T) {
	t.Parallel()
	members, w := trio(t, nil)
	lead, _ := leader(t, members)
	if err := lead.Transfer(t.Context(), WitnessID); err == nil || !strings.Contains(err.Error(), "can't lead") {
		t.Errorf("handing over to the witness: %v", err)
	}
	req := &hraft.TimeoutNowRequest{RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte(lead.dir.identity().serverID()), Addr: []byte(lead.transport.LocalAddr())}}
	id := serverID(WitnessID, w.dir.identity().Incarnation)
	if err := lead.network.TimeoutNow(id, hraft.ServerAddress(w.cfg.member(WitnessID).Address), req, &hraft.TimeoutNowResponse{}); err == nil || !strings.Contains(err.Error(), "never leads") {
		t.Errorf("the witness was asked to lead: %v", err)
	}
	standby := other(members, lead)
	lead.stop(t) // hands over
	propose(t, first(leader(t, []*member{standby})), 1)
}

// A leader of a group that has lost what the witness knows as committed must not make it forget.
func TestAWitnessHaltsBeforeItForgetsWhatIsCommitted(t *testing.T) {
	t.Parallel()
	_, w := trio(t, nil)
	var last uint64
	await.Until(t, "an entry is committed", func() bool { last = w.part.Report().State.Commit; return last > 1 })
	answers := make(chan hraft.RPCResponse, 1)
	r := &hraft.AppendEntriesRequest{
		RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte("rm1"), Addr: []byte("x")},
		Term:      1000, PrevLogEntry: last - 1, PrevLogTerm: 1, Entries: []*hraft.Log{{Index: last, Term: 1000}},
	}
	if s := w.part.Report().State; len(s.Runs) > 1 {
		r.PrevLogTerm = s.Runs[len(s.Runs)-2].Term
	}
	_ = w.part.Answer(hraft.RPC{Command: r, RespChan: answers})
	if a := <-answers; a.Error == nil {
		t.Fatalf("it was answered with %+v", a.Response)
	}
	err := <-w.done
	w.Witness = nil
	if !errors.Is(err, witness.ErrHalted) || !strings.Contains(err.Error(), "-members") {
		t.Errorf("it ended with %v", err)
	}
}

// A witness is added to a group of two, and refused beside three.
func TestAWitnessJoinsTwoMembersAndNoOthers(t *testing.T) {
	t.Parallel()
	three := apart(t, 3)
	members, w := three[:2], &third{cfg: three[2].cfg}
	if err := w.cfg.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	two, list := slices.Clone(w.cfg.Members[:2]), slices.Clone(w.cfg.Members)
	list[2].ID = WitnessID
	w.cfg.ID, w.cfg.Members = WitnessID, list
	for _, m := range members {
		m.cfg.Members = two
		m.start(t)
	}
	lead, _ := leader(t, members)
	propose(t, lead, 5)
	for _, m := range members {
		m.cfg.Members = list
		m.restart(t)
	}
	t.Cleanup(func() { w.stop(t) })
	w.start(t)
	reign := leadership{members: members}
	await.Until(t, "the witness has a vote", func() bool {
		lead, term := reign.now(t)
		ctx, cancel := context.WithTimeout(term, 100*time.Millisecond)
		defer cancel()
		lead.KeepMembers(ctx)
		infos, err := lead.Members()
		return err == nil && len(infos) == 3 && infos[2].Witness() && infos[2].Voter
	})
	lead, _ = reign.now(t)
	left := other(members, lead)
	await.Until(t, "the other one has all", func() bool { return len(left.fsm.all()) == 5 })
	lead.stop(t)
	propose(t, first(leader(t, []*member{left})), 1)

	full := func(ids ...string) (out []MemberInfo) {
		for _, id := range ids {
			out = append(out, MemberInfo{Member: Member{ID: id}})
		}
		return out
	}
	for _, x := range []struct {
		id       string
		recorded []MemberInfo
		why      string
	}{
		{WitnessID, full("rm1", "rm2"), ""},
		{WitnessID, full("rm1", "rm2", "rm3"), "survives the loss of one without a witness"},
		{WitnessID, full("rm1"), "the second one is taken in first"},
		{"rm3", full("rm1", "rm2", WitnessID), "remove the witness before rm3 joins"},
		{"rm3", full("rm1", WitnessID), ""},
		{"rm3", full("rm1", "rm2"), ""},
	} {
		err := refuseCompany(x.id, false, x.recorded)
		if (err == nil) != (x.why == "") || err != nil && !strings.Contains(err.Error(), x.why) {
			t.Errorf("%s beside %v: %v", x.id, x.recorded, err)
		}
	}
}

// A third member makes a majority, but clients whose folders lack it would never find it as the leader.
func TestAMemberThatIsKeptFromLeadingLeavesThatToOthers(t *testing.T) {
	t.Parallel()
	members := group(t, 3, func(c *Config) { c.NeverLead = []string{"rm3"} })
	kept := members[2]
	// On a busy machine the others may both miss their turn. Then rm3 leads, which it must not always do, and hands over.
	const rounds = 3
	led := 0
	resigned := func(now *member) *member {
		if now != kept {
			return now
		}
		led++
		if err := kept.Transfer(t.Context(), ""); err != nil {
			t.Fatalf("rm3 leads, and can't hand over: %v", err)
		}
		now, _ = leader(t, members[:2])
		return now
	}
	lead, _ := leader(t, members)
	lead = resigned(lead)
	for range rounds {
		propose(t, lead, 1)
		if err := lead.Transfer(t.Context(), "rm3"); err == nil || !strings.Contains(err.Error(), "kept from leading") {
			t.Errorf("handing over to rm3: %v", err)
		}
		left := other(members[:2], lead)
		// one that lacks an entry can't lead, and then rm3 may have to
		await.Until(t, left.cfg.ID+" has all", func() bool { return left.raft.LastIndex() == lead.raft.LastIndex() })
		lead.network.Close() // it is lost without a word
		lead.stop(t)
		next, _ := leader(t, []*member{left, kept})
		next = resigned(next)
		propose(t, next, 1)
		lead.restart(t)
		await.Until(t, lead.cfg.ID+" has all", func() bool { return len(lead.fsm.all()) == len(next.fsm.all()) })
		lead = next
	}
	if led > rounds {
		t.Error("rm3 is never kept from leading")
	}
}

// If nobody else can lead, a member that should not leads all the same: it alone has what was acknowledged.
func TestAMemberThatIsKeptFromLeadingLeadsIfNobodyElseCan(t *testing.T) {
	t.Parallel()
	members := group(t, 3, func(c *Config) {
		c.NeverLead = []string{"rm3"}
		c.HeartbeatTimeout, c.ElectionTimeout, c.LeaseTimeout = 300*time.Millisecond, 300*time.Millisecond, 250*time.Millisecond
	})
	lead, _ := leader(t, members)
	lagging := other(members[:2], lead)
	propose(t, lead, 1)
	lagging.stop(t)
	propose(t, lead, 5)
	await.Until(t, "rm3 has all", func() bool { return len(members[2].fsm.all()) == 6 })
	lead.network.Close() // it is lost without a word
	lead.stop(t)
	lagging.restart(t)
	if now, _ := leader(t, []*member{members[2], lagging}); now != members[2] {
		t.Fatalf("%s leads without the entries", now.cfg.ID)
	}
}

// Nobody hears of a witness that has lost its folder, unless it calls: leaders call the one that was lost, and stop looking once the record is right.
func TestALeaderThatLooksForNobodyTakesAnEmptiedWitnessIn(t *testing.T) {
	t.Parallel()
	members, w := trio(t, nil)
	lead, term := leader(t, members)
	go lead.KeepMembers(term)
	propose(t, lead, 2)
	votes := func() bool {
		infos, err := lead.Members()
		return err == nil && slices.ContainsFunc(infos, func(m MemberInfo) bool {
			return m.Witness() && m.Voter && m.Incarnation == w.dir.identity().Incarnation
		})
	}
	await.Until(t, "the record is right", func() bool {
		done, err := lead.AdoptMembers(term)
		return done && err == nil && votes()
	})
	w.stop(t)
	if err := os.RemoveAll(w.cfg.Dir); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	await.Until(t, "the witness has a vote again", func() bool { return votes() || term.Err() != nil })
}

// An older copy of the folder has forgotten what was acknowledged since. The witness begins anew, and has no vote until a leader has taken it in.
func TestAWitnessWithAnOlderCopyOfItsFolderBeginsAnew(t *testing.T) {
	t.Parallel()
	members, w := trio(t, nil)
	reign := leadership{members: members}
	lead, _ := reign.now(t)
	propose(t, lead, 2)
	await.Until(t, "the witness has what was sent", func() bool { return w.status().Last == lead.raft.LastIndex() })
	was := w.dir.identity().Incarnation
	w.stop(t)
	older := filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(w.cfg.Dir)); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	propose(t, lead, 5)
	await.Until(t, "the witness has what was sent", func() bool { return w.status().Last == lead.raft.LastIndex() })
	w.stop(t)
	if err := errors.Join(os.RemoveAll(w.cfg.Dir), os.CopyFS(w.cfg.Dir, os.DirFS(older))); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	now := w.dir.identity().Incarnation
	if now == was {
		t.Fatal("the older copy passes for the folder that was lost")
	}
	await.Until(t, "the witness has a vote again", func() bool {
		lead, term := reign.now(t)
		ctx, cancel := context.WithTimeout(term, 100*time.Millisecond)
		defer cancel()
		lead.KeepMembers(ctx)
		infos, err := lead.Members()
		return err == nil && slices.ContainsFunc(infos, func(m MemberInfo) bool { return m.Witness() && m.Voter && m.Incarnation == now })
	})
}
