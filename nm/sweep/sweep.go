// Package sweep removes groups of processes that an earlier NodeManager has left.
package sweep

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/within"
	"heddle/nm/cgroup"
	"heddle/yarn/records"
)

// Sweeper removes groups. All fields must be set.
type Sweeper struct {
	Groups   cgroup.Handler
	Ctx      context.Context // ends with the NodeManager
	KillWait time.Duration   // how long one try may take, beyond some seconds
	Go       func(func())    // runs f until the NodeManager ends
	Log      *logrus.Entry
}

// Unknown ends whatever runs in groups of containers that are unknown, or known to have ended. It waits for that, but not longer than patience: a process that
// can't be ended waits for a disk, in all likelihood, and the node has others.
func (s Sweeper) Unknown(known func(records.ContainerID) bool, patience time.Duration) error {
	names, err := s.Groups.Groups()
	if err != nil {
		return err
	}
	var swept sync.WaitGroup
	for _, name := range names {
		id, err := records.ParseContainerID(name)
		if err == nil && known(id) {
			continue
		}
		swept.Add(1)
		s.Go(func() {
			defer swept.Done()
			s.Group(name)
		})
	}
	within.Wait(&swept, patience)
	return nil
}

// Group removes a group with its processes. It tries for as long as it takes: they hold memory that is given to others.
func (s Sweeper) Group(name string) {
	log := s.Log.WithField("container", name)
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		found, err := s.try(name)
		if err == nil {
			if found {
				log.Warn("removed processes that an earlier NodeManager left")
			}
			return
		}
		log.WithError(err).Errorf("could not remove what an earlier NodeManager left; trying again in %v", wait)
		select {
		case <-time.After(wait):
		case <-s.Ctx.Done():
			return
		}
	}
}

func (s Sweeper) try(name string) (found bool, err error) {
	ctx, cancel := context.WithTimeout(s.Ctx, s.KillWait+5*time.Second)
	defer cancel()
	group, err := s.Groups.Open(name)
	if errors.Is(err, cgroup.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := group.Kill(ctx); err != nil {
		return true, err
	}
	return true, group.Destroy(ctx)
}
