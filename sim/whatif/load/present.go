package load

import (
	"cmp"
	"maps"
	"slices"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
)

// Present is an application as it was when the record ended.
type Present struct {
	Queue    string // in which it was then
	Priority int32
	Granted  bool // its ApplicationMaster has its container, or needs none
	Asks     int  // that its attempt has made
	Ended    int32
	Master   Start
	Running  []Start // Kind and Life are those of its last attempt
	Waiting  []Row   // what it asked for and hadn't got
}

// present describes an application that hasn't ended.
func (b *builder) present(a *app) *Present {
	p := &Present{Queue: a.leaf, Priority: a.rank}
	o := a.open
	if o == nil {
		return p
	}
	p.Granted, p.Asks, p.Ended = o.granted >= 0, len(o.Asks), o.ended
	for _, c := range a.running {
		s := Start{Node: c.node, Since: c.begin, Size: c.size, Tags: c.tags, Is: true}
		if c.of != o {
			continue
		}
		if c.kind < 0 {
			p.Master = s
			continue
		}
		s.Kind, s.Life, s.Priority = c.kind, c.life, o.Kinds[c.kind].Priority
		p.Running = append(p.Running, s)
	}
	slices.SortFunc(p.Running, func(x, y Start) int {
		return cmp.Or(cmp.Compare(x.Since, y.Since), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Life, y.Life))
	})
	if p.Granted {
		p.Waiting = a.waiting()
	}
	return p
}

// waiting lists what an application asks for, in a fixed order.
func (a *app) waiting() (rows []Row) {
	for k, count := range a.asks.rows {
		shape := a.shapes[k]
		shape.Priority, shape.AllocationRequestID, shape.Name, shape.Count = k.priority, k.id, k.name, count
		rows = append(rows, Row{shape})
	}
	slices.SortFunc(rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(x.AllocationRequestID, y.AllocationRequestID), cmp.Compare(x.Name, y.Name))
	})
	return rows
}

// remember keeps what a row asks for besides its number.
func (a *app) remember(ask *scheduler.Ask) {
	k := place{ask.Priority, ask.AllocationRequestID, ask.Name}
	if ask.Count == 0 {
		delete(a.shapes, k)
		return
	}
	if a.shapes == nil {
		a.shapes = map[place]scheduler.Ask{}
	}
	a.shapes[k] = *ask
}

// Cluster returns the events that make the cluster as it was when the record ended, at a time, and the queues in effect.
func (l *Load) Cluster(at int64) ([]Event, *eventlog.Source) {
	queues := l.Queues
	nodes := make([][]Event, l.Nodes)
	exclusive, attributes := map[string]Event{}, map[string]Event{}
	for i := range l.Events {
		e := l.Events[i]
		e.Time = at
		switch e.Op {
		case eventlog.SetTree:
			queues = e.Queues
		case eventlog.SetExclusive:
			exclusive[e.Label] = e
		case eventlog.SetAttributes:
			attributes[e.Host] = e
		case eventlog.RemoveNode:
			nodes[e.Node] = nil
		default:
			nodes[e.Node] = append(nodes[e.Node], e)
		}
	}
	var events []Event
	for _, label := range slices.Sorted(maps.Keys(exclusive)) {
		events = append(events, exclusive[label])
	}
	for _, list := range nodes {
		events = append(events, list...)
	}
	for _, host := range slices.Sorted(maps.Keys(attributes)) {
		events = append(events, attributes[host])
	}
	return events, queues
}
