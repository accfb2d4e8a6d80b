package fifo

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Policy is YARN's FifoScheduler. Make it with New.
type Policy struct{ s *core.Core }

// New returns the policy of a core with a single queue.
func New(s *core.Core) *Policy { return &Policy{s: s} }

func (p *Policy) Rules() core.Rules { return core.Rules{MemoryOnly: true, RackResets: true} }

func (p *Policy) Ranking(*queue.Queue) (children, apps ranking.Rule) {
	return ranking.ByPlace, ranking.ByPriority
}

func (p *Policy) Sorted(children []*queue.Queue) []*queue.Queue { return children }

// LeafFor returns the only leaf, whatever queue an application names.
func (p *Policy) LeafFor(path string) string {
	if q, ok := p.s.Tree.Find(""); ok {
		return q.Path
	}
	return path
}

func (p *Policy) Master(am records.Resource) records.Resource { return am }

// Bound guarantees nothing, and admits everything.
func (p *Policy) Bound(q *core.Queue, _ []queue.Share) {
	cluster := p.s.Calc.Cluster
	q.Guaranteed, q.Maximum, q.AbsoluteCapacity = records.Resource{}, q.Cfg.Fair.Max.Of(cluster, cluster), 0
}

func (p *Policy) BoundUsers(*core.Queue) {}

func (p *Policy) OverUserLimit(*core.Queue, *core.User) bool { return false }

func (p *Policy) QueueKey(*core.Queue, ranking.Rule) bool { return false }

func (p *Policy) AppKey(*core.App, ranking.Rule) bool { return false }

func (p *Policy) Next() int32 { return p.s.Search() }

func (p *Policy) Delays(*core.Demand) (rack, anywhere int64) { return 0, 0 }

func (p *Policy) HeldByOwn(*core.App, *core.Demand) bool { return false }

func (p *Policy) Shuns(*nodeset.Node) bool { return false }

// Activate admits all.
func (p *Policy) Activate(leaf int32) {
	p.s.ActivateWaiting(leaf, func(*core.App) bool { return true })
}

func (p *Policy) Begin() {}

func (p *Policy) End() {}

func (p *Policy) NodeChanged(handle.Node) {}

func (p *Policy) ContainerEnded(handle.Container) {}

func (p *Policy) AppsChanged() {}

func (p *Policy) Check() error { return nil }

// AMLimit is everything, as ApplicationMasters have no limit of their own.
func (p *Policy) AMLimit(leaf int32) records.Resource { return p.s.Queues[leaf].Maximum }

func (p *Policy) UserAMShare(q *core.Queue, _ *core.User) records.Resource { return q.Maximum }

func (p *Policy) UserLimit(q *core.Queue) records.Resource { return q.Maximum }

func (p *Policy) UserLimitsOfAll() map[int32]records.Resource { return nil }

func (p *Policy) HeadroomOf(*core.App) records.Resource { return p.s.Nodes.Headroom() }

func (p *Policy) Shares() map[int32]*fairshare.Queue { return nil }

func (p *Policy) Explaining(bool) {}

func (p *Policy) ExplainMasters(*core.App, *core.User, *explain.Reason) bool { return false }

func (p *Policy) ExplainTurn(*core.App, *core.User, *core.Demand, *explain.Reason) bool {
	return false
}

func (p *Policy) ExplainUnreserved(*core.App, *core.Demand, *explain.Reason) {}
