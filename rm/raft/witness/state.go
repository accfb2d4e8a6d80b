package witness

import (
	"errors"
	"fmt"
	"slices"

	hraft "github.com/hashicorp/raft"
)

// Limits of a State. They bound its size on disk.
const (
	// keptRuns is the number of runs above which runs of committed entries are forgotten.
	keptRuns = 64
	// maxRuns is the most runs that a State may have. Each leadership begins one, so this many are never open at a time.
	maxRuns = 1024
	// maxLists is the most lists of members, and maxListBytes the most bytes of all of them.
	maxLists     = 16
	maxListBytes = 32 << 10
	// maxName is the most bytes of a member's id.
	maxName = 255
)

// ErrHalted says that a leader asked the witness to forget an entry that it knows as committed. The witness does nothing more.
var ErrHalted = errors.New("a leader's log contradicts an entry that was committed")

// errRefused says that a request makes no sense, or doesn't fit into the limits. It changes nothing.
var errRefused = errors.New("the witness refuses a request")

// Run says that the entries from First on, up to the next run or the last entry, have one term.
type Run struct{ First, Term uint64 }

// List is a list of the group's members, as an entry of the log has it.
type List struct {
	Index uint64
	Data  []byte // as hashicorp/raft encodes a Configuration
}

// State is what a witness has promised. Its methods return a changed copy; a State is never changed in place.
type State struct {
	Term uint64 // highest term seen
	// VotedIn is the term of the last vote, 0 for none, and VotedFor the id of the member that got it.
	VotedIn  uint64
	VotedFor string
	Commit   uint64 // highest index known as committed, ≤ Last
	Last     uint64 // index of the last entry, 0 for none
	// Runs has the terms of entries up to Last, in ascending order. Entries before the first run are committed.
	Runs []Run
	// Lists has the newest committed list of members, and all later ones, in ascending order.
	Lists []List
}

// LastTerm returns the term of the last entry, 0 for none.
func (s State) LastTerm() uint64 {
	if len(s.Runs) == 0 {
		return 0
	}
	return s.Runs[len(s.Runs)-1].Term
}

// termOf returns the term of an entry, as far as it is known.
func (s State) termOf(index uint64) (term uint64, known bool) {
	if index == 0 || index > s.Last {
		return 0, false
	}
	for _, r := range slices.Backward(s.Runs) {
		if r.First <= index {
			return r.Term, true
		}
	}
	return 0, false
}

// Members returns the newest list of members, committed or not.
func (s State) Members() hraft.Configuration {
	if len(s.Lists) == 0 {
		return hraft.Configuration{}
	}
	return hraft.DecodeConfiguration(s.Lists[len(s.Lists)-1].Data) // Append has checked it
}

// suffrage reports whether a member is on the newest list, and has a vote there.
func (s State) suffrage(id string) (listed, votes bool) {
	for _, m := range s.Members().Servers {
		if string(m.ID) == id {
			return true, m.Suffrage == hraft.Voter
		}
	}
	return false, false
}

// Append decides about a request of entries. A State differs from s if something has to be written before the answer.
func (s State) Append(r *hraft.AppendEntriesRequest) (State, *hraft.AppendEntriesResponse, error) {
	answer := &hraft.AppendEntriesResponse{Term: s.Term, LastLog: s.Last}
	if r.Term < s.Term {
		return s, answer, nil
	}
	next := s
	next.Term, answer.Term = r.Term, r.Term
	if r.PrevLogEntry > 0 {
		term, known := s.termOf(r.PrevLogEntry)
		switch {
		case !known && r.PrevLogEntry <= s.Commit: // all leaders have it
		case !known:
			answer.NoRetryBackoff = true
			return next, answer, nil
		case term != r.PrevLogTerm && r.PrevLogEntry <= s.Commit:
			return s, nil, fmt.Errorf("%w: entry %d is of term %d, the leader's of term %d", ErrHalted, r.PrevLogEntry, term, r.PrevLogTerm)
		case term != r.PrevLogTerm:
			answer.NoRetryBackoff = true
			return next, answer, nil
		}
	}
	var err error
	at := r.PrevLogEntry
	for _, e := range r.Entries {
		if at++; e.Index != at || e.Term == 0 || e.Term > r.Term {
			return s, nil, fmt.Errorf("%w: entry %d of term %d follows entry %d in a request of term %d", errRefused, e.Index, e.Term, at-1, r.Term)
		}
		if next, err = next.enter(e); err != nil {
			return s, nil, err
		}
	}
	// Entries behind the request's may be an earlier leader's.
	next.Commit = max(next.Commit, min(r.LeaderCommitIndex, at))
	answer.Success, answer.LastLog = true, next.Last
	return next.compact(), answer, nil
}

// enter appends an entry, which may replace those from its index on.
func (s State) enter(e *hraft.Log) (State, error) {
	if e.Index <= s.Last {
		switch term, known := s.termOf(e.Index); {
		case !known, term == e.Term:
			return s, nil
		case e.Index <= s.Commit:
			return s, fmt.Errorf("%w: entry %d is of term %d, the leader's of term %d", ErrHalted, e.Index, term, e.Term)
		}
		s = s.truncate(e.Index)
	}
	switch {
	case e.Term < s.LastTerm():
		return s, fmt.Errorf("%w: entry %d is of term %d, and the one before it of term %d", errRefused, e.Index, e.Term, s.LastTerm())
	case e.Term > s.LastTerm():
		if len(s.Runs) >= maxRuns {
			return s, fmt.Errorf("%w: %d leaderships without a committed entry", errRefused, maxRuns)
		}
		s.Runs = append(slices.Clip(s.Runs), Run{e.Index, e.Term})
	}
	s.Last = e.Index
	if e.Type == hraft.LogConfiguration {
		return s.list(List{e.Index, e.Data})
	}
	return s, nil
}

// Replaces reports whether entries of an earlier state are gone from this one, or are others.
func (s State) Replaces(earlier State) bool {
	if earlier.Last == 0 {
		return false
	}
	if term, known := s.termOf(earlier.Last); known {
		return term != earlier.LastTerm()
	}
	return earlier.Last > s.Commit // else it was committed, and is forgotten
}

// truncate forgets the entries from an index on.
func (s State) truncate(from uint64) State {
	s.Runs = s.Runs[:slices.IndexFunc(append(slices.Clip(s.Runs), Run{First: from}), func(r Run) bool { return r.First >= from })]
	s.Lists = s.Lists[:slices.IndexFunc(append(slices.Clip(s.Lists), List{Index: from}), func(l List) bool { return l.Index >= from })]
	s.Last = from - 1
	return s
}

// list enters a list of members.
func (s State) list(l List) (State, error) {
	if err := checkList(l.Data); err != nil {
		return s, fmt.Errorf("%w: entry %d: %w", errRefused, l.Index, err)
	}
	s.Lists = append(slices.Clip(s.Lists), List{l.Index, slices.Clone(l.Data)})
	s = s.compact()
	total := 0
	for _, l := range s.Lists {
		total += len(l.Data)
	}
	if len(s.Lists) > maxLists || total > maxListBytes {
		return s, fmt.Errorf("%w: %d lists of members in %d bytes", errRefused, len(s.Lists), total)
	}
	return s, nil
}

// checkList returns an error for bytes that hashicorp/raft can't decode: it panics then.
func checkList(data []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not a list of members: %v", p)
		}
	}()
	hraft.DecodeConfiguration(data)
	return nil
}

// compact forgets what no decision needs any more.
func (s State) compact() State {
	for len(s.Runs) > keptRuns && s.Runs[1].First <= s.Commit {
		s.Runs = s.Runs[1:]
	}
	for len(s.Lists) > 1 && s.Lists[1].Index <= s.Commit {
		s.Lists = s.Lists[1:]
	}
	return s
}

// Install decides about a snapshot, which has come without its data.
func (s State) Install(r *hraft.InstallSnapshotRequest) (State, *hraft.InstallSnapshotResponse, error) {
	answer := &hraft.InstallSnapshotResponse{Term: s.Term}
	if r.Term < s.Term {
		return s, answer, nil
	}
	if r.LastLogIndex == 0 || r.LastLogTerm == 0 || r.LastLogTerm > r.Term || r.ConfigurationIndex > r.LastLogIndex || len(r.Configuration) > maxListBytes {
		return s, nil, fmt.Errorf("%w: a snapshot of entry %d, term %d, with members of entry %d", errRefused, r.LastLogIndex, r.LastLogTerm, r.ConfigurationIndex)
	}
	if err := checkList(r.Configuration); err != nil {
		return s, nil, fmt.Errorf("%w: a snapshot: %w", errRefused, err)
	}
	next := s
	next.Term, answer.Term = r.Term, r.Term
	term, known := s.termOf(r.LastLogIndex)
	switch {
	case known && term == r.LastLogTerm:
		next.Commit = max(s.Commit, r.LastLogIndex)
	case r.LastLogIndex <= s.Commit && known:
		return s, nil, fmt.Errorf("%w: entry %d is of term %d, the leader's snapshot of term %d", ErrHalted, r.LastLogIndex, term, r.LastLogTerm)
	case r.LastLogIndex <= s.Commit:
	default:
		next.Commit, next.Last = r.LastLogIndex, r.LastLogIndex
		next.Runs = []Run{{r.LastLogIndex, r.LastLogTerm}}
		next.Lists = []List{{r.ConfigurationIndex, slices.Clone(r.Configuration)}}
	}
	answer.Success = true
	return next.compact(), answer, nil
}

// Ballot is a candidate's request for a vote.
type Ballot struct {
	Candidate       string // its id
	Term            uint64
	Last, LastTerm  uint64 // its last entry
	Handover, Early bool   // Handover: its leader asked it to stand. Early: another leader has been heard of lately
}

// Vote decides about a request for a vote; self is the witness's own id.
func (s State) Vote(b Ballot, self string) (next State, granted bool) {
	listed, votes := s.suffrage(b.Candidate)
	if !listed || b.Term < s.Term || b.Early && !b.Handover || len(b.Candidate) > maxName {
		return s, false
	}
	next = s
	next.Term = b.Term
	switch {
	case !votes, !s.mayVote(self):
		return next, false
	case s.VotedIn == b.Term:
		return next, s.VotedFor == b.Candidate
	case s.newer(b):
		return next, false
	}
	next.VotedIn, next.VotedFor = b.Term, b.Candidate
	return next, true
}

// PreVote tells a candidate whether it would get a vote. It promises nothing.
func (s State) PreVote(b Ballot, self string) (granted bool) {
	_, votes := s.suffrage(b.Candidate)
	return votes && s.mayVote(self) && b.Term >= s.Term && !b.Early && !s.newer(b)
}

// mayVote reports whether the witness itself has a vote. One without a list has forgotten everything, or is new.
func (s State) mayVote(self string) bool {
	_, votes := s.suffrage(self)
	return votes
}

// newer reports whether the witness knows of a later entry than a candidate.
func (s State) newer(b Ballot) bool {
	return s.LastTerm() > b.LastTerm || s.LastTerm() == b.LastTerm && s.Last > b.Last
}
