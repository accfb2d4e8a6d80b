package leader

import (
	"math"
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

// Progress is what the ApplicationMaster last said, 0 to 1.
func (s *amSession) Progress() float32 { return math.Float32frombits(s.progress.Load()) }

// Progress returns how far an attempt is, 0 to 1; 0 when it isn't known.
func (ms *masters) Progress(id records.AttemptID) float32 {
	if s := ms.masterSessions.Get(id); s != nil {
		return s.Progress()
	}
	return 0
}

// Nudge makes an ApplicationMaster's call that waits for something to tell come back at once.
func (ms *masters) Nudge(id records.AttemptID) {
	if s := ms.masterSessions.Get(id); s != nil {
		s.nudged.Ring()
	}
}
