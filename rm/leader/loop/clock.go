package loop

import (
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// clock is a leadership's clock. It measures silence, deadlines and delays, and dates what is recorded. It follows the time that
// passes, whatever happens to the clock on the wall: it never goes back, and approaches the wall clock by going a tenth faster or
// slower, so that it makes up for an hour in ten. It goes on from the time of the leadership before, as far as the member knows that. It
// stands still while the process does (SIGSTOP, a machine asleep, a paused virtual machine): nobody was silent while nobody listened.
type clock struct {
	wall    func() time.Time
	elapsed func() time.Duration // since any time; never goes back
	log     *logrus.Entry

	mu   sync.Mutex
	read time.Duration // elapsed when the clock was last read
	at   time.Time     // what it showed then
}

// maxPause bounds the time between two readings while the process runs: the loop reads the clock with each tick.
const maxPause = 5 * TickInterval

// slew is the inverse of how much faster or slower the clock may go than the time that passes.
const slew = 10

func newClock(wall func() time.Time, elapsed func() time.Duration, past *Chronicle, log *logrus.Entry) *clock {
	if elapsed == nil {
		begun := time.Now()
		elapsed = func() time.Duration { return time.Since(begun) }
	}
	c := &clock{wall: wall, elapsed: elapsed, log: log, read: elapsed(), at: wall().Round(0)}
	if past != nil {
		if at, known := past.Now(); known {
			c.at = at
		}
	}
	return c
}

// Now is what the clock shows.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.elapsed()
	passed := max(now-c.read, 0)
	c.read = now
	if passed > maxPause {
		c.log.WithField("pause", passed).Warn("this process stood still, or its machine slept: silence in that time doesn't count")
		passed = TickInterval
	}
	c.at = c.at.Add(passed)
	ahead := c.wall().Round(0).Sub(c.at)
	c.at = c.at.Add(min(max(ahead, -passed/slew), passed/slew))
	return c.at
}
