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

	"heddle/conf"
	"heddle/rm/queue"
	"heddle/rm/queue/nodesort"
	"heddle/rm/queue/template"
	"heddle/rm/scheduler/eventlog"
)

// kept are the properties of capacity queues that stay, as they have no names in them, or only those of queues and labels. Others, such as lists of
// who may submit and rules of placement, decide nothing of what a record has.
var kept = []string{
	"queues", "capacity", "maximum-capacity", "state", "minimum-user-limit-percent", "user-limit-factor", "maximum-applications", "maximum-am-resource-percent",
	"max-parallel-apps", "ordering-policy", "priority", "disable_preemption", "maximum-allocation-mb", "maximum-allocation-vcores", "maximum-allocation",
	"accessible-node-labels", "default-node-label-expression", "heddle-stage-policy", "heddle-preemption", "heddle-preemption-unable", "node-locality-delay", "rack-locality-additional-delay", "resource-calculator",
	"default-application-priority", "maximum-application-lifetime", "default-application-lifetime", "enable-size-based-weight", "fair", "lazy-preemption-enabled",
	nodesort.EnabledKey, "reservations-continue-look-all-nodes", "rack-locality-full-reset", "global-queue-max-application", "legacy-queue-mode", "maximum-queue-depth",
	"auto-create-child-queue", "auto-queue-creation-v2",
}

// templates begin the properties of queues that are created on demand.
var templates = []string{template.LeafPrefix, "auto-queue-creation-v2.template.", "auto-queue-creation-v2.leaf-template.", "auto-queue-creation-v2.parent-template."}

// source takes the names out of a configuration of queues.
func (n *Names) source(s *eventlog.Source) (*eventlog.Source, error) {
	if s == nil {
		return nil, nil
	}
	out := &eventlog.Source{Keys: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(s.Keys)) {
		name, ours := strings.CutPrefix(key, queue.Prefix)
		if !ours {
			if value, keep := n.setting(key, s.Keys[key]); keep {
				out.Keys[key] = value
			}
			continue
		}
		if to, value, keep := n.property(s, name, s.Keys[key]); keep {
			out.Keys[queue.Prefix+to] = value
		}
	}
	for _, c := range s.Created {
		c.Path, c.Zero = n.path(c.Path), slices.Clone(c.Zero)
		for i := range c.Zero {
			c.Zero[i] = n.call("label", c.Zero[i])
		}
		out.Created = append(out.Created, c)
	}
	var err error
	out.Allocation, err = n.allocation(s.Allocation)
	return out, err
}

const (
	resourceTypes = "yarn.resource-types"
	nodeSpeeds    = "heddle.scheduler.node-speeds"
	taskTimes     = "heddle.scheduler.partition.task-times"
)

// setting maps a setting of a scheduler. Those that say anything but amounts, times and choices are left out: they may name what they like.
func (n *Names) setting(key, value string) (mapped string, keep bool) {
	switch key {
	case queue.SchedulerClass, resourceTypes:
		return value, true
	case nodeSpeeds:
		return n.pairs(value, func(host string) string {
			if strings.ContainsAny(host, `*?[\`) {
				return "" // which hosts it means isn't to be told by their numbers
			}
			return n.host(host)
		}), true
	case taskTimes:
		return n.pairs(value, n.path), true
	}
	if strings.HasPrefix(key, resourceTypes+".") {
		return value, true
	}
	k, known := conf.FindKey(key)
	return value, known && k.Plain(value)
}

// pairs maps the names of NAME=VALUE, NAME=VALUE. Those without a name afterwards are left out.
func (n *Names) pairs(text string, call func(string) string) string {
	var list []string
	for _, w := range words(text) {
		name, value, _ := strings.Cut(w, "=")
		if name = call(name); name != "" {
			list = append(list, name+"="+value)
		}
	}
	return strings.Join(list, ",")
}

// property maps a property of a capacity queue, or of all.
func (n *Names) property(s *eventlog.Source, name, value string) (to, mapped string, keep bool) {
	path, rest := "", name
	if strings.HasPrefix(name, "root.") {
		path, rest = "root", strings.TrimPrefix(name, "root.")
		for {
			child, more, ok := strings.Cut(rest, ".")
			if !ok || child != "*" && !slices.Contains(words(s.Keys[queue.Prefix+path+".queues"]), child) {
				break
			}
			path, rest = path+"."+child, more
		}
		to = n.path(path) + "."
	}
	if after, value, ok := n.nodeSorting(to, rest, value); ok {
		return after, value, true
	}
	begin := ""
	for _, t := range templates {
		if strings.HasPrefix(rest, t) {
			begin, rest = t, strings.TrimPrefix(rest, t)
		}
	}
	rest, value, keep = n.own(rest, value)
	return to + begin + rest, value, keep
}

// own maps a property of a queue without the queue's name.
func (n *Names) own(rest, value string) (to, mapped string, keep bool) {
	if after, ok := strings.CutPrefix(rest, "accessible-node-labels."); ok {
		label, property, ok := strings.Cut(after, ".")
		return "accessible-node-labels." + n.call("label", label) + "." + property, value, ok && slices.Contains(kept, property)
	}
	first, _, _ := strings.Cut(rest, ".")
	switch rest {
	case "queues":
		value = n.list("queue", value)
	case "accessible-node-labels", "default-node-label-expression":
		value = n.list("label", value)
	}
	return rest, value, slices.Contains(kept, first)
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

// Elements of an allocation file: those with others in them, and those with a value. What else there is, such as who may submit, rules of placement, comments, or what
// isn't YARN's, is left out.
var (
	holders = []string{"allocations", "queue", "pool", "user"}
	valued  = []string{
		"minResources", "maxResources", "maxChildResources", "maxContainerAllocation", "maxRunningApps", "maxAMShare", "weight", "minSharePreemptionTimeout", "fairSharePreemptionTimeout",
		"fairSharePreemptionThreshold", "schedulingPolicy", "schedulingMode", "allowPreemptionFrom", "queueMaxAMShareDefault", "queueMaxAppsDefault", "queueMaxResourcesDefault",
		"defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode", "userMaxAppsDefault", "defaultMinSharePreemptionTimeout", "defaultFairSharePreemptionTimeout",
		"defaultFairSharePreemptionThreshold", "heddle-preemption", "heddle-preemption-unable", "heddle-stage-policy",
	}
)

// allocation takes the names out of the text of a fair-scheduler.xml.
func (n *Names) allocation(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	var b bytes.Buffer
	d, e := xml.NewDecoder(strings.NewReader(text)), xml.NewEncoder(&b)
	var inside []string
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
			if !slices.Contains(holders, x.Name.Local) && !slices.Contains(valued, x.Name.Local) {
				if err := d.Skip(); err != nil {
					return "", fmt.Errorf("the allocation file: %w", err)
				}
				continue
			}
			inside, t = append(inside, x.Name.Local), n.element(x)
		case xml.EndElement:
			inside, t = inside[:len(inside)-1], xml.EndElement{Name: xml.Name{Local: x.Name.Local}}
		case xml.CharData:
			if len(inside) == 0 || !slices.Contains(valued, inside[len(inside)-1]) {
				continue
			}
			if inside[len(inside)-1] == "allowPreemptionFrom" && !strings.EqualFold(strings.TrimSpace(string(x)), "true") {
				t = xml.CharData("false") // whatever else there is counts as that
			}
		default:
			continue
		}
		if err := e.EncodeToken(t); err != nil {
			return "", fmt.Errorf("the allocation file: %w", err)
		}
	}
	return b.String(), e.Flush()
}

func (n *Names) element(x xml.StartElement) xml.StartElement {
	to := xml.StartElement{Name: xml.Name{Local: x.Name.Local}}
	for _, a := range x.Attr {
		switch {
		case a.Name.Local == "type" && a.Value == "parent":
		case a.Name.Local != "name":
			continue
		case x.Name.Local == "user":
			a.Value = n.call("user", a.Value)
		default:
			a.Value = n.path(a.Value)
		}
		to.Attr = append(to.Attr, xml.Attr{Name: xml.Name{Local: a.Name.Local}, Value: a.Value})
	}
	return to
}
