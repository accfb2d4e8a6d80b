package feed

import (
	"errors"
	"io"
	"time"

	hraft "github.com/hashicorp/raft"
)

// Network carries raft's messages; hashicorp/raft's NetworkTransport does.
type Network interface {
	hraft.Transport
	hraft.WithPreVote
	hraft.WithClose
}

// Transport sends a witness what it may have: entries without their data, snapshots without their contents, and entries when Pace allows
// it. It passes on everything else as it is.
type Transport struct {
	Network
	pace *Pace
	// witness reports whether an id on the group's record is a witness's.
	witness func(hraft.ServerID) bool
	// full returns the ids of the other full members that have a vote.
	full func() []string
}

// NewTransport returns a Transport.
func NewTransport(n Network, pace *Pace, witness func(hraft.ServerID) bool, full func() []string) *Transport {
	return &Transport{n, pace, witness, full}
}

const (
	// holdStep is how often a request that waits checks whether the others have gone away.
	holdStep = 10 * time.Millisecond
	// hold is how long a request for the witness waits for another full member. Then it goes out without entries, and raft sends the next one.
	hold = 100 * time.Millisecond
)

// AppendEntries implements hraft.Transport. It shortens a request to the witness in place: raft counts what it finds in the request as
// acknowledged.
func (t *Transport) AppendEntries(id hraft.ServerID, target hraft.ServerAddress, r *hraft.AppendEntriesRequest, answer *hraft.AppendEntriesResponse) error {
	t.pace.Begin(r.Term, time.Now())
	if t.witness(id) {
		t.restrain(r)
		return t.Network.AppendEntries(id, target, stripped(r), answer)
	}
	err := t.Network.AppendEntries(id, target, r, answer)
	if err == nil {
		t.pace.Heard(string(id), time.Now())
		if answer.Success {
			t.pace.Acked(r.Term, string(id), r.PrevLogEntry+uint64(len(r.Entries)))
		}
	}
	return err
}

// restrain waits until the witness may have the first of some entries, and removes those that it may not have yet.
func (t *Transport) restrain(r *hraft.AppendEntriesRequest) {
	if len(r.Entries) == 0 {
		return
	}
	deadline := time.Now().Add(hold)
	for {
		changed := t.pace.Changed()
		now := time.Now()
		limit := t.pace.Limit(r.PrevLogEntry+uint64(len(r.Entries)), t.full(), now)
		if limit > r.PrevLogEntry {
			r.Entries = r.Entries[:min(uint64(len(r.Entries)), limit-r.PrevLogEntry)]
			return
		}
		if !now.Before(deadline) {
			r.Entries = nil
			return
		}
		step := time.NewTimer(holdStep)
		select {
		case <-changed:
		case <-step.C:
		}
		step.Stop()
	}
}

// stripped returns a request without the entries' data. The members of the group are no secret, and the witness needs them.
func stripped(r *hraft.AppendEntriesRequest) *hraft.AppendEntriesRequest {
	bare := *r
	bare.Entries = make([]*hraft.Log, len(r.Entries))
	for i, e := range r.Entries {
		bare.Entries[i] = &hraft.Log{Index: e.Index, Term: e.Term, Type: e.Type}
		if e.Type == hraft.LogConfiguration {
			bare.Entries[i].Data = e.Data
		}
	}
	return &bare
}

// InstallSnapshot implements hraft.Transport.
func (t *Transport) InstallSnapshot(id hraft.ServerID, target hraft.ServerAddress, r *hraft.InstallSnapshotRequest, answer *hraft.InstallSnapshotResponse, data io.Reader) error {
	t.pace.Begin(r.Term, time.Now())
	if t.witness(id) {
		bare := *r
		bare.Size = 0
		return t.Network.InstallSnapshot(id, target, &bare, answer, eof{})
	}
	err := t.Network.InstallSnapshot(id, target, r, answer, data)
	if err == nil {
		t.pace.Heard(string(id), time.Now())
		if answer.Success {
			t.pace.Acked(r.Term, string(id), r.LastLogIndex)
		}
	}
	return err
}

// eof is a reader of nothing.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// AppendEntriesPipeline implements hraft.Transport. A pipeline would pass the rules by.
func (t *Transport) AppendEntriesPipeline(hraft.ServerID, hraft.ServerAddress) (hraft.AppendPipeline, error) {
	return nil, hraft.ErrPipelineReplicationNotSupported
}

// TimeoutNow implements hraft.Transport.
func (t *Transport) TimeoutNow(id hraft.ServerID, target hraft.ServerAddress, r *hraft.TimeoutNowRequest, answer *hraft.TimeoutNowResponse) error {
	if t.witness(id) {
		return errors.New("a witness holds no data, and can't lead")
	}
	return t.Network.TimeoutNow(id, target, r, answer)
}

// SetHeartbeatHandler implements hraft.Transport. A member that is elected after a leader's silence knows by it since when that one was silent.
func (t *Transport) SetHeartbeatHandler(handle func(hraft.RPC)) {
	if handle == nil {
		t.Network.SetHeartbeatHandler(nil)
		return
	}
	t.Network.SetHeartbeatHandler(func(rpc hraft.RPC) {
		if r, ok := rpc.Command.(*hraft.AppendEntriesRequest); ok {
			t.pace.Heard(string(r.ID), time.Now())
		}
		handle(rpc)
	})
}
