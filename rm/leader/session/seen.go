package session

import (
	"sync/atomic"
	"time"
)

// Seen is when a peer was last heard of. It is safe for concurrent use.
type Seen struct{ ms atomic.Int64 }

// At records that the peer was heard at a time.
func (s *Seen) At(t time.Time) { s.ms.Store(t.UnixMilli()) }

// Last returns when the peer was heard last, in whole milliseconds.
func (s *Seen) Last() time.Time { return time.UnixMilli(s.ms.Load()) }

// SilentFor reports whether the peer has been silent for longer than a limit; never for a limit of 0.
func (s *Seen) SilentFor(now time.Time, limit time.Duration) bool {
	return limit > 0 && now.Sub(s.Last()) > limit
}
