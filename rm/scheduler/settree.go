package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
)

// SetTree replaces the configuration. Queues are told by their paths; what is in them stays. A tree of another scheduler, or
// one that lacks a leaf with applications in it, is refused, and changes nothing.
func (s *Scheduler) SetTree(t *queue.Tree) error {
	if t.Kind != s.tree.Kind {
		return fmt.Errorf("the queues of one scheduler can't be replaced by those of another while it runs")
	}
	next := map[string]*queue.Queue{}
	for _, q := range t.Queues() {
		next[q.Path] = q
	}
	for h := range s.queues {
		q := &s.queues[h]
		if !q.live || q.total == 0 {
			continue
		}
		switch n := next[q.cfg.Path]; {
		case n == nil && !q.made:
			return fmt.Errorf("queue %s has %d applications in it, and can't be removed", q.cfg.Path, q.total)
		case n != nil && n.Leaf() != q.leaf:
			return fmt.Errorf("queue %s has %d applications in it, and can't be made a leaf or a parent", q.cfg.Path, q.total)
		}
	}
	s.tree = t
	s.replaceQueues(t, next)
	s.remeasure()
	for i := range s.users {
		if u := &s.users[i]; u.total > 0 {
			u.weight = float64(s.queues[u.leaf].cfg.UserWeight(u.name))
		}
	}
	s.stale = true
	s.refresh()
	s.admitHeld()
	return nil
}

// replaceQueues builds the running tree for another configuration around what the queues hold. Orders are made by rebuild.
func (s *Scheduler) replaceQueues(t *queue.Tree, next map[string]*queue.Queue) {
	s.unlink()
	for h := range s.queues {
		q := &s.queues[h]
		if !q.live {
			continue
		}
		if n := next[q.cfg.Path]; q.made && q.total > 0 && n == nil {
			continue
		} else if n == nil || n.Leaf() != q.leaf {
			s.forgetQueue(int32(h))
		}
	}
	place := int64(0)
	var enter func(cfg *queue.Queue, parent int32)
	enter = func(cfg *queue.Queue, parent int32) {
		h, ok := s.byPath[cfg.Path]
		if !ok {
			h = s.newQueue(cfg)
		}
		q := &s.queues[h]
		q.cfg, q.parent, q.made, q.place, q.below = cfg, parent, false, place, nil
		s.setRules(q)
		if parent != order.Nothing {
			s.queues[parent].below = append(s.queues[parent].below, h)
		}
		place++
		for _, c := range s.inOrder(cfg.Children) {
			enter(c, h)
		}
	}
	enter(t.Root, order.Nothing)
	for _, h := range s.madeQueues() {
		q := &s.queues[h]
		q.parent, q.place, q.below = s.byPath[q.cfg.Path[:strings.LastIndexByte(q.cfg.Path, '.')]], place, nil
		above := &s.queues[q.parent]
		q.cfg = t.Make(above.cfg, q.cfg.Name, q.leaf)
		s.setRules(q)
		above.below = append(above.below, h)
		place++
	}
}

// madeQueues are the queues that were made for applications, each behind the one above it.
func (s *Scheduler) madeQueues() (made []int32) {
	for h := range s.queues {
		if q := &s.queues[h]; q.live && q.made {
			made = append(made, int32(h))
		}
	}
	slices.SortFunc(made, func(a, b int32) int { return strings.Compare(s.queues[a].cfg.Path, s.queues[b].cfg.Path) })
	return made
}

// remeasure looks at nodes and demands anew, as it may have changed which resources count.
func (s *Scheduler) remeasure() {
	before := s.calc.MemoryOnly
	s.setMeasure()
	if s.calc.MemoryOnly == before {
		return
	}
	s.classes = class.New()
	for i := range s.apps {
		for d := range s.demands(&s.apps[i]) {
			d.hosts, d.racks = true, true
			if d.classed {
				d.size = s.calc.Measure(d.capability)
				d.class = s.classes.Hold(d.capability, d.size)
			}
			s.setWhy(d, untried)
			s.show(d)
		}
	}
	s.countKept()
	for h := range s.nodes {
		if s.nodes[h].live {
			s.reindex(handle.Node(h))
		}
	}
}

// unlink takes all elements out of their orders.
func (s *Scheduler) unlink() {
	s.el.Clear()
	for h := range s.queues {
		s.queues[h].inner.Clear()
	}
	for i := range s.users {
		s.users[i].apps.Clear()
	}
}

// rebuild computes all keys, and enters everything into its order by them.
func (s *Scheduler) rebuild() {
	s.unlink()
	for i := range s.users {
		if u := &s.users[i]; u.total > 0 {
			u.apps.Rule = s.queues[u.leaf].apps
		}
	}
	for h := range s.apps {
		if a := &s.apps[h]; a.live && a.active {
			u := &s.users[a.user]
			s.seedKey(a, u.apps.Rule)
			s.el.SetMask(a.el, s.maskOf(a))
			s.el.Enter(&u.apps, a.el)
		}
	}
	for h := range s.queues {
		q := &s.queues[h]
		q.wanting, q.shares, q.activeUsed, q.limitKnown = 0, 0, [len(q.used)]int64{}, false
	}
	for i := range s.users {
		u := &s.users[i]
		if u.total == 0 {
			continue
		}
		q := &s.queues[u.leaf]
		u.share = s.calc.Share(&u.used)
		q.shares += u.share
		if u.wanting > 0 {
			q.wanting += u.weight
			q.activeUsed = q.activeUsed.Add(u.used)
		}
		s.userKey(u)
		s.el.SetMask(u.el, s.el.Offers(&u.apps))
		s.el.Enter(&q.inner, u.el)
	}
	s.enterBelow(root)
}

// enterBelow enters the queues below one, the lowest first, as their masks go up.
func (s *Scheduler) enterBelow(h int32) {
	o := &s.queues[h].inner
	for _, i := range s.queues[h].below {
		s.enterBelow(i)
		c := &s.queues[i]
		s.el.Reset(c.el, c.place)
		s.queueKey(c, o.Rule)
		s.el.SetMask(c.el, s.offers(c))
		s.el.Enter(o, c.el)
	}
}
