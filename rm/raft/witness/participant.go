package witness

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// Options configure a Participant.
type Options struct {
	Self    string // its id on the group's record
	Address string // where others reach it
	State   State  // what its disk holds
	// Save writes a state. It returns when that is on disk. After an error the participant does nothing more.
	Save func(State) error
	// Patience is how long after a leader's last message the witness votes for no other. No longer than a leader's lease.
	Patience time.Duration
	Now      func() time.Time
}

// Participant answers raft's requests as a witness. It writes what an answer promises before it answers.
type Participant struct {
	o Options

	deciding sync.Mutex // is held while a request is decided and written

	mu     sync.Mutex // guards what follows; is never held during a write
	state  State      // as on disk
	failed error
	leader string    // the last one that was heard from
	heard  time.Time // when

	refused uint64 // votes

	failing sync.Once
	ended   chan struct{} // closed when it does nothing more
}

// New returns a participant.
func New(o Options) *Participant {
	return &Participant{o: o, state: o.State, ended: make(chan struct{})}
}

// Report is what a participant says of itself.
type Report struct {
	State  State
	Leader string    // the last leader it heard from; "" for none since its start
	Heard  time.Time // when
	Failed error     // why it does nothing more
	// Refused is the number of votes that it has refused since its start, the questions before an election included.
	Refused uint64
}

// Report returns what lies on the participant's disk, and the leader that it follows.
func (p *Participant) Report() Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Report{p.state, p.leader, p.heard, p.failed, p.refused}
}

// Serve answers requests until done is closed, or the participant can't continue; then it returns why.
func (p *Participant) Serve(requests <-chan hraft.RPC, done <-chan struct{}) error {
	for {
		select {
		case <-done:
			return nil
		case <-p.ended:
			return p.Report().Failed
		case rpc := <-requests:
			if err := p.Answer(rpc); err != nil {
				return err
			}
		}
	}
}

// Heartbeat answers a leader's heartbeat. As long as the term is the same it doesn't wait for the disk: a leader would lose its lease because of a
// slow write.
func (p *Participant) Heartbeat(rpc hraft.RPC) {
	if r, ok := rpc.Command.(*hraft.AppendEntriesRequest); ok && p.beat(r) {
		rpc.Respond(&hraft.AppendEntriesResponse{RPCHeader: p.header(), Term: r.Term, Success: true}, nil)
		return
	}
	_ = p.Answer(rpc) // Serve returns the error with the next request; until then each one gets it
}

// beat notes a heartbeat of the present term.
func (p *Participant) beat(r *hraft.AppendEntriesRequest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil || r.Term != p.state.Term {
		return false
	}
	p.leader, p.heard = string(r.ID), p.o.Now()
	return true
}

// Answer answers a request. It returns why the participant does nothing more, nil if it does.
func (p *Participant) Answer(rpc hraft.RPC) error {
	p.deciding.Lock()
	defer p.deciding.Unlock()
	if rpc.Reader != nil {
		// A leader sends no data of snapshots. Whatever comes nevertheless must not be taken for the next request.
		defer func() { _, _ = io.Copy(io.Discard, rpc.Reader) }()
	}
	answer, err := p.decide(rpc.Command)
	if err != nil {
		rpc.Respond(empty(rpc.Command), err)
	} else {
		rpc.Respond(answer, nil)
	}
	return p.Report().Failed
}

// decide decides about a request, and writes what that promises.
func (p *Participant) decide(command any) (any, error) {
	was := p.Report()
	if was.Failed != nil {
		return nil, was.Failed
	}
	switch r := command.(type) {
	case *hraft.AppendEntriesRequest:
		next, answer, err := was.State.Append(r)
		if err = p.keep(next, err); err != nil {
			return nil, err
		}
		answer.RPCHeader = p.header()
		p.follow(string(r.ID), answer.Term == r.Term)
		return answer, nil
	case *hraft.InstallSnapshotRequest:
		next, answer, err := was.State.Install(r)
		if err = p.keep(next, err); err != nil {
			return nil, err
		}
		answer.RPCHeader = p.header()
		p.follow(string(r.ID), answer.Term == r.Term)
		return answer, nil
	case *hraft.RequestVoteRequest:
		next, granted := was.State.Vote(p.ballot(was, r.RPCHeader, Ballot{Term: r.Term, Last: r.LastLogIndex, LastTerm: r.LastLogTerm, Handover: r.LeadershipTransfer}), p.o.Self)
		if err := p.keep(next, nil); err != nil {
			return nil, err
		}
		p.count(granted)
		return &hraft.RequestVoteResponse{RPCHeader: p.header(), Term: next.Term, Granted: granted}, nil
	case *hraft.RequestPreVoteRequest:
		granted := was.State.PreVote(p.ballot(was, r.RPCHeader, Ballot{Term: r.Term, Last: r.LastLogIndex, LastTerm: r.LastLogTerm}), p.o.Self)
		p.count(granted)
		return &hraft.RequestPreVoteResponse{RPCHeader: p.header(), Term: max(was.State.Term, r.Term), Granted: granted}, nil
	case *hraft.TimeoutNowRequest:
		return nil, errors.New("a witness holds no data, and never leads")
	}
	return nil, fmt.Errorf("a witness doesn't know the request %T", command)
}

// ballot completes a candidate's request.
func (p *Participant) ballot(was Report, h hraft.RPCHeader, b Ballot) Ballot {
	b.Candidate = string(h.ID)
	b.Early = was.Leader != "" && was.Leader != b.Candidate && p.o.Now().Sub(was.Heard) < p.o.Patience
	return b
}

// keep writes a state if it differs from what is on disk. A contradiction, or a failed write, ends the participant.
func (p *Participant) keep(next State, err error) error {
	if err == nil && !next.equal(p.Report().State) {
		err = p.o.Save(next)
		if err != nil {
			err = fmt.Errorf("%w: %w", errLost, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.state = next
	case errors.Is(err, ErrHalted), errors.Is(err, errLost):
		p.fail(err)
	}
	return err
}

// Fail ends the participant.
func (p *Participant) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail(err)
}

// fail is called with the lock held.
func (p *Participant) fail(err error) {
	p.failing.Do(func() {
		p.failed = err
		close(p.ended)
	})
}

// count counts refused votes.
func (p *Participant) count(granted bool) {
	if !granted {
		p.mu.Lock()
		p.refused++
		p.mu.Unlock()
	}
}

// errLost says that the disk failed.
var errLost = errors.New("the witness's disk")

// follow notes that a leader of the present term was heard from.
func (p *Participant) follow(leader string, present bool) {
	if !present {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leader, p.heard = leader, p.o.Now()
}

func (p *Participant) header() hraft.RPCHeader {
	return hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte(p.o.Self), Addr: []byte(p.o.Address)}
}

// empty returns an answer that goes with an error.
func empty(command any) any {
	switch command.(type) {
	case *hraft.AppendEntriesRequest:
		return &hraft.AppendEntriesResponse{}
	case *hraft.InstallSnapshotRequest:
		return &hraft.InstallSnapshotResponse{}
	case *hraft.RequestVoteRequest:
		return &hraft.RequestVoteResponse{}
	case *hraft.RequestPreVoteRequest:
		return &hraft.RequestPreVoteResponse{}
	}
	return &hraft.TimeoutNowResponse{}
}

// equal reports whether two states promise the same.
func (s State) equal(o State) bool {
	return s.Term == o.Term && s.VotedIn == o.VotedIn && s.VotedFor == o.VotedFor && s.Commit == o.Commit && s.Last == o.Last &&
		slices.Equal(s.Runs, o.Runs) && slices.EqualFunc(s.Lists, o.Lists, func(a, b List) bool { return a.Index == b.Index })
}
