package witness

import (
	"errors"
	"math"
	"testing"

	hraft "github.com/hashicorp/raft"
)

// members returns the data of an entry that lists members: full ones and the witness, all with a vote unless they end in "?".
func members(ids ...string) []byte {
	var c hraft.Configuration
	for _, id := range ids {
		s := hraft.Server{ID: hraft.ServerID(id), Address: hraft.ServerAddress(id + ":1")}
		if n := len(id) - 1; id[n] == '?' {
			s.ID, s.Suffrage = hraft.ServerID(id[:n]), hraft.Nonvoter
		}
		c.Servers = append(c.Servers, s)
	}
	return hraft.EncodeConfiguration(c)
}

// request is a request of entries behind an entry, each of the given term.
func request(term, prev, prevTerm, commit uint64, terms ...uint64) *hraft.AppendEntriesRequest {
	r := &hraft.AppendEntriesRequest{Term: term, PrevLogEntry: prev, PrevLogTerm: prevTerm, LeaderCommitIndex: commit}
	for i, t := range terms {
		r.Entries = append(r.Entries, &hraft.Log{Index: prev + uint64(i) + 1, Term: t})
	}
	if prev == 0 && len(terms) > 0 {
		r.Entries[0].Type, r.Entries[0].Data = hraft.LogConfiguration, members("rm1", "rm2", "witness")
	}
	return r
}

func (s State) mustAppend(t *testing.T, r *hraft.AppendEntriesRequest, success bool) State {
	t.Helper()
	next, answer, err := s.Append(r)
	if err != nil || answer.Success != success {
		t.Fatalf("%+v: %+v, %v", r, answer, err)
	}
	if err := next.check(); err != nil {
		t.Fatal(err)
	}
	return next
}

func TestEntriesAreTruncatedAsInRaftButNeverBelowTheCommitIndex(t *testing.T) {
	s := State{}.mustAppend(t, request(2, 0, 0, 2, 1, 1, 1, 2, 2), true)
	if s.Last != 5 || s.Commit != 2 || s.LastTerm() != 2 || len(s.Runs) != 2 {
		t.Fatalf("%+v", s)
	}
	s.mustAppend(t, request(1, 5, 2, 5), false) // an earlier leader
	s.mustAppend(t, request(3, 7, 2, 5), false) // a gap
	s.mustAppend(t, request(3, 5, 1, 5), false) // another term
	cut := s.mustAppend(t, request(3, 3, 1, 4, 3), true)
	if cut.Last != 4 || cut.Commit != 4 || cut.LastTerm() != 3 {
		t.Errorf("%+v", cut)
	}
	again := cut.mustAppend(t, request(3, 0, 0, 4, 1, 1, 1, 3), true) // a request that was sent twice
	if !again.equal(cut) {
		t.Errorf("%+v became %+v", cut, again)
	}
	// What is behind the request's entries may be another leader's, and isn't committed.
	if late := s.mustAppend(t, request(3, 3, 1, 5), true); late.Commit != 3 || late.Last != 5 {
		t.Errorf("%+v", late)
	}
	for _, r := range []*hraft.AppendEntriesRequest{request(4, 2, 1, 9, 4), request(4, 4, 4, 9), request(4, 1, 1, 9, 4)} {
		if _, _, err := cut.Append(r); !errors.Is(err, ErrHalted) {
			t.Errorf("%+v was answered with %v", r, err)
		}
	}
	for _, r := range []*hraft.AppendEntriesRequest{request(4, 4, 3, 4, 5), request(4, 4, 3, 4, 2), request(4, 4, 3, 4, 0)} {
		if _, _, err := cut.Append(r); !errors.Is(err, errRefused) {
			t.Errorf("%+v was answered with %v", r, err)
		}
	}
}

func TestVotesGoOnlyToMembersThatHaveAllThatTheWitnessKnows(t *testing.T) {
	s := State{}.mustAppend(t, request(3, 0, 0, 1, 1, 3, 3), true)
	ask := func(candidate string, term, last, lastTerm uint64) Ballot {
		return Ballot{Candidate: candidate, Term: term, Last: last, LastTerm: lastTerm}
	}
	handover := ask("rm2", 4, 3, 3)
	handover.Early, handover.Handover = true, true
	early := ask("rm2", 4, 3, 3)
	early.Early = true
	for _, x := range []struct {
		name string
		b    Ballot
		want bool
	}{
		{"as far", ask("rm2", 4, 3, 3), true},
		{"farther", ask("rm2", 4, 9, 3), true},
		{"shorter, with a later term", ask("rm2", 5, 2, 4), true},
		{"lacks an entry", ask("rm2", 4, 2, 3), false},
		{"longer, with an earlier term", ask("rm2", 4, 9, 2), false},
		{"an old term", ask("rm2", 2, 3, 3), false},
		{"a stranger", ask("rm9", 4, 3, 3), false},
		{"a leader is there", early, false},
		{"the leader hands over", handover, true},
	} {
		next, granted := s.Vote(x.b, "witness")
		if granted != x.want {
			t.Errorf("%s: %v", x.name, granted)
		}
		if granted != (next.VotedFor == "rm2" && next.VotedIn == x.b.Term) {
			t.Errorf("%s: on record is %+v", x.name, next)
		}
		if x.b.Handover {
			continue // raft asks no questions before such a vote
		}
		if pre := s.PreVote(x.b, "witness"); pre != x.want {
			t.Errorf("%s: asked before, it says %v", x.name, pre)
		}
	}
	voted, _ := s.Vote(ask("rm2", 4, 3, 3), "witness")
	if _, again := voted.Vote(ask("rm2", 4, 3, 3), "witness"); !again {
		t.Error("the same vote is refused the second time")
	}
	if _, second := voted.Vote(ask("rm1", 4, 9, 3), "witness"); second {
		t.Error("two votes in one term")
	}
}

// A witness that has lost its folder has broken its promises. It must not vote before a leader has given it the log and a vote.
func TestAWitnessThatHasForgottenEverythingDoesNotVote(t *testing.T) {
	b := Ballot{Candidate: "rm2", Term: 9, Last: 100, LastTerm: 8}
	if _, granted := (State{}).Vote(b, "witness"); granted || (State{}).PreVote(b, "witness") {
		t.Error("an empty one votes")
	}
	// The log names the incarnation that was lost.
	s := State{}.mustAppend(t, request(3, 0, 0, 1, 1), true)
	if next, granted := s.Vote(b, "witness#2"); granted || next.VotedIn != 0 || s.PreVote(b, "witness#2") {
		t.Error("another incarnation votes")
	}
	r := request(3, 1, 1, 1, 3)
	r.Entries[0].Type, r.Entries[0].Data = hraft.LogConfiguration, members("rm1", "rm2", "witness#2?")
	s = s.mustAppend(t, r, true)
	if _, granted := s.Vote(b, "witness#2"); granted {
		t.Error("one without a vote on record votes")
	}
	r = request(3, 2, 3, 1, 3)
	r.Entries[0].Type, r.Entries[0].Data = hraft.LogConfiguration, members("rm1", "rm2", "witness#2")
	if _, granted := s.mustAppend(t, r, true).Vote(b, "witness#2"); !granted {
		t.Error("one with a vote on record doesn't vote")
	}
}

func TestASnapshotReplacesWhatItContradicts(t *testing.T) {
	s := State{}.mustAppend(t, request(3, 0, 0, 2, 1, 1, 1, 3, 3), true)
	snapshot := func(term, last, lastTerm uint64) *hraft.InstallSnapshotRequest {
		return &hraft.InstallSnapshotRequest{SnapshotVersion: 1, Term: term, LastLogIndex: last, LastLogTerm: lastTerm, ConfigurationIndex: 1, Configuration: members("rm1", "rm2", "witness")}
	}
	for _, x := range []struct {
		name         string
		r            *hraft.InstallSnapshotRequest
		last, commit uint64
		success      bool
	}{
		{"what it has", snapshot(4, 4, 3), 5, 4, true},
		{"what is committed", snapshot(4, 1, 1), 5, 2, true},
		{"more than it has", snapshot(4, 9, 4), 9, 9, true},
		{"another entry", snapshot(4, 4, 4), 4, 4, true},
		{"an earlier leader's", snapshot(2, 4, 2), 5, 2, false},
	} {
		next, answer, err := s.Install(x.r)
		if err == nil {
			err = next.check()
		}
		if err != nil || answer.Success != x.success || next.Last != x.last || next.Commit != x.commit {
			t.Errorf("%s: %+v, %+v, %v", x.name, next, answer, err)
		}
	}
	if _, _, err := s.Install(snapshot(4, 2, 2)); !errors.Is(err, ErrHalted) {
		t.Errorf("a snapshot with another committed entry: %v", err)
	}
	for _, bad := range []*hraft.InstallSnapshotRequest{snapshot(4, 0, 0), snapshot(4, 9, 5), {Term: 4, LastLogIndex: 9, LastLogTerm: 4, Configuration: []byte("x")}} {
		if _, _, err := s.Install(bad); !errors.Is(err, errRefused) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Nobody can make the state grow without a bound, nor can a leader that sends nonsense end the witness.
func TestTheStateStaysSmall(t *testing.T) {
	s := State{}.mustAppend(t, request(1, 0, 0, 1, 1), true)
	for term := uint64(2); term < 500; term++ {
		s = s.mustAppend(t, request(term, s.Last, s.LastTerm(), s.Last, term, term), true)
	}
	if len(s.Runs) > keptRuns+1 {
		t.Errorf("%d runs of committed entries are kept", len(s.Runs))
	}
	var err error
	for term := uint64(501); err == nil; term++ {
		var next State
		if next, _, err = s.Append(request(term, s.Last, s.LastTerm(), 0, term)); err == nil {
			s = next
		}
	}
	if !errors.Is(err, errRefused) || len(s.Runs) != maxRuns {
		t.Errorf("%d runs, %v", len(s.Runs), err)
	}
	list := request(1<<40, s.Last, s.LastTerm(), 0, 1<<40)
	for _, data := range [][]byte{nil, []byte("\xff"), make([]byte, 1<<20)} {
		list.Entries[0].Type, list.Entries[0].Data = hraft.LogConfiguration, data
		if _, _, err := s.Append(list); !errors.Is(err, errRefused) {
			t.Errorf("a list of %d bytes: %v", len(data), err)
		}
	}
	s.Commit, s.Last, s.Term, s.VotedIn = s.Last, math.MaxUint64, math.MaxUint64, math.MaxUint64
	for i := range s.Runs {
		s.Runs[i].Term, s.Runs[i].First = math.MaxUint64-uint64(maxRuns-i), math.MaxUint64-uint64(maxRuns-i)
	}
	s.VotedFor, s.Lists = string(make([]byte, maxName)), []List{{1, make([]byte, maxListBytes)}}
	if _, err := formatSlot(s, 1); err != nil {
		t.Errorf("the largest state: %v", err)
	}
}
