package loop

import (
	"sync"
	"time"
)

// Chronicle follows the time of the leaderships, as a member sees it in what they commit. The next leadership continues from there: it may begin after the clock
// on the wall was set, and what lasts (suspensions, deadlines) would seem to have lasted for as long as the clock has jumped. The zero value is for use.
type Chronicle struct {
	Elapsed func() time.Duration // as in Config

	mu    sync.Mutex
	began time.Time // when the member was made, or first asked
	first note      // since then the time has gone as fast as the member's own
	last  note      // the latest
	known bool      // first and last are set
}

// note is a time that was committed, and when that was seen.
type note struct {
	time time.Duration // since 1970
	seen time.Duration // Elapsed
}

// A leadership's time is known once it has gone with the member's own for steady. It may be off by slack, or by a part of 1/drift: a leadership's
// clock approaches the wall's. Entries that a member reads from its disk at its start pass much faster.
const (
	steady = 10 * time.Second
	slack  = 2 * time.Second
	drift  = 5
)

func (c *Chronicle) elapsed() time.Duration {
	if c.Elapsed != nil {
		return c.Elapsed()
	}
	if c.began.IsZero() {
		c.began = time.Now()
	}
	return time.Since(c.began)
}

// Note says that a batch of a time, in ms since 1970, was committed.
func (c *Chronicle) Note(ms int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := note{time.Duration(ms) * time.Millisecond, c.elapsed()}
	went, passed := now.time-c.first.time, now.seen-c.first.seen
	if !c.known || (went-passed).Abs() > max(slack, passed/drift) {
		c.first, c.known = now, true
	}
	c.last = now
}

// Now returns the time of the leaderships, if it is known.
func (c *Chronicle) Now() (now time.Time, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known || c.last.seen-c.first.seen < steady {
		return time.Time{}, false
	}
	return time.UnixMilli((c.last.time + c.elapsed() - c.last.seen).Milliseconds()), true
}
