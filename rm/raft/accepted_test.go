package raft

import (
	"io"
	"slices"
	"strings"
	"testing"

	hraft "github.com/hashicorp/raft"
)

// A leader that stands still in the middle of a snapshot, with its connections open, as a stopped process or a hanging machine does, is replaced:
// the member that it was sending to gives up waiting, and votes.
func TestLeaderThatStopsInTheMiddleOfASnapshotIsReplaced(t *testing.T) {
	t.Parallel()
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	propose(t, lead, 1)
	rest := slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return m == lead })
	begun, silence := make(chan struct{}), make(chan struct{})
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = lead.transport.InstallSnapshot(rest[0].dir.identity().serverID(), hraft.ServerAddress(rest[0].cfg.Listener.Addr().String()),
			&hraft.InstallSnapshotRequest{
				RPCHeader: hraft.RPCHeader{
					ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte(lead.dir.identity().serverID()), Addr: []byte(lead.transport.LocalAddr()),
				},
				SnapshotVersion: hraft.SnapshotVersionMax, Term: lead.raft.CurrentTerm(), LastLogIndex: 1, LastLogTerm: 1, Size: 1 << 30,
				Configuration: hraft.EncodeConfiguration(lead.raft.GetConfiguration().Configuration()),
			},
			&hraft.InstallSnapshotResponse{}, io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), standstill{begun, silence}))
	}()
	t.Cleanup(func() { close(silence); <-sent })
	<-begun
	lead.stop(t)
	next, _ := leader(t, rest)
	propose(t, next, 1)
}

// standstill is a reader that says when it is first read, and has nothing until it is closed.
type standstill struct{ begun, closed chan struct{} }

func (s standstill) Read([]byte) (int, error) {
	close(s.begun)
	<-s.closed
	return 0, io.EOF
}
