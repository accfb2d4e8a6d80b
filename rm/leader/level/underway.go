package level

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// UnderWay is a level that is on record for a container, and that its node has not reported yet.
type UnderWay struct {
	To    ledgerpb.Level
	Node  records.NodeID
	Since int64 // ms since 1970
	// Inherited: no order was given since the leader changed, or the node registered; it may have the level already.
	Inherited bool
}

// Text says in one line for people what the container is about, and for how long, as the end of a sentence that begins with "is".
func (u UnderWay) Text(now int64) string {
	what := "being suspended"
	switch {
	case u.To == ledgerpb.Level_RUNNING && u.Inherited:
		what = "to run"
	case u.To == ledgerpb.Level_RUNNING:
		what = "resuming"
	case u.To == ledgerpb.Level_SHRUNK:
		what = "being shrunk"
	}
	return fmt.Sprintf("%s for %d s; %s", what, max(now-u.Since, 0)/1000, u.Unreported())
}

// Unreported says which side must still report that the level is reached.
func (u UnderWay) Unreported() string {
	if u.Inherited {
		return u.Node.Host + " has not reported it again yet"
	}
	return u.Node.Host + " has not reported it yet"
}

// Unconfirmed is the error of an order whose node has not said that it has carried it out. The order stands, and is sent again.
type Unconfirmed struct {
	Container records.ContainerID
	UnderWay
	Now int64 // ms since 1970
	Err error // of the last try
}

func (e *Unconfirmed) Error() string {
	return fmt.Sprintf("container %v is %s (%v). It is told again every %d s", e.Container, e.Text(e.Now), e.Err, pause/time.Second)
}

func (e *Unconfirmed) Unwrap() error { return e.Err }

// openOrders are those that nodes have not answered. The loop alone changes and reads byContainer.
type openOrders struct {
	byContainer map[records.ContainerID]*order
	mu          sync.RWMutex
	underWay    map[records.ContainerID]UnderWay // also what is on record, and the node has not reported to this leader
}

// UnderWay returns the levels that nodes have not reported yet, but for containers that run by all that is known. It is safe for concurrent use, and
// doesn't wait for the loop.
func (l *openOrders) UnderWay() map[records.ContainerID]UnderWay {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := maps.Clone(l.underWay)
	maps.DeleteFunc(out, func(_ records.ContainerID, u UnderWay) bool { return u.Inherited && u.To == ledgerpb.Level_RUNNING })
	return out
}

// UnderWayOf returns that of one container, if there is one. It is safe for concurrent use, and doesn't wait for the loop.
func (l *openOrders) UnderWayOf(id records.ContainerID) (UnderWay, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	u, ok := l.underWay[id]
	return u, ok
}

// put remembers an order until its container's node has carried it out. It replaces an earlier one.
func (l *openOrders) put(o *order, node records.NodeID) {
	l.byContainer[o.Container] = o
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underWay[o.Container] = UnderWay{o.Level, node, o.since.UnixMilli(), false}
}

// inherit remembers that a container's node has still to report what is on record.
func (l *openOrders) inherit(c *ledger.Container, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underWay[c.ID] = UnderWay{c.Level, c.Node, now.UnixMilli(), true}
}

// drop forgets the order for a container, or that it was inherited.
func (l *openOrders) drop(id records.ContainerID) {
	if _, known := l.underWay[id]; !known { // as of almost all containers that nodes report
		return
	}
	delete(l.byContainer, id)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.underWay, id)
}

// isWished reports whether an order carries out a wish of a user or an ApplicationMaster, not of preemption.
func (o *Order) isWished(c *ledger.Container, wish Wish) bool {
	return c.Level == o.Level && o.Level != ledgerpb.Level_RUNNING && o.For == "" && (wish.Level == ledgerpb.Level_RUNNING || wish.Level == o.Level) &&
		(wish.Held == nil || *wish.Held == o.Held) && wish.breathEvery() == o.BreathEvery
}

// StillAbout reports whether a node that has answered an order of a version has not carried it out, by what it says of the container: it answers at once
// if it is still about the same order for an earlier call.
func StillAbout(said []*pb.ContainerSuspension, version int32) bool {
	still := func(l pb.ContainerLevel) bool {
		return l == pb.ContainerLevel_LEVEL_FROZEN || l == pb.ContainerLevel_LEVEL_RECLAIMED
	}
	return slices.ContainsFunc(said, func(s *pb.ContainerSuspension) bool {
		return s.GetVersion() < version || s.GetVersion() == version && still(s.GetLevel()) != still(s.GetWanted())
	})
}
