package leader

import (
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// clock is a leadership's clock, by which it measures silence, deadlines and delays, and which gives what is recorded its time. It goes
// by the time that passes, whatever is done to the clock on the wall: it never goes back, and follows the wall clock by a tenth faster
// or slower, so that an hour is made up for in ten. It stands still while the process does (a machine that sleeps, a virtual one that is
// paused, SIGSTOP): nobody was silent while nobody listened.
type clock struct {
	wall    func() time.Time
	elapsed func() time.Duration // since any time; never goes back
	log     *logrus.Entry

	mu   sync.Mutex
	read time.Duration // elapsed when the clock was last read
	at   time.Time     // what it showed then
}

// maxPause is how long the clock isn't read at most while the loop runs, which does so with each tick.
const maxPause = 5 * tickInterval

// slew is the part of the time that passes by which the clock goes faster or slower than it.
const slew = 10

func newClock(wall func() time.Time, elapsed func() time.Duration, log *logrus.Entry) *clock {
	if elapsed == nil {
		begun := time.Now()
		elapsed = func() time.Duration { return time.Since(begun) }
	}
	return &clock{wall: wall, elapsed: elapsed, log: log, read: elapsed(), at: wall().Round(0)}
}

// Now is what the clock shows.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.elapsed()
	passed := max(now-c.read, 0)
	c.read = now
	if passed > maxPause {
		c.log.WithField("pause", passed).Warn("this process stood still, or its machine slept: nobody's silence counts meanwhile")
		passed = tickInterval
	}
	c.at = c.at.Add(passed)
	ahead := c.wall().Round(0).Sub(c.at)
	c.at = c.at.Add(min(max(ahead, -passed/slew), passed/slew))
	return c.at
}
