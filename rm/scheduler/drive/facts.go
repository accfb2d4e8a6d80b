package drive

import (
	"heddle/internal/prefetch"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/records"
)

// AppSpec describes an application that may ask for containers.
type AppSpec struct {
	scheduler.AppSpec
	// ID is unique. Rounds order containers by it, and marks of containers refer to it.
	ID records.ApplicationID
	// NeverSuspend keeps preemption from suspending and shrinking its containers. Where it would kill instead, that still holds.
	NeverSuspend bool
	// SpareMaster keeps preemption from taking the container of its ApplicationMaster.
	SpareMaster bool
}

// Container holds facts of a container that preemption needs and the scheduler doesn't.
type Container struct {
	Attempt  int32 // of its application, to which it was granted
	ID       int64 // in that attempt; later ones have higher numbers
	Priority int32 // of the request that it was granted for; lower numbers are more important
	AM       bool  // it runs the ApplicationMaster
	Since    int64 // when it was granted, in ms
}

// noContainer: the application has no container for its ApplicationMaster yet.
const noContainer scheduler.ContainerHandle = -1

type app struct {
	id           records.ApplicationID
	spareMaster  bool
	neverSuspend bool
	granted      int64 // containers, while rounds have taken room somewhere
	master       scheduler.ContainerHandle
}

type container struct {
	id       int64
	since    int64
	app      scheduler.AppHandle
	attempt  int32
	priority int32
	am       bool
	known    bool // it was identified; others are never taken

	suspended bool // it is among those of suspension
	stuck     bool // for suspender.standing, as is returns
	returns   bool
}

// AddApp enters an application, as the scheduler's method does.
func (d *Driver) AddApp(spec AppSpec) scheduler.AppHandle {
	h := d.Scheduler.AddApp(spec.AppSpec)
	for len(d.apps) <= int(h) {
		d.apps = append(d.apps, app{})
	}
	d.apps[h] = app{id: spec.ID, spareMaster: spec.SpareMaster, neverSuspend: spec.NeverSuspend, master: noContainer}
	d.byID[spec.ID] = h
	return h
}

// RemoveApp takes an application out. Its containers must have been freed.
func (d *Driver) RemoveApp(h scheduler.AppHandle) {
	if id := d.apps[h].id; d.byID[id] == h {
		delete(d.byID, id)
	}
	delete(d.sus.nears, h)
	delete(d.sus.begun, h)
	d.Scheduler.RemoveApp(h)
}

// Restore enters a container that was granted earlier, by another leader or on a node that was entered again since.
func (d *Driver) Restore(a scheduler.AppHandle, n scheduler.NodeHandle, r records.Resource, c Container) scheduler.ContainerHandle {
	h := d.Scheduler.Restore(a, n, r, c.Priority, c.Since)
	d.enter(h, container{app: a, attempt: c.Attempt, id: c.ID, priority: c.Priority, am: c.AM, since: c.Since, known: true})
	d.growing.moved(d.ContainerID(h), h)
	if c.AM {
		d.Scheduler.NoteMaster(a, h)
	}
	return h
}

// Identify says what containers are called that Step has granted to an attempt: first, and the numbers after it, in the order
// of the list. am says that the first one runs the ApplicationMaster. Preemption takes no container that has no name yet.
func (d *Driver) Identify(attempt int32, first int64, am bool, containers ...scheduler.ContainerHandle) {
	for i, h := range containers {
		c := &d.containers[h]
		c.attempt, c.id, c.am, c.known = attempt, first+int64(i), am && i == 0, true
		if c.am {
			d.apps[c.app].master = h
			d.Scheduler.NoteMaster(c.app, h)
		}
	}
}

// Free gives back the resources of a container that has ended with its work done.
func (d *Driver) Free(h scheduler.ContainerHandle) {
	d.forget(h)
	d.Scheduler.Free(h)
}

// Fail gives back what a container holds that ended before its work was done.
func (d *Driver) Fail(h scheduler.ContainerHandle) {
	d.forget(h)
	d.Scheduler.Fail(h)
}

func (d *Driver) forget(h scheduler.ContainerHandle) {
	delete(d.killable, h)
	delete(d.sus.used, h)
	delete(d.sus.stopped, h)
	d.swaps.forget(h)
	if a := &d.apps[d.containers[h].app]; a.master == h {
		a.master = noContainer
	}
	if len(d.sus.past) > 0 { // what a container was is far from the processor by now, and mostly none was ever suspended
		d.sus.leaveSuspended(h)
		delete(d.sus.past, d.ContainerID(h))
	}
	if d.Growing(h) {
		d.growing.moved(d.ContainerID(h), gone)
	}
}

// Fetch has memory come of containers that will be freed soon. It changes nothing.
func (d *Driver) Fetch(containers []scheduler.ContainerHandle) {
	for _, h := range containers {
		prefetch.Of(&d.containers[h])
	}
	d.Scheduler.Fetch(containers)
}

func (d *Driver) enter(h scheduler.ContainerHandle, c container) {
	for len(d.containers) <= int(h) {
		d.containers = append(d.containers, container{})
	}
	d.containers[h] = c
	if c.am {
		d.apps[c.app].master = h
	}
}

// ContainerID returns what a container is called that Step has decided on, until the next call of Step.
func (d *Driver) ContainerID(h scheduler.ContainerHandle) records.ContainerID {
	c := &d.containers[h]
	return records.ContainerID{Attempt: records.AttemptID{App: d.apps[c.app].id, Attempt: c.attempt}, ID: c.id}
}

// names tells a snapshot what the scheduler doesn't know.
type names struct{ *Driver }

func (n names) App(h scheduler.AppHandle) records.ApplicationID { return n.apps[h].id }

func (n names) Container(h scheduler.ContainerHandle, to *preempt.Container) bool {
	c := &n.containers[h]
	if !c.known {
		return false
	}
	to.ID, to.Priority, to.AM, to.Since = n.ContainerID(h), c.priority, c.am, c.since
	to.Spared = c.am && n.apps[c.app].spareMaster
	return true
}
