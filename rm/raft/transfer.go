package raft

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	hraft "github.com/hashicorp/raft"
)

const (
	// transferPatience limits a transfer of leadership as a whole.
	transferPatience = 10 * time.Second
	// handOverPatience limits the part of it during which proposals wait, in addition to the time of an election.
	handOverPatience = time.Second
	// transferLag is how many entries the target may lack when proposals begin to wait.
	transferLag = 1000
	// transferPoll is how often the target's progress is checked.
	transferPoll = 5 * time.Millisecond
)

// hashicorp/raft's own transfer is not used: if its target doesn't answer, it may leave a leader that accepts no
// proposals, and that isn't replaced because it still sends heartbeats.

// Transfer hands leadership to a member, or with "" to the most up-to-date one. It returns when that member leads. The
// target must be reachable and have nearly all entries. If the transfer fails, it does so within transferPatience. Then this
// member leads on, or the group elects another.
func (n *Node) Transfer(ctx context.Context, id string) error {
	if !n.IsLeader() {
		return ErrNotLeader
	}
	if !n.transferring.TryLock() {
		return errors.New("another transfer of leadership is under way")
	}
	defer n.transferring.Unlock()
	ctx, cancel := context.WithTimeout(ctx, transferPatience)
	defer cancel()
	target, err := n.successor(ctx, id)
	if err != nil {
		return err
	}
	if err := n.catchesUp(ctx, target.Member, transferLag); err != nil {
		return err
	}
	if err := n.handOver(ctx, target); err != nil {
		return err
	}
	return n.leads(ctx, target.ID)
}

// CanLead returns why a member can't be given leadership, nil if it can.
func (n *Node) CanLead(ctx context.Context, id string) error {
	_, err := n.successor(ctx, id)
	return err
}

// successor returns the member that should lead: one that answers and follows this one.
func (n *Node) successor(ctx context.Context, id string) (MemberInfo, error) {
	members, err := n.Members()
	if err != nil {
		return MemberInfo{}, err
	}
	var voters []Member
	candidates := map[string]MemberInfo{}
	for _, m := range members {
		if m.Voter && !m.Self && (id == "" || m.ID == id) && n.mayLead(m.ID) {
			voters, candidates[m.ID] = append(voters, m.Member), m
		}
	}
	if len(voters) == 0 {
		switch {
		case isWitness(id):
			return MemberInfo{}, errors.New("the witness holds no data, and can't lead")
		case slices.Contains(n.cfg.NeverLead, id):
			return MemberInfo{}, fmt.Errorf("%s is kept from leading (heddle.raft.never-lead)", id)
		case id == "":
			return MemberInfo{}, errors.New("there is no other member that could lead")
		}
		return MemberInfo{}, fmt.Errorf("%s is not a member of the group that could lead", id)
	}
	statuses, err := n.askEach(ctx, voters)
	var best MemberInfo
	for _, m := range voters {
		s, ok := statuses[m.ID]
		if ok && s.Incarnation != candidates[m.ID].Incarnation {
			err = errors.Join(err, fmt.Errorf("%s has a new state folder, and no vote yet", m.ID))
			continue
		}
		if ok && (best.ID == "" || s.Last > statuses[best.ID].Last) {
			best = candidates[m.ID]
		}
	}
	if best.ID == "" {
		return MemberInfo{}, fmt.Errorf("no member can take over leadership: %w", err)
	}
	return best, nil
}

// catchesUp waits until a member follows this one and lacks at most lag entries.
func (n *Node) catchesUp(ctx context.Context, m Member, lag uint64) error {
	tick := time.NewTicker(transferPoll)
	defer tick.Stop()
	for {
		s, err := n.ask(ctx, m)
		if err != nil {
			return err
		}
		last := n.raft.LastIndex()
		if s.Leader == n.cfg.ID && s.Last+lag >= last {
			return nil
		}
		if !n.IsLeader() {
			return ErrNotLeader
		}
		select {
		case <-tick.C:
		case <-n.down:
			return ErrClosed
		case <-ctx.Done():
			if s.Leader != n.cfg.ID {
				return fmt.Errorf("%s doesn't follow this leader, but %q: %w", m.ID, s.Leader, ctx.Err())
			}
			return fmt.Errorf("%s is at entry %d of %d and doesn't catch up: %w", m.ID, s.Last, last, ctx.Err())
		}
	}
}

// handOver makes a member hold an election that it wins. Proposals wait until this member no longer leads, or the time for that is over.
func (n *Node) handOver(ctx context.Context, m MemberInfo) error {
	n.gate.Lock()
	defer n.gate.Unlock()
	ctx, cancel := context.WithTimeout(ctx, handOverPatience+2*n.raft.ReloadableConfig().ElectionTimeout)
	defer cancel()
	// Proposals that were accepted but aren't in the log yet would make it longer than the target's, which then gets no vote.
	if err := n.answerTo(n.raft.Barrier(0), func() {}).within(ctx); err != nil {
		return fmt.Errorf("commit what is under way: %w", err)
	}
	if err := n.catchesUp(ctx, m.Member, 0); err != nil {
		return err
	}
	asked := make(chan error, 1)
	go func() {
		req := &hraft.TimeoutNowRequest{RPCHeader: hraft.RPCHeader{
			ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte(n.dir.identity().serverID()), Addr: []byte(n.transport.LocalAddr()),
		}}
		asked <- n.transport.TimeoutNow(m.serverID(), hraft.ServerAddress(m.Address), req, &hraft.TimeoutNowResponse{})
	}()
	tick := time.NewTicker(transferPoll)
	defer tick.Stop()
	for n.IsLeader() {
		select {
		case err := <-asked:
			if err != nil {
				return fmt.Errorf("%s didn't accept leadership: %w", m.ID, err)
			}
			asked = nil
		case <-tick.C:
		case <-n.down:
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("%s was asked to lead, but doesn't: %w", m.ID, ctx.Err())
		}
	}
	return nil
}

// leads waits until a member leads.
func (n *Node) leads(ctx context.Context, id string) error {
	tick := time.NewTicker(transferPoll)
	defer tick.Stop()
	for {
		switch leader := n.Leader(); leader {
		case id:
			return nil
		case "":
		default:
			if leader != n.cfg.ID || n.IsLeader() {
				return fmt.Errorf("%s should lead, but %s was elected", id, leader)
			}
		}
		select {
		case <-tick.C:
		case <-n.down:
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("%s should lead: %w", id, ctx.Err())
		}
	}
}
