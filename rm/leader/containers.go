package leader

import (
	"heddle/rm/leader/hints"
	"heddle/rm/leader/level"
	"heddle/rm/leader/report"
	"heddle/rm/leader/resize"
	"heddle/rm/leader/unstarted"
	"heddle/rm/ledger"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// containers are allocated, started and ended here, in the ledger and in the scheduler.
type containers struct {
	*core
	preempting *preempting
	// These hear of the containers that ApplicationMasters run in: the second one of the current attempt's.
	masterGranted func(*ledger.Application, *ledger.Container)
	masterEnded   func(app *ledger.Application, attempt *ledger.Attempt, exit int32, diagnostics string)
	sizes         *resize.Sizes
	levels        *level.Levels
	reports       *report.Reports
	meters        *hints.Meters
	unstarted     unstarted.List
	inherited     unstarted.List // those that an earlier leader granted, and whose time is shorter
	refs          ledger.Refs

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
	cs.reports.Lives.Forget(c.ID)
	if h, ok := handleOf(c); ok {
		c.Handle = 0
		cs.totals.Released(cs.work.Apps[c.ID.Attempt.App].Queue)
		cs.sched.Apply(&eventlog.Event{Op: eventlog.Free, Container: h})
	}
}

// freeEnded takes a container out of the scheduler that has ended, with its work done if it says so by its exit status.
func (cs *containers) freeEnded(c *ledger.Container, exit int32) {
	if h, ok := handleOf(c); ok && exit != 0 {
		cs.reports.Lives.Forget(c.ID)
		c.Handle = 0
		cs.totals.Released(cs.work.Apps[c.ID.Attempt.App].Queue)
		cs.sched.Apply(&eventlog.Event{Op: eventlog.Free, Container: h, Failed: true})
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
	restored := eventlog.Restored(soft.handle, cs.nodes[c.Node].handle, r, drive.Container{
		Attempt: c.ID.Attempt.Attempt, ID: c.ID.ID, Priority: c.Priority, AM: c.AM, Since: level.OnClock(cs, c.Allocated),
	})
	cs.sched.Apply(&restored)
	h := restored.Container
	setHandle(c, h)
	if tags := c.Tags(); len(tags) > 0 {
		cs.sched.Apply(&eventlog.Event{Op: eventlog.SetTags, Container: h, Add: tags})
	}
	level.Restore(cs, cs.sched, c, h)
	return h
}
