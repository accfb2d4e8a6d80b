package ledger

import "heddle/rm/ledger/ledgerpb"

// maxPast is how many of its ended containers an application keeps. It bounds what a cluster's memory of applications costs, and
// is enough for where the time of a job went that is short enough to ask.
const maxPast = 200

// remember keeps an ended container, for the application's timeline.
func (a *Application) remember(c *Container) {
	if len(a.Past) >= maxPast {
		a.PastMore++
		return
	}
	c.Diagnostic = "" // it may be long, and was told
	a.Past = append(a.Past, c)
}

// ago turns how long before now something was, plus one, into a time within a container's life; 0 into 0.
func (c *Container) ago(now, ms int64) int64 {
	if ms <= 0 {
		return 0
	}
	return max(now-(ms-1), c.Allocated)
}

// times takes what a node tells of a container's life.
func (c *Container) times(now int64, t *ledgerpb.ContainerTimes) {
	if t == nil {
		return
	}
	c.Times = Times{
		Accepted: c.ago(now, t.GetAccepted()), Localized: c.ago(now, t.GetLocalized()),
		Launched: c.ago(now, t.GetLaunched()), Ended: c.ago(now, t.GetEnded()),
	}
}

// NewContainerTimes is how the ledger takes what a node tells; each is ms ago, or negative for unknown.
func NewContainerTimes(accepted, localized, launched, ended int64) *ledgerpb.ContainerTimes {
	return &ledgerpb.ContainerTimes{Accepted: plusOne(accepted), Localized: plusOne(localized), Launched: plusOne(launched), Ended: plusOne(ended)}
}

func plusOne(ms int64) int64 {
	if ms < 0 {
		return 0
	}
	return ms + 1
}
