// Package anonymous takes the names out of records (rm/scheduler/eventlog), so that they can be given to others: queues, users, applications,
// nodes, racks, labels and types of applications get numbers, the same ones throughout. Numbers, times and the shape of the queues stay.
package anonymous

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// Names maps names to numbers. The zero value knows none yet.
type Names struct {
	of map[string]map[string]string // by what is named
}

// call returns the name for a name of some kind of thing. No name stays none.
func (n *Names) call(kind, name string) string {
	if name == "" {
		return ""
	}
	if n.of == nil {
		n.of = map[string]map[string]string{}
	}
	m := n.of[kind]
	if m == nil {
		m = map[string]string{}
		n.of[kind] = m
	}
	to, known := m[name]
	if !known {
		to = fmt.Sprintf("%s%d", kind, len(m)+1)
		m[name] = to
	}
	return to
}

// path maps a queue's path part by part. Its root stays.
func (n *Names) path(path string) string {
	if path == "" {
		return ""
	}
	parts := strings.Split(path, ".")
	for i, p := range parts {
		if (i > 0 || p != "root") && p != "*" {
			parts[i] = n.call("queue", p)
		}
	}
	return strings.Join(parts, ".")
}

// place maps a host, or a rack with its slashes.
func (n *Names) place(name string) string {
	if name == scheduler.Any || !strings.HasPrefix(name, "/") {
		return n.host(name)
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = n.call("rack", parts[i])
	}
	return strings.Join(parts, "/")
}

func (n *Names) host(name string) string {
	if name == scheduler.Any {
		return name
	}
	return n.call("node", name)
}

// app maps an application's id: its number stays, and its cluster gets one.
func (n *Names) app(name string) string {
	id, err := records.ParseApplicationID(name)
	if err != nil {
		return n.call("app", name)
	}
	var cluster int64
	if _, err := fmt.Sscanf(n.call("c", fmt.Sprint(id.ClusterTimestamp)), "c%d", &cluster); err != nil {
		return n.call("app", name)
	}
	return records.ApplicationID{ClusterTimestamp: cluster, ID: id.ID}.String()
}

// types are those of which the name says nothing of a user.
var types = []string{"", "YARN", "MAPREDUCE", "SPARK", "TEZ", "DEFAULT"}

func (n *Names) typeOf(name string) string {
	if slices.Contains(types, name) {
		return name
	}
	return n.call("type", name)
}

// Copy copies a log without its names. What is torn at its end is left out.
func (n *Names) Copy(to io.Writer, from io.Reader) error {
	in, out := eventlog.NewReader(from), eventlog.NewWriter(to)
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return err
		}
		if e.Header == nil {
			n.event(e.Event)
			out.Append(e.Event)
			continue
		}
		if e.Header.Format < 2 {
			return fmt.Errorf("line %d: the record has format %d: record anew", e.Line, e.Header.Format)
		}
		if e.Header.Gap != nil {
			e.Header.Gap.Why = "" // it may name a file
		}
		if e.Header.Queues, err = n.source(e.Header.Queues); err == nil {
			err = out.Begin(*e.Header)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", e.Line, err)
		}
	}
}

// event takes the names out of an event.
func (n *Names) event(r *eventlog.Event) {
	switch r.Op {
	case eventlog.AddApp, eventlog.NameApp:
		r.Name = n.app(r.Name)
	default:
		r.Name = n.call("name", r.Name)
	}
	r.Host, r.Rack = n.host(r.Host), n.place(r.Rack)
	r.Queue, r.User, r.Type, r.Label = n.path(r.Queue), n.call("user", r.User), n.typeOf(r.Type), n.call("label", r.Label)
	for i := range r.Asks {
		a := &r.Asks[i]
		a.Name, a.Label = n.place(a.Name), n.call("label", a.Label)
		if p := a.Scheduling; p != nil {
			a.Scheduling = &scheduler.SchedulingRequest{Tags: n.tags(p.Tags), Constraint: n.constraint(p.Constraint)}
		}
	}
	r.Attributes = n.attributes(r.Attributes)
	called := n.place
	if r.Op == eventlog.NameApp || r.Op == eventlog.SetTags {
		called = n.tag
	}
	for _, list := range [][]string{r.Add, r.Remove} {
		for i := range list {
			list[i] = called(list[i])
		}
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		d.Reason, d.For = "", n.path(d.For)
	}
	if r.Queues != nil {
		var err error
		if r.Queues, err = n.source(r.Queues); err != nil {
			r.Queues = nil // it couldn't be read then either
		}
	}
}
