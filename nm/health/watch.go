package health

import (
	"context"
	"time"

	"heddle/internal/pause"
)

// doubtPause is the least time between the beginning of a check of the disks and that of the next one on request.
const doubtPause = time.Second

// Doubt checks the disks for a caller that could not write to them: YARN's interval of two minutes is long enough for all attempts of an application to
// fail on a full disk. It returns after a check that began after the call, or when ctx ends. That check may wait for a second since the one before.
func (c *Checker) Doubt(ctx context.Context) {
	earlier := c.checks.Load()
	select {
	case c.checking <- struct{}{}:
		defer func() { <-c.checking }()
	case <-ctx.Done():
		return
	}
	if c.checks.Load() != earlier {
		return // others had the same doubt
	}
	if pause.For(ctx, time.Until(c.begun.Add(doubtPause))) != nil {
		return
	}
	c.checkDisks()
	if ok, _ := c.o.Disks.Healthy(); !ok {
		select {
		case c.ill <- struct{}{}:
		default:
		}
	}
}

// checkDisks is for the one who has checking.
func (c *Checker) checkDisks() {
	c.checks.Add(1)
	c.begun = time.Now()
	c.o.Disks.Check()
	c.note()
}

// watchDisks checks the disks until ctx ends.
func (c *Checker) watchDisks(ctx context.Context) {
	p := pace{interval: c.o.DisksInterval}
	for {
		c.checking <- struct{}{}
		c.checkDisks()
		<-c.checking
		ok, _ := c.o.Disks.Healthy()
		for wait := p.next(ok); !c.sleep(ctx, wait); wait = p.next(false) {
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// sleep waits for the next check. It returns false if a doubt has found the disks ill meanwhile.
func (c *Checker) sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-c.ill:
		return false
	case <-timer.C:
	case <-ctx.Done():
	}
	return true
}

// pace is how long it takes to the next check. A node whose disks are ill is checked again soon, as it takes no containers meanwhile. Each time takes twice as
// long as the one before, until the disks are well for a whole interval: disks that fill whenever the node is back shall not burn attempts each second.
type pace struct {
	interval time.Duration
	again    time.Duration // the last wait of ill disks; 0: they are well
	well     bool          // at the last check
}

func (p *pace) next(ok bool) time.Duration {
	if !ok {
		p.well, p.again = false, min(max(2*p.again, doubtPause), p.interval)
		return p.again
	}
	if p.well {
		p.again = 0
	}
	p.well = true
	return p.interval
}
