// Package makeway has opportunistic containers make way for guaranteed ones (Hadoop: ContainerScheduler): they are killed, or suspended until there is room again.
package makeway

import (
	"errors"

	"github.com/sirupsen/logrus"

	"heddle/nm/admission"
	"heddle/yarn/records"
)

// Container is a container that makes way.
type Container interface {
	// GiveWay suspends it, if its process has begun.
	GiveWay() error
	// ComeBack resumes it once there is room. It fails with an error for which overtaken is true if another command came first.
	ComeBack() (overtaken bool, err error)
	// Yielded reports whether it is suspended by GiveWay.
	Yielded() bool
	// Ends reports whether it has ended, or is about to.
	Ends() bool
	Kill(exitCode int, why string)
}

// Do makes a container make way. One whose process has not begun is killed: it loses no work. pause is
// yarn.nodemanager.opportunistic-containers-use-pause-for-preemption. It returns when the container has made way, or has come back.
func Do(c Container, pause bool, log *logrus.Entry) {
	if pause {
		err := c.GiveWay()
		if err == nil {
			if c.Yielded() {
				log.Info("paused to make room for guaranteed containers")
			}
			Return(c, log)
			return
		}
		if c.Ends() {
			return
		}
		log.WithError(err).Info("could not be paused, and is killed")
	}
	c.Kill(records.ExitKilledByScheduler, "Container Killed to make room for Guaranteed Container.\n")
}

// Return resumes a container that has made way as soon as there is room, and returns then, or when it ends.
func Return(c Container, log *logrus.Entry) {
	for c.Yielded() && !c.Ends() {
		if overtaken, err := c.ComeBack(); err != nil && !overtaken {
			if !c.Ends() {
				log.WithError(err).Warn("could not resume the container that has made way")
			}
			return
		}
	}
}

// SentAway kills a container that the node's queue has no room for, if that is what an error of admission.Place.Enter says.
func SentAway(c Container, err error) {
	var why admission.SentAway
	if errors.As(err, &why) {
		c.Kill(records.ExitKilledByScheduler, why.Error()+"\n")
	}
}
