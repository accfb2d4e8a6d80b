package receipt

import (
	"cmp"

	"heddle/rm/ledger/course"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// told adds the steps of tasks that the ApplicationMaster tells of, from the last one back to the first one's container.
func (c *chain) told(a view.AttemptTimes, master *view.ContainerTimes) {
	for first := true; c.at > max(a.Registered, c.of.Submitted); first = false {
		t := c.lastTask(a)
		if t == nil {
			return
		}
		switch x := c.running(a, t.To); {
		case first && c.of.Finished == 0 && x != nil:
			c.back(Work, t.To, x)
		case c.of.Course.TasksLost > 0:
			c.back(Unknown, t.To, nil)
		default:
			c.back(Master, t.To, master)
		}
		c.task(a, t)
	}
}

// lastTask returns the task that was waited for and ended last before what is known.
func (c *chain) lastTask(a view.AttemptTimes) (last *course.Task) {
	for t := range c.tries(a) {
		if t.Outcome != course.Ended && t.To <= c.at && (last == nil || t.To > last.To || t.To == last.To && t.From < last.From) {
			last = t
		}
	}
	return last
}

// tries iterates over the tries of an attempt's tasks.
func (c *chain) tries(a view.AttemptTimes) func(func(*course.Task) bool) {
	return func(yield func(*course.Task) bool) {
		if c.of.Course == nil {
			return
		}
		for i := range c.of.Course.Tasks {
			if t := &c.of.Course.Tasks[i]; t.Attempt == a.ID.Attempt && t.From < t.To && !yield(t) {
				return
			}
		}
	}
}

// container returns the container of a task, nil if it isn't known.
func (c *chain) container(a view.AttemptTimes, t *course.Task) *view.ContainerTimes {
	if c.byID == nil {
		c.byID = map[records.ContainerID]*view.ContainerTimes{}
		for i := range c.of.Containers {
			if x := &c.of.Containers[i]; !x.AM {
				c.byID[x.ID] = x
			}
		}
	}
	return c.byID[records.ContainerID{Attempt: a.ID, ID: t.Container}]
}

// running returns a container that has run since a time at the latest, and still does.
func (c *chain) running(a view.AttemptTimes, since int64) *view.ContainerTimes {
	for i := range c.of.Containers {
		if x := &c.of.Containers[i]; !x.AM && x.Granted >= a.Registered && x.Ended == 0 && x.Started > 0 && x.Started <= since {
			return x
		}
	}
	return nil
}

// task adds the steps of a task, and those before it that only its container's start or the try that it is a copy of waited for.
func (c *chain) task(a view.AttemptTimes, t *course.Task) {
	x, known := c.container(a, t), c.at
	from := t.From
	switch {
	case t.Outcome == course.Failed:
		c.back(Lost, from, x)
	case t.Reduce:
		fetched := cmp.Or(t.Fetched, t.To)
		c.worked(a, t, x, Reduces, fetched)
		for m := range c.tries(a) {
			// one that ends where nothing is known of this task yet isn't before it: each would lead to the other for ever
			if !m.Reduce && m.Outcome == course.Succeeded && m.To <= fetched && m.To < known {
				from = max(from, m.To)
			}
		}
		if c.back(Shuffle, from, x); from > t.From {
			return // the last map was waited for
		}
	default:
		c.worked(a, t, x, Maps, from)
	}
	if t.Copy && t.Outcome == course.Succeeded {
		for o := range c.tries(a) {
			if o.Outcome == course.Ended && o.Reduce == t.Reduce && o.Index == t.Index && o.From < c.at {
				t, x = o, c.container(a, o)
				c.back(Straggling, o.From, x)
			}
		}
	}
	if x != nil && c.firstIn(a, t) {
		c.back(Idle, began(x), x)
		c.start(x, "")
		c.awaited(Awaits, max(x.Asked, a.Registered), x.Priority)
	}
}

// firstIn reports whether no other try ran before in the same container.
func (c *chain) firstIn(a view.AttemptTimes, t *course.Task) bool {
	for o := range c.tries(a) {
		if o.Container == t.Container && o.To <= t.From {
			return false
		}
	}
	return true
}

// worked adds the time in which a task worked since a time.
func (c *chain) worked(a view.AttemptTimes, t *course.Task, x *view.ContainerTimes, kind Kind, since int64) {
	if why, usual := c.triesLike(a, t).late(c.ran(a, t), t.Outcome == course.Succeeded); why != "" {
		if x == nil {
			c.back(why, since+usual, nil)
		} else {
			c.back(why, after(x, since, usual), x)
		}
	}
	if since = max(since, c.of.Submitted); since < c.at {
		s := Step{Kind: kind, From: since, To: c.at}
		if t.Copy {
			s.Detail = ByCopy
		}
		c.stepOf(s, x)
	}
}

// triesLike are the tries of an attempt's maps, or of its reduces, that succeeded.
func (c *chain) triesLike(a view.AttemptTimes, t *course.Task) *kin {
	i := 0
	if t.Reduce {
		i = 1
	}
	if c.tried[i] == nil {
		var all []ran
		for o := range c.tries(a) {
			if o.Reduce == t.Reduce && o.Outcome == course.Succeeded {
				all = append(all, c.ran(a, o))
			}
		}
		c.tried[i] = kinOf(all)
	}
	return c.tried[i]
}

// ran returns how long a task ran, a reduce since it had its input.
func (c *chain) ran(a view.AttemptTimes, t *course.Task) ran {
	r := ran{far: t.Remote, ms: t.To - max(t.From, t.Fetched)}
	if x := c.container(a, t); x != nil {
		r.node = x.Node
		r.ms = unsuspended(x, max(t.From, t.Fetched), t.To)
	}
	return r
}

// Copies counts copies of tasks, as the ApplicationMaster tells.
type Copies struct {
	Won, Lost int
	LostMS    int64 // time in tries that others overtook, beside the chain
}

// CopiesOf returns what became of an application's copies.
func CopiesOf(k *course.Course) (n Copies) {
	if k == nil {
		return n
	}
	for i := range k.Tasks {
		switch t := &k.Tasks[i]; {
		case t.Outcome == course.Ended:
			n.LostMS += max(t.To-t.From, 0)
			if t.Copy {
				n.Lost++
			}
		case t.Outcome == course.Succeeded && t.Copy:
			n.Won++
		}
	}
	return n
}
