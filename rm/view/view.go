package view

import (
	"slices"
	"time"

	"heddle/rm/labels"
	"heddle/rm/leader"
	"heddle/rm/leader/division"
	"heddle/rm/leader/report"
	"heddle/rm/ledger"
	"heddle/rm/ledger/nodeattributes"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Source provides the data of views.
type Source interface {
	// Read calls f with the committed ledger, which f must neither change nor keep.
	Read(f func(*ledger.State))
	// Leader returns the leader if this member leads, else nil.
	Leader() *leader.Leader
}

// Viewer renders views.
type Viewer struct {
	Source Source
	Types  records.ResourceTypes
	Now    func() time.Time
	// Web is the address of the web pages, host:port; Proxy is that of the proxy to applications' own pages.
	Web, Proxy string
	// Scheme is that of all daemons' web ports, http or https; "" is http.
	Scheme string
	// KeepTagCase leaves the tags of applications as they were submitted; else they are in lower case.
	KeepTagCase bool
	// Labelled says that nodes have the labels that are on record.
	Labelled bool
	// NoLogs says that logs of ended containers stay on their nodes (yarn.log-aggregation-enable is false).
	NoLogs bool
}

// PageURL returns the address of an application's page.
func (v *Viewer) PageURL(id records.ApplicationID) string {
	return v.URL(v.Web) + "/cluster/app/" + id.String()
}

// ProxyURL returns the address of an application's own pages, through the proxy.
func (v *Viewer) ProxyURL(id records.ApplicationID) string {
	return v.URL(v.Proxy) + "/proxy/" + id.String() + "/"
}

// URL is the address of a daemon's web port, host:port, with its scheme.
func (v *Viewer) URL(address string) string {
	if v.Scheme == "https" {
		return "https://" + address
	}
	return "http://" + address
}

// LogsURL is where a node, by the URL of its web port, shows the logs of a container.
func LogsURL(node string, id records.ContainerID, user string) string {
	return node + "/node/containerlogs/" + id.String() + "/" + user
}

// Attempt is an attempt as views show it.
type Attempt struct {
	ledger.Attempt
	User string
	// TrackingURL is where users are sent, OriginalTrackingURL what the ApplicationMaster gave.
	TrackingURL, OriginalTrackingURL string
}

// Attempts returns an application's attempts in order; ok is false if the application doesn't exist.
func (v *Viewer) Attempts(id records.ApplicationID) (list []Attempt, ok bool) {
	v.Source.Read(func(s *ledger.State) {
		a := s.Apps[id]
		if ok = a != nil; !ok {
			return
		}
		for _, t := range a.Attempts {
			list = append(list, v.attempt(a, t))
		}
	})
	return list, ok
}

func (v *Viewer) attempt(a *ledger.Application, t *ledger.Attempt) Attempt {
	out := Attempt{Attempt: *t, User: a.User}
	out.Host, out.RPCPort = address(t)
	out.Diagnostics = diagnostics(t)
	out.TrackingURL, out.OriginalTrackingURL = v.TrackingURLs(a, t)
	return out
}

// Container is a container as views show it.
type Container struct {
	ledger.Container
	User            string
	NodeHTTPAddress string // host:port

	free    records.Resource // on its node
	offered records.Resource // by its node, to all containers
}

// Containers returns an attempt's live containers, by id; ok is false if there is no such attempt.
func (v *Viewer) Containers(id records.AttemptID) (list []Container, ok bool) {
	v.Source.Read(func(s *ledger.State) {
		a := s.Apps[id.App]
		if ok = a != nil && a.Attempt(id.Attempt) != nil; !ok {
			return
		}
		current := a.Current().ID == id
		for c := range a.Containers.All() {
			// containers kept across attempts belong to the current one
			if c.Live() && (c.ID.Attempt == id || current) {
				list = append(list, container(s, a, c))
			}
		}
	})
	slices.SortFunc(list, func(a, b Container) int { return a.ID.Compare(b.ID) })
	return list, ok
}

// Container returns a live container; ok is false if it doesn't exist.
func (v *Viewer) Container(id records.ContainerID) (c Container, ok bool) {
	v.Source.Read(func(s *ledger.State) {
		if found := s.Container(id); found != nil && found.Live() {
			c, ok = container(s, s.Apps[id.Attempt.App], found), true
		}
	})
	return c, ok
}

func container(s *ledger.State, a *ledger.Application, c *ledger.Container) Container {
	out := Container{Container: *c, User: a.User}
	if n := s.Nodes[c.Node]; n != nil {
		out.NodeHTTPAddress = n.HTTPAddress()
		out.offered = n.Capability
		out.free = n.Capability.Sub(n.Used).Max(records.Resource{})
	}
	return out
}

// Node is a node as views show it.
type Node struct {
	ledger.Node
	Count  int // live containers
	Status leader.NodeStatus
	Known  bool // Status is the node's last report

	Release string // of Heddle; "" for a stock node, and before it has registered with the leader

	Label      string // empty: none
	Attributes []nodeattributes.Attribute

	Place   division.Place
	Divided bool // Place is known: some tasks are long
}

// Nodes returns all nodes in any of the states, by id; no states means all nodes.
func (v *Viewer) Nodes(states ...pb.NodeState) []Node {
	var list []Node
	v.Source.Read(func(s *ledger.State) {
		for _, n := range s.Nodes {
			if len(states) == 0 || slices.Contains(states, n.State) {
				list = append(list, node(v, s, n))
			}
		}
	})
	slices.SortFunc(list, func(a, b Node) int { return a.ID.Compare(b.ID) })
	if l := v.Source.Leader(); l != nil {
		for i := range list {
			list[i].ask(l)
		}
	}
	return list
}

// Node returns a node; ok is false if it doesn't exist.
func (v *Viewer) Node(id records.NodeID) (out Node, ok bool) {
	v.Source.Read(func(s *ledger.State) {
		if n := s.Nodes[id]; n != nil {
			out, ok = node(v, s, n), true
		}
	})
	if l := v.Source.Leader(); ok && l != nil {
		out.ask(l)
	}
	return out, ok
}

// ask fills in what only the leader knows.
func (n *Node) ask(l *leader.Leader) {
	n.Status, n.Release, n.Known = l.Node(n.ID)
	n.Place, n.Divided = l.Place(n.ID)
}

// LabelsOf shows the labels of nodes.
func LabelsOf(v *Viewer) labels.Viewer { return labels.Viewer{Read: v.Source.Read, On: v.Labelled} }

func node(v *Viewer, s *ledger.State, n *ledger.Node) Node {
	out := Node{Node: *n, Count: len(n.Containers), Label: LabelsOf(v).Of(s, n.ID), Attributes: s.Attributes.All(n.ID.Host)}
	out.Containers = nil
	return out
}

// Metrics are sums over the cluster.
type Metrics struct {
	Submitted, Pending, Running     int64
	Completed, Failed, Killed       int64
	Total, Used, Available, Waiting records.Resource
	Containers, WaitingContainers   int64
	// All is everything; the rest is of nodes without a label where there are nodes with one.
	All           Sums
	Reserved      report.Reserved
	Assigned      int64 // containers that were granted within the last second
	Nodes         map[pb.NodeState]int
	UtilizedMB    int64
	UtilizedCores float32
}

// Sums are those over all nodes.
type Sums struct {
	Total, Used, Reserved records.Resource
	Containers            int64
}

// withoutLabels takes off what applications wait for among nodes with labels, and what they have reserved there.
func (m *Metrics) withoutLabels(l *leader.Leader) {
	byLabel, err := l.QueuesByLabel()
	if err != nil {
		return
	}
	for _, queues := range byLabel {
		root := &queues[0]
		m.Waiting, m.Reserved.Resource = m.Waiting.Sub(root.Pending), m.Reserved.Resource.Sub(root.Reserved)
		m.WaitingContainers -= root.Waits
	}
}

// Metrics returns the sums over the cluster.
func (v *Viewer) Metrics() Metrics {
	m := Metrics{Nodes: map[pb.NodeState]int{}}
	now := v.Now().UnixMilli()
	var usable []records.NodeID
	v.Source.Read(func(s *ledger.State) {
		usable = make([]records.NodeID, 0, len(s.Nodes))
		m.Submitted, m.Assigned = s.Submitted, s.Granted.Until(now)
		m.Completed, m.Failed, m.Killed = s.Ended[ledger.AppFinished], s.Ended[ledger.AppFailed], s.Ended[ledger.AppKilled]
		for _, n := range s.Nodes {
			m.Nodes[n.State]++
			if !n.Usable() {
				continue
			}
			usable = append(usable, n.ID)
			m.All.Total, m.All.Used, m.All.Containers = m.All.Total.Add(n.Capability), m.All.Used.Add(n.Used), m.All.Containers+int64(len(n.Containers))
			if LabelsOf(v).Of(s, n.ID) == "" {
				m.Total = m.Total.Add(n.Capability)
				m.Used = m.Used.Add(n.Used)
				m.Containers += int64(len(n.Containers))
			}
		}
	})
	v.eachApp(func(a *ledger.Application) bool {
		switch a.State {
		case ledger.AppAccepted:
			// as in YARN, an application runs from when its ApplicationMaster has a container
			if t := a.Current(); t != nil && t.AMContainer != (records.ContainerID{}) {
				m.Running++
			} else {
				m.Pending++
			}
		case ledger.AppRunning, ledger.AppFinishing:
			m.Running++
		}
		return true
	})
	m.Available = m.Total.Sub(m.Used)
	if l := v.Source.Leader(); l != nil {
		totals := l.Totals()
		m.Waiting, m.WaitingContainers = totals.Pending, totals.Waiting
		for _, r := range l.Reserved() {
			m.Reserved.Resource = m.Reserved.Resource.Add(r.Resource)
			m.Reserved.Containers += r.Containers
		}
		m.All.Reserved = m.Reserved.Resource
		if v.Labelled {
			m.withoutLabels(l)
		}
	}
	m.measured(v.Source.Leader(), usable)
	return m
}

// measured adds what nodes measure of their machines.
func (m *Metrics) measured(l *leader.Leader, nodes []records.NodeID) {
	if l == nil {
		return
	}
	for _, id := range nodes {
		if status, _, known := l.Node(id); known {
			m.UtilizedMB += int64(status.Node.GetPmem())
			m.UtilizedCores += max(0, status.Node.GetCpu()) // -1 until a node has measured
		}
	}
}

// Cluster is the cluster's own facts.
type Cluster struct {
	Timestamp int64
	Epoch     int64
	Leader    string
}

// Cluster returns the cluster's own facts.
func (v *Viewer) Cluster() (c Cluster) {
	v.Source.Read(func(s *ledger.State) {
		c = Cluster{Timestamp: s.Timestamp, Epoch: s.Epoch(), Leader: s.Leader}
	})
	return c
}

// everything returns the sum of all usable nodes' resources.
func everything(v *Viewer) (sum records.Resource) {
	v.Source.Read(func(s *ledger.State) { sum = s.Capacity() })
	return sum
}

// Total returns the sum of the resources of usable nodes without a label.
func (v *Viewer) Total() records.Resource { return LabelsOf(v).All()[0].Size }

// NodeCounts counts nodes by state.
func (v *Viewer) NodeCounts() map[pb.NodeState]int {
	counts := map[pb.NodeState]int{}
	v.Source.Read(func(s *ledger.State) {
		for _, n := range s.Nodes {
			counts[n.State]++
		}
	})
	return counts
}

// SuspendedByNode counts suspended containers by node.
func (v *Viewer) SuspendedByNode() map[records.NodeID]int {
	counts := map[records.NodeID]int{}
	v.Source.Read(func(s *ledger.State) {
		for id, n := range s.Nodes {
			if n.Suspended > 0 {
				counts[id] = n.Suspended
			}
		}
	})
	return counts
}
