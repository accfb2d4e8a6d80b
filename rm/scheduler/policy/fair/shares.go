package fair

import (
	"math"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/fairshare"
	"heddle/yarn/records"
)

// interval returns how old may be what queues are due, and the limits of ApplicationMasters with it, in ms.
func (p *Policy) interval() int64 {
	return p.s.Tree.Settings.Fair.UpdateInterval.Milliseconds()
}

// fairShares are what the queues of a Fair tree are due.
type fairShares struct {
	at    int64
	of    map[int32]*fairshare.Queue
	known bool
}

// computeShares computes what queues and applications are due now, by the queues' handles.
func (p *Policy) computeShares() map[int32]*fairshare.Queue {
	of := map[int32]*fairshare.Queue{}
	top := p.fairQueue(core.Root, of)
	for h := range p.s.Apps {
		if a := &p.s.Apps[h]; a.Live && a.Runnable {
			q := of[a.Leaf]
			q.Active = true
			q.Apps = append(q.Apps, fairshare.App{Handle: int32(h), Weight: p.appWeight(a), Start: a.Spec.Seq})
		}
	}
	top.Compute(p.s.Calc.Cluster)
	return of
}

func (p *Policy) fairQueue(h int32, of map[int32]*fairshare.Queue) *fairshare.Queue {
	q := &p.s.Queues[h]
	out := &fairshare.Queue{
		Path: q.Cfg.Path, Kind: fairshare.KindOf(q.Cfg.Fair.Policy), Weight: q.Cfg.Fair.Weight, Min: q.Guaranteed, Max: fairshare.NoLimit(),
	}
	if q.Bounded {
		out.Max = q.Maximum
	}
	of[h] = out
	for _, c := range q.Below {
		out.Children = append(out.Children, p.fairQueue(c, of))
	}
	return out
}

// sharesNow returns what queues are due by what decisions go by. Readers don't change that, so that reading changes no decision.
func (p *Policy) sharesNow() map[int32]*fairshare.Queue {
	if p.sharesKnown() {
		return p.shares.of
	}
	if !p.explaining {
		return p.computeShares()
	}
	if p.explained == nil {
		p.explained = p.computeShares()
	}
	return p.explained
}

func (p *Policy) sharesKnown() bool { return p.shares.known && p.s.Now-p.shares.at < p.interval() }

// updateShares computes what queues are due, for the decisions of the next interval.
func (p *Policy) updateShares() {
	if !p.sharesKnown() {
		p.shares = fairShares{at: p.s.Now, of: p.computeShares(), known: true}
	}
}

// amLimit returns what ApplicationMasters of a leaf may have: a share of what the leaf is due, or of what there is of a
// resource that isn't divided (Hadoop: FSLeafQueue.computeMaxAMResource).
func (p *Policy) amLimit(leaf int32, of map[int32]*fairshare.Queue) (limit records.Resource) {
	q, due := &p.s.Queues[leaf], records.Resource{}
	if p := of[leaf]; p != nil {
		due = p.Fair
	}
	headroom := p.s.Nodes.Headroom()
	for i, n := range due {
		if n == 0 {
			n = min(headroom[i], q.Maximum[i])
		}
		limit[i] = records.Whole(math.Ceil(float64(n) * float64(q.Cfg.MaxAMShare)))
	}
	return limit
}
