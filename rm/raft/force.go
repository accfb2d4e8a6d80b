package raft

import (
	"context"
	"errors"
	"fmt"
	"strings"

	hraft "github.com/hashicorp/raft"
)

// ErrForced ends a member that an administrator makes lead; its next start does it.
var ErrForced = errors.New("an administrator makes this member lead without the others")

// ErrReplaced says that an administrator has made another member lead without this one.
var ErrReplaced = errors.New("the group was made to go on without this member")

// ForceLeader makes this member go on with what it has, as the only member of a new group, which takes in the others when their folders are
// empty. It is the way out when the members that are left can't elect a leader. Without lose it only says what would be lost. It is refused while there is a
// leader, while those that answer are a majority, and while one that answers has more of the log.
//
// The process has to be started again, and forms the new group then.
func (n *Node) ForceLeader(ctx context.Context, lose bool) (loss string, err error) {
	members, err := n.Members()
	if err != nil {
		return "", err
	}
	last := n.raft.LastIndex()
	switch leads := n.Leader(); {
	case leads != "":
		return "", fmt.Errorf("%s leads: there is nothing to force", leads)
	case last == 0:
		return "", fmt.Errorf("%s has nothing of the group: force a member that has", n.cfg.ID)
	}
	asked, _ := n.askAll(ctx)
	voters, answer := 0, 1
	lost := []string{fmt.Sprintf("%s has the entries up to %d", n.cfg.ID, last)}
	for _, m := range members {
		if m.Voter {
			voters++
		}
		if m.Self {
			continue
		}
		s, up := asked[m.ID]
		known := n.memory.Of(string(m.serverID()))
		switch {
		case m.Witness() && up && newer(s, n.status()):
			lost = append(lost, fmt.Sprintf("the witness knows of the entries up to %d, and %s lacks %d of them", s.Last, n.cfg.ID, s.Last-min(last, s.Last)))
		case up && s.Last > last:
			return "", fmt.Errorf("%s answers and has the entries up to %d, %s up to %d: force %s", m.ID, s.Last, n.cfg.ID, last, m.ID)
		case up && s.Incarnation == m.Incarnation && m.Voter:
			answer++
			lost = append(lost, fmt.Sprintf("%s answers, with the entries up to %d", m.ID, s.Last))
		case up:
			lost = append(lost, fmt.Sprintf("%s has lost its state folder", m.ID))
		case known.Index > 0:
			lost = append(lost, fmt.Sprintf("%s doesn't answer; it was known to have the entries up to %d", m.ID, known.Index))
		default:
			lost = append(lost, fmt.Sprintf("%s doesn't answer, and nobody here knows what it has", m.ID))
		}
	}
	loss = strings.Join(lost, "; ") + fmt.Sprintf(". Applications, tokens and queue changes that were acknowledged with entries after %d are lost, and so are the members' folders: "+
		"the others must start with empty ones", last)
	if answer > voters/2 {
		return "", fmt.Errorf("%d of %d members answer, which is a majority: they elect a leader by themselves", answer, voters)
	}
	if !lose {
		return loss, nil
	}
	n.cfg.Log.WithField("loss", loss).Warn("an administrator makes this member lead without the others (heddle rmadmin -forceLeader --lose)")
	if err := n.dir.change(func(me *identity) { me.Force = true }); err != nil {
		return "", err
	}
	_ = n.log.fail(ErrForced)
	return loss, nil
}

// force makes this member the only one of a new group, before raft runs. It may be repeated after an interruption.
func force(n *Node) error {
	last, term, err := holds(n)
	if err != nil {
		return err
	}
	self := n.cfg.member(n.cfg.ID)
	record := hraft.Configuration{Servers: []hraft.Server{{ID: n.dir.identity().serverID(), Address: hraft.ServerAddress(self.Address)}}}
	if err := n.log.SetUint64([]byte(currentTerm), term+1); err != nil {
		return err
	}
	entry := &hraft.Log{Index: last + 1, Term: term + 1, Type: hraft.LogConfiguration, Data: hraft.EncodeConfiguration(record)}
	if err := n.log.StoreLog(entry); err != nil {
		return err
	}
	n.cfg.Log.WithField("from", entry.Index).Warn("this member goes on alone, in a new group")
	return n.dir.change(func(me *identity) { me.Replaces, me.Group, me.Force, me.Gap = me.Group, newGroup(), false, true })
}

// replaced ends this member when it meets one that was made to go on without it.
func (n *Node) replaced(by greeting) error {
	if !n.memory.running() {
		return ErrReplaced
	}
	err := fmt.Errorf("%w: by %s, an administrator having used heddle rmadmin -forceLeader: start this member with an empty state folder", ErrReplaced, by.From)
	return errors.Join(err, n.log.fail(err))
}

// Gap reports whether entries may be missing since ForceLeader, for a leader to deal with before it does anything else. CloseGap says that it has.
func (n *Node) Gap() bool { return n.dir.identity().Gap }

// CloseGap ends what Gap reports.
func (n *Node) CloseGap() error { return n.dir.change(func(me *identity) { me.Gap = false }) }
