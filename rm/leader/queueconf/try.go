package queueconf

import (
	"fmt"
	"maps"
	"slices"

	"heddle/rm/leader/trial"
	"heddle/rm/queue"
	"heddle/rm/queue/edit"
	"heddle/yarn/records"
)

// Trial holds the effects of a change.
type Trial struct {
	Version       int64 // of the configuration that holds
	Before, After map[string]string
	Stranded      []Stranded // live applications that stand in the way, or would have no running queue
	Refused       error      // why the change would be refused; nil: it wouldn't
	Outcome       trial.Outcome
}

// Stranded is a live application whose queue would be gone, no leaf or stopped.
type Stranded struct {
	App         records.ApplicationID
	User, Queue string
	Why         string
}

// maxStranded bounds the list.
const maxStranded = 200

// Try says what would come of a change, without making it: whether it would be refused, which applications it would strand, what would start and what
// preemption would take. Errors are those of Change; a refusal by the check of the whole is in the answer.
func (a *Admin) Try(change *edit.Change) (*Trial, error) {
	source := a.Source
	if source == nil || !source.Mutable() {
		return nil, ErrFixed
	}
	a.trying.Lock()
	defer a.trying.Unlock()
	out := &Trial{}
	var now, next *queue.Tree
	var facts *trial.Facts
	err := a.loop.Do(func() error {
		settings, tree, err := a.changed(change)
		if err != nil {
			return err
		}
		if tree, _, err = tree.Restored(a.work.Created.All()); err != nil {
			return &Error{Err: err}
		}
		out.Version, out.Before, out.After = a.work.Queues.Version, maps.Clone(a.work.Queues.Settings), settings
		out.Refused = a.replaceable(tree)
		out.Stranded = a.stranded(tree)
		now, next = a.Scheduler.Tree(), tree
		if out.Refused == nil && a.Facts != nil {
			facts = a.Facts()
		}
		return nil
	})
	if err != nil || facts == nil {
		return out, err
	}
	out.Outcome, err = play(facts, now, next)
	return out, err
}

// play tries a tree. A panic of the scheduler that tries ends the trial alone.
func play(f *trial.Facts, now, next *queue.Tree) (out trial.Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the trial failed: %v", v)
		}
	}()
	return f.Of(now, next), nil
}

// stranded lists live applications that a tree has no running leaf for, though the one that holds has.
func (a *Admin) stranded(tree *queue.Tree) (out []Stranded) {
	for _, app := range a.work.Apps {
		if app.State.Ended() || len(out) == maxStranded {
			continue
		}
		before, _ := a.Scheduler.Tree().Find(app.Queue)
		q, ok := tree.Find(app.Queue)
		why := ""
		switch {
		case !ok || q.Path != app.Queue:
			why = "its queue would be gone"
		case !q.Leaf():
			why = "its queue would have children, and take no applications"
		case q.Stopped && (before == nil || !before.Stopped):
			why = "its queue would be stopped: it ends there, and no other can be submitted"
		default:
			continue
		}
		out = append(out, Stranded{app.ID, app.User, app.Queue, why})
	}
	slices.SortFunc(out, func(x, y Stranded) int { return x.App.Compare(y.App) })
	return out
}
