// Package queueconf deals with the configuration of queues for a leader: it chooses the one for a new leadership, reads it again (rmadmin
// -refreshQueues), changes it at run time (YARN's mutable configuration of the scheduler) and resets it. The one in effect is in the
// ledger, so that another leader continues with it. A configuration changes as a whole or not at all.
package queueconf

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/loop"
	"heddle/rm/leader/refusal"
	"heddle/rm/leader/trial"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/queue"
	"heddle/rm/queue/edit"
)

// Scheduler has the tree of queues that holds. Operations of the loop call it.
type Scheduler interface {
	Tree() *queue.Tree
	// SetTree resumes the scheduler with a tree that is made of settings, or says why it can't.
	SetTree(tree *queue.Tree, settings map[string]string) error
}

// Config is what an Admin works with.
type Config struct {
	Source    Source // nil leaves the queues as they are
	Scheduler Scheduler
	// Publish makes a tree visible to all readers. It is called when the tree is committed.
	Publish func(*queue.Tree)
	// Facts copies what runs and waits, for Try. An operation of the loop calls it.
	Facts func() *trial.Facts
	Log   *logrus.Entry
}

// Admin changes the configuration of queues. Its methods but Begin are operations of their own, and safe for concurrent use.
type Admin struct {
	Config
	loop loop.Operations
	work *ledger.State

	settings map[string]string // of the tree that holds
	created  created
	trying   sync.Mutex // one trial at a time: each takes memory, and a processor
}

// New makes an Admin of a leadership with a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Admin {
	return &Admin{Config: cfg, loop: loop, work: work, created: created{used: map[string]time.Time{}, marked: map[string]bool{}}}
}

// Source reads configurations of queues. Its methods may be called at any time, and read files.
type Source interface {
	// Mutable reports whether queues are changed by Change, and the ledger has them. Otherwise they come from files.
	Mutable() bool
	// Read returns the settings of the files, and when these were changed last. An error tells file, key, value and reason.
	Read() (settings map[string]string, changed time.Time, err error)
	// Build makes a tree of settings.
	Build(settings map[string]string) (*queue.Tree, error)
}

// ErrFixed is returned where queues can't be changed but by their files.
var ErrFixed = errors.New("the scheduler's configuration comes from files: set yarn.scheduler.configuration.store.class to change it otherwise")

// Begin finds out which queues hold when a leadership begins: those that were configured at run time, else what the files of this
// member say. Files that have changed after what the ledger has count, as an administrator has changed them. An operation of the loop
// calls it.
func (a *Admin) Begin() {
	source := a.Source
	if source == nil {
		return
	}
	recorded := a.work.Queues
	settings, changed, err := source.Read()
	if err != nil {
		a.Log.WithError(err).Error("the files of queues can't be used; the earlier queues stay")
	}
	switch {
	case source.Mutable() && recorded.Version == 0 && err == nil:
		c := &ledgerpb.QueuesConfigured{Settings: settings, Version: 1}
		if err := encodable(c); err != nil {
			a.Log.WithError(err).Error("the files of queues can't be in the ledger, and will be read again by the next leader")
			break
		}
		a.loop.Enter(&ledgerpb.Command{QueuesConfigured: c})
	case source.Mutable() && recorded.Version > 0, recorded.Version > 0 && recorded.FromFile && (err != nil || recorded.Time >= changed.UnixMilli()):
		settings = recorded.Settings
	case err != nil:
		return
	}
	tree, err := source.Build(settings)
	if err != nil {
		a.Log.WithError(err).Error("the recorded configuration of queues can't be used; that of the files holds")
		return
	}
	tree = a.restore(tree)
	if err := a.setTree(tree, settings); err != nil {
		a.Log.WithError(err).Error("the scheduler keeps its queues")
		return
	}
	a.publish(tree)
}

// setTree resumes the scheduler with a tree that is made of settings.
func (a *Admin) setTree(tree *queue.Tree, settings map[string]string) error {
	if err := a.Scheduler.SetTree(tree, settings); err != nil {
		return &Error{Err: err}
	}
	a.settings = settings
	return nil
}

// publish makes the tree visible once all commands entered so far are committed.
func (a *Admin) publish(tree *queue.Tree) {
	a.loop.AfterCommit(func() { a.Publish(tree) })
}

// replaceable says what keeps a tree from taking the place of the one that holds: applications that it has no room for.
func (a *Admin) replaceable(tree *queue.Tree) error {
	if err := a.Scheduler.Tree().CheckUpdate(tree, a.appsByQueue()); err != nil {
		return &Error{Err: err}
	}
	return nil
}

// replaceTree replaces the tree that holds, unless applications stand in the way.
func (a *Admin) replaceTree(tree *queue.Tree, c *ledgerpb.QueuesConfigured) error {
	tree, gone, err := a.restored(tree)
	if err != nil {
		return &Error{Err: err}
	}
	if err := a.replaceable(tree); err != nil {
		return err
	}
	if err := encodable(c); err != nil {
		return &Error{Err: err}
	}
	tree.KeepStopped(a.Scheduler.Tree())
	if err := a.setTree(tree, c.GetSettings()); err != nil {
		return err
	}
	a.loop.Enter(&ledgerpb.Command{QueuesConfigured: c})
	a.forget(gone)
	a.publish(tree)
	a.Log.WithField("version", c.GetVersion()).Info("queues have a new configuration")
	return nil
}

// encodable says why a configuration of queues can't be in the log.
func encodable(c *ledgerpb.QueuesConfigured) error {
	for name, value := range c.GetSettings() {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return fmt.Errorf("%.100q is not UTF-8, or its value isn't", name)
		}
	}
	if size := proto.Size(c); size > limit.MaxCommand {
		return fmt.Errorf("the configuration of queues has %d bytes, and may have %d", size, limit.MaxCommand)
	}
	return nil
}

// appsByQueue counts live applications.
func (a *Admin) appsByQueue() map[string]int {
	out := map[string]int{}
	for _, app := range a.work.Apps {
		if !app.State.Ended() {
			out[app.Queue]++
		}
	}
	return out
}

// Error says why a configuration of queues was refused. The old one still holds.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Refresh reads the files of queues again. It refuses to where queues are changed at run time.
func (a *Admin) Refresh() error {
	source := a.Source
	if source == nil {
		return nil
	}
	if source.Mutable() {
		return refusal.New(refusal.Refused, "Scheduler configuration is mutable. refreshQueues is not allowed in this scenario.")
	}
	settings, tree, err := readTree(source)
	if err != nil {
		return err
	}
	return a.loop.Do(func() error {
		if before := a.work.Queues; before.FromFile && maps.Equal(before.Settings, settings) {
			return nil
		}
		return a.replaceTree(tree, &ledgerpb.QueuesConfigured{Settings: settings, FromFile: true, Version: a.nextVersion()})
	})
}

// nextVersion returns the version that the next configuration of queues has.
func (a *Admin) nextVersion() int64 { return a.work.Queues.Version + 1 }

// readTree makes a tree of what the files say.
func readTree(source Source) (settings map[string]string, tree *queue.Tree, err error) {
	if settings, _, err = source.Read(); err == nil {
		tree, err = source.Build(settings)
	}
	if err != nil {
		return nil, nil, &Error{Err: err}
	}
	return settings, tree, nil
}

// AnyVersion is a version that always holds.
const AnyVersion = -1

// Stale says that the configuration was changed meanwhile.
type Stale struct{ Wanted, Holds int64 }

func (s *Stale) Error() string {
	return fmt.Sprintf("the configuration of queues has changed meanwhile: the change is for version %d, and version %d holds", s.Wanted, s.Holds)
}

// Change changes the configuration. Errors are an *Error, those of edit.Change, or ErrFixed.
func (a *Admin) Change(change *edit.Change) error { return a.ChangeAt(change, AnyVersion) }

// ChangeAt changes the configuration if it has a version, and else returns a *Stale.
func (a *Admin) ChangeAt(change *edit.Change, version int64) error {
	source := a.Source
	if source == nil || !source.Mutable() {
		return ErrFixed
	}
	return a.loop.Do(func() error {
		if holds := a.work.Queues.Version; version != AnyVersion && version != holds {
			return &Stale{version, holds}
		}
		settings, tree, err := a.changed(change)
		if err != nil {
			return err
		}
		return a.replaceTree(tree, &ledgerpb.QueuesConfigured{Settings: settings, Version: a.nextVersion()})
	})
}

// CheckChange returns the settings that a change would lead to, or why it would be refused.
func (a *Admin) CheckChange(change *edit.Change) (settings map[string]string, err error) {
	source := a.Source
	if source == nil || !source.Mutable() {
		return nil, ErrFixed
	}
	err = a.loop.Do(func() error {
		next, tree, err := a.changed(change)
		if err != nil {
			return err
		}
		if tree, _, err = a.restored(tree); err != nil {
			return &Error{Err: err}
		}
		if err := a.replaceable(tree); err != nil {
			return err
		}
		settings = next
		return nil
	})
	return settings, err
}

func (a *Admin) changed(change *edit.Change) (map[string]string, *queue.Tree, error) {
	settings, err := change.Apply(a.work.Queues.Settings)
	if err != nil {
		return nil, nil, err
	}
	tree, err := a.Source.Build(settings)
	if err != nil {
		return nil, nil, &Error{Err: err}
	}
	return settings, tree, nil
}

// Format forgets what was changed at run time, and returns to what the files say.
func (a *Admin) Format() error {
	source := a.Source
	if source == nil || !source.Mutable() {
		return ErrFixed
	}
	settings, tree, err := readTree(source)
	if err != nil {
		return err
	}
	return a.loop.Do(func() error {
		return a.replaceTree(tree, &ledgerpb.QueuesConfigured{Settings: settings, Version: 1})
	})
}

// Recorded returns the configuration that was made at run time.
func (a *Admin) Recorded() (conf ledger.QueueConf, err error) {
	err = a.loop.Do(func() error {
		conf = a.work.Queues
		return nil
	})
	return conf, err
}
