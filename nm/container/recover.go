package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/nm/cgroup"
	"heddle/nm/launch"
	"heddle/nm/localizer"
	"heddle/nm/proc"
	"heddle/yarn/records"
)

// Recover takes up what an earlier manager has left, whether it was closed or killed: containers that run go on, those
// that ended meanwhile get their status, those that were not started yet are. What belongs to no container that is
// known is removed: groups with their processes, work folders, private files.
//
// The localizer must have recovered before.
func (m *Manager) Recover() error {
	apps, err := m.loadApps()
	if err != nil {
		return err
	}
	all, err := m.load()
	if err != nil {
		return err
	}
	boot, err := proc.BootID()
	if err != nil {
		return err
	}
	m.mu.Lock()
	for id, s := range apps {
		m.apps[id] = m.newApplication(id, s)
	}
	var fresh []*application
	for _, l := range all {
		c := m.restore(l)
		app, isFresh := m.application(l.grant, l.context) // the application was saved after its first container
		if isFresh {
			fresh = append(fresh, app)
		}
		if !l.record.Complete {
			app.containers[c.ID()] = c
		}
	}
	m.mu.Unlock()
	for _, app := range fresh {
		if err := app.save(); err != nil {
			return err
		}
	}
	if err := m.sweepGroups(); err != nil {
		return err
	}
	if err := m.sweepFolders(); err != nil {
		return err
	}
	for _, c := range m.Containers() {
		m.resume(c, boot)
	}
	m.resumeApps()
	return nil
}

// restore makes a container of what the store has. The lock is held.
func (m *Manager) restore(l loaded) *Container {
	c := m.newContainer(l.grant, l.context)
	c.token, c.record, c.usage.Peak = l.token, l.record, l.record.Peak
	m.containers[c.ID()] = c
	return c
}

// resume starts a restored container's goroutine.
func (m *Manager) resume(c *Container, boot string) {
	c.mu.Lock()
	r := c.record
	c.mu.Unlock()
	if r.Complete {
		c.ended, c.state = true, Done
		close(c.done)
		c.stop()
		return
	}
	from, err := c.reattach(r, boot)
	if err != nil {
		// Without its group it can't be held on to; what it has left was swept or will be when it is finished.
		c.log.WithError(err).Error("Could not take up the container again")
		c.Kill(records.ExitAborted, fmt.Sprintf("Container could not be recovered: %v\n", err))
	}
	if r.Kill != nil {
		c.stop()
	}
	c.log.WithFields(logrus.Fields{"state": c.state.String(), "keeper": r.Keeper.PID}).Info("Recovered")
	m.lives.Go(func() { c.live(from) })
}

// reattach finds out how far the container is, and finds its processes again.
func (c *Container) reattach(r record, boot string) (stage, error) {
	if r.Keeper.PID == 0 {
		return freshStart, nil
	}
	owner, err := c.m.owner(c.grant.User)
	if err != nil {
		return freshStart, err
	}
	group, err := c.m.Groups.Open(c.ID().String())
	if errors.Is(err, cgroup.ErrNotFound) { // the machine was restarted, or it had just been destroyed
		group, err = c.m.Groups.Create(c.ID().String(), c.m.limits(c.grant.Resource))
	}
	if err != nil {
		return freshStart, err
	}
	keeper := r.Keeper
	if r.Boot != boot {
		keeper = proc.ID{} // it is somebody else by now
	}
	s, started := launch.Recover(c.spec(r.Places, owner), group, keeper)
	c.group, c.session = group, s
	if !started && r.Kill == nil {
		// It never began: the last life ended before it opened the gate.
		return freshStart, nil
	}
	c.paths, c.counters = c.m.Localizer.Retain(c.retained()), "0,0,0,0,0"
	if c.paths == nil {
		c.paths = make(map[string]string)
	}
	c.state, c.admitted = Running, true
	if frozen, err := group.Frozen(); err == nil && frozen && r.Suspended {
		c.state = Paused
	} else if r.Suspended {
		c.record.Suspended = false // its machine was restarted
	}
	c.m.admission.restore(c.grant.Resource)
	if c.m.cfg.GPUs != nil {
		c.m.cfg.GPUs.Restore(c.ID(), r.GPUs)
	}
	return attached, nil
}

func (c *Container) retained() localizer.Request {
	req, err := c.request(c.context)
	if err != nil {
		c.log.WithError(err).Warn("Could not hold on to the container's resources")
	}
	return req
}

// sweepGroups ends whatever runs in groups of containers that are unknown, or known to have ended.
func (m *Manager) sweepGroups() error {
	names, err := m.Groups.Groups()
	if err != nil {
		return err
	}
	for _, name := range names {
		id, err := records.ParseContainerID(name)
		if err == nil {
			if c, err := m.Container(id); err == nil && !c.record.Complete {
				continue
			}
		}
		if err := m.sweepGroup(name); err != nil {
			// Its processes hold memory that will be given to others.
			return fmt.Errorf("remove what an earlier NodeManager left: %w", err)
		}
		m.Log.WithField("container", name).Warn("Removed the processes of a container that nobody knows")
	}
	return nil
}

func (m *Manager) sweepGroup(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), m.cfg.KillWait+5*time.Second)
	defer cancel()
	group, err := m.Groups.Open(name)
	if err != nil {
		return err
	}
	if err := group.Kill(ctx); err != nil {
		return err
	}
	return group.Destroy(ctx)
}

// sweepFolders has the folders deleted of applications and containers that are not here any more.
func (m *Manager) sweepFolders() error {
	var old, private []string
	for _, local := range m.Disks.Local.Readable() {
		for _, app := range subfolders(filepath.Join(local, localizer.NMPrivate)) {
			private = append(private, m.unknownIn(filepath.Join(local, localizer.NMPrivate), app)...)
		}
		users := filepath.Join(local, localizer.UserCache)
		for _, user := range subfolders(users) {
			apps := filepath.Join(users, user, localizer.AppCache)
			for _, app := range subfolders(apps) {
				old = append(old, m.unknownIn(apps, app)...)
			}
		}
	}
	return errors.Join(m.Deleter.DeleteNow(private...), m.Deleter.Delete(old...))
}

// unknownIn returns the application's folder if there is no such application, else the folders in it of containers
// that are not here or have ended.
func (m *Manager) unknownIn(dir, app string) []string {
	path := filepath.Join(dir, app)
	id, err := records.ParseApplicationID(app)
	if err != nil {
		return nil // not ours
	}
	if m.app(id) == nil {
		return []string{path}
	}
	var out []string
	for _, name := range subfolders(path) {
		id, err := records.ParseContainerID(name)
		if err != nil {
			continue
		}
		if c, err := m.Container(id); err != nil || c.record.Complete {
			out = append(out, filepath.Join(path, name))
		}
	}
	return out
}

func subfolders(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// resumeApps initializes restored applications and goes on ending those that were being ended.
func (m *Manager) resumeApps() {
	m.mu.Lock()
	apps := make([]*application, 0, len(m.apps))
	for _, a := range m.apps {
		apps = append(apps, a)
	}
	m.mu.Unlock()
	slices.SortFunc(apps, func(a, b *application) int { return a.id.Compare(b.id) })
	for _, a := range apps {
		m.lives.Go(func() {
			if err := a.ready(m.ctx); err != nil && m.ctx.Err() == nil {
				m.Log.WithField("app", a.id.String()).WithError(err).Error("Could not prepare the application again")
			}
			a.mu.Lock()
			finishing := a.finishing
			a.checkEmpty()
			a.mu.Unlock()
			if finishing {
				a.finish(m.ctx)
			}
		})
	}
}
