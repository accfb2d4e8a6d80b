package pipeline

import (
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/yarn/records"
)

// SetBounds has texts of ApplicationMasters and nodes be shortened once what they belong to is above its bound: they can't be refused.
func (p *Pipeline) SetBounds(b limit.Bounds) { p.bounds = b }

// overfull reports whether a command adds such texts to what is above its bound already: to the applications of a user, or of all, or
// to the nodes.
func (p *Pipeline) overfull(c *ledgerpb.Command) bool {
	switch { // the most frequent ones first
	case c.ContainersAllocated != nil, c.ContainersRunning != nil, c.ContainersReported != nil:
		return false
	case c.ContainersCompleted != nil:
		for _, done := range c.ContainersCompleted.GetCompletions() {
			if p.completionOverfull(done) {
				return true
			}
		}
	case c.ApplicationUpdated != nil:
		return p.appOverfull(c.ApplicationUpdated.GetApp())
	case c.ApplicationEnded != nil:
		return limit.Over(p.bounds.EndedBytes, p.work.Kept.Ended())
	case c.AttemptRegistered != nil:
		return p.appOverfull(c.AttemptRegistered.GetAttempt().GetApp())
	case c.AttemptFinishing != nil:
		return p.appOverfull(c.AttemptFinishing.GetAttempt().GetApp())
	case c.AttemptEnded != nil:
		return p.appOverfull(c.AttemptEnded.GetAttempt().GetApp())
	case c.NodeRegistered != nil, c.NodeUpdated != nil:
		return limit.Over(p.bounds.NodeBytes, p.work.Kept.Nodes())
	}
	return false
}

// completionOverfull is like overfull, for one of a command's completions.
func (p *Pipeline) completionOverfull(done *ledgerpb.Completion) bool {
	return len(done.GetDiagnostics()) > limit.MaxBrief && p.appOverfull(done.GetContainer().GetAttempt().GetApp())
}

func (p *Pipeline) appOverfull(r *ledgerpb.AppRef) bool {
	app := p.work.Apps[records.ApplicationID{ClusterTimestamp: r.GetTimestamp(), ID: r.GetId()}]
	return app != nil && p.work.Kept.Overfull(app.User, p.bounds)
}
