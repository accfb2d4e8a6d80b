package lists

import (
	"math"
	"slices"
	"strings"

	"heddle/rm/ledger"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// nodeMap has all nodes by rack, in columns: a row for each of 10,000 nodes would be ten times as large.
type nodeMap struct {
	Total int       `yarn:"total"`
	Rack  []rackMap `yarn:"rack"` // by name
}

// rackMap are the nodes of a rack, by id: the same place in each list is the same node.
type rackMap struct {
	Name       string   `yarn:"name"`
	ID         []string `yarn:"id"`
	State      []string `yarn:"state"`
	Use        []int    `yarn:"usePercent"` // of memory or vcores, whichever is more
	Containers []int    `yarn:"containers"`
	Suspended  []int    `yarn:"suspended"`   // containers
	Lent       []int    `yarn:"lentPercent"` // of its memory, to short tasks
	Staged     []int    `yarn:"stagedMaps"`  // that wait, and whose input the node has in memory
	Speed      []int32  `yarn:"speedClass"`  // the higher, the faster; 0 is not known
}

// nodeMap answers GET /node-map. It takes the filters of the list of nodes.
func (l *Lists) nodeMap(c *yarnrest.Call) (yarnrest.Reply, error) {
	p, err := begin(l, c, nodeOffer, nodeRows)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	racks, out := map[string][]nodeRow{}, nodeMap{}
	labelled := l.labelled(&p.q)
	l.Rows.Nodes(func(n *ledger.Node) {
		r := nodeRowOf(n)
		if labelled(n.ID) && p.q.admitsNode(&r) && p.q.hasValueFold("state", records.NodeStateName(r.state)) {
			racks[r.rack] = append(racks[r.rack], r)
			out.Total++
		}
	})
	lent := l.lentPercent()
	staged, classes := l.warmth()
	for rack, list := range racks {
		slices.SortFunc(list, func(a, b nodeRow) int { return a.id.Compare(b.id) })
		m := rackMap{Name: rack}
		for i := range list {
			r := &list[i]
			m.ID, m.State, m.Use = append(m.ID, r.id.String()), append(m.State, records.NodeStateName(r.state)), append(m.Use, int(math.Round(r.use())))
			m.Containers, m.Suspended, m.Lent = append(m.Containers, r.containers), append(m.Suspended, r.suspended), append(m.Lent, lent[r.id])
			m.Staged, m.Speed = append(m.Staged, staged[r.id]), append(m.Speed, classes[r.id.Host])
		}
		out.Rack = append(out.Rack, m)
	}
	slices.SortFunc(out.Rack, func(a, b rackMap) int { return strings.Compare(a.Name, b.Name) })
	return versioned("nodeMap", out), nil
}

// warmth returns for how many maps that wait each node has the input in memory, and the class of each host's speed. What isn't known is left out.
func (l *Lists) warmth() (staged map[records.NodeID]int, classes map[string]int32) {
	lead := l.View.Source.Leader()
	if lead == nil {
		return nil, nil
	}
	levels, _ := lead.Speeds().Since(0)
	classes = make(map[string]int32, len(levels))
	for _, x := range levels {
		classes[x.Host] = x.Class
	}
	return lead.Inputs().InMemory(), classes
}

// lentPercent is how much of their memory nodes have lent to short tasks, for those that have lent any.
func (l *Lists) lentPercent() map[records.NodeID]int {
	out := map[records.NodeID]int{}
	for _, n := range l.View.Nodes(pb.NodeState_NS_RUNNING) {
		if share := lentOf(&n); share > 0 {
			out[n.ID] = share
		}
	}
	return out
}

func lentOf(n *view.Node) int {
	t := n.Status.ShortTasks
	if !n.Known || t == nil {
		return 0
	}
	return int(100 * t.Lent.MemoryMB() / max(n.Capability.MemoryMB(), 1))
}
