package leader

import (
	"cmp"

	"heddle/rm/leader/hints"
	"heddle/rm/leader/level"
	"heddle/rm/leader/report"
	"heddle/rm/leader/resize"
	"heddle/rm/leader/unstarted"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// containers are allocated, started and ended here, in the ledger and in the scheduler.
type containers struct {
	*core
	attempts   *attempts
	preempting *preempting
	sizes      *resize.Sizes
	levels     *level.Levels
	reports    *report.Reports
	meters     *hints.Meters
	unstarted  unstarted.List
	inherited  unstarted.List // those that an earlier leader granted, and whose time is shorter
	refs       ledger.Refs

	// Kept for their memory.
	granted []*appSoft                  // that step gives containers to
	killed  []preempted                 // that step has chosen
	handles []scheduler.ContainerHandle // of containers that are granted
}

// setHandle stores the scheduler's handle in the container.
func setHandle(c *ledger.Container, h scheduler.ContainerHandle) { c.Handle = int64(h) + 1 }

// handleOf returns the scheduler's handle; ok is false if it has none.
func handleOf(c *ledger.Container) (h scheduler.ContainerHandle, ok bool) {
	return scheduler.ContainerHandle(c.Handle - 1), c.Handle > 0
}

// free takes a live container out of the scheduler.
func (cs *containers) free(c *ledger.Container) {
	if h, ok := handleOf(c); ok {
		c.Handle = 0
		cs.totals.Released(cs.work.Apps[c.ID.Attempt.App].Queue)
		cs.sched.Free(h)
	}
}

// freeEnded takes a container out of the scheduler that has ended, with its work done if it says so by its exit status.
func (cs *containers) freeEnded(c *ledger.Container, exit int32) {
	if h, ok := handleOf(c); ok && exit != 0 {
		c.Handle = 0
		cs.totals.Released(cs.work.Apps[c.ID.Attempt.App].Queue)
		cs.sched.Fail(h)
		return
	}
	cs.free(c)
}

// cleanUp tells a container's node to end it, once that is committed.
func (cs *containers) cleanUp(c *ledger.Container) {
	if id, n := c.ID, cs.nodes[c.Node]; n != nil {
		cs.AfterCommit(func() { n.session.box.EndContainers(id) })
	}
}

// releaseAll gives back what an application's containers hold in the scheduler and tells the nodes to end them; the
// ledger's own record of it is up to the command that the caller enters.
func (cs *containers) releaseAll(app *ledger.Application) {
	for c := range app.Containers.All() {
		if c.Live() {
			cs.free(c)
			cs.cleanUp(c)
		}
	}
}

// restore enters a live container of the ledger in the scheduler, unless it is opportunistic.
func (cs *containers) restore(c *ledger.Container) {
	cs.apps[c.ID.Attempt.App].nodes[c.Node] = true
	if !cs.chances.Restore(c) {
		cs.enter(c, c.Resource)
	}
}

func (cs *containers) enter(c *ledger.Container, r records.Resource) scheduler.ContainerHandle {
	soft := cs.apps[c.ID.Attempt.App]
	h := cs.sched.Restore(soft.handle, cs.nodes[c.Node].handle, r, drive.Container{
		Attempt: c.ID.Attempt.Attempt, ID: c.ID.ID, Priority: c.Priority, AM: c.AM, Since: cs.onClock(c.Allocated),
	})
	setHandle(c, h)
	if tags := c.Tags(); len(tags) > 0 {
		cs.sched.SetTags(h, tags)
	}
	cs.restoreHeld(c, h)
	return h
}

// onClock turns a date of the ledger, in ms, into the scheduler's time, which forgives standstills.
func (cs *containers) onClock(date int64) int64 { return date - cs.Date().Sub(cs.Now()).Milliseconds() }

// restoreHeld tells the scheduler how a container was suspended so far. Those that an earlier leader has chosen resume by themselves. So do
// containers of releases that don't record for whom containers were suspended, if they hold less than their claim.
func (cs *containers) restoreHeld(c *ledger.Container, h scheduler.ContainerHandle) {
	s, held := c.Suspension(), c.Held()
	chosen := s.Queue != "" && c.Level != ledgerpb.Level_RUNNING || s.Times == 0 && held != c.Resource
	times, since := int(s.Times), cs.onClock(cmp.Or(s.Since, cs.Time()))
	if chosen {
		times = max(times-1, 0) // this one is counted below
	}
	if times > 0 {
		cs.sched.SetPast(h, times, s.Total)
	}
	switch {
	case chosen:
		cs.sched.WasSuspended(h, held, since, s.Queue)
	case held != c.Resource:
		cs.sched.NoteHeld(h, held)
	}
	if !chosen && c.Suspended() {
		cs.sched.SetStopped(h, true)
	}
}
