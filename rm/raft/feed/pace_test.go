package feed

import (
	"errors"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	hraft "github.com/hashicorp/raft"
)

var (
	times = Times{Silence: 250 * time.Millisecond, Patience: 2500 * time.Millisecond}
	other = []string{"rm2"}
)

// clock is a time that tests move.
type clock struct{ time.Time }

func (c *clock) after(ms int) time.Time {
	c.Time = c.Add(time.Duration(ms) * time.Millisecond)
	return c.Time
}

func begin(alone bool) (*Pace, *clock) {
	c := &clock{time.Unix(1e9, 0)}
	p := NewPace(times, alone)
	p.Begin(1, c.Time)
	return p, c
}

func expect(t *testing.T, p *Pace, what string, last uint64, now time.Time, want uint64) {
	t.Helper()
	if got := p.Limit(last, other, now); got != want {
		t.Errorf("%s: the witness may have %d, want %d", what, got, want)
	}
}

const unlimited = math.MaxUint64

// With plain counting, an entry that only the leader and the witness have would be committed although the other full member is alive and merely slower.
func TestTheWitnessGetsNothingBeforeAFullMemberThatAnswers(t *testing.T) {
	p, c := begin(true)
	for range 20 {
		p.Heard("rm2", c.after(100))
		expect(t, p, "a slow member", 5, c.Time, 0)
	}
	p.Acked(1, "rm2", 3)
	expect(t, p, "part of it", 5, c.Time, 3)
	p.Acked(0, "rm2", 5)
	expect(t, p, "an earlier leadership's answer", 5, c.Time, 3)
	p.Acked(1, "rm2", 5)
	expect(t, p, "all of it", 5, c.Time, 5)
	if got := p.Absent(5, other, c.Time); got != nil {
		t.Errorf("absent: %v", got)
	}
}

func TestASilentMemberIsAwayUntilItHasCaughtUp(t *testing.T) {
	p, c := begin(true)
	p.Heard("rm2", c.Time)
	p.Acked(1, "rm2", 10)
	expect(t, p, "silent for a short time", 11, c.after(240), 10)
	expect(t, p, "silent for too long", 12, c.after(20), unlimited)
	if got := p.Absent(12, other, c.Time); !slices.Equal(got, []Absent{{"rm2", 2}}) {
		t.Errorf("absent: %v", got)
	}
	p.Heard("rm2", c.after(100))
	expect(t, p, "back, and behind", 13, c.Time, unlimited)
	p.Acked(1, "rm2", 12)
	expect(t, p, "it still lacks an older entry", 200, c.after(100), unlimited)
	p.Heard("rm2", c.after(240))
	expect(t, p, "it lacks what is older than its silence may be", 300, c.Time, unlimited)
	p.Acked(1, "rm2", 200)
	expect(t, p, "it lacks only what is new", 300, c.Time, 200)
}

func TestAMemberWhoseDiskHangsIsAwayAlthoughItAnswersHeartbeats(t *testing.T) {
	p, c := begin(true)
	p.Acked(1, "rm2", 10)
	expect(t, p, "at first", 11, c.Time, 10)
	for range 24 {
		p.Heard("rm2", c.after(100))
		expect(t, p, "within the patience", 11, c.Time, 10)
	}
	p.Heard("rm2", c.after(100))
	expect(t, p, "after it", 11, c.Time, unlimited)
}

// The new leader stood because the last one was silent. It needn't wait for that one's answer again.
func TestALeaderThatWasLostIsAwayAtOnce(t *testing.T) {
	p, c := begin(true)
	p.Heard("rm1", c.Time)
	p.Begin(2, c.after(300))
	if got := p.Limit(20, []string{"rm1"}, c.Time); got != unlimited {
		t.Errorf("the witness may have %d", got)
	}
	q, c := begin(true)
	q.Heard("rm1", c.Time)
	q.Begin(2, c.after(50)) // it handed over
	if got := q.Limit(20, []string{"rm1"}, c.Time); got != 0 {
		t.Errorf("the witness may have %d, and the last leader is there", got)
	}
}

func TestWithoutCommitAloneTheWitnessWaitsForAsLongAsItTakes(t *testing.T) {
	p, c := begin(false)
	p.Acked(1, "rm2", 4)
	expect(t, p, "silent for an hour", 5, c.after(3600e3), 4)
	if got := p.Absent(5, other, c.Time); len(got) != 1 {
		t.Errorf("absent: %v", got)
	}
}

func TestALeaderWithoutAnotherFullMemberWaitsForNobody(t *testing.T) {
	p, c := begin(true)
	if got := p.Limit(5, nil, c.Time); got != unlimited {
		t.Errorf("the witness may have %d", got)
	}
}

// What is known of a long time takes little room.
func TestMarksAreFew(t *testing.T) {
	p, c := begin(true)
	for i := range uint64(100000) {
		p.Limit(i+1, other, c.after(1))
	}
	if len(p.marks) > 2*maxMarks {
		t.Errorf("%d marks", len(p.marks))
	}
}

// wire is a network that keeps what was sent last, and answers what it is told to.
type wire struct {
	hraft.Transport
	hraft.WithPreVote
	hraft.WithClose
	sent    atomic.Pointer[hraft.AppendEntriesRequest]
	install *hraft.InstallSnapshotRequest
	data    []byte
	err     error
}

func (w *wire) AppendEntries(_ hraft.ServerID, _ hraft.ServerAddress, r *hraft.AppendEntriesRequest, a *hraft.AppendEntriesResponse) error {
	w.sent.Store(r)
	a.Success = true
	return w.err
}

func (w *wire) InstallSnapshot(_ hraft.ServerID, _ hraft.ServerAddress, r *hraft.InstallSnapshotRequest, _ *hraft.InstallSnapshotResponse, data io.Reader) (err error) {
	w.install = r
	w.data, err = io.ReadAll(data)
	return err
}

func entries(term, prev uint64, n int) *hraft.AppendEntriesRequest {
	r := &hraft.AppendEntriesRequest{Term: term, PrevLogEntry: prev, PrevLogTerm: term}
	for i := range uint64(n) {
		r.Entries = append(r.Entries, &hraft.Log{Index: prev + i + 1, Term: term, Data: []byte("secret"), Extensions: []byte("secret")})
	}
	return r
}

func TestRequestsForTheWitnessWaitAndAreShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		tr := NewTransport(w, NewPace(times, true), func(id hraft.ServerID) bool { return id == "witness" }, func() []string { return other })
		send := func(id hraft.ServerID, r *hraft.AppendEntriesRequest) time.Duration {
			t.Helper()
			began := time.Now()
			if err := tr.AppendEntries(id, "", r, &hraft.AppendEntriesResponse{}); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		if took := send("rm2", entries(1, 0, 3)); took != 0 || len(w.sent.Load().Entries) != 3 || string(w.sent.Load().Entries[0].Data) != "secret" {
			t.Errorf("a full member got %+v after %v", w.sent.Load(), took)
		}
		r := entries(1, 0, 5)
		if took := send("witness", r); took != 0 || len(w.sent.Load().Entries) != 3 || len(r.Entries) != 3 {
			t.Errorf("the witness got %d entries after %v, and raft thinks that it got %d", len(w.sent.Load().Entries), took, len(r.Entries))
		}
		if heartbeat := send("witness", &hraft.AppendEntriesRequest{Term: 1}); heartbeat != 0 {
			t.Errorf("a heartbeat took %v", heartbeat)
		}
		// Nothing may be sent yet: the request goes out without entries, so that raft can stop meanwhile.
		if took := send("witness", entries(1, 3, 2)); took != hold || len(w.sent.Load().Entries) != 0 {
			t.Errorf("the witness got %d entries after %v", len(w.sent.Load().Entries), took)
		}
		go func() {
			time.Sleep(5 * time.Millisecond)
			send("rm2", entries(1, 3, 1))
		}()
		if took := send("witness", entries(1, 3, 2)); took != 5*time.Millisecond || len(w.sent.Load().Entries) != 1 {
			t.Errorf("the witness got %d entries after %v", len(w.sent.Load().Entries), took)
		}
		w.err = errors.New("down")
		time.Sleep(times.Silence)
		if _ = tr.AppendEntries("rm2", "", entries(1, 4, 1), &hraft.AppendEntriesResponse{}); tr.pace.Absent(5, other, time.Now()) == nil {
			t.Error("a member that can't be reached counts as there")
		}
		w.err = nil
		if took := send("witness", entries(1, 4, 2)); took != 0 || len(w.sent.Load().Entries) != 2 {
			t.Errorf("with the other away, the witness got %d entries after %v", len(w.sent.Load().Entries), took)
		}
	})
}

func TestTheWitnessGetsNoData(t *testing.T) {
	w := &wire{}
	tr := NewTransport(w, NewPace(times, true), func(hraft.ServerID) bool { return true }, func() []string { return nil })
	r := entries(1, 0, 2)
	r.Entries[1].Type = hraft.LogConfiguration
	if err := tr.AppendEntries("witness", "", r, &hraft.AppendEntriesResponse{}); err != nil {
		t.Fatal(err)
	}
	sent := w.sent.Load().Entries
	if len(sent[0].Data) > 0 || len(sent[0].Extensions) > 0 || len(sent[1].Extensions) > 0 || sent[0].Index != 1 || sent[0].Term != 1 {
		t.Errorf("sent %+v", sent[0])
	}
	if string(sent[1].Data) != "secret" {
		t.Error("the members of the group are left out")
	}
	if string(r.Entries[0].Data) != "secret" {
		t.Error("the leader's own entry was changed")
	}
	install := &hraft.InstallSnapshotRequest{Term: 1, LastLogIndex: 9, LastLogTerm: 1, Size: 6}
	if err := tr.InstallSnapshot("witness", "", install, &hraft.InstallSnapshotResponse{}, io.LimitReader(nil, 0)); err != nil {
		t.Fatal(err)
	}
	if w.install.Size != 0 || len(w.data) != 0 || w.install.LastLogIndex != 9 || install.Size != 6 {
		t.Errorf("sent %+v and %q", w.install, w.data)
	}
	if err := tr.TimeoutNow("witness", "", nil, nil); err == nil {
		t.Error("the witness was asked to lead")
	}
	if _, err := tr.AppendEntriesPipeline("witness", ""); !errors.Is(err, hraft.ErrPipelineReplicationNotSupported) {
		t.Errorf("a pipeline: %v", err)
	}
}
