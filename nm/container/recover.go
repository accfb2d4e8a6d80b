package container

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/within"
	"heddle/nm/cgroup"
	"heddle/nm/gpu"
	"heddle/nm/kept"
	"heddle/nm/launch"
	"heddle/nm/localizer"
	"heddle/nm/proc"
	"heddle/nm/sweep"
	"heddle/nm/workdir"
	"heddle/yarn/records"
)

// Recover takes up what an earlier manager has left, whether it was closed or killed: containers that run continue, those
// that ended meanwhile get their status, those that were not started yet are. Remains of unknown containers are removed:
// groups with their processes, work folders, private files.
//
// The localizer must have recovered before.
func (m *Manager) Recover() error {
	if err := m.apps.Recover(); err != nil {
		return err
	}
	if err := m.stopped.Recover(); err != nil {
		return err
	}
	all, err := kept.Load(m.ContainerRecords, m.cfg.Types, m.Log)
	if err != nil {
		return err
	}
	boot, err := proc.BootID()
	if err != nil {
		return err
	}
	m.mu.Lock()
	var fresh []records.ApplicationID
	for _, l := range all {
		c := m.restore(l)
		if l.Damage == nil && m.apps.Open(firstOf(l.Grant, l.Context)) { // the application was saved after its first container
			fresh = append(fresh, c.ID().Attempt.App)
		}
		if !c.record.Complete {
			m.apps.Add(c)
		}
	}
	m.mu.Unlock()
	for _, app := range fresh {
		if err := m.apps.Save(app); err != nil {
			return err
		}
	}
	if err := m.sweeper().Unknown(m.KnowsContainer, recoveryPatience); err != nil {
		return err
	}
	var reattached sync.WaitGroup
	for _, c := range m.Containers() {
		m.takeUp(c, boot, &reattached)
	}
	m.Images.Keep(func(id string) bool {
		c, err := records.ParseContainerID(id)
		return err == nil && m.KnowsContainer(c)
	})
	m.sweepFolders()
	m.apps.Resume()
	within.Wait(&reattached, recoveryPatience)
	return nil
}

// recoveryPatience is how long Recover waits for disks and processes that don't answer. Work on them continues when
// they do.
const recoveryPatience = 5 * time.Second

// restore makes a container of what the store has. The lock is held.
func (m *Manager) restore(l kept.Container) *Container {
	c := m.newContainer(l.Grant, l.Context)
	c.token, c.record, c.usage.Peak = l.Token, l.Record, l.Record.Peak
	if l.Damage != nil && !c.record.Complete {
		c.log.WithError(l.Damage).Error("the container's record is damaged: its processes are ended")
		c.record.Complete, c.record.Finished, c.record.ExitCode = true, time.Now().UnixMilli(), records.ExitAborted
		c.diagnose(fmt.Sprintf("The NodeManager was restarted, and its record of the container is damaged: %v\n", l.Damage))
		if m.Groups.Kind() == cgroup.None { // else Unknown finds it
			m.lives.Go(func() { m.sweeper().Group(c.ID().String()) })
		}
	}
	if c.record.Complete {
		c.transition(Done)
	}
	m.containers[c.ID()] = c
	return c
}

// takeUp starts a restored container's goroutine. reattached waits until the container's processes are found again.
func (m *Manager) takeUp(c *Container, boot string, reattached *sync.WaitGroup) {
	c.mu.Lock()
	r := c.record
	c.mu.Unlock()
	if r.Complete {
		close(c.done)
		c.stop()
		return
	}
	if r.Kill != nil {
		c.stop()
	}
	if r.Keeper.PID == 0 {
		m.lives.Go(func() {
			m.sweeper().Group(c.ID().String()) // the last life may have ended when it had put a process there, and not noted it down yet
			life{c}.live(freshStart)
		})
		return
	}
	// It counts from now on, before new ones are let in, whatever it takes to find its processes.
	c.place.Restore()
	c.place.Stand(c.grant.Resource, r.Holds(c.box.Size(), m.Groups.Capabilities().Reclaim), r.Yielded && r.Suspended)
	if m.cfg.GPUs != nil {
		m.cfg.GPUs.Restore(c.ID(), r.GPUs)
		c.mu.Lock()
		c.record.GPUs = append([]gpu.Device{}, r.GPUs...)
		c.mu.Unlock()
	}
	reattached.Add(1)
	m.lives.Go(func() {
		c := life{c}
		from, ok := c.reattach(r, boot)
		c.log.WithFields(logrus.Fields{"state": c.State().String(), "keeper": r.Keeper.PID}).Info("recovered")
		c.mu.Lock()
		wanted := c.record.Wanted(c.box.Size(), m.Groups.Capabilities().Reclaim)
		c.mu.Unlock()
		reattached.Done()
		if !ok {
			return
		}
		if from == attached {
			c.introduce()
			c.recoverLevel(wanted)
		}
		c.live(from)
	})
}

// reattach finds the container's processes again, and how far it is. A container is not lost while its processes may
// live: it tries until it succeeds or the manager is closed, when ok is false.
func (c life) reattach(r kept.Record, boot string) (from entry, ok bool) {
	var group cgroup.Group
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		var unlimited, err error
		if group, unlimited, err = c.box.Find(); err == nil {
			if unlimited != nil {
				c.log.WithError(unlimited).Warn("could not hold the container to its size")
			}
			break
		}
		c.log.WithError(err).Warnf("could not take up the container again; trying again in %v", wait)
		select {
		case <-time.After(wait):
		case <-c.m.ctx.Done():
			return freshStart, false
		}
	}
	keeper := r.Keeper
	if r.Boot != boot {
		keeper = proc.ID{} // it is another by now
	}
	spec := c.spec(r.Places, nil) // it is never started again
	if r.Image {
		spec.Image = &launch.Image{}
	}
	s := launch.Reattach(spec, group, keeper)
	// A container is suspended only after it was let through the gate.
	begun := s.Begun(c.ctx, r.Suspended)
	c.mu.Lock()
	c.session = s
	c.mu.Unlock()
	if !begun && c.ctx.Err() == nil {
		// It never began: the last life ended before it opened the gate.
		c.startAnew()
		return freshStart, true
	}
	paths := c.m.Localizer.Retain(c.retained())
	if paths == nil {
		paths = make(map[string]string)
	}
	if c.m.Localized != nil {
		c.m.Localized(c.grant, paths)
	}
	c.mu.Lock()
	c.paths, c.counters = paths, "0,0,0,0,0"
	c.record.Suspended = r.Suspended && keeper.PID != 0 // else its machine was restarted
	c.mu.Unlock()
	if keeper.PID == 0 {
		suspension(c).unsuspend()
	}
	if r.Suspended && keeper.PID != 0 {
		c.transition(Pausing)
	} else {
		c.toRunning()
	}
	return attached, true
}

// startAnew gives back the resources of a container that is to be started like a new one.
func (c life) startAnew() {
	c.place.Leave()
	if c.m.cfg.GPUs == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m.cfg.GPUs.Release(c.ID())
	c.record.GPUs = nil
}

func (c life) retained() localizer.Request {
	req, err := request(c.ID(), c.grant.User, c.LaunchContext())
	if err != nil {
		c.log.WithError(err).Warn("could not hold on to the container's resources")
	}
	return req
}

// sweeper removes what an earlier manager has left.
func (m *Manager) sweeper() sweep.Sweeper {
	return sweep.Sweeper{Groups: m.Groups, Ctx: m.ctx, KillWait: m.cfg.KillWait, Go: m.lives.Go, Log: m.Log}
}

// KnowsContainer reports whether a container is on this node, and hasn't ended.
func (m *Manager) KnowsContainer(id records.ContainerID) bool {
	c, err := m.Container(id)
	if err != nil {
		return false
	}
	return c.State() != Done
}

// sweepFolders has the folders deleted of applications and containers that are not here any more. Each disk is looked
// through beside the others and everything else, as it may be slow.
func (m *Manager) sweepFolders() {
	for _, local := range m.Disks.Local.Readable() {
		m.lives.Go(func() {
			old, private := workdir.Leftovers(local, m)
			if err := errors.Join(m.Deleter.DeleteNow(private...), m.Deleter.Delete(old...)); err != nil {
				m.Log.WithError(err).Warn("could not have leftovers deleted")
			}
		})
	}
}

// KnowsApplication reports whether an application is on this node.
func (m *Manager) KnowsApplication(id records.ApplicationID) bool {
	_, here := m.apps.Get(id)
	return here
}
