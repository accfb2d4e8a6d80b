package lists

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/rm/ledger"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

var nodeOffer = offer{
	sorts:   []string{"id", "state", "rack", "memory", "vcores", "usedMemory", "usedVcores", "use", "containers", "suspended", "version", "registered"},
	filters: map[string]kind{"state": words, "rack": words, "label": words, "q": phrase, "health": phrase, "useFrom": number, "useTo": number, "suspendedFrom": number},
}

// nodeRow is a node as lists sort it.
type nodeRow struct {
	id              records.NodeID
	state           pb.NodeState
	rack            string
	version         string
	capacity, used  records.Resource
	containers      int
	suspended       int
	registered      int64
	health, address string
}

// use returns how many percent of a node's memory or processors are used, whichever is more.
func (r *nodeRow) use() float64 {
	share := func(used, all int64) float64 { return 100 * float64(used) / float64(max(all, 1)) }
	return max(share(r.used.MemoryMB(), r.capacity.MemoryMB()), share(r.used.VCores(), r.capacity.VCores()))
}

var nodeRows = rows[nodeRow]{
	columns: map[string]column[nodeRow]{
		"id":         byNumber(func(*nodeRow) int64 { return 0 }), // the order of ids decides
		"state":      byText(func(r *nodeRow) string { return records.NodeStateName(r.state) }),
		"rack":       byText(func(r *nodeRow) string { return r.rack }),
		"memory":     byNumber(func(r *nodeRow) int64 { return r.capacity.MemoryMB() }),
		"vcores":     byNumber(func(r *nodeRow) int64 { return r.capacity.VCores() }),
		"usedMemory": byNumber(func(r *nodeRow) int64 { return r.used.MemoryMB() }),
		"usedVcores": byNumber(func(r *nodeRow) int64 { return r.used.VCores() }),
		"use":        byNumber(func(r *nodeRow) int64 { return int64(1000 * r.use()) }),
		"containers": byNumber(func(r *nodeRow) int64 { return int64(r.containers) }),
		"suspended":  byNumber(func(r *nodeRow) int64 { return int64(r.suspended) }),
		"version":    byText(func(r *nodeRow) string { return r.version }),
		"registered": byNumber(func(r *nodeRow) int64 { return r.registered }),
	},
	tie: func(a, b *nodeRow) int { return a.id.Compare(b.id) },
	id:  func(r *nodeRow) string { return r.id.String() },
	at: func(id string) (nodeRow, error) {
		host, port, ok := cutLast(id)
		n, err := strconv.ParseInt(port, 10, 32)
		if !ok || err != nil {
			return nodeRow{}, fmt.Errorf("%.100q is no node", id)
		}
		return nodeRow{id: records.NodeID{Host: host, Port: int32(n)}}, nil
	},
}

func nodeRowOf(n *ledger.Node) nodeRow {
	return nodeRow{
		id: n.ID, state: n.State, rack: n.Rack, version: n.Version, capacity: n.Capability, used: n.Used, containers: len(n.Containers), suspended: n.Suspended,
		registered: n.RegisteredAt, health: n.HealthReport, address: n.HTTPAddress(),
	}
}

// cutLast cuts a text at its last colon.
func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

type nodeList struct {
	head
	States []stateCount `yarn:"count"` // what the other filters admit, by state
	Node   []node       `yarn:"node"`
}

// node is a row of the list. The first fields were there before nodes were listed by pages.
type node struct {
	ID        string   `yarn:"id"`
	State     string   `yarn:"state"`
	Features  []string `yarn:"feature"`
	Missing   []string `yarn:"missing"`
	Suspended int      `yarn:"suspendedContainers"`
	Short     *lent    `yarn:"shortTasks"` // nil: it takes no probes
	Partition string   `yarn:"partition,omitempty"`
	Closed    bool     `yarn:"closedToLongTasks"`
	Asked     bool     `yarn:"askedToSuspend"`
	Release   string   `yarn:"release,omitempty"`
	Label     string   `yarn:"label,omitempty"`

	Rack       string  `yarn:"rack"`
	HTTP       string  `yarn:"httpAddress,omitempty"` // empty where no NodeManager runs
	Version    string  `yarn:"version"`
	Containers int     `yarn:"containers"`
	Used       amount  `yarn:"used"`
	Total      amount  `yarn:"total"`
	Use        float32 `yarn:"usePercent"` // of memory or vcores, whichever is more
	Health     string  `yarn:"healthReport,omitempty"`
	Registered int64   `yarn:"registered"`
	Deadline   int64   `yarn:"decommissionDeadline,omitempty"`
}

// lent is what a node does with what it was lent for short tasks.
type lent struct {
	Lent    share `yarn:"lent"`
	Used    share `yarn:"used"`
	Waiting int   `yarn:"waitingProbes"` // for which there is no room
}

type share struct {
	Memory int64 `yarn:"memory"`
	VCores int64 `yarn:"vCores"`
}

func shareOf(r records.Resource) share { return share{r.MemoryMB(), r.VCores()} }

// nodes answers GET /nodes.
func (l *Lists) nodes(c *yarnrest.Call) (yarnrest.Reply, error) {
	p, err := begin(l, c, nodeOffer, nodeRows)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	labelled := l.labelled(&p.q)
	total, counts := 0, map[string]int{}
	l.Rows.Nodes(func(n *ledger.Node) {
		total++
		r := nodeRowOf(n)
		if labelled(n.ID) && p.q.admitsNode(&r) {
			name := records.NodeStateName(r.state)
			counts[name]++
			if p.q.hasValueFold("state", name) {
				p.add(&r)
			}
		}
	})
	found := p.page()
	out := nodeList{head: headOf(total, &found)}
	for _, state := range nodeStates {
		if name := records.NodeStateName(state); counts[name] > 0 {
			out.States = append(out.States, stateCount{name, counts[name]})
		}
	}
	for i := range found.rows {
		if n, ok := l.View.Node(found.rows[i].id); ok {
			out.Node = append(out.Node, l.node(&found.rows[i], &n))
		}
	}
	return answer(c, "nodes", &found, out.Node, out)
}

// labelled returns which nodes the filter label admits. An empty name in quotes, "", stands for nodes without a label.
func (l *Lists) labelled(q *query) func(records.NodeID) bool {
	names := q.texts["label"]
	if len(names) == 0 {
		return func(records.NodeID) bool { return true }
	}
	of := map[records.NodeID]string{}
	for _, n := range view.LabelsOf(l.View).Nodes() {
		of[n.Node] = n.Label.Name
	}
	return func(id records.NodeID) bool {
		name, ok := of[id]
		if !ok {
			name = of[records.NodeID{Host: id.Host}]
		}
		return slices.Contains(names, cmp.Or(name, `""`))
	}
}

// nodeStates are the states in the order of what an operator should see first.
var nodeStates = []pb.NodeState{
	pb.NodeState_NS_RUNNING, pb.NodeState_NS_UNHEALTHY, pb.NodeState_NS_LOST, pb.NodeState_NS_DECOMMISSIONING, pb.NodeState_NS_DECOMMISSIONED,
	pb.NodeState_NS_SHUTDOWN, pb.NodeState_NS_REBOOTED, pb.NodeState_NS_NEW,
}

func (q *query) admitsNode(r *nodeRow) bool {
	if len(q.texts)+len(q.numbers) == 0 {
		return true
	}
	return q.hasValue("rack", r.rack) && q.has("q", r.id.Host, r.rack, r.version, r.address) && q.has("health", r.health) &&
		q.between("useFrom", "useTo", int64(math.Round(r.use()))) && q.between("suspendedFrom", "", int64(r.suspended))
}

func (l *Lists) node(r *nodeRow, n *view.Node) node {
	out := node{
		ID: r.id.String(), State: records.NodeStateName(r.state), Features: n.Features, Missing: n.Missing, Suspended: r.suspended,
		Closed: n.Place.Short || n.Place.Closed, Asked: n.Place.Asked, Release: n.Release, Label: n.Label, Rack: r.rack, HTTP: r.address, Version: r.version,
		Containers: r.containers, Used: l.amount(r.used), Total: l.amount(r.capacity), Use: float32(math.Round(10*r.use()) / 10), Health: r.health,
		Registered: r.registered, Deadline: n.DecommissionDeadline,
	}
	if n.Divided {
		out.Partition = cmp.Or(map[bool]string{true: "short"}[n.Place.Short], "general")
	}
	switch r.state {
	case pb.NodeState_NS_LOST, pb.NodeState_NS_DECOMMISSIONED, pb.NodeState_NS_REBOOTED, pb.NodeState_NS_SHUTDOWN:
		out.HTTP = "" // no NodeManager runs there
	}
	if t := n.Status.ShortTasks; n.Known && t != nil {
		out.Short = &lent{shareOf(t.Lent), shareOf(t.Used), n.Status.Waiting}
	}
	return out
}
