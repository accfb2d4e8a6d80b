package leader

import (
	"sync"
	"sync/atomic"

	"heddle/rm/leader/session"
	"heddle/yarn/records"
)

// amSession is one ApplicationMaster under this leader. mu is held throughout a call, so that the calls of one
// ApplicationMaster are taken one after the other.
type amSession struct {
	id       records.AttemptID
	seen     session.Seen
	progress atomic.Uint32 // bits of a float32, 0 to 1
	wake     session.Bell  // rings when there are updates
	nudged   session.Bell  // rings when a call that waits is to return

	mu       sync.Mutex
	dialogue session.Dialogue[AllocateReply]
	keys     map[records.NodeID]int32 // master key of the NMToken that it has for a node
}

func newAMSession(id records.AttemptID) *amSession {
	return &amSession{
		id: id, wake: session.NewBell(), nudged: session.NewBell(), keys: map[records.NodeID]int32{},
	}
}
