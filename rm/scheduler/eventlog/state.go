package eventlog

import (
	"maps"
	"slices"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// state holds what there is, as far as the record of a session that continues in another file must begin with it. It follows the events.
type state struct {
	header     Header
	nodes      map[scheduler.NodeHandle]*nodeNow
	exclusive  map[string]bool
	attributes map[string]map[string]string // by host
	apps       map[scheduler.AppHandle]*appNow
	containers []containerNow // by handle
	// Containers granted after each other mostly have the same size: they share it.
	size *records.Resource
}

type nodeNow struct{ add, open, ability *Event }

type appNow struct {
	add   Event
	name  string
	named *Event
}

// containerNow is a container that was granted, or restored.
type containerNow struct {
	live     bool
	app      scheduler.AppHandle
	node     scheduler.NodeHandle
	resource *records.Resource
	attempt  int32
	id       int64
	priority int32
	am       bool
	since    int64
}

func newState(h Header) *state {
	return &state{header: h, nodes: map[scheduler.NodeHandle]*nodeNow{}, exclusive: map[string]bool{}, attributes: map[string]map[string]string{}, apps: map[scheduler.AppHandle]*appNow{}}
}

// follow takes an event into account, and doesn't keep it.
func (s *state) follow(r *Event) {
	switch r.Op {
	case Free:
		s.containers[r.Container] = containerNow{}
	case Identify:
		for i, h := range r.Containers {
			c := &s.containers[h]
			c.attempt, c.id, c.am = r.Attempt, r.First+int64(i), r.AM && i == 0
		}
	case AddNode, RemoveNode, SetCapability, SetLabel, SetOpen, SetAbility:
		s.followNode(r)
	case SetExclusive:
		s.exclusive[r.Label] = r.Open
	case SetAttributes:
		if s.attributes[r.Host] = r.Attributes; len(r.Attributes) == 0 {
			delete(s.attributes, r.Host)
		}
	case AddApp, RemoveApp, Name, NameApp, MoveApp, SetPriority:
		s.followApp(r)
	case SetTree:
		if r.Open && r.Queues != nil {
			s.header.Queues = r.Queues
		}
	case Restore:
		s.set(r.Container, containerNow{
			live: true, app: r.App, node: r.Node, resource: s.shared(records.Resource(r.Resource)), attempt: r.Attempt, id: r.First, priority: r.Priority, am: r.AM, since: r.Since,
		})
	}
}

// decided takes a step into account.
func (s *state) decided(now int64, decisions []drive.Decision) {
	for i := range decisions {
		if d := &decisions[i]; d.Kind == drive.Allocate {
			s.set(d.Container, containerNow{live: true, app: d.App, node: d.Node, resource: s.shared(d.Resource), priority: d.Priority, since: now})
		}
	}
}

// shared returns a resource that isn't changed any more.
func (s *state) shared(r records.Resource) *records.Resource {
	if s.size == nil || r != *s.size {
		kept := r
		s.size = &kept
	}
	return s.size
}

func (s *state) set(h scheduler.ContainerHandle, c containerNow) {
	for len(s.containers) <= int(h) {
		s.containers = append(s.containers, containerNow{})
	}
	s.containers[h] = c
}

func (s *state) followNode(r *Event) {
	if r.Op == AddNode {
		add := *r
		s.nodes[r.Node] = &nodeNow{add: &add}
		return
	}
	n := s.nodes[r.Node]
	switch r.Op {
	case RemoveNode:
		delete(s.nodes, r.Node)
	case SetCapability:
		n.add.Resource = r.Resource
	case SetLabel:
		n.add.Label = r.Label
	case SetOpen:
		now := *r
		n.open = &now
	case SetAbility:
		now := *r
		n.ability = &now
	}
}

func (s *state) followApp(r *Event) {
	if r.Op == AddApp {
		s.apps[r.App] = &appNow{add: *r}
		return
	}
	a := s.apps[r.App]
	switch r.Op {
	case RemoveApp:
		delete(s.apps, r.App)
	case Name:
		a.name = r.Name
	case NameApp:
		named := *r
		a.named = &named
	case MoveApp:
		a.add.Queue = r.Queue
	case SetPriority:
		a.add.Priority = r.Priority
	}
}

// tell writes the state as events: nodes, applications, containers. of says what applications wait for, and the allocation tags of containers.
func (s *state) tell(write func(*Event), of interface {
	Asks(scheduler.AppHandle) []scheduler.Ask
	TagsOf(scheduler.ContainerHandle) []string
},
) {
	for _, l := range slices.Sorted(maps.Keys(s.exclusive)) {
		write(&Event{Op: SetExclusive, Label: l, Open: s.exclusive[l]})
	}
	for _, h := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[h]
		for _, r := range []*Event{n.add, n.open, n.ability} {
			if r != nil {
				write(r)
			}
		}
	}
	for _, host := range slices.Sorted(maps.Keys(s.attributes)) {
		write(&Event{Op: SetAttributes, Host: host, Attributes: s.attributes[host]})
	}
	handles := slices.Sorted(maps.Keys(s.apps))
	for _, h := range handles {
		a := s.apps[h]
		write(&a.add)
		if a.name != "" {
			write(&Event{Op: Name, App: h, Name: a.name})
		}
		if a.named != nil {
			write(a.named)
		}
	}
	for i := range s.containers {
		if c := &s.containers[i]; c.live && c.id != 0 {
			write(&Event{
				Op: Restore, Container: scheduler.ContainerHandle(i), App: c.app, Node: c.node, Resource: Amounts(*c.resource),
				Attempt: c.attempt, First: c.id, Priority: c.priority, AM: c.am, Since: c.since,
			})
			if tags := of.TagsOf(scheduler.ContainerHandle(i)); len(tags) > 0 {
				write(&Event{Op: SetTags, Container: scheduler.ContainerHandle(i), Add: tags})
			}
		}
	}
	for _, h := range handles {
		if waiting := of.Asks(h); len(waiting) > 0 {
			write(&Event{Op: UpdateAsks, App: h, Asks: waiting})
		}
	}
}
