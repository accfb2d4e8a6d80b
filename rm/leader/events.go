package leader

import (
	"fmt"
	"slices"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Each event of a leadership is passed, in the loop, to every part that has a method for it. A part hears of it after the ledger and the scheduler
// do, but for the end of a node, whose containers have ended already.
type (
	// NodeJoined: the scheduler has got a node.
	nodeJoinedPart interface{ NodeJoined(id records.NodeID) }
	// NodeBegins: a node registers, or was taken over from an earlier leader. Earlier knowledge of it no longer counts. Its containers aren't told yet.
	nodeBeginsPart interface {
		NodeBegins(id records.NodeID, h scheduler.NodeHandle)
	}
	// NodeRegistered: a node that is to work has registered, with its containers.
	nodeRegisteredPart interface{ NodeRegistered(id records.NodeID) }
	// NodeHeard: a node says something new with a heartbeat.
	nodeHeardPart interface {
		NodeHeard(n *nodeSoft, call *NodeCall)
	}
	// NodeLeft: a node is gone.
	nodeLeftPart interface{ NodeLeft(id records.NodeID) }
	// AppBegan: an application has begun, or was taken over from an earlier leader.
	appBeganPart interface{ AppBegan(app *ledger.Application) }
	// AppEnded: an application is over.
	appEndedPart interface {
		AppEnded(id records.ApplicationID)
	}
	// Tick: a second has passed.
	tickPart interface{ Tick(now time.Time) }
)

// events are the parts that hear of each event.
type events struct {
	joined     []nodeJoinedPart
	begins     []nodeBeginsPart
	registered []nodeRegisteredPart
	heard      []nodeHeardPart
	left       []nodeLeftPart
	began      []appBeganPart
	ended      []appEndedPart
	ticks      []tickPart
}

// hear enters parts, which hear of events in this order. Each must hear of something.
func (e *events) hear(parts ...any) {
	for _, p := range parts {
		hears := []bool{
			enter(&e.joined, p), enter(&e.begins, p), enter(&e.registered, p), enter(&e.heard, p), enter(&e.left, p),
			enter(&e.began, p), enter(&e.ended, p), enter(&e.ticks, p),
		}
		if !slices.Contains(hears, true) {
			panic(fmt.Sprintf("leader: %T hears of nothing", p))
		}
	}
}

func enter[P any](list *[]P, part any) bool {
	p, ok := part.(P)
	if ok {
		*list = append(*list, p)
	}
	return ok
}

func (e *events) nodeJoined(id records.NodeID) {
	for _, p := range e.joined {
		p.NodeJoined(id)
	}
}

func (e *events) nodeBegins(n *nodeSoft) {
	for _, p := range e.begins {
		p.NodeBegins(n.id, n.handle)
	}
}

func (e *events) nodeRegistered(id records.NodeID) {
	for _, p := range e.registered {
		p.NodeRegistered(id)
	}
}

func (e *events) nodeHeard(n *nodeSoft, call *NodeCall) {
	for _, p := range e.heard {
		p.NodeHeard(n, call)
	}
}

func (e *events) nodeLeft(id records.NodeID) {
	for _, p := range e.left {
		p.NodeLeft(id)
	}
}

func (e *events) appBegan(app *ledger.Application) {
	for _, p := range e.began {
		p.AppBegan(app)
	}
}

func (e *events) appEnded(id records.ApplicationID) {
	for _, p := range e.ended {
		p.AppEnded(id)
	}
}

func (e *events) tick(now time.Time) {
	for _, p := range e.ticks {
		p.Tick(now)
	}
}
