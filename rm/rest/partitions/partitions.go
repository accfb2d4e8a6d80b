// Package partitions shows the partitions of the cluster, the nodes of each label: what they have, what queues have of them, and the attributes of nodes.
package partitions

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"heddle/rm/ledger"
	"heddle/rm/ledger/nodeattributes"
	"heddle/rm/queue"
	"heddle/rm/rest/lists"
	"heddle/rm/rest/table"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// Bounds of an answer.
const (
	maxQueues     = 500 // of a partition
	maxAttributes = 1000
	maxHosts      = 20 // that are named of an attribute
)

// Service answers for a ResourceManager.
type Service struct {
	View *view.Viewer
	// Uses returns the queues with what they use.
	Uses  func() (*queue.Tree, map[string]*view.QueueUse)
	Types records.ResourceTypes
}

// Route adds the path below a path.
func (s *Service) Route(api *yarnrest.API, base string) {
	api.Handle(base+"/partitions", yarnrest.Methods{http.MethodGet: {Handle: s.answer, Gives: table.Formats, Large: true}})
}

type answer struct {
	Labelled   bool        `yarn:"labelled"`  // labels of nodes are in use (yarn.node-labels.enabled)
	Partitions []partition `yarn:"partition"` // the nodes without a label first
	Attributes []attribute `yarn:"attribute"`
	More       int         `yarn:"moreAttributes"` // that are left out
}

// partition is the nodes of a label, or those without one.
type partition struct {
	Name      string        `yarn:"name"` // "": nodes without a label
	Exclusive bool          `yarn:"exclusive"`
	Listed    int           `yarn:"nodes"`       // nodes that have the label, whether they are there or not, and hosts without a node that have it
	Active    int           `yarn:"activeNodes"` // nodes that work
	Total     lists.Amounts `yarn:"total"`       // of these
	Used      lists.Amounts `yarn:"used"`
	Percent   float64       `yarn:"usedPercent"`
	Queues    []share       `yarn:"queue"`
	More      int           `yarn:"moreQueues"` // that are left out
}

// share is the part of a partition that a queue has. Percentages are of the partition.
type share struct {
	Path       string        `yarn:"path"`
	Depth      int           `yarn:"depth"` // 0: root
	Leaf       bool          `yarn:"leaf"`
	Capacity   float64       `yarn:"guaranteedPercent"`
	Maximum    float64       `yarn:"maximumPercent"`
	UsedPart   float64       `yarn:"usedPercent"`
	Guaranteed lists.Amounts `yarn:"guaranteed"`
	Most       lists.Amounts `yarn:"maximum"`
	Used       lists.Amounts `yarn:"used"`
	Pending    lists.Amounts `yarn:"pending"`
}

// attribute is an attribute with one of its values.
type attribute struct {
	Prefix string   `yarn:"prefix"`
	Name   string   `yarn:"name"`
	Value  string   `yarn:"value"`
	Hosts  int      `yarn:"hosts"`
	Some   []string `yarn:"host"` // the first of them
}

func (s *Service) answer(c *yarnrest.Call) (yarnrest.Reply, error) {
	if err := table.SetFormat(c); err != nil {
		return yarnrest.Reply{}, yarnrest.BadRequest("%v", err)
	}
	tree, uses := s.Uses()
	out := answer{Labelled: s.View.Labelled}
	parts := view.PartitionsOf(s.View, tree)
	used := s.used()
	for _, l := range view.LabelsOf(s.View).All() {
		p := partition{
			Name: l.Name, Exclusive: l.Exclusive, Listed: listed(l.Nodes), Active: l.Active, Total: s.amount(l.Size), Used: s.amount(used[l.Name]),
			Percent: 100 * tree.Share(used[l.Name], l.Size),
		}
		if l.Name == "" {
			p.Listed = l.Active
		}
		if tree.Kind == queue.Capacity {
			p.Queues, p.More = s.shares(tree, parts, uses, l.Name, l.Size)
		}
		out.Partitions = append(out.Partitions, p)
	}
	if c.Format == yarnrest.CSV {
		return s.csv(&out), nil
	}
	out.Attributes, out.More = s.attributes()
	r := yarnrest.OK("partitions", yarnrest.Natural, out)
	r.Versioned = true
	return r, nil
}

// csv is a table with a row for each partition, which has no queue, and one for each of its queues.
func (s *Service) csv(a *answer) yarnrest.Reply {
	t := table.New("label", "exclusive", "nodes", "activeNodes", "queue", "usedPercent", "guaranteedPercent", "maximumPercent", "usedMB", "usedVCores", "guaranteedMB", "guaranteedVCores", "maximumMB", "maximumVCores", "pendingMB", "pendingVCores")
	for _, p := range a.Partitions {
		queues := append([]share{{UsedPart: p.Percent, Capacity: 100, Maximum: 100, Used: p.Used, Guaranteed: p.Total, Most: p.Total}}, p.Queues...)
		for _, q := range queues {
			row := []string{p.Name, strconv.FormatBool(p.Exclusive), strconv.Itoa(p.Listed), strconv.Itoa(p.Active), q.Path}
			for _, percent := range []float64{q.UsedPart, q.Capacity, q.Maximum} {
				row = append(row, strconv.FormatFloat(percent, 'f', 3, 64))
			}
			for _, x := range []lists.Amounts{q.Used, q.Guaranteed, q.Most, q.Pending} {
				row = append(row, strconv.FormatInt(x.MemoryMB, 10), strconv.FormatInt(x.VCores, 10))
			}
			t.Add(row...)
		}
	}
	return t.Reply()
}

func (s *Service) amount(r records.Resource) lists.Amounts { return lists.Amount(s.Types, r) }

// listed counts the nodes, and the hosts of which no node is known, that have a label.
func listed(nodes []records.NodeID) (n int) {
	with := map[string]bool{}
	for _, id := range nodes {
		if id.Port != 0 {
			with[id.Host] = true
			n++
		}
	}
	for _, id := range nodes {
		if id.Port == 0 && !with[id.Host] {
			n++
		}
	}
	return n
}

// used returns what containers hold of the nodes of each label.
func (s *Service) used() map[string]records.Resource {
	sum := map[string]records.Resource{}
	labels := view.LabelsOf(s.View)
	s.View.Source.Read(func(st *ledger.State) {
		for id, n := range st.Nodes {
			if n.Usable() {
				l := labels.Of(st, id)
				sum[l] = sum[l].Add(n.Used)
			}
		}
	})
	return sum
}

// shares returns what queues have of a partition, each behind the one above it: those with a share there or something in it.
func (s *Service) shares(tree *queue.Tree, parts *view.Partitions, uses map[string]*view.QueueUse, label string, size records.Resource) (all []share, more int) {
	for _, q := range tree.Queues() {
		u := uses[q.Path]
		if u == nil {
			continue
		}
		var of queue.Share
		var use view.Amount
		if label == "" {
			of, use = u.Share, u.Amount
		} else {
			_, of, _ = parts.Of(q, label)
			if l := u.Labelled[label]; l != nil {
				use = l.Amount
			}
			if !slices.Contains(tree.LabelsOf(q), label) && use.Used.IsZero() && use.Pending.IsZero() {
				continue
			}
		}
		if len(all) == maxQueues {
			more++
			continue
		}
		all = append(all, share{
			Path: q.Path, Depth: depth(q), Leaf: q.Leaf(), Capacity: 100 * float64(of.AbsoluteCapacity), Maximum: 100 * float64(of.AbsoluteMaximum), UsedPart: 100 * tree.Share(use.Used, size),
			Guaranteed: s.amount(of.Min), Most: s.amount(of.Max), Used: s.amount(use.Used), Pending: s.amount(use.Pending),
		})
	}
	slices.SortStableFunc(all, func(a, b share) int { return cmp.Compare(a.Path, b.Path) })
	return all, more
}

func depth(q *queue.Queue) (n int) {
	for q.Parent != nil {
		q, n = q.Parent, n+1
	}
	return n
}

// attributes counts the hosts of each value of each attribute.
func (s *Service) attributes() (all []attribute, more int) {
	at := map[nodeattributes.Attribute]int{}
	s.View.Source.Read(func(st *ledger.State) {
		for _, host := range st.Attributes.Hosts() {
			for _, a := range st.Attributes.All(host) {
				i, known := at[a]
				if !known {
					i = len(all)
					at[a] = i
					all = append(all, attribute{Prefix: a.Prefix, Name: a.Name, Value: a.Value})
				}
				if all[i].Hosts++; len(all[i].Some) < maxHosts {
					all[i].Some = append(all[i].Some, host)
				}
			}
		}
	})
	slices.SortFunc(all, func(a, b attribute) int {
		return cmp.Or(cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
	more = max(0, len(all)-maxAttributes)
	return all[:len(all)-more], more
}
