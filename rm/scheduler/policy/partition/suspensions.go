package partition

import "time"

// Refusal is the reason why a long task isn't suspended.
type Refusal uint8

// Refusals.
const (
	Granted     Refusal = iota
	NotLong             // no long task runs there
	Another             // another long task is suspended on the node
	TooOften            // the task was suspended as often as it may be
	NobodyWaits         // no short probe waits on the node
)

func (r Refusal) String() string {
	return [...]string{
		"granted", "no long task runs there", "another long task is suspended there", "it was suspended as often as it may be", "no short task waits there",
	}[r]
}

// Candidate is a task that runs on a node which was asked to suspend one.
type Candidate struct {
	Long    bool
	Another bool // another task is suspended there
	Times   int  // how often it was suspended for short tasks
	Waiting int  // short probes there
}

// Request says whether a task may be suspended (opportunistic preemption).
func (d *Dice) Request(c Candidate) Refusal {
	switch {
	case !c.Long:
		return NotLong
	case c.Another:
		return Another
	case c.Times >= d.Times:
		return TooOften
	case c.Waiting <= 0:
		return NobodyWaits
	}
	return Granted
}

// Due reports whether a task that was suspended for so long must resume: as soon as the short ones that run in its room have ended.
func (d *Dice) Due(suspended time.Duration) bool { return suspended >= d.Timeout }
