package leader

import (
	"math"
	"sync"
	"sync/atomic"

	"heddle/rm/leader/hints"
	"heddle/rm/leader/lending"
	"heddle/rm/leader/session"
	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// amSession is one ApplicationMaster under this leader. mu is held throughout a call, so that the calls of one ApplicationMaster are taken one after the other.
type amSession struct {
	id       records.AttemptID
	user     string
	seen     session.Seen
	progress atomic.Uint32 // bits of a float32, 0 to 1
	wake     session.Bell  // rings when there are updates
	nudged   session.Bell  // rings when a call that waits is to return

	mu       sync.Mutex
	dialogue session.Dialogue[AllocateReply]
	keys     map[records.NodeID]int32 // master key of the NMToken that it has for a node
	probes   lending.Told
	hinted   hints.Hints // that it knows
	classes  int64       // version of those that it knows
}

func newAMSession(id records.AttemptID, user string) *amSession {
	return &amSession{
		id: id, user: user, wake: session.NewBell(), nudged: session.NewBell(), keys: map[records.NodeID]int32{},
	}
}

// Progress returns what the ApplicationMaster last said, 0 to 1.
func (s *amSession) Progress() float32 { return math.Float32frombits(s.progress.Load()) }

// Progress returns how far an attempt is, 0 to 1; 0 when it isn't known.
func (ms *masters) Progress(id records.AttemptID) float32 {
	if s := ms.masterSessions.Get(id); s != nil {
		return s.Progress()
	}
	return 0
}

// tellSuspended tells the ApplicationMaster of a container, with its next heartbeat, that the container is suspended or continues.
func (c *core) tellSuspended(of *ledger.Container, suspended bool) {
	if soft := c.apps[of.ID.Attempt.App]; soft != nil && !of.AM {
		soft.box.Suspend(of.ID, suspended)
	}
}

// Nudge makes an ApplicationMaster's call that waits for something to tell come back at once.
func (ms *masters) Nudge(id records.AttemptID) {
	if s := ms.masterSessions.Get(id); s != nil {
		s.nudged.Ring()
	}
}
