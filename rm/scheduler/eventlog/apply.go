package eventlog

import (
	"fmt"

	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// apply carries out an event: the one way by which a scheduler changes, when a leader leads and when a log is replayed. It enters the results in the
// event, and reports whether it had an effect; only those events may have none that have a result in Open, and applications whose names are no ids.
func apply(d *drive.Driver, e *Event) (ok bool) {
	switch e.Op {
	case UpdateAsks:
		d.UpdateAsks(e.App, e.Asks)
	case Identify:
		d.Identify(e.Attempt, e.First, e.AM, e.Containers...)
	case Free:
		if e.Failed {
			d.Fail(e.Container)
		} else {
			d.Free(e.Container)
		}
	case AddNode, RemoveNode, SetLabel, SetCapability, SetOpen, SetAbility, SetExclusive, SetAttributes, NoteBandwidth, NoteSpeed:
		applyToNodes(d, e)
	case AddApp, RemoveApp, MoveApp, SetPriority, ClearAsks, UpdateBlacklist, SetProgress, NoteOutputs, NoteStaged, NoteTasks, Name, NameApp:
		applyToApp(d, e)
	case Resize, Grow, SetHeld, NoteHeld, WasSuspended, Return, Swap, SetTree:
		e.Open = try(d, e)
		return e.Open
	default:
		applyToContainer(d, e)
	}
	return e.Err == nil
}

// applyToNodes carries out an event of a node, or of all.
func applyToNodes(d *drive.Driver, e *Event) {
	switch e.Op {
	case AddNode:
		e.Node = d.AddNode(e.NodeSpec())
	case RemoveNode:
		d.RemoveNode(e.Node)
	case SetLabel:
		d.SetLabel(e.Node, e.Label)
	case SetCapability:
		d.At(e.Node).SetCapability(e.Node, records.Resource(e.Resource))
	case SetOpen:
		d.At(e.Node).SetOpen(e.Node, e.Works())
	case SetAbility:
		d.SetAbility(e.Node, *e.Ability)
	case SetExclusive:
		d.SetExclusive(e.Label, e.Open)
	case SetAttributes:
		d.SetAttributes(e.Host, e.Attributes)
	case NoteBandwidth:
		d.NoteBandwidth(e.Part)
	case NoteSpeed:
		d.NoteSpeed(e.Host, e.Task, e.Part)
	}
}

// applyToApp carries out an event of an application.
func applyToApp(d *drive.Driver, e *Event) {
	switch e.Op {
	case AddApp:
		var spec drive.AppSpec
		if spec, e.Err = e.app(); e.Err == nil {
			e.App = d.AddApp(spec)
		}
	case RemoveApp:
		d.RemoveApp(e.App)
	case MoveApp:
		d.MoveApp(e.App, e.Queue)
	case SetPriority:
		d.SetPriority(e.App, e.Priority)
	case ClearAsks:
		d.ClearAsks(e.App)
	case UpdateBlacklist:
		d.UpdateBlacklist(e.App, e.Add, e.Remove)
	case SetProgress:
		d.SetProgress(e.App, e.Part)
	case NoteOutputs:
		d.NoteOutputs(e.App, e.Maps, e.Bytes)
	case NoteStaged:
		d.NoteStaged(e.App, e.Node, e.Maps)
	case NoteTasks:
		d.NoteTasks(e.App, e.Tasks.report())
	case NameApp:
		d.NameApp(e.App, e.Name, e.Add)
	case Name: // for people
	}
}

// try carries out an event that may have no effect.
func try(d *drive.Driver, e *Event) bool {
	to := records.Resource(e.Resource)
	switch e.Op {
	case Resize:
		return d.Of(e.Container).ResizeContainer(e.Container, to)
	case Grow:
		return d.Grow(e.Container, to)
	case SetHeld:
		return d.Of(e.Container).SetHeld(e.Container, to)
	case NoteHeld:
		return d.Of(e.Container).NoteHeld(e.Container, to)
	case WasSuspended:
		return d.WasSuspended(e.Container, to, e.Since, e.Queue)
	case Return:
		return d.Return(e.Container, e.Forced)
	case Swap:
		e.Err = d.Swap(e.Container, e.Priority, e.Request)
	case SetTree:
		e.Err = d.SetTree(e.Tree)
	}
	return e.Err == nil
}

// applyToContainer carries out any other event of a container.
func applyToContainer(d *drive.Driver, e *Event) {
	switch e.Op {
	case Restore:
		e.Container = d.Restore(e.App, e.Node, records.Resource(e.Resource), e.container())
	case SetTags:
		d.SetTags(e.Container, e.Add)
	case SetPast:
		d.SetPast(e.Container, e.Times, e.Total)
	case SetStopped:
		d.SetStopped(e.Container, e.Open)
	case SetMemory:
		d.SetMemory(e.Container, e.Total)
	case Took:
		d.Took(e.Container, e.Total)
	case Refused, NotBegun:
		d.Refused(e.Container, e.Op == Refused)
	case Unswap:
		d.Unswap(e.Container)
	default:
		panic(fmt.Sprintf("%q is no event that can be applied", e.Op))
	}
}
