package core

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Two things count over all partitions, as in YARN: which users of a leaf are active, among whom what they have in a partition is divided
// (Hadoop: UsersManager.activateApplication), and the memory by which the policy fair orders applications (Hadoop:
// AbstractComparatorOrderingPolicy.updateSchedulingResourceUsage). Home keeps the first, and tells the others of each change.

// Home returns the core of the nodes without a label.
func (s *Core) Home() *Core {
	if s.Kin == nil {
		return s
	}
	return (*s.Kin)[0]
}

// Family calls for each core of the cluster, home first.
func (s *Core) Family(tell func(*Core)) {
	if s.Kin == nil {
		tell(s)
		return
	}
	for _, c := range *s.Kin {
		tell(c)
	}
}

// wish notes at home that an application begins to want something in this partition, or ceases to.
func (s *Core) wish(h handle.App, wants bool) {
	home := s.Home()
	a, n := &home.Apps[h], int32(1)
	if !wants {
		n = -1
	}
	before := a.wishes
	if a.wishes += n; before == 0 || a.wishes == 0 {
		home.userWishes(a, n)
	}
}

// userWishes counts an application more or less of those of a user that want something.
func (s *Core) userWishes(a *App, n int32) {
	u, q := &s.Users[a.User], &s.Queues[a.Leaf]
	before := u.Wanting
	switch u.Wanting += n; {
	case before == 0:
		q.Wanting += u.Weight
		q.ActiveUsed = q.ActiveUsed.Add(u.Used)
	case u.Wanting == 0:
		q.Wanting -= u.Weight
		q.ActiveUsed = q.ActiveUsed.Sub(u.Used)
	default:
		return
	}
	if s.Kin == nil {
		return
	}
	stir(s, a.Leaf)
	for _, c := range (*s.Kin)[1:] {
		hearWishes(c, a, q, u)
	}
}

// hearWishes takes over from home who is active in an application's leaf. Partitions mostly know leaves and users by the handles of home: a look there spares
// looks for their names, of which each decision would need one for each partition.
func hearWishes(s *Core, a *App, at *Queue, of *User) {
	h, known := a.Leaf, true
	if int(h) >= len(s.Queues) || s.Queues[h].Cfg == nil || s.Queues[h].Cfg.Path != at.Cfg.Path {
		h, known = s.ByPath[at.Cfg.Path]
	}
	if !known {
		return
	}
	q := &s.Queues[h]
	q.Wanting, q.LimitKnown = at.Wanting, false
	i, here := a.User, true
	if int(i) >= len(s.Users) || s.Users[i].Leaf != h || s.Users[i].Name != of.Name {
		i, here = q.Names[of.Name]
	}
	if here {
		u := &s.Users[i]
		if u.Wanting = of.Wanting; u.Wanting > 0 {
			q.ActiveUsed = q.ActiveUsed.Add(u.Used)
		} else {
			q.ActiveUsed = q.ActiveUsed.Sub(u.Used)
		}
	}
	stir(s, h)
}

// stir has a leaf be looked at again in which users may have something now by what they want in other partitions.
func stir(s *Core, leaf int32) {
	if q := &s.Queues[leaf]; !q.Pending.IsZero() || s.SharesNodes() {
		s.Stirred = true
		s.settleQueue(leaf)
	}
}

// wanting returns the weight of the active users of a leaf, and wishesOf whether one is active, for another core.
func wanting(s *Core, leaf *queue.Queue) float64 {
	if h, known := s.ByPath[leaf.Path]; known {
		return s.Queues[h].Wanting
	}
	return 0
}

func wishesOf(s *Core, leaf *queue.Queue, name string) int32 {
	if h, known := s.ByPath[leaf.Path]; known {
		if u, known := s.Queues[h].Names[name]; known {
			return s.Users[u].Wanting
		}
	}
	return 0
}

// rekeyElsewhere puts the parts of an application in other partitions into their places, where these hang on what it has in all.
func (s *Core) rekeyElsewhere(h handle.App, r ranking.Rule) {
	if s.Kin == nil || r != ranking.ByAppUse {
		return
	}
	all := *s.Kin
	for i := range all[0].Apps[h].parts.All(len(all)) { // its rows in others are seldom in the cache
		if c := all[i]; c != s && c.Has(h) && c.Apps[h].Active {
			a := &c.Apps[h]
			if u := &c.Users[a.User]; c.appKey(a, u.Apps.Rule) {
				c.Rankings.Moved(&u.Apps, a.El)
				c.placeUser(a.User)
				stir(c, a.Leaf)
			}
		}
	}
}

// Memory returns what an application has and asks for in all partitions, in MB.
func (s *Core) Memory(a *App) (used, pending int64) {
	if s.Kin == nil {
		return a.Used[records.Memory], a.PendingSum[records.Memory]
	}
	h := handle.App(s.Rankings.Ref(a.El))
	for i := range s.Home().Apps[h].parts.All(len(*s.Kin)) {
		if c := (*s.Kin)[i]; c.Has(h) {
			used, pending = used+c.Apps[h].Used[records.Memory], pending+c.Apps[h].PendingSum[records.Memory]
		}
	}
	return used, pending
}
