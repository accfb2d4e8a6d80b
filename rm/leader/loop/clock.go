package loop

import (
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// clock is a leadership's clock. It follows the time that passes, whatever happens to the clock on the wall: it never goes back, and approaches the
// wall clock by going a tenth faster or slower, so that it makes up for an hour in ten. It continues from the time of the leadership before, as far as the
// member knows that.
//
// It shows two times, which differ once the process was suspended (SIGSTOP, a machine asleep, a paused virtual machine). Now measures silence and
// delays, and forgives a standstill: silence doesn't count while this process wasn't listening. Date dates what is recorded, and is for lifetimes and
// expiries. It jumps forward after a standstill, as far as the clock on the wall has continued meanwhile.
type clock struct {
	wall    func() time.Time
	elapsed func() time.Duration // since any time; never goes back
	log     *logrus.Entry

	mu   sync.Mutex
	read time.Duration // elapsed when the clock was last read
	at   time.Time     // what Now returned then
	lead time.Duration // of Date before Now
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

// Now returns the time that forgives standstills.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return c.at
}

// Date returns the time that doesn't. It is never before Now.
func (c *clock) Date() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return c.at.Add(c.lead)
}

// advance moves the clock to the present. The lock is held.
func (c *clock) advance() {
	now := c.elapsed()
	passed, stood := max(now-c.read, 0), time.Duration(0)
	c.read = now
	if passed > maxPause {
		c.log.WithField("pause", passed).Warn("this process was stopped, or its machine slept: silence in that time doesn't count")
		passed, stood = TickInterval, passed-TickInterval
	}
	c.at = c.at.Add(passed)
	ahead := c.wall().Round(0).Sub(c.at.Add(c.lead))
	jump := min(max(ahead, 0), stood)
	c.lead += jump
	c.at = c.at.Add(min(max(ahead-jump, -passed/slew), passed/slew))
}
