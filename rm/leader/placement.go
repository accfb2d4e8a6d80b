package leader

import (
	"errors"

	"heddle/rm/leader/refusal"
	"heddle/rm/queue"
	"heddle/yarn/records"
)

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
