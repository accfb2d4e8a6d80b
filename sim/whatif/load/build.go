package load

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// builder makes a Load of the entries of a record.
type builder struct {
	load    *Load
	now     int64 // time of the last step
	until   int64 // when reading stops; 0: at the end
	begun   bool
	opening bool // nothing was played yet
	// leaderless says that the last pause lasts: no node has come to the leader yet.
	leaderless bool
	queue      *eventlog.Source // in effect

	nodes      map[scheduler.NodeHandle]int // of this session, as are the next two
	apps       map[scheduler.AppHandle]*app
	containers map[scheduler.ContainerHandle]*container
	window     []located // since the last step
	removed    map[int]bool
	ending     map[*app]bool // whose attempts end in this window
	frees      map[*app]int  // containers that end in this window

	ended  []*app      // whose ApplicationMasters' containers end in this window
	known  []knownNode // by number of the node
	byHost map[string][]int
	// attributes are those of hosts now.
	attributes map[string]map[string]string
	list       []*app
	byID       map[string]*app
	byName     map[records.ContainerID]*container
	sweep      int64 // when what the session before had and this one hasn't is taken for gone; 0: nothing to do
	since      int64 // when this session began
	ignored    map[eventlog.Op]int
	gaps       []string
	reasks     []int64 // ms from the loss of containers to the requests that followed
}

// located is an event with its line.
type located struct {
	eventlog.Event
	line int
}

// knownNode is a node during the record.
type knownNode struct {
	spec      scheduler.NodeSpec
	there     bool
	confirmed bool
}

// sweepAfter is how long, in ms, after its beginning a session may name what the one before had.
const sweepAfter = 30_000

func newBuilder() *builder {
	b := &builder{load: &Load{Parts: map[string]*Outcome{}}, attributes: map[string]map[string]string{}, byHost: map[string][]int{}, byID: map[string]*app{}, byName: map[records.ContainerID]*container{}, ignored: map[eventlog.Op]int{}}
	b.forgetHandles()
	return b
}

func (b *builder) forgetHandles() {
	b.nodes, b.apps, b.containers = map[scheduler.NodeHandle]int{}, map[scheduler.AppHandle]*app{}, map[scheduler.ContainerHandle]*container{}
}

// stepFormat is the first format of records with the decisions of rounds.
const stepFormat = 2

// maxTime is the year 10,000, in ms since 1970: no clock is later.
const maxTime = 253_402_300_800_000

// sane refuses a time that no clock tells.
func sane(ms int64) error {
	if ms < 0 || ms >= maxTime {
		return fmt.Errorf("%d isn't a time in ms since 1970", ms)
	}
	return nil
}

// begin begins a session.
func (b *builder) begin(h *eventlog.Header) error {
	if err := sane(h.Time); err != nil {
		return err
	}
	if h.Format < stepFormat {
		return fmt.Errorf("the record has format %d, and a load needs %d or later: record anew", h.Format, stepFormat)
	}
	if _, _, err := h.Queues.Tree(); err != nil {
		return fmt.Errorf("the session's queues: %w", err)
	}
	b.load.Sessions++
	if h.Gap != nil {
		b.gaps = append(b.gaps, gapOf(h))
	}
	b.forgetHandles()
	if !b.begun {
		b.begun, b.opening = true, true
		b.load.Begin, b.load.Queues, b.load.Minimum, b.load.Heartbeat = h.Time, h.Queues, records.Resource(h.Minimum), h.Heartbeat
		b.now, b.queue = h.Time, h.Queues
		return nil
	}
	if !h.Continues {
		b.load.Pauses, b.leaderless = append(b.load.Pauses, Pause{b.now, max(b.now, h.Time)}), true
	}
	b.now = max(b.now, h.Time)
	b.sweepNow()
	for i := range b.known {
		b.known[i].confirmed = false
	}
	for _, a := range b.list {
		a.confirmed = false
	}
	for _, c := range b.byName {
		c.confirmed = false
	}
	b.since, b.sweep = b.now, b.now+sweepAfter
	b.setQueues(h.Queues)
	return nil
}

// setQueues enters that other queues are in effect.
func (b *builder) setQueues(q *eventlog.Source) {
	if q == nil || b.queue != nil && maps.Equal(q.Keys, b.queue.Keys) && q.Allocation == b.queue.Allocation {
		return
	}
	b.queue = q
	b.event(Event{Op: eventlog.SetTree, Queues: q})
}

func (b *builder) event(e Event) {
	e.Time = b.now
	b.load.Events = append(b.load.Events, e)
}

// enter takes an entry. What happened between two steps happened at the time of the second.
func (b *builder) enter(e *eventlog.Entry) error {
	b.load.Entries++
	if e.Header != nil {
		until := b.now
		if e.Header.Continues { // the step before which it continues in another file
			until = max(until, e.Header.Time)
		}
		if err := b.flush(until); err != nil {
			return err
		}
		if err := b.begin(e.Header); err != nil {
			return fmt.Errorf("line %d: %w", e.Line, err)
		}
		return nil
	}
	if e.Event.Op != eventlog.Step {
		b.window = append(b.window, located{*e.Event, e.Line})
		return nil
	}
	if err := sane(e.Event.Time); err != nil {
		return fmt.Errorf("line %d: %w", e.Line, err)
	}
	if err := b.flush(max(e.Event.Time, b.now)); err != nil {
		return err
	}
	for i := range e.Event.Decisions {
		if err := b.decided(&e.Event.Decisions[i]); err != nil {
			return fmt.Errorf("line %d: decision %d: %w", e.Line, i+1, err)
		}
	}
	return nil
}

// flush carries out what has happened until a time.
func (b *builder) flush(now int64) error {
	b.now = now
	if b.sweep > 0 && now >= b.sweep {
		b.sweepNow()
	}
	if len(b.window) == 0 {
		return nil
	}
	b.removed, b.ending, b.frees = nil, nil, nil
	for i := range b.window {
		switch r := &b.window[i]; r.Op {
		case eventlog.RemoveNode:
			if n, ok := b.nodes[r.Node]; ok {
				b.removed = put(b.removed, n)
			}
		case eventlog.RemoveApp:
			if a := b.apps[r.App]; a != nil {
				b.ending = put(b.ending, a)
			}
		case eventlog.Free:
			if c := b.containers[r.Container]; c != nil && c.kind < 0 {
				b.ending = put(b.ending, c.app)
			}
		}
	}
	if b.ending != nil {
		b.countFrees()
	}
	for i := range b.window {
		r := &b.window[i]
		if err := b.play(&r.Event, r.line); err != nil {
			return fmt.Errorf("line %d: %s: %w", r.line, r.Op, err)
		}
	}
	for _, a := range b.ended {
		if a.open != nil && a.open.masterEnded {
			b.closeAttempt(a)
		}
	}
	b.ended = b.ended[:0]
	b.window, b.opening = b.window[:0], false
	return nil
}

// countFrees counts the containers that end, of applications whose attempts end.
func (b *builder) countFrees() {
	b.frees = map[*app]int{}
	for i := range b.window {
		if r := &b.window[i]; r.Op == eventlog.Free {
			if c := b.containers[r.Container]; c != nil {
				b.frees[c.app]++
			}
		}
	}
}

func put[K comparable](m map[K]bool, k K) map[K]bool {
	if m == nil {
		m = map[K]bool{}
	}
	m[k] = true
	return m
}

func (b *builder) play(r *eventlog.Event, line int) error {
	switch r.Op {
	case eventlog.AddNode, eventlog.RemoveNode, eventlog.SetLabel, eventlog.SetCapability, eventlog.SetOpen, eventlog.SetAbility:
		return b.node(r)
	case eventlog.SetExclusive:
		b.event(Event{Op: r.Op, Label: r.Label, Exclusive: r.Open})
	case eventlog.SetAttributes:
		b.setAttributes(r.Host, r.Attributes)
	case eventlog.SetTree:
		if r.Queues != nil && r.Open {
			b.setQueues(r.Queues)
		}
	case eventlog.AddApp:
		return b.addApp(r, line)
	case eventlog.RemoveApp, eventlog.MoveApp, eventlog.SetPriority, eventlog.UpdateAsks, eventlog.ClearAsks, eventlog.UpdateBlacklist, eventlog.Name, eventlog.NameApp:
		return b.app(r)
	case eventlog.Identify:
		return b.identify(r)
	case eventlog.Restore:
		return b.restore(r)
	case eventlog.SetTags:
		return b.setTags(r)
	case eventlog.Free:
		c := b.containers[r.Container]
		if c == nil {
			return fmt.Errorf("there is no container %d", r.Container)
		}
		delete(b.containers, r.Container)
		b.free(c, r.Failed)
	default:
		b.ignored[r.Op]++
	}
	return nil
}

func (b *builder) node(r *eventlog.Event) error {
	size := records.Resource(r.Resource)
	if r.Op == eventlog.AddNode {
		spec := r.NodeSpec()
		b.nodes[r.Node] = b.addNode(&spec)
		return nil
	}
	n, ok := b.nodes[r.Node]
	if !ok {
		return fmt.Errorf("there is no node %d", r.Node)
	}
	m := &b.known[n]
	e := Event{Op: r.Op, Node: n}
	switch r.Op {
	case eventlog.RemoveNode:
		m.there = false
		delete(b.nodes, r.Node)
	case eventlog.SetLabel:
		m.spec.Label, e.Label = r.Label, r.Label
	case eventlog.SetCapability:
		m.spec.Capability = size
		e.Spec = &scheduler.NodeSpec{Capability: size}
	case eventlog.SetOpen:
		e.Open = r.Works()
	case eventlog.SetAbility:
		if r.Ability == nil {
			return fmt.Errorf("the record doesn't say what node %d can do", r.Node)
		}
		e.Ability = *r.Ability
	}
	b.event(e)
	return nil
}

// addNode enters a node, or finds the one that a session before had.
func (b *builder) addNode(spec *scheduler.NodeSpec) int {
	if b.leaderless {
		b.load.Pauses[len(b.load.Pauses)-1].To, b.leaderless = b.now, false
	}
	for _, n := range b.byHost[spec.Host] {
		if m := &b.known[n]; m.there && !m.confirmed {
			m.confirmed = true
			if m.spec.Label != spec.Label {
				m.spec.Label = spec.Label
				b.event(Event{Op: eventlog.SetLabel, Node: n, Label: spec.Label})
			}
			if m.spec.Capability != spec.Capability {
				m.spec.Capability = spec.Capability
				b.event(Event{Op: eventlog.SetCapability, Node: n, Spec: &scheduler.NodeSpec{Capability: spec.Capability}})
			}
			return n
		}
	}
	n := len(b.known)
	b.known = append(b.known, knownNode{spec: *spec, there: true, confirmed: true})
	b.byHost[spec.Host] = append(b.byHost[spec.Host], n)
	b.event(Event{Op: eventlog.AddNode, Node: n, Spec: spec})
	return n
}

// sweepNow takes for gone, since the session began, what that hasn't named.
func (b *builder) sweepNow() {
	if b.sweep == 0 {
		return
	}
	b.sweep = 0
	now := b.now
	b.now = b.since
	gone := slices.Collect(maps.Values(b.byName))
	gone = slices.DeleteFunc(gone, func(c *container) bool { return c.confirmed })
	slices.SortFunc(gone, func(x, y *container) int {
		return cmp.Or(cmp.Compare(x.begin, y.begin), cmp.Compare(x.name.ID, y.name.ID))
	})
	for _, c := range gone {
		b.free(c, false)
	}
	for _, a := range b.list {
		if !a.confirmed && !a.gone {
			b.removeApp(a)
		}
	}
	for n := range b.known {
		if m := &b.known[n]; m.there && !m.confirmed {
			m.there = false
			b.event(Event{Op: eventlog.RemoveNode, Node: n})
		}
	}
	b.now = now
	slices.SortStableFunc(b.load.Events, func(x, y Event) int { return cmp.Compare(x.Time, y.Time) })
}

// notes says what was in the record that isn't in the load.
var notes = map[eventlog.Op]string{
	eventlog.Resize:      "containers were resized: they count with the size with which they were granted",
	eventlog.Grow:        "containers were to grow: they count with the size with which they were granted",
	eventlog.Swap:        "containers were suspended for their own application: that isn't part of the load",
	eventlog.NoteOutputs: "outputs of maps were reported: stage policies decide without them",
	eventlog.NoteTasks:   "ApplicationMasters told of their tasks: policies that use that decide without it",
	eventlog.NoteSpeed:   "speeds of nodes were told: policies that use them decide without them",
}

// usualReask is how long, in ms, an ApplicationMaster takes until it asks for what was lost, where the record has no example: its heartbeat.
const usualReask = 1000

// maxGapNotes bounds the gaps that are named.
const maxGapNotes = 20

// finish ends what hasn't ended, and returns the load.
func (b *builder) finish() (*Load, error) {
	if err := b.flush(b.now); err != nil {
		return nil, err
	}
	b.sweepNow()
	l := b.load
	l.End, l.Nodes, l.Reask = b.now, len(b.known), usualReask
	if n := len(b.reasks); n > 0 {
		slices.Sort(b.reasks)
		l.Reask = b.reasks[n/2]
	}
	for _, a := range b.list {
		if !a.gone {
			a.Cut, a.Now = true, b.present(a)
			b.closeAttempt(a)
		}
		l.Apps = append(l.Apps, a.finish())
	}
	slices.SortStableFunc(l.Apps, func(x, y App) int { return cmp.Compare(x.Submit, y.Submit) })
	l.Notes = append(l.Notes, b.gaps[:min(len(b.gaps), maxGapNotes)]...)
	if more := len(b.gaps) - maxGapNotes; more > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("the record has %d more gaps", more))
	}
	for _, op := range slices.Sorted(maps.Keys(b.ignored)) {
		if text := notes[op]; text != "" {
			l.Notes = append(l.Notes, fmt.Sprintf("%d times %s", b.ignored[op], text))
		}
	}
	return l, nil
}
