package queueconf

import (
	"errors"
	"slices"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue"
	"heddle/rm/queue/template"
)

// created is what a leader knows of the queues that were created on demand, beside the ledger.
type created struct {
	// used is when applications were submitted to a queue last, or a queue was created below it; for those of earlier leaderships not before the next
	// round of deletion.
	used   map[string]time.Time
	now    time.Time       // of the last tick
	marked map[string]bool // queues that were idle in the last round
	// deletion is when idle queues are deleted, entitling when legacy leaves get and lose capacity.
	deletion, entitling rounds
}

// rounds is work at a fixed rate. A tick that comes late doesn't make the later rounds late: with rounds of 3 s and ticks each second a round would else
// come after 3 or 4 s, as ticks vary by milliseconds.
type rounds struct{ next time.Time }

// due reports whether a round begins, and sets the next. Rounds that were missed are left out.
func (r *rounds) due(now time.Time, every time.Duration) bool {
	if now.Before(r.next) {
		return false
	}
	if r.next = r.next.Add(every); !r.next.After(now) {
		r.next = now.Add(every)
	}
	return true
}

// errOldMembers is why no queues are created while not all members could read it in the log.
var errOldMembers = errors.New("queues are created once all ResourceManagers run this release of Heddle")

// Create puts queues on record that were made for an application of a user. with is the tree that has them. It is for the loop's operations.
func (a *Admin) Create(with *queue.Tree, made []template.Created, user string) error {
	if a.work.Version < ledger.QueuesVersion {
		return errOldMembers
	}
	if err := a.work.Created.Fits(user, len(made)); err != nil {
		return err
	}
	if err := a.setTree(with, a.settings); err != nil {
		return err
	}
	c := &ledgerpb.QueuesChanged{}
	for _, q := range made {
		c.Created = append(c.Created, &ledgerpb.CreatedQueue{Path: q.Path, Parent: q.Parent, Legacy: q.Legacy, User: user})
		a.touch(q.Path)
		a.Log.WithField("queue", q.Path).WithField("user", user).Info("queue created on demand")
	}
	a.loop.Enter(&ledgerpb.Command{QueuesChanged: c})
	a.publish(with)
	return nil
}

// touch notes that a queue is used now, and the one above it, if that was created as well.
func (a *Admin) touch(path string) {
	tree := a.Scheduler.Tree()
	q, ok := tree.Find(path)
	for range 2 {
		if ok && q.Made == template.Flexible {
			a.created.used[q.Path] = a.created.now
		}
		if ok = ok && q.Parent != nil; ok {
			q = q.Parent
		}
	}
}

// AppBegan notes that the queue of an application is used.
func (a *Admin) AppBegan(app *ledger.Application) {
	if q, ok := a.Scheduler.Tree().Find(app.Queue); ok && q.Made == template.Flexible {
		a.created.used[q.Path] = a.created.now
	}
}

// restored returns a tree that was just read with the queues that were created on demand, and the paths of those for which it has no place. Legacy leaves get their
// capacity again, as in YARN (Hadoop: ManagedParentQueue.reinitialize).
func (a *Admin) restored(tree *queue.Tree) (next *queue.Tree, gone []string, err error) {
	return tree.Restored(template.EntitledAnew(a.work.Created.All(), a.usedLeaves(), tree.Rooms))
}

// usedLeaves returns the legacy leaves with live applications, those of the oldest first.
func (a *Admin) usedLeaves() []string {
	legacy := map[string]bool{}
	for _, q := range a.work.Created.List {
		legacy[q.Path] = q.Legacy
	}
	var apps []*ledger.Application
	for _, app := range a.work.Apps {
		if legacy[app.Queue] && !app.State.Ended() {
			apps = append(apps, app)
		}
	}
	slices.SortFunc(apps, func(x, y *ledger.Application) int { return x.ID.Compare(y.ID) })
	paths := make([]string, len(apps))
	for i, app := range apps {
		paths[i] = app.Queue
	}
	return paths
}

// entitle gives the capacity of legacy leaves without applications to others that have some (Hadoop: QueueManagementDynamicEditPolicy).
func (a *Admin) entitle() {
	tree := a.Scheduler.Tree()
	if !slices.ContainsFunc(tree.Created, func(c template.Created) bool { return c.Legacy }) {
		return
	}
	next, err := tree.Entitling(template.Entitled(tree.Created, a.usedLeaves(), tree.Rooms))
	switch {
	case err == nil && next == tree:
		return
	case err == nil:
		err = a.setTree(next, a.settings)
	}
	if err != nil {
		a.Log.WithError(err).Error("queues that were created on demand keep their capacity")
		return
	}
	a.publish(next)
}

// restore returns a tree that was just read with the queues that were created on demand. Those for which it has no place are forgotten; if a template can't be
// used any more, all stay on record, and the tree goes without them.
func (a *Admin) restore(tree *queue.Tree) *queue.Tree {
	next, gone, err := a.restored(tree)
	if err != nil {
		a.Log.WithError(err).Error("queues that were created on demand can't be restored: mend their templates, and refresh the queues")
		return tree
	}
	a.forget(gone)
	return next
}

// forget takes queues off the record that were created on demand.
func (a *Admin) forget(paths []string) {
	if len(paths) == 0 {
		return
	}
	for _, path := range paths {
		delete(a.created.used, path)
		delete(a.created.marked, path)
	}
	a.loop.Enter(&ledgerpb.Command{QueuesChanged: &ledgerpb.QueuesChanged{Deleted: paths}})
}

// Tick entitles legacy leaves, and deletes queues that were created on demand and are idle. As in YARN there is a round as often as queues expire, and a queue is deleted that was idle in
// the round before as well (Hadoop: AutoCreatedQueueDeletionPolicy).
func (a *Admin) Tick(now time.Time) {
	c := &a.created
	tree := a.Scheduler.Tree()
	if every := tree.Settings.EntitleEvery; every > 0 && c.entitling.due(now, every) {
		a.entitle()
		tree = a.Scheduler.Tree()
	}
	expiry := tree.Settings.CreatedExpiry
	if c.now.IsZero() || expiry <= 0 {
		c.deletion.next = now.Add(expiry)
	}
	if c.now = now; expiry <= 0 || !c.deletion.due(now, expiry) {
		return
	}
	inUse := a.appsByQueue()
	marked := map[string]bool{}
	var idle []string
	for _, made := range tree.Created {
		q, ok := tree.Find(made.Path)
		if !ok || q.Made != template.Flexible || q.Stays || len(q.Children) > 0 || inUse[q.Path] > 0 {
			continue
		}
		switch {
		case !c.marked[q.Path]:
			marked[q.Path] = true
		case now.Sub(c.used[q.Path]) > expiry:
			idle = append(idle, q.Path)
		}
	}
	c.marked = marked
	a.delete(tree, idle)
}

// delete deletes queues that are idle.
func (a *Admin) delete(tree *queue.Tree, paths []string) {
	if len(paths) == 0 {
		return
	}
	next, err := tree.Without(paths)
	if err == nil {
		err = a.setTree(next, a.settings)
	}
	if err != nil {
		a.Log.WithError(err).Error("idle queues can't be deleted")
		return
	}
	a.forget(paths)
	a.publish(next)
	for _, path := range paths {
		a.Log.WithField("queue", path).Info("idle queue deleted")
	}
}
