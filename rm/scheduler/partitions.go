package scheduler

import (
	"iter"

	"heddle/rm/queue"
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy"
	"heddle/yarn/records"
)

// partitions are the nodes of a cluster by their labels: those without one first. Each has a core of its own, with the queues as they are
// there; see the core's partitions.go. Where no node and no ask has a label there is one core, which is asked directly.
//
// Only capacity queues know labels. In others all nodes are in one partition, as in YARN.
type partitions struct {
	core       *core.Core // the first part's: every application is known there
	parts      []part
	byLabel    map[string]int
	exclusive  map[string]bool // labels of which it is known whether others' asks may go to their nodes
	cfg        Config
	nodes      []uint16                      // the partition of each node
	containers []uint16                      // likewise
	masters    map[AppHandle]int             // where the ApplicationMaster counts, if not in the first one
	running    map[AppHandle]ContainerHandle // the containers of ApplicationMasters
	former     formers
	out        []Decision
	kin        []*core.Core // those of all parts, once there are several
	told       int64        // changes of nodes, and how many parts there were, when parts were told what all have
}

// part is one partition.
type part struct {
	*explain.Explainer
	label  string
	core   *core.Core
	policy policy.Policy
	due    bool // something was entered since it was asked for decisions last
}

func newPartitions(cfg Config) *partitions {
	cfg.Handles, cfg.Placing = &handle.Spaces{}, &constraint.Table{}
	p := &partitions{cfg: cfg, byLabel: map[string]int{"": 0}, exclusive: map[string]bool{}, masters: map[AppHandle]int{}, running: map[AppHandle]ContainerHandle{}}
	p.core = p.add("", cfg).core
	return p
}

// add makes the core of a partition.
func (p *partitions) add(label string, cfg Config) *part {
	x := part{label: label}
	x.core = core.NewCore(cfg, func(c *core.Core, kind queue.Kind) core.Policy {
		x.policy = policy.New(kind, c)
		return x.policy
	})
	x.Explainer = explain.New(x.core, x.policy)
	p.parts = append(p.parts, x)
	return &p.parts[len(p.parts)-1]
}

// joined has the cores know each other.
func (p *partitions) joined(c *core.Core) {
	if len(p.kin) == 0 {
		p.kin = []*core.Core{p.core}
		p.kin[0].Kin = &p.kin
	}
	p.kin = append(p.kin, c)
	c.Kin = &p.kin
}

// mostPartitions bounds labels, of which only administrators make any.
const mostPartitions = 1 << 16

// index returns the partition of a label, which is made if need be.
func (p *partitions) index(label string) int {
	if i, known := p.byLabel[label]; known {
		return i
	}
	home := p.core
	if home.Tree.Kind != queue.Capacity || len(p.parts) == mostPartitions {
		return 0
	}
	cfg := p.cfg
	cfg.Tree = home.Tree.In(label)
	i := len(p.parts)
	x := p.add(label, cfg)
	x.core.OfLabel(i)
	p.joined(x.core)
	x.core.Now = home.Now
	p.byLabel[label] = i
	if exclusive, said := p.exclusive[label]; said && !exclusive {
		p.shareNodes(i)
	}
	return i
}

// SetExclusive says of a label whether only asks that name it may go to its nodes. Others, without a label, get what is idle there otherwise.
func (s *Scheduler) SetExclusive(label string, exclusive bool) {
	before, said := s.exclusive[label]
	s.exclusive[label] = exclusive
	i, made := s.byLabel[label]
	switch shares := said && !before; {
	case !made || i == 0 || shares == !exclusive:
	case exclusive:
		s.parts[i].due = true
		s.parts[i].core.Keep()
	default:
		s.shareNodes(i)
	}
}

// shareNodes makes a partition share its nodes.
func (p *partitions) shareNodes(i int) {
	home := p.core
	p.parts[i].core.ShareNodes(home)
	for h := range home.Apps {
		if a := &home.Apps[h]; a.Live {
			if rows := p.parts[0].asks(handle.App(h)); len(rows) > 0 {
				p.ensure(handle.App(h), i).UpdateGuests(handle.App(h), rows)
			}
		}
	}
}

// SetLabel changes the label of a node. Containers there continue, and count in the node's new partition.
func (s *Scheduler) SetLabel(h NodeHandle, label string) {
	to, from := s.index(label), s.at(h)
	if s.parts[to].core == from {
		return
	}
	l := from.Detach(h)
	l.Label = label
	for i := range l.Containers {
		m := &l.Containers[i]
		s.ensure(m.App, to)
		s.note(&s.containers, int32(m.Container), to)
	}
	s.note(&s.nodes, int32(h), to)
	s.parts[to].due = true
	s.parts[to].core.Attach(h, &l)
	for i := range l.Containers {
		if m := &l.Containers[i]; s.runs(m.App, m.Container) {
			s.countMaster(m.App, to)
		}
	}
}

// runs reports whether a container is that of an application's ApplicationMaster.
func (p *partitions) runs(h AppHandle, c ContainerHandle) bool {
	at, known := p.running[h]
	return known && at == c
}

// countMaster has an ApplicationMaster count in the partition of a node that it runs on, whatever it was asked for: the label of a node may have
// changed (Hadoop: FiCaSchedulerApp.nodePartitionUpdated).
func (p *partitions) countMaster(h AppHandle, to int) {
	from := p.masters[h]
	if from == to {
		return
	}
	p.parts[from].core.CountMaster(h, false)
	p.ensure(h, to).CountMaster(h, true)
	p.parts[from].due = true
	if p.masters[h] = to; to == 0 {
		delete(p.masters, h)
	}
}

// freed frees a container. If it was an ApplicationMaster's, the next one counts where it is asked for.
func (p *partitions) freed(c ContainerHandle, free func(*core.Core, ContainerHandle)) {
	at := p.of(c)
	h := at.Containers[c].App
	free(at, c)
	if p.runs(h, c) {
		delete(p.running, h)
		p.countMaster(h, p.index(p.core.Apps[h].Spec.Label))
	}
}

// of returns the core that has a container, at that which has a node, for something to be entered there. Handles of nothing are the first one's to
// refuse.
func (p *partitions) of(c ContainerHandle) *core.Core {
	if len(p.parts) == 1 {
		return p.core
	}
	return p.in(p.containers, int32(c))
}

// in returns the core of the partition that is noted for a handle. Something is to be entered there.
func (p *partitions) in(noted []uint16, h int32) *core.Core {
	x := p.noted(noted, h)
	x.due = true
	return x.core
}

// noted returns the partition that is noted for a handle.
func (p *partitions) noted(in []uint16, h int32) *part {
	if h >= 0 && int(h) < len(in) {
		return &p.parts[in[h]]
	}
	return &p.parts[0]
}

func (p *partitions) at(n NodeHandle) *core.Core {
	if len(p.parts) == 1 {
		return p.core
	}
	return p.in(p.nodes, int32(n))
}

// note notes the partition of a node or a container. While there is one nothing needs to be.
func (p *partitions) note(of *[]uint16, h int32, i int) {
	if len(p.parts) == 1 {
		return
	}
	*of = handle.Fit(*of, h, 0)
	(*of)[h] = uint16(i)
}

// partsOf returns the partitions in which an application has a part, home first.
func (p *partitions) partsOf(h AppHandle) iter.Seq[*part] {
	return func(yield func(*part) bool) {
		for i := range p.parts {
			if x := &p.parts[i]; (i == 0 || x.core.Has(h)) && !yield(x) {
				return
			}
		}
	}
}

// coresOf returns the cores in which an application has a part, home first, for something to be entered there.
func (p *partitions) coresOf(h AppHandle) iter.Seq[*core.Core] {
	return func(yield func(*core.Core) bool) {
		for x := range p.partsOf(h) {
			if x.due = true; !yield(x.core) {
				return
			}
		}
	}
}

// ensure has an application have a part in a partition.
func (p *partitions) ensure(h AppHandle, i int) *core.Core {
	c, home := p.parts[i].core, p.core
	p.parts[i].due = true
	if i == 0 || c.Has(h) {
		return c
	}
	a := &home.Apps[h]
	spec := a.Spec
	spec.Queue = home.Queues[a.Leaf].Cfg.Path
	c.AddPart(h, spec)
	if names := home.BlacklistOf(a); len(names) > 0 {
		c.UpdateBlacklist(h, names, nil)
	}
	if p.masters[h] == i && a.Runnable {
		c.Await(h, true)
	}
	if a.Active {
		c.Start(h)
	}
	return c
}

// restore enters a container on a node. Its application is active in all partitions from then on.
func (p *partitions) restore(h AppHandle, n NodeHandle, enter func(*core.Core) ContainerHandle) ContainerHandle {
	if len(p.parts) == 1 {
		return enter(p.core)
	}
	i := 0
	if int(n) < len(p.nodes) {
		i = int(p.nodes[n])
	}
	if m := p.masters[h]; m != 0 {
		p.ensure(h, m).Await(h, true)
	}
	c := enter(p.ensure(h, i))
	p.note(&p.containers, int32(c), i)
	p.activated(h)
	return c
}

// activated has an application that is active in one partition be so in all.
func (p *partitions) activated(h AppHandle) {
	for c := range p.coresOf(h) {
		if !c.Apps[h].Active {
			c.Start(h)
		}
	}
}

// labelled reports whether asks concern several partitions.
func (p *partitions) labelled(asks []Ask) bool {
	if len(p.parts) > 1 {
		return true
	}
	for i := range asks {
		if asks[i].Label != "" {
			return true
		}
	}
	return false
}

// request holds the common fields of the rows of one request.
type request struct {
	priority int32
	id       int64
}

// divideAsks enters rows into the partitions that they are for. The label of a request stands in its row for Any.
func (p *partitions) divideAsks(h AppHandle, asks []Ask) {
	at := map[request]int{}
	for i := range asks {
		ask := &asks[i]
		of := request{ask.Priority, ask.AllocationRequestID}
		if ask.Name != core.Any || ask.Count == 0 {
			continue
		}
		at[of] = p.index(ask.Label)
		if was, d := p.holder(h, of.priority, of.id); d != nil && was != at[of] {
			p.enter(h, was, withdrawal(p.parts[was].core, d))
		}
	}
	rows := make([][]Ask, len(p.parts))
	for i := range asks {
		of := request{asks[i].Priority, asks[i].AllocationRequestID}
		to, said := at[of]
		if !said {
			to, _ = p.holder(h, of.priority, of.id)
		}
		rows[to] = append(rows[to], asks[i])
	}
	for i := range rows {
		if len(rows[i]) > 0 {
			p.enter(h, i, rows[i])
		}
	}
}

// enter enters rows into one partition. Those without a label are guests in the partitions that share.
func (p *partitions) enter(h AppHandle, i int, rows []Ask) {
	p.ensure(h, i).UpdateAsks(h, rows)
	if i > 0 {
		return
	}
	for j := range p.parts[1:] {
		if c := p.parts[j+1].core; c.SharesNodes() {
			p.ensure(h, j+1).UpdateGuests(h, rows)
		}
	}
}

// holder returns the partition that has a request of an application; nil if none has it.
func (p *partitions) holder(h AppHandle, priority int32, id int64) (int, *core.Demand) {
	for i := range p.parts {
		if c := p.parts[i].core; c.Has(h) {
			if d := c.Demanded.Find(&c.Apps[h].Set, priority, id); d != nil && !d.Guest {
				return i, d
			}
		}
	}
	return 0, nil
}

// withdrawal returns the rows that take a request back.
func withdrawal(c *core.Core, d *core.Demand) []Ask {
	row := d.Row()
	row.Count = 0
	rows := []Ask{row}
	for i := range d.Places {
		row.Name = c.Nodes.Name(d.Places[i].Name)
		rows = append(rows, row)
	}
	return rows
}

// scheduleAll is Schedule where there are several partitions. Home is asked first, so that nodes are shared with what it has no room for.
func (p *partitions) scheduleAll(now int64) []Decision {
	p.out = p.out[:0]
	p.tellOfNodes()
	for again := true; again; {
		p.admit()
		again = false
		for i := range p.parts {
			x := &p.parts[i]
			x.core.Now = max(x.core.Now, now)
			if wake := x.core.NextWake(); !x.due && !x.core.Stirred && (wake == 0 || now < wake) && !x.core.Unmet.Unaware(x.core.Placing.Changes) {
				continue
			}
			x.due, x.core.Stirred, again = false, false, true
			p.take(x.core.Schedule(now), i)
		}
		p.parts[0].due = p.parts[0].due || p.core.HasNews()
	}
	return p.out
}

// take takes over decisions on a partition.
func (p *partitions) take(decided []Decision, i int) {
	for j := range decided {
		switch d := &decided[j]; d.Kind {
		case core.Allocate, core.Reserve:
			p.note(&p.containers, int32(d.Container), i)
		case core.Activate:
			p.activated(d.App)
		}
	}
	p.out = append(p.out, decided...)
}

// tellOfNodes tells each partition what all have, if that has changed.
func (p *partitions) tellOfNodes() {
	changes := int64(len(p.parts))
	for i := range p.parts {
		changes += p.parts[i].core.Nodes.Places
	}
	if changes == p.told {
		return
	}
	p.told = changes
	some, all := false, records.Resource{}
	for i := range p.parts {
		nodes := &p.parts[i].core.Nodes
		some, all = some || nodes.OpenNodes() > 0, all.Add(nodes.Cluster)
	}
	for i := range p.parts {
		p.parts[i].due = p.parts[i].core.SetWhole(all, some) || p.parts[i].due
	}
}

// admit lets applications wait for the limits on ApplicationMasters where these count.
func (p *partitions) admit() {
	home := p.core
	for _, h := range home.Admitted {
		if a := &home.Apps[h]; a.Live && !a.Active {
			p.ensure(h, p.masters[h]).Await(h, true)
		}
	}
	home.Admitted = home.Admitted[:0]
}

// queuesIn is Queues in the partition of a label.
func (p *partitions) queuesIn(label string) []QueueView {
	if i, known := p.byLabel[label]; known {
		return p.parts[i].queues()
	}
	return nil
}
