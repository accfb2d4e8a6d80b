package raft

import (
	"context"
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/sirupsen/logrus"
)

const (
	// adoptInterval is how often a leader checks for configured members that aren't on the group's record.
	adoptInterval = 2 * time.Second
	// adoptReport is how often it logs which are still missing.
	adoptReport = time.Minute
	// changePatience is how long a change of the group's record may take.
	changePatience = 10 * time.Second
)

// MemberInfo is a member on the group's record.
type MemberInfo struct {
	Member
	Leader bool
	Self   bool
	Voter  bool // false: a new member that only gets the log
	Health      // from Survey; empty from Members
}

// Members returns the group's members on record, without asking them.
func (n *Node) Members() ([]MemberInfo, error) {
	f := n.raft.GetConfiguration()
	if err := f.Error(); err != nil {
		return nil, translate(err)
	}
	leader := n.Leader()
	var out []MemberInfo
	for _, s := range f.Configuration().Servers {
		out = append(out, MemberInfo{
			Member: Member{ID: string(s.ID), Address: string(s.Address)},
			Leader: string(s.ID) == leader,
			Self:   string(s.ID) == n.cfg.ID,
			Voter:  s.Suffrage == hraft.Voter,
		})
	}
	return out, nil
}

// KeepMembers calls AdoptMembers repeatedly, until the group's record equals the configuration or ctx ends.
func (n *Node) KeepMembers(ctx context.Context) {
	tick := time.NewTicker(adoptInterval)
	defer tick.Stop()
	var reported time.Time
	for {
		done, err := n.AdoptMembers(ctx)
		if ctx.Err() != nil || done && err == nil {
			return
		}
		if err != nil && time.Since(reported) > adoptReport {
			reported = time.Now()
			n.cfg.Log.WithError(err).Warn("the group's record of its members differs from the configuration")
		}
		select {
		case <-ctx.Done():
			return
		case <-n.down:
			return
		case <-tick.C:
		}
	}
}

// AdoptMembers changes the group's record one step towards the configuration, and reports whether both are equal. New
// members join once they can be reached. They have no vote until they have the log, so the group doesn't depend
// on them before. Changed addresses are recorded. Members that the configuration lacks stay, because one outdated file
// must not split a group; Remove removes them. Only the leader can call it.
func (n *Node) AdoptMembers(ctx context.Context) (bool, error) {
	recorded, err := n.Members()
	if err != nil {
		return false, err
	}
	known := map[string]MemberInfo{}
	for _, m := range recorded {
		known[m.ID] = m
	}
	done := true
	var errs []error
	for _, m := range n.cfg.Members {
		was, in := known[m.ID]
		if in && was.Voter && was.Address == m.Address {
			continue
		}
		done = false
		if err := n.adopt(ctx, m, was, in); err != nil {
			errs = append(errs, err)
		}
	}
	return done, errors.Join(errs...)
}

// adopt takes a member one step further: on record without a vote, then with one, then with its new address.
func (n *Node) adopt(ctx context.Context, m Member, was MemberInfo, in bool) error {
	id, address := hraft.ServerID(m.ID), hraft.ServerAddress(m.Address)
	log := n.cfg.Log.WithFields(logrus.Fields{"member": m.ID, "address": m.Address})
	if m.ID == n.cfg.ID {
		log.WithField("was", was.Address).Info("this member has another address")
		return n.change(ctx, m, n.raft.AddVoter(id, address, 0, changePatience))
	}
	s, err := n.ask(ctx, m)
	if err != nil {
		return err
	}
	switch {
	case !in && !s.Empty:
		return fmt.Errorf("%s at %s has the state of a group but is not on record as a member of this one; start it with an empty state folder to let it join", m.ID, m.Address)
	case !in:
		log.Info("a new member gets the log; it has no vote until it has the whole log")
		return n.change(ctx, m, n.raft.AddNonvoter(id, address, 0, changePatience))
	case was.Address != m.Address && !was.Voter:
		return n.change(ctx, m, n.raft.AddNonvoter(id, address, 0, changePatience))
	case was.Address != m.Address:
		log.WithField("was", was.Address).Info("a member's address changes to the configured one")
		return n.change(ctx, m, n.raft.AddVoter(id, address, 0, changePatience))
	}
	wait, cancel := context.WithTimeout(ctx, changePatience)
	defer cancel()
	if err := n.catchesUp(wait, m, transferLag); err != nil {
		return err
	}
	log.Info("a new member has the log, and gets a vote")
	return n.change(ctx, m, n.raft.AddVoter(id, address, 0, changePatience))
}

// change waits for a change of the group's record.
func (n *Node) change(ctx context.Context, m Member, f hraft.Future) error {
	ctx, cancel := context.WithTimeout(ctx, changePatience)
	defer cancel()
	if err := n.answerTo(f, func() {}).within(ctx); err != nil {
		return fmt.Errorf("member %s at %s: the group's record: %w", m.ID, m.Address, err)
	}
	return nil
}

// Remove removes a member from the group. Only the leader can, and not itself. A majority of the remaining members must be
// reachable. To come back, the member needs an empty state folder and a place in the configuration.
func (n *Node) Remove(ctx context.Context, id string) error {
	if !n.IsLeader() {
		return ErrNotLeader
	}
	if id == n.cfg.ID {
		return fmt.Errorf("%s leads: hand leadership to another member first (heddle rmadmin -transitionToActive)", id)
	}
	recorded, err := n.Members()
	if err != nil {
		return err
	}
	var gone *MemberInfo
	var stay []Member
	for _, m := range recorded {
		switch {
		case m.ID == id:
			gone = &m
		case m.Voter:
			stay = append(stay, m.Member)
		}
	}
	if gone == nil {
		return fmt.Errorf("%s is not a member of the group", id)
	}
	there, err := n.askEach(ctx, stay)
	if with := len(there) + 1; with <= len(stay)/2 {
		return fmt.Errorf("without %s the group would have no majority: %d of %d other members answer (%w)", id, with, len(stay), err)
	}
	n.cfg.Log.WithField("member", id).Warn("an administrator removes a member from the group")
	return n.change(ctx, gone.Member, n.raft.RemoveServer(hraft.ServerID(id), 0, changePatience))
}

// self returns this member's greeting.
func (n *Node) self() greeting {
	return greeting{Cluster: n.cfg.Cluster, Group: n.dir.identity().Group, From: n.cfg.ID}
}

// status returns this member's status.
func (n *Node) status() Status {
	last := n.raft.LastIndex()
	return Status{Group: n.dir.identity().Group, Empty: last == 0, Last: last, Leader: n.Leader(), IDs: n.ids(), Version: n.cfg.Version}
}

// at returns the id of the member with an address, as far as that is unambiguous.
func (n *Node) at(address string) string {
	<-n.up
	id := ""
	for _, m := range n.all() {
		if m.Address == address {
			if id != "" && id != m.ID {
				return ""
			}
			id = m.ID
		}
	}
	return id
}

// all returns the members of the configuration and those on record.
func (n *Node) all() []Member {
	all := n.cfg.Members[:len(n.cfg.Members):len(n.cfg.Members)]
	for _, s := range n.raft.GetConfiguration().Configuration().Servers {
		all = append(all, Member{ID: string(s.ID), Address: string(s.Address)})
	}
	return all
}

// admit decides about a caller of the same cluster who has proved its identity; it refuses those of other groups.
func (n *Node) admit(g greeting) error {
	known := false
	for _, m := range n.all() {
		known = known || m.ID == g.From
	}
	if !known {
		return fmt.Errorf("%q is not among the members configured here (%v): check yarn.resourcemanager.ha.rm-ids, and restart this member if it was changed", g.From, n.ids())
	}
	if g.Ask {
		return nil
	}
	switch group := n.dir.identity().Group; {
	case g.old && group == "":
		return fmt.Errorf("%s runs an earlier version, whose group new members can't join: upgrade it first", g.From)
	case group == "" && g.Group == "":
		return fmt.Errorf("neither %s nor this member belongs to a group yet", g.From)
	case group == "":
		n.cfg.Log.WithField("group", g.Group).WithField("by", g.From).Info("joining the group of ResourceManagers")
		return n.dir.join(g.Group, false)
	case g.Group == "" && !g.old:
		return fmt.Errorf("%s belongs to no group, this member to %s", g.From, group)
	}
	return nil
}
