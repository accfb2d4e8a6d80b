package report

import (
	"sync"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Queues returns the queues, parents first, with what they hold and their limits.
func (r *Reports) Queues() (queues []scheduler.QueueView, err error) {
	err = r.loop.Do(func() error {
		queues = r.cfg.Scheduler.Queues()
		return nil
	})
	return queues, err
}

// QueuesByLabel returns the queues as they are in the partitions of labels of nodes.
func (r *Reports) QueuesByLabel() (queues map[string][]scheduler.QueueView, err error) {
	err = r.loop.Do(func() error {
		queues = r.cfg.Scheduler.ByLabel()
		return nil
	})
	return queues, err
}

// fairSharesAge is how old shares may be that FairShares returns (the default of yarn.scheduler.fair.update-interval-ms).
const fairSharesAge = 500 * time.Millisecond

// fairShares are what fair queues were due, and when.
type fairShares struct {
	sync.Mutex
	at time.Time
	of map[string]records.Resource
}

// FairShares returns what the queues of a Fair tree are due now, by their paths, and nothing for other trees. As YARN computes
// it from time to time, it may be a little old, so that many reports cost one computation. Callers must not change it.
func (r *Reports) FairShares() map[string]records.Resource {
	if r.cfg.Live.Tree().Kind != queue.Fair {
		return nil
	}
	s := &r.shares
	s.Lock()
	defer s.Unlock()
	if now := r.loop.Now(); s.of == nil || now.Sub(s.at) >= fairSharesAge {
		queues, err := r.Queues()
		if err != nil { // it leads no more
			return s.of
		}
		s.at, s.of = now, make(map[string]records.Resource, len(queues))
		for i := range queues {
			s.of[queues[i].Path] = queues[i].Fair
		}
	}
	return s.of
}
