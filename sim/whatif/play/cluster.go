package play

import (
	"fmt"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim/whatif/load"
	"heddle/yarn/records"
)

// changes are those of the cluster: all of one time are carried out together.
type changes struct{ *player }

func (c changes) Handle(i int64) {
	events := c.load.Events
	now := events[i].Time
	for ; int(i) < len(events) && events[i].Time == now; i++ {
		if err := c.change(&events[i]); err != nil {
			c.failure = err
			return
		}
	}
	if int(i) < len(events) {
		c.at(events[i].Time, c, i)
	}
}

func (p *player) change(e *load.Event) error {
	switch e.Op {
	case eventlog.SetExclusive:
		p.driver.SetExclusive(e.Label, e.Exclusive)
	case eventlog.SetAttributes:
		setAttributes(p, e.Host, e.Attributes)
	case eventlog.SetTree:
		if p.opt.Queues != nil {
			return nil
		}
		tree, _, err := e.Queues.Tree()
		if err == nil {
			err = p.driver.SetTree(tree)
		}
		if err != nil {
			return fmt.Errorf("the queues that were changed while the record was made: %w", err)
		}
	default:
		if !p.nodes[e.Node].left {
			p.changeNode(e, e.Node, "")
		}
		for i, n := range p.clones[e.Node] {
			if e.Op == eventlog.AddNode || e.Op == eventlog.SetAbility || e.Op == eventlog.SetLabel {
				p.changeNode(e, n, fmt.Sprintf("-copy-%d", i+1))
			}
		}
	}
	return nil
}

func (p *player) changeNode(e *load.Event, number int, suffix string) {
	n := &p.nodes[number]
	if e.Op == eventlog.AddNode {
		if !n.there {
			p.addNode(number, e.Spec, suffix)
		}
		return
	}
	if !n.there {
		return
	}
	switch e.Op {
	case eventlog.RemoveNode:
		p.removeNode(n)
	case eventlog.SetLabel:
		relabel(p, n, e.Label)
	case eventlog.SetCapability:
		p.resize(n, e.Spec.Capability)
		p.driver.At(n.handle).SetCapability(n.handle, n.capability)
	case eventlog.SetOpen:
		p.driver.At(n.handle).SetOpen(n.handle, e.Open)
	case eventlog.SetAbility:
		p.driver.SetAbility(n.handle, e.Ability)
		p.hasAble = p.hasAble || e.Ability != drive.Ability{}
	}
}

func (p *player) addNode(number int, spec *scheduler.NodeSpec, suffix string) {
	n := &p.nodes[number]
	s := *spec
	s.Host += suffix
	n.there, n.host, n.rack, n.like, n.label = true, s.Host, s.Rack, spec.Host, s.Label
	n.handle = p.driver.AddNode(s)
	if to := p.attributes[spec.Host]; len(to) > 0 && suffix != "" {
		p.driver.SetAttributes(s.Host, to)
	}
	for len(p.numbers) <= int(n.handle) {
		p.numbers = append(p.numbers, 0)
	}
	p.numbers[n.handle] = number
	p.resize(n, s.Capability)
}

// resize enters what a node has.
func (p *player) resize(n *node, to records.Resource) {
	p.offer(p.now())
	more := to[records.Memory] - n.capability[records.Memory]
	p.offered += more
	partOf(p, n.label).offers(p, more)
	now := p.total.Add(to).Sub(n.capability)
	for i := range now {
		p.result.Total[i] = max(p.result.Total[i], now[i])
	}
	p.total, n.capability = now, to
}

// removeNode takes a node out, and with it what runs there.
func (p *player) removeNode(n *node) {
	for h := range p.conts {
		if c := &p.conts[h]; c.live && c.node == n.handle {
			p.lose(scheduler.ContainerHandle(h), false)
		}
	}
	p.driver.RemoveNode(n.handle)
	n.there = false
	p.resize(n, records.Resource{})
}
