package nm

import (
	"fmt"
	"time"

	"heddle/nm/health"
)

// withState are disks of which the state's is one: while it doesn't answer, the node can't take on containers that it would
// find again, nor tell that one has ended.
type withState struct {
	health.Disks
	dir      string
	waiting  func() time.Duration // how long the oldest write has waited
	patience time.Duration
}

func (d withState) Healthy() (ok bool, report string) {
	ok, report = d.Disks.Healthy()
	waited := d.waiting()
	if waited < d.patience {
		return ok, report
	}
	mine := fmt.Sprintf("State folder %s (heddle.state.dir) does not answer: a write has waited for %v", d.dir, waited.Round(time.Second))
	if report != "" {
		mine += "; " + report
	}
	return false, mine
}
