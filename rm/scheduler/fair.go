package scheduler

import (
	"math"

	"heddle/rm/queue"
	"heddle/rm/scheduler/fairshare"
	"heddle/yarn/records"
)

// fairInterval is how old may be what queues are due, and the limits of ApplicationMasters with it, in ms.
func (s *Scheduler) fairInterval() int64 { return s.tree.Settings.Fair.UpdateInterval.Milliseconds() }

// fairShares are what the queues of a Fair tree are due.
type fairShares struct {
	at    int64
	of    map[int32]*fairshare.Queue
	known bool
}

// shareFairly computes what queues and applications are due now, by the queues' handles.
func (s *Scheduler) shareFairly() map[int32]*fairshare.Queue {
	of := map[int32]*fairshare.Queue{}
	top := s.fairQueue(root, of)
	for h := range s.apps {
		if a := &s.apps[h]; a.live && a.runnable {
			q := of[a.leaf]
			q.Active = true
			q.Apps = append(q.Apps, fairshare.App{Handle: int32(h), Weight: s.appWeight(a), Start: a.spec.Seq})
		}
	}
	top.Compute(s.calc.Cluster)
	return of
}

func (s *Scheduler) fairQueue(h int32, of map[int32]*fairshare.Queue) *fairshare.Queue {
	q := &s.queues[h]
	p := &fairshare.Queue{
		Path: q.cfg.Path, Kind: fairshare.KindOf(q.cfg.Fair.Policy), Weight: q.cfg.Fair.Weight, Min: q.guaranteed, Max: fairshare.NoLimit(),
	}
	if q.bounded {
		p.Max = q.maximum
	}
	of[h] = p
	for _, c := range q.below {
		p.Children = append(p.Children, s.fairQueue(c, of))
	}
	return p
}

// fairDue is what queues are due by what decisions go by. What only looks doesn't change that, so that looking changes no decision.
func (s *Scheduler) fairDue() map[int32]*fairshare.Queue {
	if s.fairDueKept() {
		return s.fair.of
	}
	if s.explaining == nil {
		return s.shareFairly()
	}
	if s.explaining.due == nil {
		s.explaining.due = s.shareFairly()
	}
	return s.explaining.due
}

func (s *Scheduler) fairDueKept() bool { return s.fair.known && s.now-s.fair.at < s.fairInterval() }

// keepFairDue computes what queues are due, for the decisions of the next interval.
func (s *Scheduler) keepFairDue() {
	if s.tree.Kind == queue.Fair && !s.fairDueKept() {
		s.fair = fairShares{at: s.now, of: s.shareFairly(), known: true}
	}
}

// fairAMLimit is what ApplicationMasters of a leaf may have: a share of what the leaf is due, or of what there is of a
// resource that isn't divided (Hadoop: FSLeafQueue.computeMaxAMResource).
func (s *Scheduler) fairAMLimit(leaf int32, of map[int32]*fairshare.Queue) (limit records.Resource) {
	q, due := &s.queues[leaf], records.Resource{}
	if p := of[leaf]; p != nil {
		due = p.Fair
	}
	for i, n := range due {
		if n == 0 {
			n = min(s.headroom[i], q.maximum[i])
		}
		limit[i] = int64(math.Ceil(float64(n) * float64(q.cfg.MaxAMShare)))
	}
	return limit
}

// wakeUp does what is due now.
func (s *Scheduler) wakeUp() {
	s.wakeup = 0
	s.wakeLate()
	for h := range s.queues {
		if q := &s.queues[h]; q.live && len(q.waiting) > 0 {
			s.retry(int32(h))
		}
	}
}
