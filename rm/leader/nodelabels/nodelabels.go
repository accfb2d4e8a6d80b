// Package nodelabels deals with the labels of nodes for a leader: administrators add and remove them, and give them to nodes, or nodes report
// their own. It puts changes on record, and tells the scheduler. Refusals are in the words of Hadoop's CommonNodeLabelsManager,
// RMNodeLabelsManager and AdminService.
package nodelabels

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/loop"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	store "heddle/rm/ledger/nodelabels"
	"heddle/rm/queue"
	"heddle/rm/queue/label"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// Sources of nodes' labels.
const (
	Centralized = "centralized"           // administrators
	Distributed = "distributed"           // nodes
	Delegated   = "delegated-centralized" // a class of the site (rm/labels/delegated)
)

// Settings are what the configuration says.
type Settings struct {
	Enabled bool
	By      string // Centralized, Distributed or Delegated
}

// Scheduler is what this package tells the driver (eventlog.Recorder).
type Scheduler interface {
	// Apply carries out an event (eventlog.Recorder.Apply).
	Apply(*eventlog.Event) bool
	LabelOf(h scheduler.NodeHandle) string
}

// Nodes are those that the scheduler has.
type Nodes interface {
	Nodes() iter.Seq[records.NodeID]
	Node(id records.NodeID) (h scheduler.NodeHandle, ok bool)
}

// Config is what Labels work with.
type Config struct {
	Settings
	Scheduler Scheduler
	Nodes     Nodes
	// Queues returns the tree of queues of now.
	Queues func() *queue.Tree
	// Import reads what another ResourceManager has stored; nil: there is nothing to read.
	Import func() (*ledgerpb.NodeLabelsChanged, error)
	Log    *logrus.Entry
}

// Labels are those of a leadership. Add, Remove and Replace are operations of their own, and safe for concurrent use. The others are for
// operations of the loop.
type Labels struct {
	Config
	loop loop.Operations
	work *ledger.State
}

// New makes the Labels of a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Labels {
	return &Labels{Config: cfg, loop: loop, work: work}
}

// Begin tells the scheduler which labels there are. Nodes must not have been entered yet.
func (l *Labels) Begin() {
	if !l.Enabled {
		return
	}
	for _, name := range l.work.Labels.Names() {
		l.setExclusive(name, l.work.Labels.Exclusive[name])
	}
}

// TakeOver puts on record what another ResourceManager has stored, if that was not done yet.
func (l *Labels) TakeOver() {
	if !l.Enabled || l.Import == nil || l.work.Labels.Imported || l.work.Version < ledger.LabelsVersion {
		return
	}
	c, err := l.Import()
	if err != nil {
		l.Log.WithError(err).Error("the labels of nodes that YARN's ResourceManager has stored can't be taken over")
		return
	}
	if c == nil || len(l.work.Labels.Exclusive) > 0 {
		c = &ledgerpb.NodeLabelsChanged{}
	}
	c.Imported = true
	if err := l.try(c); err != nil {
		l.Log.WithError(err).Error("the labels of nodes that YARN's ResourceManager has stored can't be taken over")
		c = &ledgerpb.NodeLabelsChanged{Imported: true}
	}
	l.enter(c)
	l.Log.WithField("labels", len(c.GetAdded())).WithField("nodes", len(c.GetNodes())).Info("labels of nodes were taken over from YARN's store")
}

// Of returns the label of a node, empty if it has none.
func (l *Labels) Of(id records.NodeID) string {
	if !l.Enabled {
		return ""
	}
	return l.work.Labels.Of(id)
}

// Known reports whether there is a label.
func (l *Labels) Known(name string) bool {
	_, known := l.work.Labels.Exclusive[name]
	return known && l.Enabled
}

const off = "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled"

func refuse(format string, args ...any) error {
	return refusal.New(refusal.Refused, "java.io.IOException: "+format, args...)
}

// Label is a label with whether requests without a label get nothing of its nodes.
type Label struct {
	Name      string
	Exclusive bool
}

func (l Label) String() string { return fmt.Sprintf("<%s:exclusivity=%t>", l.Name, l.Exclusive) }

// Add adds labels, all or none of them.
func (l *Labels) Add(labels []Label) error {
	return l.loop.Do(func() error {
		if !l.Enabled {
			return refuse(off)
		}
		c := &ledgerpb.NodeLabelsChanged{}
		var other []string
		for _, x := range labels {
			if x.Name = strings.TrimSpace(x.Name); label.Check(x.Name) != nil {
				return refuse("%v", label.Check(x.Name))
			}
			if is, known := l.work.Labels.Exclusive[x.Name]; known && is != x.Exclusive {
				other = append(other, x.String())
			} else if same := func(n *ledgerpb.NodeLabel) bool { return n.Name == x.Name }; !known && !slices.ContainsFunc(c.Added, same) { // the first of a name counts
				c.Added = append(c.Added, &ledgerpb.NodeLabel{Name: x.Name, Exclusive: x.Exclusive})
			}
		}
		if len(other) > 0 {
			return refuse("Exclusivity cannot be modified for an existing label with : %s", strings.Join(other, ","))
		}
		return l.change(c)
	})
}

// Remove removes labels, all or none of them. Those that a queue names stay.
func (l *Labels) Remove(names []string) error {
	return l.loop.Do(func() error {
		c := &ledgerpb.NodeLabelsChanged{}
		for _, name := range names {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			for _, q := range l.Queues().Queues() {
				if slices.Contains(q.Labels, name) {
					return refuse("Cannot remove label=%s, because queue=%s is using this label. Please remove label on queue before remove the label", name, q.Path)
				}
			}
		}
		if !l.Enabled {
			return refuse(off)
		}
		for _, name := range names {
			if name = strings.TrimSpace(name); name == "" {
				return refuse("Label to be removed is null or empty")
			}
			if !l.Known(name) {
				return refuse("Node label=%s to be removed doesn't existed in cluster node labels collection.", name)
			}
			c.Removed = append(c.Removed, name)
		}
		return l.change(c)
	})
}

// Mapping gives labels to a node, or with port 0 to all nodes of a host. A node can have one; none takes the label away.
type Mapping struct {
	Node   records.NodeID
	Labels []string
}

// Replace gives labels to nodes, to all or none of them. knownOnly refuses nodes that have not registered.
func (l *Labels) Replace(mappings []Mapping, knownOnly bool) error {
	return l.loop.Do(func() error {
		if l.By != Centralized {
			return refuse(NotCentral)
		}
		if knownOnly {
			if err := l.unknown(mappings); err != nil {
				return err
			}
		}
		return l.replace(mappings)
	})
}

// Delegated gives labels to nodes as the site's class says, to all or none of them. Those that a node has already aren't put on record again.
func (l *Labels) Delegated(mappings []Mapping) error {
	return l.loop.Do(func() error {
		return l.replace(slices.DeleteFunc(mappings, func(m Mapping) bool { return l.has(m.Node, m.Labels) }))
	})
}

// has reports whether a node has just these labels.
func (l *Labels) has(id records.NodeID, labels []string) bool {
	return len(labels) == 0 && l.Of(id) == "" || len(labels) == 1 && labels[0] != "" && l.Of(id) == labels[0]
}

// NotCentral refuses administrators' labels where others say which nodes have.
const NotCentral = "Error when invoke method=replaceLabelsOnNode because centralized node label configuration is not enabled."

// unknown refuses nodes that have not registered.
func (l *Labels) unknown(mappings []Mapping) error {
	var unknown []string
	for _, m := range mappings {
		known := l.work.Nodes[m.Node] != nil
		for id := range l.work.Nodes {
			known = known || m.Node.Port == 0 && id.Host == m.Node.Host
		}
		if !known {
			unknown = append(unknown, m.Node.String())
		}
	}
	if len(unknown) > 0 {
		return refuse("Failed to replace labels as there are unknown nodes:[%s]", strings.Join(unknown, ", "))
	}
	return nil
}

func (l *Labels) replace(mappings []Mapping) error {
	if !l.Enabled {
		return refuse(off)
	}
	c := &ledgerpb.NodeLabelsChanged{}
	for _, m := range mappings {
		var labels []string
		for _, name := range m.Labels {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(labels, name) {
				labels = append(labels, name)
			}
		}
		n := &ledgerpb.LabelledNode{Node: ledger.NodeRef(m.Node)}
		switch {
		case len(labels) > 1:
			return refuse("%d labels specified on host=%s, please note that we do not support specifying multiple labels on a single host for now.",
				len(labels), m.Node.Host)
		case len(labels) == 1 && !l.Known(labels[0]):
			return refuse("Not all labels being replaced contained by known label collections, please check, new labels=[%s]", labels[0])
		case len(labels) == 1:
			n.Label = labels[0]
		}
		c.Nodes = append(c.Nodes, n)
	}
	slices.SortStableFunc(c.Nodes, func(a, b *ledgerpb.LabelledNode) int { // hosts first, so that what is said of a node counts
		return cmp.Compare(min(a.GetNode().GetPort(), 1), min(b.GetNode().GetPort(), 1))
	})
	return l.change(c)
}

// Heard takes the labels that a node says it has, if nodes are to say so. It reports whether they count, and if not, why.
func (l *Labels) Heard(id records.NodeID, labels *[]string) (accepted bool, why string) {
	if labels == nil || l.By != Distributed {
		return false, ""
	}
	if err := l.report(id, *labels); err != nil {
		return false, err.Error()
	}
	return true, ""
}

func (l *Labels) report(id records.NodeID, labels []string) error {
	if l.has(id, labels) {
		return nil
	}
	err := l.replace([]Mapping{{Node: id, Labels: labels}})
	if err == nil {
		return nil
	}
	return refusal.New(refusal.Refused, "Node Labels {%s} reported from NM with ID %v was rejected from RM with exception message as : %s",
		strings.Join(labels, ","), id, strings.TrimPrefix(err.Error(), "java.io.IOException: "))
}

// change puts a change on record.
func (l *Labels) change(c *ledgerpb.NodeLabelsChanged) error {
	if len(c.GetAdded())+len(c.GetRemoved())+len(c.GetNodes()) == 0 {
		return nil
	}
	if l.work.Version < ledger.LabelsVersion {
		return refuse("labels of nodes need version %d of the replicated ledger, and this cluster has version %d: upgrade all ResourceManagers, and try again",
			ledger.LabelsVersion, l.work.Version)
	}
	if err := l.try(c); err != nil {
		return refuse("%v", err)
	}
	l.enter(c)
	return nil
}

// try says why the ledger would refuse a change.
func (l *Labels) try(c *ledgerpb.NodeLabelsChanged) error {
	for _, n := range c.GetNodes() {
		if host := n.GetNode().GetHost(); host == "" || len(host) > maxHost {
			return errors.New("node name cannot be empty, and has at most 1024 bytes")
		}
	}
	next := store.Labels{
		Exclusive: maps.Clone(l.work.Labels.Exclusive), Nodes: maps.Clone(l.work.Labels.Nodes), Imported: l.work.Labels.Imported,
	}
	return next.Apply(c)
}

const maxHost = 1 << 10

// enter makes a change, and moves nodes to their new partitions.
func (l *Labels) enter(c *ledgerpb.NodeLabelsChanged) {
	l.loop.Enter(&ledgerpb.Command{NodeLabelsChanged: c})
	for _, a := range c.GetAdded() {
		l.setExclusive(a.GetName(), a.GetExclusive())
	}
	type node struct {
		id records.NodeID
		h  scheduler.NodeHandle
	}
	var moved []node
	for id := range l.Nodes.Nodes() {
		if h, _ := l.Nodes.Node(id); l.Of(id) != l.Scheduler.LabelOf(h) {
			moved = append(moved, node{id, h})
		}
	}
	slices.SortFunc(moved, func(a, b node) int { return a.id.Compare(b.id) })
	for _, n := range moved {
		l.Scheduler.Apply(&eventlog.Event{Op: eventlog.SetLabel, Node: n.h, Label: l.Of(n.id)})
	}
	if len(c.GetAdded())+len(c.GetRemoved()) > 0 || len(moved) > 0 {
		l.Log.WithField("added", len(c.GetAdded())).WithField("removed", c.GetRemoved()).WithField("moved", len(moved)).Info("labels of nodes are changed")
	}
}

func (l *Labels) setExclusive(label string, exclusive bool) {
	l.Scheduler.Apply(&eventlog.Event{Op: eventlog.SetExclusive, Label: label, Open: exclusive})
}
