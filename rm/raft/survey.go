package raft

import (
	"context"
	"sync"
	"time"
)

// surveyAge is for how long the answers of a survey count as present: pages and metrics of many readers share them.
const surveyAge = time.Second

// Health is what a member answered when it was asked last.
type Health struct {
	// Reachable says that the member answered within a second. The other fields, apart from Problem, are its answer.
	Reachable bool
	// Behind is the number of entries that its log lacks. It is compared with the leader's log, or without a reachable leader
	// with the longest log among the members that answer.
	Behind uint64
	// Version is its release; "" for releases that don't say it.
	Version string
	// Problem is why the member couldn't be asked, or has no part in the group although it is reachable, in words for an administrator; else "".
	Problem string
}

// surveys shares the last survey among its readers.
type surveys struct {
	mu   sync.Mutex // held while members are asked, so that others wait for the same answers
	at   time.Time
	last map[string]Health
}

// Survey returns the members on the group's record, and how each of them is. A member without a group returns those of its configuration. It asks them, at most once a second, and takes
// at most a second, however many don't answer. Every member may call it.
func (n *Node) Survey(ctx context.Context) ([]MemberInfo, error) {
	all, err := n.Members()
	if err != nil {
		return nil, err
	}
	waits := len(all) == 0
	if waits {
		for _, m := range n.cfg.Members {
			all = append(all, MemberInfo{Member: m, Self: m.ID == n.cfg.ID})
		}
	}
	health := n.surveys.of(ctx, n, all)
	for i := range all {
		all[i].Health = health[all[i].ID]
		if why := n.waiting.Load(); waits && all[i].Self && why != nil {
			all[i].Problem = all[i].ID + " waits: " + *why
		}
	}
	return all, nil
}

// of returns how members are, and asks them unless all were asked within surveyAge.
func (s *surveys) of(ctx context.Context, n *Node, members []MemberInfo) map[string]Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := time.Since(s.at) < surveyAge
	for _, m := range members {
		_, asked := s.last[m.ID]
		fresh = fresh && asked
	}
	if fresh {
		return s.last
	}
	last := examine(ctx, n, members)
	if ctx.Err() == nil { // otherwise the caller left, and members look unreachable that aren't
		s.at, s.last = time.Now(), last
	}
	return last
}

// examine asks members for their status.
func examine(ctx context.Context, n *Node, members []MemberInfo) map[string]Health {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	statuses := make([]Status, len(members))
	errs := make([]error, len(members))
	var asking sync.WaitGroup
	for i, m := range members {
		if m.Self {
			statuses[i] = n.status()
			continue
		}
		asking.Go(func() { statuses[i], errs[i] = n.ask(ctx, m.Member) })
	}
	asking.Wait()
	return judge(members, statuses, errs)
}

// judge says how members are, by what each of them answered.
func judge(members []MemberInfo, statuses []Status, errs []error) map[string]Health {
	whole := fullLog(members, statuses, errs)
	out := make(map[string]Health, len(members))
	for i, m := range members {
		if errs[i] != nil {
			out[m.ID] = Health{Problem: errs[i].Error()}
			continue
		}
		h := Health{Reachable: true, Version: statuses[i].Version}
		if last := statuses[i].Last; last < whole {
			h.Behind = whole - last
		}
		if m.Voter && statuses[i].Incarnation != m.Incarnation {
			h.Problem = m.ID + " has a new state folder, and no vote before a leader has taken it in"
		}
		out[m.ID] = h
	}
	return out
}

// fullLog returns the length of the log with which others are compared: the leader's, or the longest one.
func fullLog(members []MemberInfo, statuses []Status, errs []error) (last uint64) {
	for i, m := range members {
		if errs[i] != nil {
			continue
		}
		if m.Leader {
			return statuses[i].Last
		}
		last = max(last, statuses[i].Last)
	}
	return last
}
