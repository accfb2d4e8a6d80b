package door

import (
	"context"

	"heddle/rm/audit"
	"heddle/rm/leader"
	"heddle/rm/leader/level"
	"heddle/rm/leader/refusal"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Signal sends a command to a container.
func (d *Door) Signal(l *leader.Leader, who Caller, id records.ContainerID, command pb.SignalContainerCommand) error {
	e := d.entry(who, audit.Signal, id.Attempt.App)
	if _, known := d.View.App(id.Attempt.App); known {
		if _, err := d.modifiable(e); err != nil {
			return err
		}
	}
	e.Container = id
	err := l.Signal(leader.Signal{Container: id, Command: command})
	failure := audit.Failure{Description: "Error in signalling container"}
	if refusal.Is(err, refusal.NoSuchContainer) {
		failure = audit.Failure{Description: "Trying to signal an absent container", Permissions: "UNKNOWN"}
	}
	return d.wrote(e, err, failure)
}

// Suspend suspends or shrinks a running container for its user, and Resume has it continue. They return when its node has done so.
func (d *Door) Suspend(ctx context.Context, l *leader.Leader, who Caller, id records.ContainerID, wish level.Wish) error {
	return d.onContainer(who, audit.Suspend, id, func() error { return l.Suspend(ctx, id, wish) })
}

// Resume is described at Suspend.
func (d *Door) Resume(ctx context.Context, l *leader.Leader, who Caller, id records.ContainerID) error {
	return d.onContainer(who, audit.Resume, id, func() error { return l.Resume(ctx, id) })
}

func (d *Door) onContainer(who Caller, o audit.Operation, id records.ContainerID, do func() error) error {
	e := d.entry(who, o, id.Attempt.App)
	e.Container = id
	if _, err := d.modifiable(e); err != nil {
		return err
	}
	return d.wrote(e, do(), audit.Failure{Description: "The container's node has not carried it out"})
}
