package raft

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

const (
	// formingPoll is how often a new member checks whether all others are up.
	formingPoll = 100 * time.Millisecond
	// formingReport is how often it logs whom it waits for.
	formingReport = 10 * time.Second
	// askPatience is how long a member may take to report its status.
	askPatience = time.Second
)

// A group is formed once, when all configured members are up and have no state. The one whose id
// sorts first forms it, and the others get their log from it. Otherwise one of them might belong to a group that lives on
// elsewhere: two groups of one name would each accept applications, and lose some when they meet.

// enter finds out which group this member belongs to, before raft runs.
func (n *Node) enter() error {
	last, _, err := holds(n)
	if err != nil {
		return err
	}
	empty := last == 0
	if empty && n.dir.identity().Incarnation == "" {
		if err := n.dir.change(func(me *identity) { me.Incarnation = newIncarnation() }); err != nil {
			return err
		}
	}
	me := n.dir.identity()
	switch {
	case me.Force && !empty:
		return force(n)
	case !empty && me.Group == "":
		return n.dir.join(earlierGroup(n.cfg.Cluster), false)
	case !empty && me.Forming:
		return n.dir.join(me.Group, false)
	case !empty:
		return nil
	case len(n.cfg.Members) > 1:
		return nil
	case me.Forming:
		return n.found(me.Group)
	case me.Group != "":
		return fmt.Errorf("this member belongs to group %s but has none of its entries: name the others in yarn.resourcemanager.ha.rm-ids, or start with an empty state folder", me.Group)
	}
	return n.found(newGroup())
}

// found writes the first entry of a group of one, the list of its members, into the empty log. It is repeated after an interruption.
func (n *Node) found(group string) error {
	if err := n.dir.join(group, true); err != nil {
		return err
	}
	term, err := n.log.GetUint64([]byte(currentTerm))
	if err != nil {
		return fmt.Errorf("form the group: %w", err)
	}
	if term == 0 {
		if err := n.log.SetUint64([]byte(currentTerm), 1); err != nil {
			return fmt.Errorf("form the group: %w", err)
		}
	}
	entry := &hraft.Log{Index: 1, Term: 1, Type: hraft.LogConfiguration, Data: hraft.EncodeConfiguration(n.cfg.record(n.dir.identity().serverID(), nil))}
	if err := n.log.StoreLog(entry); err != nil {
		return fmt.Errorf("form the group: %w", err)
	}
	return n.dir.join(group, false)
}

// record returns the members as raft's record. self is this member; the others have just told their incarnations in their statuses.
func (c *Config) record(self hraft.ServerID, others map[string]Status) hraft.Configuration {
	var out hraft.Configuration
	for _, m := range c.Members {
		id := self
		if m.ID != c.ID {
			id = serverID(m.ID, others[m.ID].Incarnation)
		}
		out.Servers = append(out.Servers, hraft.Server{ID: id, Address: hraft.ServerAddress(m.Address)})
	}
	return out
}

// form waits until the group is formed, by this member or by another, or ctx ends.
func (n *Node) form(ctx context.Context) {
	tick := time.NewTicker(formingPoll)
	defer tick.Stop()
	reported := time.Now()
	for n.raft.LastIndex() == 0 {
		if err := n.tryForm(ctx); err != nil {
			why := err.Error()
			n.waiting.Store(&why)
			if time.Since(reported) > formingReport {
				reported = time.Now()
				n.cfg.Log.WithError(err).Warn("this member waits for its group: the group forms when all its members run with empty state folders; an existing group takes this member in")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tryForm forms the group if now is the time, and this is the member, for it. Otherwise the error says what prevents it.
func (n *Node) tryForm(ctx context.Context) error {
	ids := n.ids()
	group, forming := n.dir.identity().Group, n.dir.identity().Forming
	statuses, err := n.askAll(ctx)
	for id, s := range statuses {
		theirs := slices.Sorted(slices.Values(s.IDs))
		switch {
		case !s.Empty:
			return errors.New(joins(id, statuses))
		case !slices.Equal(ids, theirs):
			return fmt.Errorf("the configuration of %s names the members %s, ours %s: make yarn.resourcemanager.ha.rm-ids the same", id, strings.Join(theirs, ", "), strings.Join(ids, ", "))
		case s.Group != "" && group != "" && s.Group != group:
			return &foreignGroup{id, s.Group, group, n.cfg.Cluster}
		case s.Group != "":
			group = s.Group
		}
	}
	if err != nil {
		return err
	}
	if first := slices.Min(n.cfg.full()); first != n.cfg.ID {
		return fmt.Errorf("waiting for %s to form it", first)
	}
	former := ""
	if !forming {
		// The member that was about to form the others' group has lost its disk. If that comes back, its first entry must not be taken for ours.
		group, former = newGroup(), group
		if err := n.dir.change(func(me *identity) { me.Group, me.Forming, me.Replaces = group, true, former }); err != nil {
			return err
		}
	}
	n.cfg.Log.WithField("group", group).WithField("members", ids).Info("forming the group of ResourceManagers")
	err = n.await(n.raft.BootstrapCluster(n.cfg.record(n.dir.identity().serverID(), statuses)))
	if err != nil && !errors.Is(err, hraft.ErrCantBootstrap) {
		return fmt.Errorf("form the group: %w", err)
	}
	return n.dir.join(group, false)
}

// joins says how a member without state joins the group that another has the state of.
func joins(id string, statuses map[string]Status) string {
	said := id + " has the state of a group, and this member none: it joins when the group's leader, whose configuration must name it, takes it in"
	for _, s := range statuses {
		if s.Leader != "" {
			return said
		}
	}
	return said + "; none of the members that answer has a leader: start those that are down, or, if too many have lost their state folders for good, " +
		"let one that has the state lead without them (heddle rmadmin -forceLeader <id>, which first says what is lost)"
}

func (n *Node) ids() []string { return n.cfg.ids() }

func (c *Config) ids() []string {
	ids := make([]string, len(c.Members))
	for i, m := range c.Members {
		ids[i] = m.ID
	}
	slices.Sort(ids)
	return ids
}

// askAll asks all other configured members for their status. The error names those that don't answer.
func (n *Node) askAll(ctx context.Context) (map[string]Status, error) {
	return n.askEach(ctx, n.cfg.Members)
}

func (n *Node) askEach(ctx context.Context, members []Member) (map[string]Status, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	var mu sync.Mutex
	var errs []error
	all := map[string]Status{}
	var asking sync.WaitGroup
	for _, m := range members {
		if m.ID == n.cfg.ID {
			continue
		}
		asking.Go(func() {
			s, err := n.ask(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			all[m.ID] = s
		})
	}
	asking.Wait()
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return all, errors.Join(errs...)
}

// ask asks a member for its status.
func (n *Node) ask(ctx context.Context, m Member) (Status, error) {
	if n.stream == nil {
		return Status{}, fmt.Errorf("%s: a single ResourceManager has no connections to others", m.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	s, err := n.stream.ask(ctx, m)
	if err != nil {
		return s, fmt.Errorf("%s at %s doesn't report its status: %w", m.ID, m.Address, err)
	}
	return s, nil
}
