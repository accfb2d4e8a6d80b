package raft

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"

	"heddle/rm/raft/feed"
)

// WitnessID is the id of a group's witness. No ResourceManager can have it, so that no configuration decides who gets the entries' data.
const WitnessID = "witness"

func isWitness(id string) bool { return id == WitnessID }

// Witness reports whether the member is a witness: it has a vote, but no data, and never leads.
func (m Member) Witness() bool { return isWitness(m.ID) }

// full returns the ids of the configured members that hold data.
func (c *Config) full() (ids []string) {
	for _, m := range c.Members {
		if !m.Witness() {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// slowFactor is how many election timeouts a member that answers may take to store an entry, until the witness gets it before.
const slowFactor = 10

// paceTimes returns when a full member counts as away.
func (c *Config) paceTimes() feed.Times {
	silence := c.raft("").ElectionTimeout
	return feed.Times{Silence: silence, Patience: slowFactor * silence}
}

// otherFull returns what raft calls the other full members that have a vote.
func (n *Node) otherFull() (ids []string) {
	<-n.up
	for _, s := range n.raft.GetConfiguration().Configuration().Servers {
		if id := bareID(s.ID); s.Suffrage == hraft.Voter && id != n.cfg.ID && !isWitness(id) {
			ids = append(ids, string(s.ID))
		}
	}
	return ids
}

// refuseCompany returns why a member may not be added to those on record: a witness makes sense beside two full members only.
func refuseCompany(id string, in bool, recorded []MemberInfo) error {
	full, witness := 0, false
	for _, m := range recorded {
		witness = witness || m.Witness()
		if !m.Witness() {
			full++
		}
	}
	switch {
	case in:
		return nil
	case isWitness(id) && full > 2:
		return fmt.Errorf("the group has %d members with data, and survives the loss of one without a witness: take heddle.raft.witness.address out of the configuration, "+
			"or remove one of them first (heddle rmadmin -removeMember)", full)
	case isWitness(id) && full < 2:
		return errors.New("a witness makes sense beside two ResourceManagers only: the second one is taken in first")
	case !isWitness(id) && witness && full >= 2:
		return fmt.Errorf("the group has two members with data and a witness: remove the witness before %s joins (heddle rmadmin -removeMember %s, and take heddle.raft.witness.address out of the configuration)", id, WitnessID)
	}
	return nil
}

// Absent is a full member that lacks what is acknowledged.
type Absent struct {
	ID     string
	Behind uint64 // number of entries that it isn't known to have
}

func (a Absent) String() string {
	return fmt.Sprintf("%s is behind by %d", a.ID, a.Behind)
}

// OneDisk returns the other full members, if this member leads with the witness alone: what is acknowledged lies on its disk only. Otherwise it
// returns nil.
func (n *Node) OneDisk() (out []Absent) {
	if n.pace == nil || !n.IsLeader() {
		return nil
	}
	servers := n.raft.GetConfiguration().Configuration().Servers
	if !slices.ContainsFunc(servers, func(s hraft.Server) bool { return isWitness(bareID(s.ID)) && s.Suffrage == hraft.Voter }) {
		return nil
	}
	last, full := n.raft.LastIndex(), n.otherFull()
	for _, a := range n.pace.Absent(last, full, time.Now()) {
		out = append(out, Absent{bareID(hraft.ServerID(a.ID)), a.Behind})
	}
	if len(full) > 0 {
		return out
	}
	// Those that have lost their folders have no vote until they have the whole log.
	for _, id := range n.cfg.full() {
		if id == n.cfg.ID {
			continue
		}
		behind := last
		if at := slices.IndexFunc(servers, func(s hraft.Server) bool { return bareID(s.ID) == id }); at >= 0 {
			behind = n.pace.Behind(last, string(servers[at].ID))
		}
		out = append(out, Absent{id, behind})
	}
	return out
}

// Trouble says what an administrator should know about the group: that what is acknowledged lies on one disk only, or why there is no leader. It
// returns "" if all is well.
func (n *Node) Trouble() (oneDisk bool, say string) {
	away := n.OneDisk()
	if len(away) == 0 {
		return false, n.Impasse()
	}
	var all []string
	for _, a := range away {
		all = append(all, a.String())
	}
	say = strings.Join(all, ", ")
	if n.cfg.AwaitFull {
		return false, say + ": the cluster accepts nothing while acknowledged work would lie on one disk only (heddle.raft.witness.commit-alone is false)"
	}
	return true, say + ": acknowledged work is on one disk only"
}

// lastTerm returns the term of the last entry.
func (n *Node) lastTerm() uint64 {
	stats := n.raft.Stats()
	entry, _ := strconv.ParseUint(stats["last_log_term"], 10, 64)
	snapshot, _ := strconv.ParseUint(stats["last_snapshot_term"], 10, 64)
	return max(entry, snapshot) // 0 of an empty log
}

// mayLead reports whether a member may be given leadership.
func (n *Node) mayLead(id string) bool {
	return !isWitness(id) && !slices.Contains(n.cfg.NeverLead, id)
}

// standFactor is for how many timeouts of heartbeats and elections a member that should not lead leaves elections to others.
const standFactor = 4

// mayStand reports whether this member may stand for election. One that should not lead waits: if there is no leader after a while, the others can't lead.
func (n *Node) mayStand() bool {
	if n.mayLead(n.cfg.ID) {
		return true
	}
	<-n.up
	since := n.opened
	if heard := n.raft.LastContact(); heard.After(since) {
		since = heard
	}
	c := n.raft.ReloadableConfig()
	return time.Since(since) > standFactor*(c.HeartbeatTimeout+c.ElectionTimeout)
}

const (
	// impassePatience is the time without a leader after which members are asked why.
	impassePatience = 2 * time.Second
	// impassePoll is how often they are.
	impassePoll = time.Second
)

// Impasse says why there is no leader, if this member is up, and others have entries that it lacks: "rm2 lacks 37 entries that rm1 has; start
// rm1". Otherwise it returns "".
func (n *Node) Impasse() string {
	if why := n.impasse.Load(); why != nil {
		return *why
	}
	return ""
}

// watchImpasse keeps Impasse up to date, until ctx ends.
func (n *Node) watchImpasse(ctx context.Context) {
	tick := time.NewTicker(impassePoll)
	defer tick.Stop()
	led := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		why := ""
		if n.Leader() != "" {
			led = time.Now()
		} else if time.Since(led) > impassePatience {
			why = n.examineImpasse(ctx)
		}
		if why != n.Impasse() && why != "" {
			n.cfg.Log.Warn("no member leads: " + why)
		}
		n.impasse.Store(&why)
	}
}

// examineImpasse compares this member with those that answer. Only full members that don't answer can have what these lack.
func (n *Node) examineImpasse(ctx context.Context) string {
	members, err := n.Members()
	if err != nil {
		return ""
	}
	var voters []Member
	for _, m := range members {
		if m.Voter {
			voters = append(voters, m.Member)
		}
	}
	statuses, _ := n.askEach(ctx, voters) // those that don't answer are missing
	return impasse(n.cfg.ID, n.status(), voters, statuses)
}

// impasse says why there is no leader, as far as the lengths of logs tell.
func impasse(self string, own Status, voters []Member, statuses map[string]Status) string {
	var silent []string
	var longest Status
	for _, m := range voters {
		s, answers := statuses[m.ID]
		switch {
		case m.ID == self:
		case !answers && !m.Witness():
			silent = append(silent, m.ID)
		case !answers:
		case !m.Witness() && newer(s, own):
			return "" // it can lead
		case newer(s, longest):
			longest = s
		}
	}
	if len(silent) == 0 || !newer(longest, own) {
		return ""
	}
	who := strings.Join(silent, " or ")
	if longest.Last <= own.Last {
		return fmt.Sprintf("%s lacks entries that %s has; start %s", self, who, who)
	}
	return fmt.Sprintf("%s lacks %d entries that %s has; start %s", self, longest.Last-own.Last, who, who)
}

// newer reports whether a log is ahead of another one, by Raft's rule.
func newer(a, b Status) bool {
	return a.LastTerm > b.LastTerm || a.LastTerm == b.LastTerm && a.Last > b.Last
}
