package sched

import (
	"cmp"
	"slices"
	"time"
)

// bid is a node that could run a task of a job.
type bid struct {
	asking Asking
	ticket uint64
	at     time.Duration
	rank   float64 // the node's load, with the tasks that it would get for earlier bids
}

// Grant answers a bid.
type Grant struct {
	Node   Node
	Ticket uint64 // of the bid
	Answer Answer
}

// Bid is Ask with early binding: a node asks as soon as it has a probe, and reports its load. When all that were probed have done so, the nodes with
// the least to do get the tasks. The ticket names the bid in the answer. The caller keeps a.Staged unchanged.
func (s *Scheduler) Bid(now time.Duration, id ID, a Asking, ticket uint64) []Grant {
	j := s.find(id)
	if j == nil {
		return []Grant{{Node: a.Node, Ticket: ticket}}
	}
	j.bids = append(j.bids, bid{asking: a, ticket: ticket, at: now})
	if j.left > 0 && (j.unanswered > 0 || int(j.out) > len(j.bids)) {
		return nil
	}
	return s.settle(now, id, j, nil)
}

// Settle answers the bids of jobs whose first one has waited for Config.Early: other nodes are slow, or lost, or tasks are added all the time.
func (s *Scheduler) Settle(now time.Duration) (all []Grant) {
	if s.cfg.Early == 0 {
		return nil // there are no bids
	}
	for i := range s.jobs {
		if j := &s.jobs[i]; j.live && len(j.bids) > 0 && now-j.bids[0].at >= s.cfg.Early {
			all = s.settle(now, ID(j.generation)<<32|ID(i), j, all)
		}
	}
	return all
}

// settle answers all bids of a job, those of nodes with the least to do first; of several with as little, those that have an input in memory.
func (s *Scheduler) settle(now time.Duration, id ID, j *job, to []Grant) []Grant {
	bids := j.bids
	j.bids = nil
	before := map[Node]float64{} // bids of a node
	for i := range bids {
		b := &bids[i]
		b.rank = b.asking.Load + before[b.asking.Node]*b.asking.Step
		before[b.asking.Node]++
	}
	slices.SortStableFunc(bids, func(a, b bid) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(b.asking.Staged), len(a.asking.Staged)))
	})
	for _, b := range bids {
		to = append(to, Grant{b.asking.Node, b.ticket, s.Ask(now, id, b.asking)})
	}
	return to
}

// Unbid forgets the bids of a node that is lost.
func (s *Scheduler) Unbid(node Node) {
	for i := range s.jobs {
		s.jobs[i].bids = slices.DeleteFunc(s.jobs[i].bids, func(b bid) bool { return b.asking.Node == node })
	}
}
