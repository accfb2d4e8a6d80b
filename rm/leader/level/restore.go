package level

import (
	"cmp"

	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
)

// OnClock turns a date of the ledger, in ms, into the scheduler's time, which forgives standstills.
func OnClock(loop loop.Operations, date int64) int64 {
	return date - loop.Date().Sub(loop.Now()).Milliseconds()
}

// Restore tells the scheduler how a container was suspended so far. Those that an earlier leader has chosen resume by themselves. So do
// containers of releases that don't record for whom containers were suspended, if they hold less than their claim.
func Restore(loop loop.Operations, to Scheduler, c *ledger.Container, h scheduler.ContainerHandle) {
	s, held := c.Suspension(), c.Held()
	chosen := s.Queue != "" && c.Level != ledgerpb.Level_RUNNING || s.Times == 0 && held != c.Resource
	times, since := int(s.Times), OnClock(loop, cmp.Or(s.Since, loop.Time()))
	if chosen {
		times = max(times-1, 0) // this one is counted below
	}
	if times > 0 {
		to.Apply(&eventlog.Event{Op: eventlog.SetPast, Container: h, Times: times, Total: s.Total})
	}
	switch {
	case chosen:
		to.Apply(&eventlog.Event{Op: eventlog.WasSuspended, Container: h, Resource: eventlog.Amounts(held), Since: since, Queue: s.Queue})
	case held != c.Resource:
		to.Apply(&eventlog.Event{Op: eventlog.NoteHeld, Container: h, Resource: eventlog.Amounts(held)})
	}
	if !chosen && c.Suspended() {
		to.Apply(&eventlog.Event{Op: eventlog.SetStopped, Container: h, Open: true})
	}
}
