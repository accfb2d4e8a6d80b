package ledger

import (
	"math"

	"heddle/rm/ledger/ends"
	"heddle/rm/ledger/ledgerpb"
)

// maxPast is how many ended containers an application keeps.
const maxPast = ends.Max

// Past are the first and the newest containers of an application that have ended and were acknowledged, as its end waits for these. Clones and
// snapshots are other owners.
type Past = ends.Of[Container]

// PastOf returns the given containers as an application's past, in the order of their ends.
func PastOf(all ...*Container) (p Past) {
	for _, c := range all {
		p.Add(c)
	}
	return p
}

// remember keeps an ended container, for the application's timeline and receipt.
func remember(s *State, a *Application, c *Container) {
	if a.Past.Full() {
		if a.PastMore++; s.Version < PathVersion {
			return
		}
	}
	a.Past.Keep(c).Diagnostic = "" // it may be long, and was already reported
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
	c.Cold, c.GivenBack = t.GetCold(), t.GetGivenBack()
	c.lacked(t.GetStarved())
	c.Times = TimesOf(c, t, now)
}

// TimesOf are the times in ms since 1970 that a node tells at a time of a container's life; nil is nothing.
func TimesOf(c *Container, t *ledgerpb.ContainerTimes, now int64) Times {
	return Times{c.ago(now, t.GetAccepted()), c.ago(now, t.GetLocalized()), c.ago(now, t.GetLaunched()), c.ago(now, t.GetEnded())}
}

// lacked records for how many ms the container had no processor: a node may tell anything.
func (c *Container) lacked(ms int64) { c.NoProcessor = int32(min(max(ms, 0), math.MaxInt32)) }
