package capacity

import (
	"fmt"

	"heddle/rm/scheduler/nodeset"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Policy is YARN's CapacityScheduler. Make it with New.
//
// It has many methods because each hook of the search is one.
type Policy struct {
	s         *core.Core
	killable  []handle.Container // see MakeKillable
	forGuests bool               // it is searched for guests; see walk

	// While applications are explained, between which nothing changes:
	explaining bool
	blockers   map[int32]blocker   // who blocks leaves
	masters    map[int32]mastersOf // by leaf
}

// mastersOf returns the inputs of the limits on a leaf's ApplicationMasters.
type mastersOf struct {
	limit records.Resource
	users int // active ones
}

// New returns the policy of a core whose tree is one of capacity queues.
func New(s *core.Core) *Policy { return &Policy{s: s} }

func (p *Policy) Rules() core.Rules {
	set := &p.s.Tree.Settings
	return core.Rules{
		MemoryOnly: !p.s.Tree.Dominant, Parallel: true, UserLimits: true, Blocking: true, RackResets: set.RackLocalityFullReset,
		ReserveAtOnce: !p.s.Config.Minimum.IsZero(), ReservedIsUsed: true, OnePerContainer: true, FillElsewhere: set.ReservationsContinue,
	}
}

func (p *Policy) Ranking(cfg *queue.Queue) (children, apps ranking.Rule) {
	switch {
	case cfg.Leaf():
		return ranking.ByUse, leaf.Rule(cfg.LeafPolicy())
	case cfg.OrderingPolicy == "priority-utilization":
		return ranking.ByPriorityAndUse, ranking.ByPriority
	}
	return ranking.ByUse, ranking.ByPriority
}

func (p *Policy) Sorted(children []*queue.Queue) []*queue.Queue { return children }

func (p *Policy) LeafFor(path string) string { return path }

func (p *Policy) Master(am records.Resource) records.Resource {
	if am.IsZero() {
		return p.s.Config.Minimum
	}
	return am
}

func (p *Policy) Bound(q *core.Queue, shares []queue.Share) { p.s.BoundByShares(q, shares) }

// QueueKey orders queues by what they use of what they are guaranteed (Hadoop: PriorityUtilizationQueueOrderingPolicy).
func (p *Policy) QueueKey(q *core.Queue, r ranking.Rule) bool {
	k := p.s.Rankings.Key(q.El)
	next := *k
	next.Capacity, next.Ratio = float64(q.AbsoluteCapacity), 0
	if q.GuaranteedShare > 0 {
		next.Ratio = float64(float32(p.s.Calc.Share(&q.Used) / q.GuaranteedShare))
	}
	if r == ranking.ByPriorityAndUse {
		next.Rank, next.Priority = 0, q.Cfg.Priority
		if next.Ratio >= 1 {
			next.Rank = 1
		}
	}
	if k.Same(&next) {
		return false
	}
	*k = next
	return true
}

// AppKey orders the applications of a fair leaf by the memory that they have (Hadoop: FairOrderingPolicy), and those of a leaf whose
// policy isn't built in by what that says.
func (p *Policy) AppKey(a *core.App, r ranking.Rule) bool {
	k := p.s.Rankings.Key(a.El)
	switch r {
	case ranking.ByAppUse:
	case ranking.ByRatio:
		return k.Place(p.s.LeafKey(a))
	default:
		return false
	}
	used, pending := p.s.Memory(a)
	ratio := float64(used)
	if p.s.Queues[a.Leaf].Cfg.SizeBasedWeight {
		ratio /= measure.SizeWeight(used, pending)
	}
	return k.Place(k.Rank, ratio)
}

func (p *Policy) HeldByOwn(*core.App, *core.Demand) bool { return false }

func (p *Policy) Shuns(*nodeset.Node) bool { return false }

// Delays is Hadoop's RegularContainerAllocator.canAssign.
func (p *Policy) Delays(d *core.Demand) (rack, anywhere int64) {
	set := &p.s.Tree.Settings
	beat, nodes := float64(p.s.Config.Heartbeat.Milliseconds()), float64(p.s.Nodes.OpenNodes())
	first := float64(max(set.NodeLocalityDelay, 0))
	rack = int64(beat * min(first, nodes) / nodes)
	chances := first + float64(set.RackLocalityDelay)
	if set.RackLocalityDelay < 0 {
		chances = float64(d.Pending) * min(float64(len(d.Places))/nodes, 1)
	}
	return rack, int64(beat * min(chances, nodes) / nodes)
}

func (p *Policy) Begin() {}

// End lets killable containers end for requests that found no room.
func (p *Policy) End() {
	if len(p.killable) > 0 {
		p.claimKillable()
	}
}

func (p *Policy) NodeChanged(handle.Node) {}

func (p *Policy) AppsChanged() {}

func (p *Policy) Shares() map[int32]*fairshare.Queue { return nil }

// HeadroomOf is Hadoop's AbstractLeafQueue.getHeadroom.
func (p *Policy) HeadroomOf(a *core.App) records.Resource {
	q, u := &p.s.Queues[a.Leaf], &p.s.Users[a.User]
	left := p.s.Room(a.Leaf).Sub(q.Used)
	if most, capped := p.s.CapOf(a); capped {
		left = left.Min(most.Sub(a.Used))
	}
	return left.Min(p.s.Calc.Weighted(*p.limitOfUsers(q), u.Weight).Sub(u.Used))
}

// Check compares the limits of users that are known with what they would be if they were computed now.
func (p *Policy) Check() error {
	s := p.s
	for h := range s.Queues {
		if q := &s.Queues[h]; q.Live && q.LimitKnown && q.UserLimit != p.UserLimit(q) {
			return fmt.Errorf("queue %s limits its users to %v, not %v", q.Cfg.Path, q.UserLimit, p.UserLimit(q))
		}
	}
	for h := range s.Users {
		u := &s.Users[h]
		if u.Total == 0 {
			continue
		}
		q := &s.Queues[u.Leaf]
		limit := s.Calc.Weighted(p.UserLimit(q), u.Weight)
		if over := s.Calc.LessOfWhole(&limit, &u.Used); over != p.OverUserLimit(q, u) {
			return fmt.Errorf("user %s has %v in %s and is over its limit of %v: %t", u.Name, u.Used, q.Cfg.Path, limit, over)
		}
	}
	return nil
}
