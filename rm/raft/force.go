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
var ErrReplaced = errors.New("the group was made to continue without this member")

// ForceLeader makes this member continue with what it has, as the only member of a new group, which accepts the others when their folders are empty.
// It is the way out when the members that are left can't elect a leader. Without lose it only says what would be lost. It is refused while there is a
// leader, while those that answer are a majority, and while one that answers has a log that is ahead. by is the administrator, for the log.
//
// The process has to be started again, and forms the new group then.
func (n *Node) ForceLeader(ctx context.Context, by string, lose bool) (loss string, err error) {
	members, err := n.Members()
	if err != nil {
		return "", err
	}
	if leads := n.Leader(); leads != "" {
		return "", fmt.Errorf("%s leads: there is nothing to force", leads)
	}
	asked, _ := n.askAll(ctx)
	loss, err = judgeForce(n.cfg.ID, n.status(), members, asked, func(m MemberInfo) uint64 { return n.memory.Of(string(m.serverID())).Index })
	if err != nil || !lose {
		return loss, err
	}
	n.cfg.Log.WithField("user", by).WithField("loss", loss).Warn("an administrator makes this member lead without the others (heddle rmadmin -forceLeader --lose)")
	if err := n.dir.change(func(me *identity) { me.Force = true }); err != nil {
		return "", err
	}
	_ = n.log.fail(ErrForced)
	return loss, nil
}

// judgeForce says what would be lost if a member continued without the others, or why it must not: by its own status, the members on record, the answers of
// those that have answered, and the last entry that a silent member is known to have.
func judgeForce(self string, own Status, members []MemberInfo, asked map[string]Status, known func(MemberInfo) uint64) (loss string, err error) {
	if own.Last == 0 {
		return "", fmt.Errorf("%s has nothing of the group: force a member that has", self)
	}
	voters, answer := 0, 1
	lost := []string{fmt.Sprintf("%s has the entries up to %d", self, own.Last)}
	for _, m := range members {
		if m.Voter {
			voters++
		}
		if m.Self {
			continue
		}
		s, up := asked[m.ID]
		switch {
		case !up && known(m) > 0:
			lost = append(lost, fmt.Sprintf("%s doesn't answer; it was known to have the entries up to %d", m.ID, known(m)))
		case !up:
			lost = append(lost, fmt.Sprintf("%s doesn't answer, and its log is unknown here", m.ID))
		case m.Witness() && ahead(s, own):
			lost = append(lost, fmt.Sprintf("the witness knows of the entries up to %d, %s", s.Last, lacks(self, own, s)))
		case ahead(s, own):
			return "", fmt.Errorf("%s answers and has the entries up to %d, %s: force %s", m.ID, s.Last, lacks(self, own, s), m.ID)
		case s.Incarnation == m.Incarnation && m.Voter:
			answer++
			lost = append(lost, fmt.Sprintf("%s answers, with the entries up to %d", m.ID, s.Last))
		default:
			lost = append(lost, fmt.Sprintf("%s has lost its state folder", m.ID))
		}
	}
	loss = strings.Join(lost, "; ") + fmt.Sprintf(". Applications, tokens and queue changes that were acknowledged with entries after %d are lost, and so are the members' folders: "+
		"the others must start with empty ones", own.Last)
	if answer > voters/2 {
		return "", fmt.Errorf("%d of %d members answer, which is a majority: they elect a leader by themselves", answer, voters)
	}
	return loss, nil
}

// ahead reports whether a member's log is ahead of ours by Raft's rule: the higher term of the last entry counts, and only then the length. A longer log may
// hold less of what was acknowledged. Earlier releases don't tell the term.
func ahead(s, own Status) bool {
	if s.LastTerm == 0 {
		return s.Last > own.Last
	}
	return newer(s, own)
}

// lacks says what a member lacks of a log that is ahead of its own.
func lacks(self string, own, of Status) string {
	if of.Last > own.Last {
		return fmt.Sprintf("and %s lacks %d of them", self, of.Last-own.Last)
	}
	return fmt.Sprintf("of a later leader (term %d) than those up to %d that %s has (term %d)", of.LastTerm, own.Last, self, own.LastTerm)
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
	n.cfg.Log.WithField("from", entry.Index).Warn("this member continues alone, in a new group")
	return n.dir.change(func(me *identity) { me.Replaces, me.Group, me.Force, me.Gap = me.Group, newGroup(), false, true })
}

// replaced ends this member when it meets one that was made to continue without it. One that has nothing of the group just leaves it.
func (n *Node) replaced(by greeting) error {
	if n.status().Empty {
		return n.dir.leave(by)
	}
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
