package forecast

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"heddle/rm/scheduler"
	"heddle/sim/whatif/load"
)

// scenario is one way in which the cluster may go on from a time: its load holds the applications that there are, in their order, and then those that come.
func (p *past) scenario(at int64, r *rand.Rand) *load.Load {
	l := p.load
	out := &load.Load{Begin: at, End: at + max(l.End-l.Begin, 1), Minimum: l.Minimum, Heartbeat: l.Heartbeat, Reask: l.Reask, Nodes: l.Nodes}
	out.Events, out.Queues = l.Cluster(at)
	for i := range l.Apps {
		if a := &l.Apps[i]; a.Cut {
			out.Apps = append(out.Apps, p.goOn(a, at, r))
		}
	}
	slices.SortStableFunc(out.Apps, func(x, y load.App) int { return cmp.Compare(rank(&x), rank(&y)) })
	there := len(out.Apps)
	p.arrivals(out, r)
	slices.SortStableFunc(out.Apps[there:], func(x, y load.App) int { return cmp.Compare(x.Submit, y.Submit) })
	return out
}

// rank has applications with containers entered before those that wait for their first one: nothing is granted in between that others hold.
func rank(a *load.App) int {
	if len(a.Attempts) > 0 && (a.Attempts[0].Master.Is || len(a.Attempts[0].Running) > 0) {
		return 0
	}
	return 1
}

// arrivals adds applications as the record has them, begun at another place.
func (p *past) arrivals(out *load.Load, r *rand.Rand) {
	l := p.load
	length := out.End - out.Begin
	shift := r.Int64N(length)
	for i := range l.Apps {
		a := l.Apps[i]
		if a.Before {
			continue
		}
		if a.Cut || len(a.Attempts) == 0 {
			like := p.alike(&a, 0, r)
			if like == nil {
				continue
			}
			a.Attempts, a.Changes, a.Withdrawn = like.Attempts, nil, 0
		}
		a.Submit = out.Begin + (a.Submit-l.Begin+shift)%length + 1
		a.ID, a.Cut, a.Now = "", false, nil
		out.Apps = append(out.Apps, a)
	}
}

// goOn is an application that there is, as it may go on.
func (p *past) goOn(a *load.App, at int64, r *rand.Rand) load.App {
	now := a.Now
	out := load.App{
		ID: a.ID, Name: a.Name, Queue: now.Queue, User: a.User, Type: a.Type, Label: a.Label, Tags: a.Tags, Priority: now.Priority, Master: a.Master, Spare: a.Spare, Keep: a.Keep,
		Submit: at, Before: true, Line: a.Line, Then: load.Outcome{Granted: -1, End: -1},
	}
	like := p.alike(a, now.Asks, r)
	if !now.Granted {
		if like != nil {
			out.Attempts = like.Attempts
		}
		return out
	}
	c := continued{past: p, app: a, at: at, r: r}
	c.running()
	c.waiting()
	if like != nil {
		c.later(&like.Attempts[len(like.Attempts)-1])
	}
	out.Attempts = []load.Attempt{c.attempt}
	return out
}

// continued is the attempt of an application that goes on.
type continued struct {
	past    *past
	app     *load.App
	at      int64
	r       *rand.Rand
	attempt load.Attempt
}

func (c *continued) kind(priority int32, k *load.Kind) *load.Kind {
	for i := range c.attempt.Kinds {
		if x := &c.attempt.Kinds[i]; x.Priority == priority && x.Size == k.Size {
			return x
		}
	}
	c.attempt.Kinds = append(c.attempt.Kinds, load.Kind{Priority: priority, Size: k.Size})
	return &c.attempt.Kinds[len(c.attempt.Kinds)-1]
}

// running enters what runs, and for how long it still does.
func (c *continued) running() {
	now := c.app.Now
	c.attempt.Fixed, c.attempt.Master = -1, now.Master
	for _, s := range now.Running {
		k := c.kind(s.Priority, &load.Kind{Size: s.Size})
		ran := c.at - s.Since
		s.Life = len(k.Lives)
		s.Kind = slices.IndexFunc(c.attempt.Kinds, func(x load.Kind) bool { return x.Priority == s.Priority && x.Size == s.Size })
		k.Lives = append(k.Lives, load.Life{MS: max(c.past.life(c.app, s.Priority, ran, c.r)-ran, 1), Post: -1})
		c.attempt.Running = append(c.attempt.Running, s)
		c.attempt.Ends++
	}
}

// waiting enters what is asked for.
func (c *continued) waiting() {
	rows := c.app.Now.Waiting
	if len(rows) == 0 {
		return
	}
	c.attempt.Asks = []load.Ask{{Delay: 1, Rows: rows}}
	for i := range rows {
		if rows[i].Name == scheduler.Any {
			c.lives(rows[i].Priority, &load.Kind{Size: rows[i].Capability}, int(rows[i].Count))
		}
	}
}

func (c *continued) lives(priority int32, like *load.Kind, n int) {
	k := c.kind(priority, like)
	for range n {
		k.Lives = append(k.Lives, load.Life{MS: c.past.life(c.app, priority, 0, c.r), Post: -1})
		c.attempt.Ends++
	}
}

// later enters what the application asks for next, as one like it did: when the same part of what was asked for before has ended.
func (c *continued) later(like *load.Attempt) {
	now := c.app.Now
	asked := now.Ended + int32(len(now.Running)) // by this one, and by the one that it is like
	for i := range now.Waiting {
		if now.Waiting[i].Name == scheduler.Any {
			asked += now.Waiting[i].Count
		}
	}
	theirs := int32(0)
	for i, ask := range like.Asks {
		more := int32(0)
		for k := range ask.Rows {
			if ask.Rows[k].Name == scheduler.Any {
				more += max(ask.Rows[k].Count, 0)
			}
		}
		if i >= now.Asks {
			if theirs > 0 {
				ask.Ended = max(int32(math.Ceil(float64(ask.Ended)/float64(theirs)*float64(asked)))-now.Ended, 0)
			}
			ask.Ended = min(ask.Ended, c.attempt.Ends)
			c.attempt.Asks = append(c.attempt.Asks, ask)
			for k := range ask.Rows {
				if row := &ask.Rows[k]; row.Name == scheduler.Any && row.Count > 0 {
					c.lives(row.Priority, &load.Kind{Size: row.Capability}, int(row.Count))
				}
			}
			asked += more
		}
		theirs += more
	}
	c.attempt.Tail = like.Tail
}
