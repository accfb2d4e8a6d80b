package play

import (
	"maps"
	"slices"

	"heddle/sim/whatif/load"
	"heddle/yarn/records"
)

// Part holds what became of the containers of one partition: those whose nodes had a label when they began.
type Part struct {
	load.Outcome
	CapacityMS int64 // MB · ms that its nodes offered during the load
	offered    int64 // MB of its nodes
	since      int64 // when that changed last
}

// partOf returns the partition of a label, which is made if need be.
func partOf(p *player, label string) *Part {
	x := p.result.Parts[label]
	if x == nil {
		x = &Part{Outcome: load.Outcome{Granted: -1, End: -1}, since: p.load.Begin}
		p.result.Parts[label] = x
	}
	return x
}

// offers enters that a partition offers more from now on.
func (x *Part) offers(p *player, more int64) {
	until := min(p.now(), p.load.End)
	x.CapacityMS += x.offered * max(until-x.since, 0)
	x.since = max(x.since, until)
	x.offered += more
}

// relabel moves a node to another partition. Containers count where they began.
func relabel(p *player, n *node, to string) {
	memory := n.capability[records.Memory]
	partOf(p, n.label).offers(p, -memory)
	n.label = to
	partOf(p, to).offers(p, memory)
	p.driver.SetLabel(n.handle, to)
}

// setAttributes enters the attributes of a host of the load, and of the nodes that were added like it.
func setAttributes(p *player, host string, to map[string]string) {
	p.attributes[host] = to
	p.driver.SetAttributes(host, to)
	for _, of := range slices.Sorted(maps.Keys(p.clones)) {
		for _, c := range p.clones[of] {
			if n := &p.nodes[c]; n.there && n.like == host {
				p.driver.SetAttributes(n.host, to)
			}
		}
	}
}

// waited enters how long a container has waited, in ms, that a node gets now.
func waited(p *player, out *load.Outcome, n *node, ms int64) {
	wait := int32(min(ms, 1<<31-1))
	part := partOf(p, n.label)
	out.Waits, part.Waits = append(out.Waits, wait), append(part.Waits, wait)
}
