package rest

import (
	"strconv"
	"strings"

	"heddle/rm/leader/report"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// pending shows what an application waits for, which containers it is about to lose, and why.
type pending struct {
	App     string   `yarn:"applicationId"`
	State   string   `yarn:"state"`
	Queue   string   `yarn:"queue"`
	Summary string   `yarn:"summary"`
	Reasons []reason `yarn:"reason"`
	Losses  []loss   `yarn:"loss"`
}

// loss is a container that is about to be preempted.
type loss struct {
	Container string `yarn:"containerId"`
	Until     int64  `yarn:"until,omitempty"` // ms since 1970; missing: when its resources are needed
	Reason    string `yarn:"reason"`
}

// reason says why containers are still pending: the limit that holds them back, its numbers, and what would free it.
type reason struct {
	Priority  int32         `yarn:"priority"`
	RequestID int64         `yarn:"allocationRequestId"`
	Place     string        `yarn:"resourceName"`
	Count     int32         `yarn:"numContainers"`
	Label     string        `yarn:"nodeLabelExpression,omitempty"`
	Asked     resourceInfo  `yarn:"capability"`
	Limit     string        `yarn:"limit"`
	Text      string        `yarn:"reason"`
	Free      string        `yarn:"remedy"`
	Queue     string        `yarn:"queue,omitempty"`
	User      string        `yarn:"user,omitempty"`
	Used      *resourceInfo `yarn:"used"`  // of the limit
	Bound     *resourceInfo `yarn:"bound"` // the limit itself
	Short     resourceInfo  `yarn:"short"`
	Node      string        `yarn:"node,omitempty"`
	Eligible  int           `yarn:"eligibleNodes"`
	Open      int           `yarn:"openNodes"`
}

func (s *server) reason(h *report.Hold) reason {
	out := reason{
		Priority: h.Ask.Priority, RequestID: h.Ask.AllocationRequestID, Place: h.Ask.Name, Count: h.Ask.Count, Label: h.Ask.Label,
		Asked: s.resource(h.Ask.Capability), Limit: string(h.Limit), Text: h.Text, Free: h.Free, Queue: h.Queue, User: h.User,
		Short: s.resource(h.Short), Eligible: h.Eligible, Open: h.Open,
	}
	if !h.Bound.IsZero() || !h.Used.IsZero() {
		used, bound := s.resource(h.Used), s.resource(h.Bound)
		out.Used, out.Bound = &used, &bound
	}
	if h.At != (records.NodeID{}) {
		out.Node = h.At.String()
	}
	return out
}

func (s *server) pending(c *yarnrest.Call) (yarnrest.Reply, error) {
	a, err := s.findVisible(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	holds := s.View.Explain(&a)
	out := pending{App: a.ID.String(), State: stateName(a.State), Queue: a.Queue, Summary: s.View.Summary(&a, holds)}
	for i := range holds {
		out.Reasons = append(out.Reasons, s.reason(&holds[i]))
	}
	for _, l := range s.View.Losses(&a) {
		out.Losses = append(out.Losses, loss{Container: l.Container.String(), Until: l.Until, Reason: l.Reason})
	}
	return yarnrest.OK("pending", yarnrest.Natural, out), nil
}

// whatIf says whether a container would start now.
type whatIf struct {
	Queue  string `yarn:"queue"`
	User   string `yarn:"user"`
	Starts bool   `yarn:"starts"`
	Reason reason `yarn:"reason"`
}

// whatIf says whether a container would start now if a user asked for it. The parameters are user (default: the caller), resource
// (memory-mb=1024,vcores=1) and am (true: as the ApplicationMaster of a new application).
func (s *server) whatIf(c *yarnrest.Call) (yarnrest.Reply, error) {
	l, err := s.leader()
	if err != nil {
		return yarnrest.Reply{}, err
	}
	q := c.Query()
	name, user := c.Var("queue"), q.Get("user")
	if user == "" {
		user = caller(c)
	}
	size, err := s.parseAmount("resource", q.Get("resource"), s.MinAllocation)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	master := false
	if v := q.Get("am"); v != "" {
		if master, err = strconv.ParseBool(v); err != nil {
			return yarnrest.Reply{}, yarnrest.BadRequest("am is %q: it must be true or false", v)
		}
	}
	h, err := l.WhatIf(name, user, size, master)
	if err != nil {
		return yarnrest.Reply{}, refusalReply(err)
	}
	return yarnrest.OK("whatIf", yarnrest.Natural, whatIf{name, user, h.Limit == "", s.reason(&h)}), nil
}

// parseAmount reads a parameter, type=n,…; types that aren't named stay as they are in size.
func (s *server) parseAmount(parameter, text string, size records.Resource) (records.Resource, error) {
	for part := range strings.SplitSeq(text, ",") {
		name, n, ok := strings.Cut(strings.TrimSpace(part), "=")
		i, known := s.Types.Index(strings.TrimSpace(name))
		value, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		switch {
		case text == "":
			return size, yarnrest.BadRequest("the parameter %s is missing: say how large the container is, as in %s=memory-mb=1024,vcores=1", parameter, parameter)
		case !ok || err != nil || value < 0:
			return size, yarnrest.BadRequest("%s has %q: write type=amount, such as memory-mb=1024,vcores=1", parameter, part)
		case !known:
			return size, yarnrest.BadRequest("the cluster has no resource type %q, but %s", name, s.Types)
		}
		size[i] = value
	}
	return size, nil
}
