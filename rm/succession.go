package rm

import (
	"context"
	"slices"
	"time"

	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// Hadoop's clients (RetryPolicies.FailoverOnNetworkExceptionRetry) look for the active ResourceManager in the order of
// yarn.resourcemanager.ha.rm-ids. A new client starts with the first, one that lost a ResourceManager with the next. A call tries a second
// member at once. Before each further one the client sleeps for 15 to 45 s (yarn.client.failover-sleep-base-ms, by default
// the value of yarn.resourcemanager.connect.retry-interval.ms). So three members work well for them only if
//
//   - the member after the one that was lost leads next (giveWay),
//   - the first or the second leads in the long run (moveHome),
//   - a member that clients don't name (heddle.raft.never-lead) leaves the lead to others,
//   - and a call waits while the leader is unknown, instead of being sent away (AwaitLeadership).

const (
	// settlingPatience is how long a call waits while the leader is unknown. Clients wait for minutes.
	settlingPatience = 10 * time.Second
	// settlingPoll is how often such a call checks.
	settlingPoll = 5 * time.Millisecond
	// probePatience is how long a member may take to answer a probe.
	probePatience = 200 * time.Millisecond
	// wayPatience is how long giveWay tries to hand over. There is no leader meanwhile.
	wayPatience = 2 * time.Second
	// noticePatience is how long it may take to notice that a leadership has ended.
	noticePatience = 2 * time.Second
	// homePatience is how long moveHome tries to hand over. This member leads meanwhile.
	homePatience = 10 * time.Second
	// homeInterval is how long the third member, or a later one, leads until it looks for one that clients try first. Clients that
	// have just found it get time to finish their calls.
	homeInterval = 10 * time.Second
	// keptInterval is how often a member that is kept from leading, and leads because the others couldn't, looks for another.
	keptInterval = time.Second
)

// heirs returns the members that should lead instead of self, the best first. ids are the members that may lead.
func heirs(ids []string, last, offered, self string) []string {
	if offered != "" && offered != self && slices.Contains(ids, offered) {
		return []string{offered}
	}
	kept := !slices.Contains(ids, self) // from leading
	if last == self && !kept {
		return nil // its clients are still there
	}
	from := slices.Index(ids, last) + 1
	var out []string
	for i := range ids {
		id := ids[(from+i)%len(ids)]
		if id == self || id == last && !kept {
			break
		}
		out = append(out, id)
	}
	return out
}

// giveWay hands leadership over, before it has begun, to the member that the last leader's clients try first. Each member is offered it
// once.
func (r *ResourceManager) giveWay(term context.Context, s *ledger.State) bool {
	if !r.HA() {
		return false
	}
	if r.offers.to == nil || r.offers.leaders != s.Leaders {
		r.offers.leaders, r.offers.to = s.Leaders, map[string]bool{}
	}
	for _, id := range heirs(r.mayLead(), s.Leader, s.Offered, r.id) {
		if r.offers.to[id] || !r.stands(term, id) {
			continue
		}
		r.offers.to[id] = true
		err := r.transferWithin(term, wayPatience, id)
		if err == nil {
			r.log.WithField("to", id).WithField("last", s.Leader).Info("elected, but hands over to the member that clients try first")
			return true
		}
		r.log.WithError(err).WithField("to", id).Info("elected, but finds no member to hand over to")
	}
	return false
}

// transferWithin tries to hand leadership over within a time. It has succeeded when the term ends, too: the next leader ends it, often before
// this member hears of that.
func (r *ResourceManager) transferWithin(term context.Context, patience time.Duration, to string) error {
	ctx, cancel := context.WithTimeout(term, patience)
	defer cancel()
	if err := r.raft.Transfer(ctx, to); err != nil && term.Err() == nil {
		return err
	}
	return nil
}

// stands reports whether a member answers and can lead.
func (r *ResourceManager) stands(ctx context.Context, id string) bool {
	a, err := r.conf.RMAddress(AdminAddress, id)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	ha := r.launcher.Client.Endpoint(r.conf.Connectable(a).String(), protocol.HAService, r.own.identity())
	_, err = protocol.GetServiceStatus.Call(ctx, ha, &pb.GetServiceStatusRequest{})
	return err == nil
}

// mayLead returns the members that aren't kept from leading, in the order in which clients try them.
func (r *ResourceManager) mayLead() []string {
	kept := r.conf.Strings("heddle.raft.never-lead")
	return slices.DeleteFunc(slices.Clone(r.conf.RMIDs()), func(id string) bool { return slices.Contains(kept, id) })
}

// moveHome hands leadership to the first or second member, if this is neither and one of them answers. A member that is kept from leading
// hands it to any other.
func (r *ResourceManager) moveHome(ctx context.Context, l *leader.Leader) {
	home, interval := r.mayLead(), keptInterval
	if slices.Contains(home, r.id) {
		home, interval = home[:min(2, len(home))], homeInterval
	}
	if slices.Contains(home, r.id) {
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-l.Done():
			return
		case <-tick.C:
		}
		for _, id := range home {
			if !r.stands(ctx, id) {
				continue
			}
			if err := r.transferWithin(ctx, homePatience, id); err != nil {
				r.log.WithError(err).WithField("to", id).Warn("can't hand leadership to a member that clients try first")
				continue
			}
			r.log.WithField("to", id).Info("handing leadership to a member that clients try first")
			return
		}
	}
}

// AwaitLeadership reports whether this member leads. While that is open, it waits until this member leads, or until another has continued
// record as leader and has been heard from since.
func (r *ResourceManager) AwaitLeadership() bool {
	if r.Leader() != nil {
		return true
	}
	asked := time.Now()
	tick := time.NewTicker(settlingPoll)
	defer tick.Stop()
	for time.Since(asked) < settlingPatience {
		select {
		case <-r.closing:
			return false
		case <-tick.C:
		}
		if r.Leader() != nil {
			return true
		}
		if id := r.raft.Leader(); id != "" && id != r.id && id == r.onRecord() && r.raft.LastContact().After(asked) {
			return false
		}
	}
	return false
}

// onRecord returns the leader that the ledger names.
func (r *ResourceManager) onRecord() (id string) {
	r.Read(func(s *ledger.State) { id = s.Leader })
	return id
}
