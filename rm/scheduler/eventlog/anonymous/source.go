package anonymous

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/queue/nodesort"
	"heddle/rm/scheduler/eventlog"
)

// kept are the properties of capacity queues that stay, as they have no names in them, or only those of queues and labels. Others, such as lists of
// who may submit and rules of placement, decide nothing of what a record has.
var kept = []string{
	"queues", "capacity", "maximum-capacity", "state", "minimum-user-limit-percent", "user-limit-factor", "maximum-applications", "maximum-am-resource-percent",
	"max-parallel-apps", "ordering-policy", "priority", "disable_preemption", "maximum-allocation-mb", "maximum-allocation-vcores", "maximum-allocation",
	"accessible-node-labels", "default-node-label-expression", "heddle-stage-policy", "node-locality-delay", "rack-locality-additional-delay", "resource-calculator",
	"default-application-priority", "maximum-application-lifetime", "default-application-lifetime", "enable-size-based-weight", "fair", "lazy-preemption-enabled",
	nodesort.EnabledKey,
}

// source takes the names out of a configuration of queues.
func (n *Names) source(s *eventlog.Source) (*eventlog.Source, error) {
	if s == nil {
		return nil, nil
	}
	out := &eventlog.Source{Keys: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(s.Keys)) {
		name, ours := strings.CutPrefix(key, queue.Prefix)
		if !ours {
			out.Keys[key] = s.Keys[key]
			continue
		}
		if to, value, keep := n.property(s, name, s.Keys[key]); keep {
			out.Keys[queue.Prefix+to] = value
		}
	}
	var err error
	out.Allocation, err = n.allocation(s.Allocation)
	return out, err
}

// property maps a property of a capacity queue, or of all.
func (n *Names) property(s *eventlog.Source, name, value string) (to, mapped string, keep bool) {
	path, rest := "", name
	if strings.HasPrefix(name, "root.") {
		path, rest = "root", strings.TrimPrefix(name, "root.")
		for {
			child, more, ok := strings.Cut(rest, ".")
			if !ok || !slices.Contains(words(s.Keys[queue.Prefix+path+".queues"]), child) {
				break
			}
			path, rest = path+"."+child, more
		}
		to = n.path(path) + "."
	}
	if after, ok := strings.CutPrefix(rest, "accessible-node-labels."); ok {
		label, property, ok := strings.Cut(after, ".")
		if !ok || !slices.Contains(kept, property) {
			return "", "", false
		}
		return to + "accessible-node-labels." + n.call("label", label) + "." + property, value, true
	}
	if to, value, ok := n.nodeSorting(to, rest, value); ok {
		return to, value, true
	}
	first, _, _ := strings.Cut(rest, ".")
	if !slices.Contains(kept, first) {
		return "", "", false
	}
	switch rest {
	case "queues":
		value = n.list("queue", value)
	case "accessible-node-labels", "default-node-label-expression":
		value = n.list("label", value)
	}
	return to + rest, value, true
}

// nodeSorting maps a setting of a policy for several nodes, which has a name.
func (n *Names) nodeSorting(to, rest, value string) (key, mapped string, ok bool) {
	switch {
	case rest == nodesort.PolicyKey:
		return to + rest, n.call("policy", strings.TrimSpace(value)), true
	case rest == nodesort.NamesKey:
		return to + rest, n.list("policy", value), true
	case nodesort.IsSetting(rest) && rest != nodesort.EnabledKey:
		after := strings.TrimPrefix(rest, nodesort.PolicyKey+".")
		dot := strings.LastIndexByte(strings.TrimSuffix(after, ".ms"), '.')
		if dot < 0 { // it lacks the name
			return "", "", false
		}
		return nodesort.PolicyKey + "." + n.call("policy", after[:dot]) + after[dot:], value, true
	}
	return "", "", false
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r' })
}

func (n *Names) list(kind, text string) string {
	list := words(text)
	for i, w := range list {
		if w != "*" {
			list[i] = n.call(kind, w)
		}
	}
	return strings.Join(list, ",")
}

// left out are elements of an allocation file with names of users or rules of placement.
var leftOut = []string{"aclSubmitApps", "aclAdministerApps", "aclSubmitReservations", "aclAdministerReservations", "aclListReservations", "queuePlacementPolicy", "reservationPolicy"}

// allocation takes the names out of the text of a fair-scheduler.xml, and its comments.
func (n *Names) allocation(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	var b bytes.Buffer
	d, e := xml.NewDecoder(strings.NewReader(text)), xml.NewEncoder(&b)
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("the allocation file: %w", err)
		}
		switch x := t.(type) {
		case xml.StartElement:
			if slices.Contains(leftOut, x.Name.Local) {
				if err := d.Skip(); err != nil {
					return "", fmt.Errorf("the allocation file: %w", err)
				}
				continue
			}
			t = n.element(x)
		case xml.Comment, xml.ProcInst, xml.Directive:
			continue
		}
		if err := e.EncodeToken(t); err != nil {
			return "", fmt.Errorf("the allocation file: %w", err)
		}
	}
	return b.String(), e.Flush()
}

func (n *Names) element(x xml.StartElement) xml.StartElement {
	x = x.Copy()
	for i := range x.Attr {
		a := &x.Attr[i]
		switch {
		case a.Name.Local != "name":
		case x.Name.Local == "user":
			a.Value = n.call("user", a.Value)
		default:
			a.Value = n.path(a.Value)
		}
	}
	return x
}
