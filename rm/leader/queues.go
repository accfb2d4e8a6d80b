package leader

import (
	"errors"
	"fmt"
	"maps"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue"
	"heddle/yarn/records"
)

// queueAdmin changes the configuration of queues.
type queueAdmin struct{ *core }

// QueueSource reads configurations of queues. Its methods may be called at any time, and read files.
type QueueSource interface {
	// Mutable reports whether queues are changed by ChangeQueues, and the ledger keeps them. Otherwise they come from files.
	Mutable() bool
	// Read returns the settings of the files, and when these were changed last. An error tells file, key, value and reason.
	Read() (settings map[string]string, changed time.Time, err error)
	// Build makes a tree of settings.
	Build(settings map[string]string) (*queue.Tree, error)
}

// ErrFixedQueues is returned where queues can't be changed but by their files.
var ErrFixedQueues = errors.New("the scheduler's configuration comes from files: set yarn.scheduler.configuration.store.class to change it otherwise")

// takeQueues finds out which queues hold: those that were configured at run time, else what the files of this member say. A
// change of the files that is younger than the ledger's record counts, as an administrator made it.
func (q *queueAdmin) takeQueues() {
	source := q.Settings.QueueSource
	if source == nil {
		return
	}
	recorded := q.work.Queues
	settings, changed, err := source.Read()
	if err != nil {
		q.Log.WithError(err).Error("the files of queues can't be used; what held before goes on")
	}
	switch {
	case source.Mutable() && recorded.Version == 0 && err == nil:
		c := &ledgerpb.QueuesConfigured{Settings: settings, Version: 1}
		if err := encodable(c); err != nil {
			q.Log.WithError(err).Error("the files of queues can't be kept, and will be read again by the next leader")
			break
		}
		q.Enter(&ledgerpb.Command{QueuesConfigured: c})
	case source.Mutable() && recorded.Version > 0, recorded.Version > 0 && recorded.FromFile && (err != nil || recorded.Time >= changed.UnixMilli()):
		settings = recorded.Settings
	case err != nil:
		return
	}
	tree, err := source.Build(settings)
	if err != nil {
		q.Log.WithError(err).Error("the recorded configuration of queues can't be used; that of the files holds")
		return
	}
	if err := q.setTree(tree, settings); err != nil {
		q.Log.WithError(err).Error("the scheduler goes on with the queues that it had")
		return
	}
	q.publish(tree)
}

// setTree has the scheduler go on with a tree, which is made of settings. Others see it when what is entered next is
// committed.
func (q *queueAdmin) setTree(tree *queue.Tree, settings map[string]string) error {
	if err := q.sched.SetTree(tree, q.RecordedQueues.With(settings)); err != nil {
		return &QueueError{Err: err}
	}
	q.Settings.Queues = tree
	return nil
}

// publish shows everybody the tree.
func (q *queueAdmin) publish(tree *queue.Tree) {
	q.AfterCommit(func() { q.Settings.Live.Set(tree) })
}

// replaceable says what keeps a tree from taking the place of the one that holds: applications that it has no room for.
func (q *queueAdmin) replaceable(tree *queue.Tree) error {
	if err := q.Settings.Queues.CheckUpdate(tree, q.appsByQueue()); err != nil {
		return &QueueError{Err: err}
	}
	return nil
}

// replaceTree has a tree hold if no application is in its way.
func (q *queueAdmin) replaceTree(tree *queue.Tree, c *ledgerpb.QueuesConfigured) error {
	if err := q.replaceable(tree); err != nil {
		return err
	}
	if err := encodable(c); err != nil {
		return &QueueError{Err: err}
	}
	tree.KeepStopped(q.Settings.Queues)
	if err := q.setTree(tree, c.GetSettings()); err != nil {
		return err
	}
	q.Enter(&ledgerpb.Command{QueuesConfigured: c})
	q.publish(tree)
	q.Log.WithField("version", c.GetVersion()).Info("queues are configured anew")
	return nil
}

// encodable says why a configuration of queues can't be in the log.
func encodable(c *ledgerpb.QueuesConfigured) error {
	for name, value := range c.GetSettings() {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return fmt.Errorf("%.100q is not UTF-8, or its value isn't", name)
		}
	}
	if size := proto.Size(c); size > ledger.MaxCommand {
		return fmt.Errorf("the configuration of queues has %d bytes, and may have %d", size, ledger.MaxCommand)
	}
	return nil
}

// appsByQueue counts live applications.
func (q *queueAdmin) appsByQueue() map[string]int {
	out := map[string]int{}
	for id := range q.apps {
		if app := q.work.Apps[id]; app != nil && !app.State.Ended() {
			out[app.Queue]++
		}
	}
	return out
}

// QueueError is why a configuration of queues was refused, the old one going on.
type QueueError struct{ Err error }

func (e *QueueError) Error() string { return e.Err.Error() }

func (e *QueueError) Unwrap() error { return e.Err }

// RefreshQueues reads the files of queues again, as a whole or not at all. What they say is replicated, so that another
// leader goes on with it.
func (q *queueAdmin) RefreshQueues() error {
	source := q.Settings.QueueSource
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
	return q.Do(func() error {
		if before := q.work.Queues; before.FromFile && maps.Equal(before.Settings, settings) {
			return nil
		}
		return q.replaceTree(tree, &ledgerpb.QueuesConfigured{Settings: settings, FromFile: true, Version: q.nextQueues()})
	})
}

// nextQueues is the version that the next configuration of queues has.
func (q *queueAdmin) nextQueues() int64 { return q.work.Queues.Version + 1 }

// readTree makes a tree of what the files say.
func readTree(source QueueSource) (settings map[string]string, tree *queue.Tree, err error) {
	if settings, _, err = source.Read(); err == nil {
		tree, err = source.Build(settings)
	}
	if err != nil {
		return nil, nil, &QueueError{Err: err}
	}
	return settings, tree, nil
}

// ChangeQueues changes the configuration, as a whole or not at all. Errors are a *QueueError, those of queue.Change, or
// ErrFixedQueues.
func (q *queueAdmin) ChangeQueues(change *queue.Change) error {
	source := q.Settings.QueueSource
	if source == nil || !source.Mutable() {
		return ErrFixedQueues
	}
	return q.Do(func() error {
		settings, tree, err := q.changed(change)
		if err != nil {
			return err
		}
		return q.replaceTree(tree, &ledgerpb.QueuesConfigured{Settings: settings, Version: q.nextQueues()})
	})
}

// CheckChange returns the settings that a change would lead to, or why it would be refused.
func (q *queueAdmin) CheckChange(change *queue.Change) (settings map[string]string, err error) {
	source := q.Settings.QueueSource
	if source == nil || !source.Mutable() {
		return nil, ErrFixedQueues
	}
	err = q.Do(func() error {
		next, tree, err := q.changed(change)
		if err != nil {
			return err
		}
		if err := q.replaceable(tree); err != nil {
			return err
		}
		settings = next
		return nil
	})
	return settings, err
}

func (q *queueAdmin) changed(change *queue.Change) (map[string]string, *queue.Tree, error) {
	settings, err := change.Apply(q.work.Queues.Settings)
	if err != nil {
		return nil, nil, err
	}
	tree, err := q.Settings.QueueSource.Build(settings)
	if err != nil {
		return nil, nil, &QueueError{Err: err}
	}
	return settings, tree, nil
}

// FormatQueues forgets what was changed at run time, and returns to what the files say.
func (q *queueAdmin) FormatQueues() error {
	source := q.Settings.QueueSource
	if source == nil || !source.Mutable() {
		return ErrFixedQueues
	}
	settings, tree, err := readTree(source)
	if err != nil {
		return err
	}
	return q.Do(func() error {
		return q.replaceTree(tree, &ledgerpb.QueuesConfigured{Settings: settings, Version: 1})
	})
}

// QueueConf returns the configuration that was made at run time.
func (q *queueAdmin) QueueConf() (conf ledger.QueueConf, err error) {
	err = q.Do(func() error {
		conf = q.work.Queues
		return nil
	})
	return conf, err
}

// place finds the queue of an application, and what speaks against it if it is taken nevertheless, to fail.
func (pl *placement) place(id records.ApplicationID, user, name, queueName string) (path, against string, err error) {
	app := queue.App{ID: id.String(), Name: name, Queue: queueName, User: user}
	path, err = pl.Settings.Live.Tree().Place(app, pl.Settings.Groups)
	var refused *queue.Refusal
	switch {
	case !errors.As(err, &refused):
		return path, "", err
	case refused.Fails:
		return path, refused.Text, nil
	}
	return path, "", refusal.New(refusal.Refused, "%s", refused.Text)
}

// full says why a queue takes no further application, "" if it takes one: there are too many, or queues that were made for applications
// stand in its way.
func (pl *placement) full(id records.ApplicationID, user, path string) string {
	tree := pl.Settings.Queues
	if tree.Kind == queue.Fair && !pl.sched.TakesApps(path) {
		return path + " is not a leaf queue"
	}
	q, ok := tree.Find(path)
	if !ok || tree.Kind != queue.Capacity {
		return ""
	}
	inQueue, ofUser := 0, 0
	for id := range pl.apps {
		if app := pl.work.Apps[id]; app != nil && !app.State.Ended() && app.Queue == path {
			if inQueue++; app.User == user {
				ofUser++
			}
		}
	}
	share := tree.Effective(pl.work.Capacity())[q.Index]
	if err := tree.Full(q, share, queue.App{ID: id.String(), User: user}, len(pl.apps), inQueue, ofUser); err != nil {
		return err.Error()
	}
	return ""
}
