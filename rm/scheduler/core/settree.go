package core

import (
	"fmt"
	"slices"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"
)

// SetTree replaces the configuration. Queues are identified by their paths; their contents stay. A tree of another
// scheduler, or one that lacks a leaf with applications in it, is refused, and changes nothing.
func (s *Core) SetTree(t *queue.Tree) error {
	if t.Kind != s.Tree.Kind {
		return fmt.Errorf("the queues of one scheduler can't be replaced by those of another while it runs")
	}
	for h := range s.Queues {
		q := &s.Queues[h]
		if !q.Live || q.Total == 0 {
			continue
		}
		switch n := t.At(q.Cfg.Path); {
		case n == nil && !q.made:
			return fmt.Errorf("queue %s has %d applications in it, and can't be removed", q.Cfg.Path, q.Total)
		case n != nil && n.Leaf() != q.Leaf:
			return fmt.Errorf("queue %s has %d applications in it, and can't be made a leaf or a parent", q.Cfg.Path, q.Total)
		}
	}
	s.Tree = t
	s.replaceQueues(t)
	s.guideApps()
	s.remeasure()
	for i := range s.Users {
		if u := &s.Users[i]; u.Total > 0 {
			u.Weight = float64(s.Queues[u.Leaf].Cfg.UserWeight(u.Name))
		}
	}
	s.stale = true
	s.Refresh()
	s.admitHeld()
	return nil
}

// replaceQueues builds the running tree for another configuration around what the queues hold. Orders are made by rebuild.
func (s *Core) replaceQueues(t *queue.Tree) {
	s.unlink()
	for h := range s.Queues {
		q := &s.Queues[h]
		if !q.Live {
			continue
		}
		if n := t.At(q.Cfg.Path); q.made && q.Total > 0 && n == nil {
			continue
		} else if n == nil || n.Leaf() != q.Leaf {
			s.forgetQueue(int32(h))
		}
	}
	place := int64(0)
	var enter func(cfg *queue.Queue, parent int32)
	enter = func(cfg *queue.Queue, parent int32) {
		h, ok := s.ByPath[cfg.Path]
		if !ok {
			h = s.newQueue(cfg)
		}
		q := &s.Queues[h]
		q.Cfg, q.Parent, q.made, q.place, q.Below = cfg, parent, false, place, nil
		s.setRules(q)
		if parent != ranking.Nothing {
			s.Queues[parent].Below = append(s.Queues[parent].Below, h)
		}
		place++
		for _, c := range s.Policy.Sorted(cfg.Children) {
			enter(c, h)
		}
	}
	enter(t.Root, ranking.Nothing)
	for _, h := range s.madeQueues() {
		q := &s.Queues[h]
		q.Parent, q.place, q.Below = s.ByPath[q.Cfg.Path[:strings.LastIndexByte(q.Cfg.Path, '.')]], place, nil
		above := &s.Queues[q.Parent]
		q.Cfg = t.Make(above.Cfg, q.Cfg.Name, q.Leaf)
		s.setRules(q)
		above.Below = append(above.Below, h)
		place++
	}
}

// madeQueues returns the queues that were made for applications, each behind the one above it.
func (s *Core) madeQueues() (made []int32) {
	for h := range s.Queues {
		if q := &s.Queues[h]; q.Live && q.made {
			made = append(made, int32(h))
		}
	}
	slices.SortFunc(made, func(a, b int32) int { return strings.Compare(s.Queues[a].Cfg.Path, s.Queues[b].Cfg.Path) })
	return made
}

// remeasure looks at nodes and demands again, as the resources that count may have changed.
func (s *Core) remeasure() {
	before := s.Calc.MemoryOnly
	s.setMeasure()
	if s.Calc.MemoryOnly == before {
		return
	}
	s.Classes = class.New()
	for i := range s.Apps {
		for d := range s.Demands(&s.Apps[i]) {
			d.Hosts, d.Racks = true, true
			d.Remeasure(s.Calc.Measure(d.Capability), &s.Classes)
			s.setWhy(d, demand.Untried)
			s.Demanded.Show(d)
		}
	}
	s.countReservations()
	for h := range s.Nodes.At {
		if s.Nodes.At[h].Live {
			s.Nodes.Reindex(handle.Node(h))
		}
	}
}

// unlink takes all elements out of their orders.
func (s *Core) unlink() {
	s.Rankings.Clear()
	for h := range s.Queues {
		s.Queues[h].Inner.Clear()
	}
	for i := range s.Users {
		s.Users[i].Apps.Clear()
	}
}

// rebuild computes all keys, and enters everything into its order by them.
func (s *Core) rebuild() {
	s.unlink()
	for i := range s.Users {
		if u := &s.Users[i]; u.Total > 0 {
			u.Apps.Rule = s.Queues[u.Leaf].Apps
		}
	}
	for h := range s.Apps {
		if a := &s.Apps[h]; a.Live && a.Active {
			u := &s.Users[a.User]
			s.seedKey(a, u.Apps.Rule)
			s.Rankings.SetMask(a.El, s.maskOf(a))
			s.Rankings.Enter(&u.Apps, a.El)
		}
	}
	for h := range s.Queues {
		q := &s.Queues[h]
		q.Wanting, q.Shares, q.ActiveUsed, q.LimitKnown = 0, 0, [len(q.Used)]int64{}, false
		if home := s.Home(); home != s {
			q.Wanting = wanting(home, q.Cfg)
		}
	}
	for i := range s.Users {
		u := &s.Users[i]
		if u.Total == 0 {
			continue
		}
		q := &s.Queues[u.Leaf]
		u.share = s.Calc.Share(&u.Used)
		q.Shares += u.share
		if u.Wanting > 0 {
			if s.Home() == s {
				q.Wanting += u.Weight
			}
			q.ActiveUsed = q.ActiveUsed.Add(u.Used)
		}
		s.userKey(u)
		s.Rankings.SetMask(u.el, s.Rankings.Offers(&u.Apps))
		s.Rankings.Enter(&q.Inner, u.el)
	}
	s.enterBelow(Root)
}

// enterBelow enters the queues below one, the lowest first, as their masks go up.
func (s *Core) enterBelow(h int32) {
	o := &s.Queues[h].Inner
	for _, i := range s.Queues[h].Below {
		s.enterBelow(i)
		c := &s.Queues[i]
		s.Rankings.Reset(c.El, c.place)
		s.Policy.QueueKey(c, o.Rule)
		s.Rankings.SetMask(c.El, s.offers(c))
		s.Rankings.Enter(o, c.El)
	}
}
