package leader

import (
	"sync"
	"sync/atomic"

	"heddle/yarn/records"
)

// amSession is one ApplicationMaster under this leader. mu is held throughout a call, so that the calls of one
// ApplicationMaster are taken one after the other.
type amSession struct {
	id       records.AttemptID
	seen     seen
	progress atomic.Uint32 // bits of a float32, 0 to 1
	wake     chan struct{} // has an element when there is something to tell
	nudged   chan struct{} // has an element when a call that waits is to come back

	mu         sync.Mutex
	registered bool
	responseID int32
	last       AllocateReply
	keys       map[records.NodeID]int32 // master key of the NMToken that it has for a node
}

func newAMSession(id records.AttemptID) *amSession {
	return &amSession{
		id: id, wake: make(chan struct{}, 1), nudged: make(chan struct{}, 1), keys: map[records.NodeID]int32{},
	}
}

func (s *amSession) wakeUp() { signal(s.wake) }

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// told takes note that everything there was to tell is told.
func (s *amSession) told() {
	select {
	case <-s.wake:
	default:
	}
}
