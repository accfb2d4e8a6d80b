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
	// adoptInterval is how often a leader looks whether members have come that the group's record lacks.
	adoptInterval = 2 * time.Second
	// adoptReport is how often it says which have not.
	adoptReport = time.Minute
	// changePatience is how long a change of the group's record may take.
	changePatience = 10 * time.Second
)

// MemberInfo is a member as the group's record has it.
type MemberInfo struct {
	Member
	Leader bool
	Self   bool
	Voter  bool // false: it only gets the log, as it is new
}

// Members lists the group as last recorded.
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

// KeepMembers adopts members, again and again until the group's record is as the configuration or ctx ends.
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

// AdoptMembers brings the group's record one step nearer to the configuration, and reports whether it is there. Members
// that are new in it join, once they are there: without a vote until they have the log, so that the group needs them for
// nothing before. Addresses that changed are taken over. Members that the configuration lacks stay, as one outdated file
// must not split a group; Remove takes them out. Only the leader can.
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

// adopt takes a member one step further: on record without a vote, then with one, and at its new address.
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
		return fmt.Errorf("%s at %s has the state of a group that it is no member of; start it with an empty state folder to have it join this one", m.ID, m.Address)
	case !in:
		log.Info("a new member gets the log, and no vote before it has it")
		return n.change(ctx, m, n.raft.AddNonvoter(id, address, 0, changePatience))
	case was.Address != m.Address && !was.Voter:
		return n.change(ctx, m, n.raft.AddNonvoter(id, address, 0, changePatience))
	case was.Address != m.Address:
		log.WithField("was", was.Address).Info("taking a member's address over from the configuration")
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

// Remove takes a member out of the group. Only the leader can, and not itself. What remains must have a majority that is
// there. The member comes back only with an empty state folder, or by nobody's doing if it is out of the configuration.
func (n *Node) Remove(ctx context.Context, id string) error {
	if !n.IsLeader() {
		return ErrNotLeader
	}
	if id == n.cfg.ID {
		return fmt.Errorf("%s leads: move leadership to another member first (heddle rmadmin -transitionToActive)", id)
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
		return fmt.Errorf("without %s the group would have no majority: %d of %d other members are there (%w)", id, with, len(stay), err)
	}
	n.cfg.Log.WithField("member", id).Warn("an administrator takes a member out of the group")
	return n.change(ctx, gone.Member, n.raft.RemoveServer(hraft.ServerID(id), 0, changePatience))
}

// self is how this member greets others.
func (n *Node) self() greeting {
	return greeting{Cluster: n.cfg.Cluster, Group: n.dir.identity().Group, From: n.cfg.ID}
}

// status is how this member is.
func (n *Node) status() Status {
	last := n.raft.LastIndex()
	return Status{Group: n.dir.identity().Group, Empty: last == 0, Last: last, Leader: n.Leader(), IDs: n.ids()}
}

// at is the id of the member with an address, as far as that is clear.
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

// all are the members of the configuration and those on record.
func (n *Node) all() []Member {
	all := n.cfg.Members[:len(n.cfg.Members):len(n.cfg.Members)]
	for _, s := range n.raft.GetConfiguration().Configuration().Servers {
		all = append(all, Member{ID: string(s.ID), Address: string(s.Address)})
	}
	return all
}

// admit decides about a caller who is who it says, of the same cluster and no other group.
func (n *Node) admit(g greeting) error {
	known := false
	for _, m := range n.all() {
		known = known || m.ID == g.From
	}
	if !known {
		return fmt.Errorf("%q is none of the members that are configured here (%v): check yarn.resourcemanager.ha.rm-ids, and restart this member if it was changed", g.From, n.ids())
	}
	if g.Ask {
		return nil
	}
	switch group := n.dir.identity().Group; {
	case g.old && group == "":
		return fmt.Errorf("%s runs an earlier version, which new members can't join: upgrade it first", g.From)
	case group == "" && g.Group == "":
		return fmt.Errorf("%s belongs to no group yet, and neither do we", g.From)
	case group == "":
		n.cfg.Log.WithField("group", g.Group).WithField("by", g.From).Info("joining the group of ResourceManagers")
		return n.dir.join(g.Group, false)
	case g.Group == "" && !g.old:
		return fmt.Errorf("%s belongs to no group, we to %s", g.From, group)
	}
	return nil
}
