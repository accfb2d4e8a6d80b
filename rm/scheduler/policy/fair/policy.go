package fair

import (
	"slices"
	"strings"
	"time"

	"heddle/rm/queue"
	"heddle/rm/queue/leafpolicy"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeindex"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Policy is YARN's FairScheduler. Make it with New.
//
// It has many methods because each hook of the search is one.
type Policy struct {
	s         *core.Core
	shares    fairShares
	starve    starve
	reviewing bool // who starves is looked at in this call of Schedule

	// While applications are explained, between which nothing changes:
	explaining bool
	explained  map[int32]*fairshare.Queue // see fairDue
}

// New returns the policy of a core whose tree is one of Fair queues.
func New(s *core.Core) *Policy {
	return &Policy{s: s, starve: starve{whole: nodeindex.New(s.Calc.Types())}}
}

func (p *Policy) Rules() core.Rules {
	return core.Rules{Parallel: true, OwnFirst: true, RackResets: true, DueByRound: true}
}

func (p *Policy) Ranking(cfg *queue.Queue) (children, apps ranking.Rule) {
	children, apps = ranking.ByFairness, ranking.ByFairness
	switch strings.ToLower(cfg.Fair.Policy) {
	case "fifo":
		children, apps = ranking.ByPlace, ranking.ByPriority
	case "drf":
		children, apps = ranking.ByDominance, ranking.ByDominance
	}
	if leafpolicy.IsStage(cfg.StagePolicy) {
		apps = leaf.Rule(cfg.StagePolicy)
	}
	return children, apps
}

// Sorted is by name.
func (p *Policy) Sorted(children []*queue.Queue) []*queue.Queue {
	return slices.SortedFunc(slices.Values(children), func(a, b *queue.Queue) int { return strings.Compare(a.Name, b.Name) })
}

func (p *Policy) LeafFor(path string) string { return path }

func (p *Policy) Master(am records.Resource) records.Resource { return am }

func (p *Policy) Bound(q *core.Queue, shares []queue.Share) { p.s.BoundByShares(q, shares) }

func (p *Policy) BoundUsers(*core.Queue) {}

func (p *Policy) OverUserLimit(*core.Queue, *core.User) bool { return false }

// QueueKey reports whether of the policy of the queue above.
func (p *Policy) QueueKey(q *core.Queue, r ranking.Rule) bool {
	k := p.s.Rankings.Key(q.El)
	switch r {
	case ranking.ByFairness:
		return k.Place(fairKey(&q.Used, &q.Pending, &q.Guaranteed, q.Cfg.Fair.Weight))
	case ranking.ByDominance:
		return p.dominantKey(k, p.s.Rankings.Shares(q.El), &q.Used, &q.Guaranteed, q.Cfg.Fair.Weight)
	}
	return false
}

// AppKey reports whether of the policy of the leaf, or of its stage policy. Applications have no minimum share.
func (p *Policy) AppKey(a *core.App, r ranking.Rule) bool {
	k := p.s.Rankings.Key(a.El)
	switch r {
	case ranking.ByFairness:
		return k.Place(fairKey(&a.Used, &a.PendingSum, &records.Resource{}, p.appWeight(a)))
	case ranking.ByDominance:
		return p.dominantKey(k, p.s.Rankings.Shares(a.El), &a.Used, &records.Resource{}, p.appWeight(a))
	case ranking.ByRatio:
		return k.Place(p.s.LeafKey(a))
	}
	return false
}

func (p *Policy) Next() int32 { return p.s.Search() }

// Delays is Hadoop's FSAppAttempt.getAllowedLocalityLevel and its sibling by time.
func (p *Policy) Delays(*core.Demand) (rack, anywhere int64) {
	f, beat := &p.s.Tree.Settings.Fair, float64(p.s.Config.Heartbeat.Milliseconds())
	rack = fairDelay(beat, f.NodeThreshold, f.NodeDelay)
	return rack, rack + fairDelay(beat, f.RackThreshold, f.RackDelay)
}

func fairDelay(beat, threshold float64, delay time.Duration) int64 {
	if threshold >= 0 {
		return int64(beat * min(threshold, 1))
	}
	return max(delay.Milliseconds(), 0)
}

// Activate admits applications while their ApplicationMasters fit into a share of what the leaf is due.
func (p *Policy) Activate(leaf int32) {
	p.updateShares()
	limit := p.AMLimit(leaf)
	p.s.ActivateWaiting(leaf, func(a *core.App) bool { return p.mayActivate(a, &limit) })
}

func (p *Policy) mayActivate(a *core.App, limit *records.Resource) bool {
	q := &p.s.Queues[a.Leaf]
	return q.Cfg.MaxAMShare < 0 || a.Spec.AM.IsZero() || q.AmUsed.Add(a.Am).FitsIn(*limit)
}

// Begin looks who starves, if it is time to.
func (p *Policy) Begin() { p.reviewing = p.review() }

// End reserves nodes for starved applications.
func (p *Policy) End() {
	if p.reviewing {
		p.reserveForStarved()
	}
}

func (p *Policy) ContainerEnded(handle.Container) {}

func (p *Policy) AppsChanged() { p.shares.known = false }

func (p *Policy) Check() error { return nil }

// AMLimit returns a share of what the leaf is due.
func (p *Policy) AMLimit(leaf int32) records.Resource { return p.amLimit(leaf, p.sharesNow()) }

func (p *Policy) UserAMShare(q *core.Queue, _ *core.User) records.Resource { return q.Maximum }

func (p *Policy) UserLimit(q *core.Queue) records.Resource { return q.Maximum }

func (p *Policy) UserLimitsOfAll() map[int32]records.Resource { return nil }

func (p *Policy) Shares() map[int32]*fairshare.Queue { return p.computeShares() }

func (p *Policy) HeadroomOf(a *core.App) records.Resource {
	return p.s.Room(a.Leaf).Sub(p.s.Queues[a.Leaf].Used)
}
