package raft

import (
	"io"
	"sync"

	hraft "github.com/hashicorp/raft"
)

// peers carries raft's messages to other members. It names to each connection the member and the incarnation that it is meant for, and notes
// what the others promise.
//
// A witness plugs in here: it is a voter without an FSM, whose messages the leader strips by the ServerID that they go to.
type peers struct {
	*hraft.NetworkTransport
	memory *memory
	in     chan hraft.RPC
	done   chan struct{}
	close  func() error
	// mayStand reports whether this member may stand for election now.
	mayStand func() bool
}

// newPeers passes on what comes in until it is closed.
func newPeers(t *hraft.NetworkTransport, m *memory) *peers {
	p := &peers{NetworkTransport: t, memory: m, in: make(chan hraft.RPC), done: make(chan struct{})}
	p.close = sync.OnceValue(func() error {
		close(p.done)
		return t.Close()
	})
	go p.receive()
	return p
}

// receive refuses snapshots that would take this member back behind what it knows to be committed: raft would install them without a question.
func (p *peers) receive() {
	for {
		select {
		case rpc := <-p.NetworkTransport.Consumer():
			if req, ok := rpc.Command.(*hraft.InstallSnapshotRequest); ok {
				if err := p.memory.mayInstall(req); err != nil {
					_, _ = io.Copy(io.Discard, rpc.Reader)
					rpc.Respond(&hraft.InstallSnapshotResponse{Term: req.Term}, err)
					continue
				}
			}
			select {
			case p.in <- rpc:
			case <-p.done:
				return
			}
		case <-p.done:
			return
		}
	}
}

// Consumer implements hraft.Transport.
func (p *peers) Consumer() <-chan hraft.RPC { return p.in }

// Close implements hraft.WithClose.
func (p *peers) Close() error { return p.close() }

// AppendEntriesPipeline implements hraft.Transport.
func (p *peers) AppendEntriesPipeline(id hraft.ServerID, at hraft.ServerAddress) (hraft.AppendPipeline, error) {
	return p.NetworkTransport.AppendEntriesPipeline(id, dialled(id, at))
}

// AppendEntries implements hraft.Transport.
func (p *peers) AppendEntries(id hraft.ServerID, at hraft.ServerAddress, req *hraft.AppendEntriesRequest, resp *hraft.AppendEntriesResponse) error {
	err := p.NetworkTransport.AppendEntries(id, dialled(id, at), req, resp)
	if n := len(req.Entries); n > 0 && err == nil && resp.Success {
		p.memory.Acknowledged(string(id), req.Entries[n-1].Index, req.Term)
	}
	return err
}

// RequestVote implements hraft.Transport.
func (p *peers) RequestVote(id hraft.ServerID, at hraft.ServerAddress, req *hraft.RequestVoteRequest, resp *hraft.RequestVoteResponse) error {
	err := p.NetworkTransport.RequestVote(id, dialled(id, at), req, resp)
	if err == nil && resp.Granted {
		p.memory.VotedFor(string(id), req.Term)
	}
	return err
}

// RequestPreVote implements hraft.WithPreVote. A member that may not stand asks no peer: it gets no votes, so it doesn't stand, and votes for others.
func (p *peers) RequestPreVote(id hraft.ServerID, at hraft.ServerAddress, req *hraft.RequestPreVoteRequest, resp *hraft.RequestPreVoteResponse) error {
	if !p.mayStand() {
		resp.Term = req.Term
		return nil
	}
	return p.NetworkTransport.RequestPreVote(id, dialled(id, at), req, resp)
}

// InstallSnapshot implements hraft.Transport.
func (p *peers) InstallSnapshot(id hraft.ServerID, at hraft.ServerAddress, req *hraft.InstallSnapshotRequest, resp *hraft.InstallSnapshotResponse, data io.Reader) error {
	err := p.NetworkTransport.InstallSnapshot(id, dialled(id, at), req, resp, data)
	if err == nil && resp.Success {
		p.memory.Acknowledged(string(id), req.LastLogIndex, req.Term)
	}
	return err
}

// TimeoutNow implements hraft.Transport.
func (p *peers) TimeoutNow(id hraft.ServerID, at hraft.ServerAddress, req *hraft.TimeoutNowRequest, resp *hraft.TimeoutNowResponse) error {
	return p.NetworkTransport.TimeoutNow(id, dialled(id, at), req, resp)
}
