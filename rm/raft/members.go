package raft

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	Incarnation string // of its state folder; "" for a folder of an earlier version
	Leader      bool
	Self        bool
	Voter       bool // false: a new member that only gets the log
	Health           // from Survey; empty from Members
}

func (m MemberInfo) serverID() hraft.ServerID { return serverID(m.ID, m.Incarnation) }

// Members returns the group's members on record, without asking them.
func (n *Node) Members() ([]MemberInfo, error) {
	f := n.raft.GetConfiguration()
	if err := f.Error(); err != nil {
		return nil, translate(err)
	}
	leader := n.Leader()
	var out []MemberInfo
	for _, s := range f.Configuration().Servers {
		id, incarnation := splitServerID(s.ID)
		out = append(out, MemberInfo{
			Member: Member{ID: id, Address: string(s.Address)}, Incarnation: incarnation,
			Leader: id == leader,
			Self:   id == n.cfg.ID,
			Voter:  s.Suffrage == hraft.Voter,
		})
	}
	return out, nil
}

// KeepMembers calls AdoptMembers repeatedly, until ctx ends: whenever the group's record differs from the configuration, or a member shows
// that its state folder is another one than that on record.
func (n *Node) KeepMembers(ctx context.Context) {
	tick := time.NewTicker(adoptInterval)
	defer tick.Stop()
	var reported time.Time
	for {
		done, err := n.AdoptMembers(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && time.Since(reported) > adoptReport {
			reported = time.Now()
			n.cfg.Log.WithError(err).Warn("the group's record of its members differs from the configuration")
		}
		again := tick.C
		if done && err == nil {
			again = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-n.down:
			return
		case <-n.poked:
		case <-again:
		}
	}
}

// poke makes KeepMembers look again.
func poke(n *Node) {
	select {
	case n.poked <- struct{}{}:
	default: // it will
	}
}

// AdoptMembers changes the group's record one step towards the configuration, and reports whether both are equal. New
// members join once they can be reached. They have no vote until they have the log, so the group doesn't depend
// on them before. The same goes for members that have forgotten: their folder is another one than that on record. Changed addresses are
// recorded. Members that the configuration lacks stay, because one outdated file must not split a group; Remove removes them. Only the
// leader can call it.
func (n *Node) AdoptMembers(ctx context.Context) (bool, error) {
	recorded, err := n.Members()
	if err != nil {
		return false, err
	}
	known := map[string]MemberInfo{}
	for _, m := range recorded {
		known[m.ID] = m
	}
	statuses, silent := n.askAll(ctx)
	done, missing := true, false
	var errs []error
	for _, m := range n.cfg.Members {
		was, in := known[m.ID]
		s, answers := statuses[m.ID]
		if err := refuseCompany(m.ID, in, recorded); err != nil {
			errs = append(errs, err)
			continue
		}
		if in && was.Voter && was.Address == m.Address && (!answers || s.Incarnation == was.Incarnation) {
			continue
		}
		done = false
		switch {
		case m.ID == n.cfg.ID:
			n.cfg.Log.WithFields(logrus.Fields{"address": m.Address, "was": was.Address}).Info("this member has another address")
			errs = append(errs, n.change(ctx, m, n.raft.AddVoter(n.dir.identity().serverID(), hraft.ServerAddress(m.Address), 0, changePatience)))
		case !answers:
			missing = true
		default:
			errs = append(errs, n.adopt(ctx, m, was, in, s))
		}
	}
	if missing {
		errs = append(errs, silent)
	}
	return done, errors.Join(errs...)
}

// adopt takes a member, which has just told its status, one step further: off the record with a folder that it has lost, on record without a
// vote, then with one, then with its new address.
//
// A lost folder may have voted in a term above this leader's. Its removal is safe all the same: it commits with the acknowledgement of a
// majority of the other voters, of whom at least one has taken part in any election that the lost vote decided, and refuses a leader of an
// earlier term.
func (n *Node) adopt(ctx context.Context, m Member, was MemberInfo, in bool, s Status) error {
	id, address := serverID(m.ID, s.Incarnation), hraft.ServerAddress(m.Address)
	log := n.cfg.Log.WithFields(logrus.Fields{"member": m.ID, "address": m.Address})
	switch {
	case !in && !s.Empty:
		return fmt.Errorf("%s at %s has the state of a group but is not on record as a member of this one; start it with an empty state folder to let it join", m.ID, m.Address)
	case !in:
		log.Info("a new member gets the log; it has no vote until it has the whole log")
		return n.change(ctx, m, n.raft.AddNonvoter(id, address, 0, changePatience))
	case s.Incarnation != was.Incarnation && !s.Empty:
		return fmt.Errorf("%s at %s runs with another state folder than the one on the group's record, and that isn't empty; start it with an empty state folder to let it join", m.ID, m.Address)
	case s.Incarnation != was.Incarnation:
		log.Warn("a member has lost its state folder: its vote is taken from it until it has the whole log again")
		return n.change(ctx, m, n.raft.RemoveServer(was.serverID(), 0, changePatience))
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

// ErrNoMember is returned for the id of a member that the group lacks.
var ErrNoMember = errors.New("is not a member of the group")

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
		return fmt.Errorf("%s %w", id, ErrNoMember)
	}
	there, err := n.askEach(ctx, stay)
	if with := len(there) + 1; with <= len(stay)/2 {
		return fmt.Errorf("without %s the group would have no majority: %d of %d other members answer (%w)", id, with, len(stay), err)
	}
	n.cfg.Log.WithField("member", id).Warn("an administrator removes a member from the group")
	return n.change(ctx, gone.Member, n.raft.RemoveServer(gone.serverID(), 0, changePatience))
}

// self returns this member's greeting.
func (n *Node) self() greeting {
	me := n.dir.identity()
	return greeting{
		Cluster: n.cfg.Cluster, Group: me.Group, From: n.cfg.ID, Version: ownVersion, Incarnation: me.Incarnation,
		Start: n.memory.held.Load().Start, Replaces: me.Replaces,
	}
}

// status returns this member's status.
func (n *Node) status() Status {
	me := n.dir.identity()
	st := Status{Group: me.Group, Last: n.memory.held.Load().Last, IDs: n.ids(), Version: n.cfg.Version, Incarnation: me.Incarnation}
	if n.memory.running() {
		st.Last, st.LastTerm, st.Leader = n.raft.LastIndex(), n.lastTerm(), n.Leader()
	}
	st.Empty = st.Last == 0
	return st
}

// admit decides about a caller of the same cluster who has proved its identity; it refuses those of other groups.
func (n *Node) admit(g greeting) error {
	if !g.Ask {
		select {
		case <-n.up:
		case <-n.down:
			return ErrClosed
		}
	}
	var record []hraft.Server
	if n.memory.running() {
		record = n.raft.GetConfiguration().Configuration().Servers
	}
	at := slices.IndexFunc(record, func(s hraft.Server) bool { return bareID(s.ID) == g.From })
	if at < 0 && !slices.Contains(n.ids(), g.From) {
		return fmt.Errorf("%q is not among the members configured here (%v): check yarn.resourcemanager.ha.rm-ids, and restart this member if it was changed", g.From, n.ids())
	}
	if at >= 0 && record[at].ID != serverID(g.From, g.Incarnation) {
		poke(n)
	}
	if g.Ask {
		if g.Version == 0 && n.status().Empty {
			return fmt.Errorf("%s runs an earlier version, which can't take in a member with a new state folder: upgrade it first", g.From)
		}
		return nil
	}
	return n.dir.admit(g, n.cfg.ID, n.cfg.Log)
}
