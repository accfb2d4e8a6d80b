package localizer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/userfiles"
	"heddle/internal/within"
	"heddle/yarn/records"
)

// initPatience is how long a disk may take to make an application's directories. The application doesn't use a slower
// disk.
const initPatience = 10 * time.Second

// InitApplication makes the directories of a user and an application in all writable local directories, and returns the
// application's. It fails only if there is none.
func (l *Localizer) InitApplication(user string, app records.ApplicationID) ([]string, error) {
	if err := validName(user); err != nil {
		return nil, fmt.Errorf("application %s: user: %w", app, err)
	}
	owner, err := l.owner(user)
	if err != nil {
		return nil, fmt.Errorf("application %s: %w", app, err)
	}
	failed := ErrNoDirectory
	var dirs []string
	ctx, cancel := context.WithTimeout(l.ctx, initPatience)
	defer cancel()
	writable := l.usable(l.cfg.Dirs.Writable())
	errs := make([]error, len(writable))
	var making sync.WaitGroup
	for i, dir := range writable {
		making.Go(func() {
			_, errs[i] = within.Do(ctx, func() (struct{}, error) { return struct{}{}, l.initApplication(dir, user, app, owner) })
		})
	}
	making.Wait()
	for i, dir := range writable {
		if err := errs[i]; err != nil {
			failed = err
			l.cfg.Log.WithFields(logrus.Fields{"application": app.String(), "folder": dir, logrus.ErrorKey: err}).Warn("cannot make the application's directory")
			continue
		}
		dirs = append(dirs, AppDir(dir, user, app))
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("application %s: %w", app, failed)
	}
	return dirs, nil
}

func (l *Localizer) initApplication(dir, user string, app records.ApplicationID, owner *userfiles.User) error {
	for _, s := range []scope{{visibility: Private, user: user}, {visibility: Application, user: user, app: app}} {
		r, err := descend(dir, s.cacheSteps(), owner)
		if err != nil {
			return err
		}
		r.Close()
	}
	return nil
}

// EndApplication removes an application's resources and directories, with everything that its containers left there. It
// cancels downloads for the application first. The application's containers must have ended.
func (l *Localizer) EndApplication(user string, app records.ApplicationID) error {
	if err := validName(user); err != nil {
		return fmt.Errorf("application %s: user: %w", app, err)
	}
	s := scope{visibility: Application, user: user, app: app}
	l.mu.Lock()
	ca := l.caches[s]
	delete(l.caches, s)
	var done []*entry
	if ca != nil {
		for _, e := range ca.entries {
			if e.ready {
				done = append(done, e)
			} else {
				e.cancel()
			}
		}
		clear(ca.entries)
	}
	l.mu.Unlock()
	if ca != nil {
		ca.running.Wait()
	}
	var errs []error
	for _, dir := range l.cfg.Dirs.Readable() {
		if err := removeBelow(dir, s.cacheSteps()[:3], app.String()); err != nil {
			errs = append(errs, err)
		}
	}
	for _, e := range done {
		l.forget(e)
	}
	if len(errs) > 0 {
		return fmt.Errorf("application %s: cannot remove its directories: %w", app, errors.Join(errs...))
	}
	return nil
}

// removeBelow removes the entry name, if it exists, of the directory that steps lead to.
func removeBelow(dir string, steps []step, name string) error {
	return userfiles.RemoveAll(dir, append(stepNames(steps), name)...)
}
