package ledger

import "heddle/rm/ledger/ledgerpb"

// maxPast is how many ended containers an application keeps. It limits the memory that a cluster's applications cost, and
// suffices for the timeline of a short job.
const maxPast = 200

// remember keeps a copy of an ended container, for the application's timeline.
func (a *Application) remember(c *Container) {
	if len(a.Past) >= maxPast {
		a.PastMore++
		return
	}
	past := *c
	past.Diagnostic = "" // it may be long, and was already reported
	a.Past = append(a.Past, &past)
}

// ago converts a time before now into a time within a container's life. The argument is that time in ms plus one; 0 stays 0.
func (c *Container) ago(now, ms int64) int64 {
	if ms <= 0 {
		return 0
	}
	return max(now-(ms-1), c.Allocated)
}

// times records what a node reports of a container's life; nil is nothing.
func (c *Container) times(now int64, t *ledgerpb.ContainerTimes) {
	c.Times = Times{
		Accepted: c.ago(now, t.GetAccepted()), Localized: c.ago(now, t.GetLocalized()),
		Launched: c.ago(now, t.GetLaunched()), Ended: c.ago(now, t.GetEnded()),
	}
}
