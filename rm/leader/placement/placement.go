// Package placement finds the queues of applications, when they are submitted and when they are moved. Names of queues, users and
// applications go in. Paths of queues come out, which are created if need be, or a refusal in the words of the YARN scheduler whose queues these are.
//
// A leader has one Placement.
package placement

import (
	"errors"
	"fmt"

	"heddle/rm/leader/loop"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/queue/template"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// Scheduler is what this package tells the driver, and asks it (eventlog.Recorder).
type Scheduler interface {
	TakesApps(path string) bool
	Queue(path string) (scheduler.QueueView, bool)
	// Apply carries out an event (eventlog.Recorder.Apply).
	Apply(*eventlog.Event) bool
	UsesOf(h scheduler.AppHandle) []scheduler.Use
}

// Apps are the live applications. They are asked in the loop's operations alone.
type Apps interface {
	Count() int
	App(id records.ApplicationID) (h scheduler.AppHandle, progress float32, ok bool)
	// Live refuses an application that is unknown, or has ended.
	Live(id records.ApplicationID) (*ledger.Application, error)
}

// Config is what a Placement is made from.
type Config struct {
	Scheduler Scheduler
	Apps      Apps
	// Queues returns the tree of queues that the scheduler works with. It is for the loop's operations; Live is the same for all others.
	Queues func() *queue.Tree
	Live   *queue.Live
	Groups func(user string) ([]string, error) // of a user, the primary one first; nil is none
	Tags   Tags
	// Create records queues that were made for a user's application: with is the tree that has them.
	Create func(with *queue.Tree, made []template.Created, user string) error
	// MaySubmit decides which users may submit to a queue, by its path; nil allows all.
	MaySubmit func(user, queue string) bool
}

// Placement finds queues. Place, Denied and Move are safe for concurrent use; Enter and Full are for the loop's operations.
type Placement struct {
	cfg  Config
	loop loop.Operations
	work *ledger.State
}

// New makes the Placement of a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Placement {
	return &Placement{cfg: cfg, loop: loop, work: work}
}

// Target is the queue of an application that is submitted.
type Target struct {
	Path string
	// Against is why the application fails if it is taken nevertheless, "" if nothing is.
	Against string
	// Named is the name by which the queue was asked for, or its path if a mapping has chosen it: rights depend on it.
	Named  string
	mapped bool // a mapping has chosen it
}

// Place finds the queue of an application, which may have to be created: see Enter.
func (p *Placement) Place(id records.ApplicationID, user, name, queueName string, tags []string) (to Target, err error) {
	app := queue.App{ID: id.String(), Name: name, Queue: queueName, User: user}
	if app.User, err = p.placedAs(app, tags); err == nil {
		to.Path, to.mapped, err = p.cfg.Live.Tree().Choose(app, p.cfg.Groups)
	}
	if to.Named = to.Path; !to.mapped && p.cfg.Live.Tree().Kind == queue.Capacity {
		to.Named = queueName
	}
	var refused *queue.Refusal
	switch {
	case !errors.As(err, &refused):
		return to, err
	case refused.Fails:
		to.Against = refused.Text
		return to, nil
	}
	return to, refusal.New(refusal.Refused, "%s", refused.Text)
}

// Enter creates the queue of an application that is about to be submitted, unless it is there. against says why the queue doesn't take it, "" if it does. It is for
// the loop's operations.
func (p *Placement) Enter(id records.ApplicationID, user string, to *Target) {
	if to.Against != "" {
		return
	}
	tree := p.cfg.Queues()
	with, path, made, err := tree.For(queue.App{ID: id.String(), User: user}, to.Path, to.mapped)
	if to.Path = path; len(made) > 0 {
		if failed := p.cfg.Create(with, made, user); failed != nil {
			to.Against = fmt.Sprintf("Application %v submission by user : %s to  queue : %s failed : %v", id, user, path, failed)
			return
		}
	}
	if err != nil {
		to.Against = err.Error()
		return
	}
	to.Against = p.Full(id, user, path)
}

// Denied refuses an application whose user may not submit to its queue, in YARN's words. A FairScheduler whose lists are otherwise off refuses it
// only once it has been submitted: it fails then, and against is why (Hadoop: FairScheduler.addApplication).
func (p *Placement) Denied(id records.ApplicationID, user string, to Target, asked string, lists bool) (against string, err error) {
	path := to.Path
	if !lists && p.cfg.Live.Tree().Kind == queue.Fair {
		return fmt.Sprintf("User %s does not have permission to submit %v to queue %s", user, id, path), nil
	}
	if to.mapped || p.cfg.Live.Tree().Kind != queue.Capacity {
		asked = p.closed(path, asked)
	}
	return "", refusal.New(refusal.AccessDenied, "User %s does not have permission to submit %v to queue %s", user, id, asked)
}

// closed names a queue that a user may not submit to, in YARN's words: as the client did, or by its path where a mapping chose it. A
// FairScheduler also names the queue whose lists decide.
func (p *Placement) closed(path, asked string) string {
	tree := p.cfg.Live.Tree()
	if tree.Kind == queue.Fair {
		return path + " denied by ACL for queue " + tree.Above(path).Path
	}
	if q, ok := tree.Find(asked); ok && q.Path == path {
		return asked
	}
	return path
}

// Full says why a queue takes no further application, "" if it takes one: there are too many, or queues that were made for applications
// stand in its way.
func (p *Placement) Full(id records.ApplicationID, user, path string) string {
	tree := p.cfg.Queues()
	if tree.Kind == queue.Fair && !p.cfg.Scheduler.TakesApps(path) {
		return path + " is not a leaf queue"
	}
	q, ok := tree.Find(path)
	if !ok || tree.Kind != queue.Capacity {
		return ""
	}
	inQueue, ofUser := p.work.Kept.Taken(path, user)
	share := tree.Effective(p.work.Capacity())[q.Index]
	if err := tree.Full(q, share, queue.App{ID: id.String(), User: user}, p.cfg.Apps.Count(), inQueue, ofUser); err != nil {
		return err.Error()
	}
	return ""
}
