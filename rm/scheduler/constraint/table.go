package constraint

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"heddle/rm/scheduler/handle"
)

// Table knows which tags containers have, and where these are. The zero value knows nothing. Where no request has tags or a constraint it costs nothing.
type Table struct {
	nodes      []place
	apps       map[handle.App]app
	byID       map[string]handle.App
	containers map[handle.Container]tagged
	counts     map[series]*tally
	spare      []*tally                     // without containers
	hosts      map[string]map[string]string // attributes by name, by host
	valued     map[attribute]int            // how many hosts have an attribute with a value
	// Changes counts what may let a constraint be satisfied that wasn't: tags that come and go, nodes and attributes.
	Changes int64
	// Looked counts what searches looked up.
	Looked    int64
	allowance allowance
}

// place is where a node is.
type place struct{ host, rack string }

// app is how others name an application.
type app struct {
	id   string
	tags []string
}

type tagged struct {
	app  handle.App
	node handle.Node
	of   []string // tags of the application
	tags []string
}

type attribute struct{ name, value string }

// series names what containers are counted by: an application, those with a tag or all of them, and a tag.
type series struct {
	app handle.App // everyone: all of them, or those with a tag
	of  string     // that tag
	tag string
}

// tally is how many containers of a series there are: in the cluster, on each node and in each rack. It holds no zeros.
// A change hashes the texts of the series once, however many places it counts in.
type tally struct {
	all   int32
	nodes map[handle.Node]int32
	racks map[string]int32
}

// spot is where containers are counted: on a node, in a rack, or in the cluster.
type spot struct {
	node handle.Node // anywhere: not on one
	rack string
}

const (
	everyone = handle.NoApp
	anywhere = handle.NoNode
)

// maxSpare bounds the tallies that are kept for later series.
const maxSpare = 64

// AddNode enters a node.
func (t *Table) AddNode(h handle.Node, host, rack string) {
	for int(h) >= len(t.nodes) {
		t.nodes = append(t.nodes, place{})
	}
	t.nodes[h] = place{host, cmp.Or(rack, "-")} // a rack is no empty one
	t.Changes++
}

// Name says how others name an application: by its id, and by the tags that it was submitted with.
func (t *Table) Name(h handle.App, id string, tags []string) {
	if t.apps == nil {
		t.apps, t.byID = map[handle.App]app{}, map[string]handle.App{}
	}
	t.Forget(h)
	t.apps[h], t.byID[id] = app{id, tags}, h
}

// Forget drops an application that is gone, with its containers.
func (t *Table) Forget(h handle.App) {
	a, known := t.apps[h]
	if !known {
		return
	}
	delete(t.apps, h)
	delete(t.byID, a.id)
}

// SetAttributes says which attributes a host has, by their names with prefixes.
func (t *Table) SetAttributes(host string, to map[string]string) {
	if t.hosts == nil {
		t.hosts, t.valued = map[string]map[string]string{}, map[attribute]int{}
	}
	for name, value := range t.hosts[host] {
		if a := (attribute{name, value}); t.valued[a] == 1 {
			delete(t.valued, a)
		} else {
			t.valued[a]--
		}
	}
	for name, value := range to {
		t.valued[attribute{name, value}]++
	}
	if t.hosts[host] = maps.Clone(to); len(to) == 0 {
		delete(t.hosts, host)
	}
	t.Changes++
}

// Placed counts the tags of a container on a node.
func (t *Table) Placed(c handle.Container, a handle.App, n handle.Node, tags []string) {
	if len(tags) == 0 {
		return
	}
	if t.containers == nil {
		t.containers, t.counts = map[handle.Container]tagged{}, map[series]*tally{}
	}
	t.Ended(c)
	x := tagged{a, n, t.apps[a].tags, tags}
	t.containers[c] = x
	t.count(&x, 1)
}

// Ended forgets a container.
func (t *Table) Ended(c handle.Container) {
	if x, known := t.containers[c]; known {
		delete(t.containers, c)
		t.count(&x, -1)
	}
}

// TagsOf returns those of a container, which are not to be changed.
func (t *Table) TagsOf(c handle.Container) []string { return t.containers[c].tags }

func (t *Table) count(x *tagged, more int32) {
	t.Changes++
	rack := t.at(x.node).rack
	for i, tag := range x.tags {
		if slices.Contains(x.tags[:i], tag) {
			continue
		}
		t.add(series{x.app, "", tag}, x.node, rack, more)
		t.add(series{everyone, "", tag}, x.node, rack, more)
		for _, of := range x.of {
			if of == "" {
				continue
			}
			t.add(series{everyone, of, tag}, x.node, rack, more)
		}
	}
}

// add counts at a node, in its rack, and in the cluster.
func (t *Table) add(k series, n handle.Node, rack string, more int32) {
	x := t.counts[k]
	if x == nil {
		x = t.newTally()
		t.counts[k] = x
	}
	add(x.nodes, n, more)
	add(x.racks, rack, more)
	if x.all += more; x.all == 0 && len(x.nodes)+len(x.racks) == 0 {
		delete(t.counts, k)
		if len(t.spare) < maxSpare {
			t.spare = append(t.spare, x)
		}
	}
}

// newTally returns one without containers. Applications often have one container with a tag at a time, so that series
// come and go.
func (t *Table) newTally() *tally {
	last := len(t.spare) - 1
	if last < 0 {
		return &tally{nodes: map[handle.Node]int32{}, racks: map[string]int32{}}
	}
	x := t.spare[last]
	t.spare = t.spare[:last]
	return x
}

func add[K comparable](to map[K]int32, k K, more int32) {
	if sum := to[k] + more; sum == 0 {
		delete(to, k)
	} else {
		to[k] = sum
	}
}

// at returns how many there are at a spot.
func (x *tally) at(where spot) int32 {
	switch {
	case x == nil:
		return 0
	case where.node != anywhere:
		return x.nodes[where.node]
	case where.rack != "":
		return x.racks[where.rack]
	}
	return x.all
}

func (t *Table) at(h handle.Node) place {
	if h >= 0 && int(h) < len(t.nodes) {
		return t.nodes[h]
	}
	return place{}
}

// May reports whether a node satisfies a constraint of an application now.
func (t *Table) May(a handle.App, n handle.Node, c *Constraint) bool {
	switch {
	case c == nil:
		return true
	case c.Op == And:
		return !slices.ContainsFunc(c.Of, func(x *Constraint) bool { return !t.May(a, n, x) })
	case c.Op == Or:
		return slices.ContainsFunc(c.Of, func(x *Constraint) bool { return t.May(a, n, x) })
	case c.Op == Attribute:
		value, has := t.hosts[t.at(n).host][c.Name]
		return (has && value == c.Value) != c.Differs
	case c.Op == Count:
		return t.counted(a, n, c)
	}
	return false
}

// Possible reports whether any node could satisfy a constraint, as far as it can be told without looking at nodes.
func (t *Table) Possible(a handle.App, c *Constraint) bool {
	switch {
	case c == nil:
		return true
	case c.Op == And:
		return !slices.ContainsFunc(c.Of, func(x *Constraint) bool { return !t.Possible(a, x) })
	case c.Op == Or:
		return slices.ContainsFunc(c.Of, func(x *Constraint) bool { return t.Possible(a, x) })
	case c.Op == Attribute:
		return c.Differs || t.valued[attribute{c.Name, c.Value}] > 0
	case c.Op == Count:
		if c.Min <= 0 {
			return true
		}
		_, most := t.extremes(a, c, spot{node: anywhere})
		return most >= c.Min
	}
	return false
}

func (t *Table) counted(a handle.App, n handle.Node, c *Constraint) bool {
	where := spot{node: n}
	if c.Scope == Rack {
		where = spot{node: anywhere, rack: t.at(n).rack}
	}
	least, most := t.extremes(a, c, where)
	return (c.Min <= 0 || most >= c.Min) && (c.Max == math.MaxInt32 || least <= c.Max)
}

// extremes is the least and the greatest number of containers at a place that any of the tags of a constraint has.
func (t *Table) extremes(a handle.App, c *Constraint, where spot) (least, most int32) {
	for i, tag := range c.Tags {
		n := t.number(a, c, where, tag)
		if i == 0 {
			least, most = n, n
		}
		least, most = min(least, n), max(most, n)
	}
	return least, most
}

// number is how many containers with a tag a place has, of the applications that a constraint is about.
func (t *Table) number(a handle.App, c *Constraint, where spot, tag string) int32 {
	of := func(a handle.App) int32 { return t.counts[series{a, "", tag}].at(where) }
	switch c.Space {
	case All:
		return of(everyone)
	case NotSelf:
		return of(everyone) - of(a)
	case AppID:
		if h, known := t.byID[c.App]; known {
			return of(h)
		}
		return 0
	case AppTag, AppLabel:
		return t.counts[series{everyone, c.App, tag}].at(where)
	}
	return of(a)
}

// Unmet is the part of a constraint that a node doesn't satisfy, for people; nil if it satisfies all.
func (t *Table) Unmet(a handle.App, n handle.Node, c *Constraint) *Constraint {
	if t.May(a, n, c) {
		return nil
	}
	if c.Op == And {
		for _, x := range c.Of {
			if u := t.Unmet(a, n, x); u != nil {
				return u
			}
		}
	}
	return c
}
