package ledger

import (
	"heddle/rm/ledger/kept"
	"heddle/rm/ledger/limit"
	"heddle/yarn/pb"
)

// Estimates of the bytes of memory that things take beside their texts.
const (
	applicationBytes = 2 << 10
	attemptBytes     = 512
	nodeBytes        = 1 << 10
)

// setContext sets an application's context.
func (a *Application) setContext(ctx *pb.ApplicationSubmissionContext) {
	a.Context, a.contextBytes = ctx, limit.Footprint(ctx)
}

// Bytes returns what the application takes, as it is counted (State.Kept).
func (a *Application) Bytes() int64 { return a.counted.Bytes }

// weigh counts an application after a change of it.
func (a *Application) weigh(s *State) {
	n := a.contextBytes + a.reportBytes + limit.Texts(applicationBytes, a.User, a.Queue, a.Diagnostics)
	for _, t := range a.Attempts {
		n += limit.Texts(attemptBytes, t.Host, t.TrackingURL, t.Diagnostics, t.AMHTTPAddress)
	}
	s.Kept.Put(&a.counted, kept.What{User: a.User, Queue: a.Queue, Bytes: n, Taken: len(a.Attempts) > 0, Ended: a.State.Ended()})
}

// report counts bytes of texts of ends that the ApplicationMaster hasn't acknowledged, or no longer if they are below 0.
func (a *Application) report(s *State, bytes int) {
	a.reportBytes += int64(bytes)
	s.Kept.Grow(&a.counted, int64(bytes))
}

// weight returns the parts of a node that count.
func (n *Node) weight() kept.Node {
	w := kept.Node{Bytes: limit.Texts(nodeBytes, n.ID.Host, n.Rack, n.Version, n.HealthReport, n.httpAddress) + limit.Texts(0, n.Features...) + limit.Texts(0, n.Missing...)}
	if n.Usable() {
		w.Capacity = n.Capability
	}
	return w
}
