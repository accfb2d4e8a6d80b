// Package eventlogtest applies the events whose results tests need: handles.
package eventlogtest

import (
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// AddNode enters a node.
func AddNode(d *eventlog.Recorder, spec scheduler.NodeSpec) scheduler.NodeHandle {
	e := eventlog.Added(spec)
	d.Apply(&e)
	return e.Node
}

// AddApp enters an application.
func AddApp(d *eventlog.Recorder, spec drive.AppSpec) scheduler.AppHandle {
	e := eventlog.Submitted(spec)
	d.Apply(&e)
	return e.App
}

// Restore enters a container that was granted earlier.
func Restore(d *eventlog.Recorder, a scheduler.AppHandle, n scheduler.NodeHandle, r records.Resource, c drive.Container) scheduler.ContainerHandle {
	e := eventlog.Restored(a, n, r, c)
	d.Apply(&e)
	return e.Container
}

// Open says for which kinds of work a node takes new containers.
func Open(d *eventlog.Recorder, n scheduler.NodeHandle, to scheduler.Works) {
	e := eventlog.Opened(n, to)
	d.Apply(&e)
}
