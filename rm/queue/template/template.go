// Package template reads what YARN's CapacityScheduler gives queues that are created on demand: whether they may be, how many, and with which settings.
package template

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"heddle/rm/queue/label"
)

// LegacyKey and FlexibleKey switch the two kinds of creation on, below a queue's path.
const (
	LegacyKey   = "auto-create-child-queue.enabled"
	FlexibleKey = flexible + "enabled"
)

// LeafPrefix begins the names of settings of legacy leaves, below the path of the queue above them.
const LeafPrefix = "leaf-queue-template."

const flexible = "auto-queue-creation-v2."

// Names of the settings of created queues, below the path of the queue above them.
const (
	MaxKey       = flexible + "max-queues"
	DepthKey     = flexible + "maximum-queue-depth"
	RemovalKey   = flexible + "queue-auto-removal.enable"
	ExpiryKey    = flexible + "queue-expiration-time" // of the scheduler, in seconds
	LegacyMaxKey = "auto-create-child-queue.max-queues"
	FullKey      = "auto-create-child-queue.fail-on-exceeding-parent-capacity"
)

// Kind is how a queue came to be.
type Kind uint8

// Kinds of queues.
const (
	Static     Kind = iota // it is in the configuration
	Flexible               // created by auto-queue-creation-v2
	LegacyLeaf             // created by auto-create-child-queue
)

// String is the kind as REST has it (creationMethod).
func (k Kind) String() string {
	return [...]string{"static", "dynamicFlexible", "dynamicLegacy"}[k]
}

// Created is a queue that was created on demand.
type Created struct {
	Path   string
	Parent bool // it holds queues
	Legacy bool
	// Zero are the partitions in which a legacy leaf has no capacity now, although its template names one.
	Zero []string `json:",omitempty"`
}

// Creation is how queues are created below a queue.
type Creation struct {
	Legacy, Flexible bool
	// Max is the most children that the queue may have to get another one, Depth how far a created leaf may be below a queue of the configuration.
	Max, Depth int32
	// Full says that no queue is created beyond what the legacy queue is guaranteed.
	Full bool
	// Leaves are the settings of legacy leaves; names begin with leaf-queue-template (Hadoop: LeafQueueTemplateInfo).
	Leaves []Setting
	// All, Parents and FlexibleLeaves are the settings of flexible queues (Hadoop: AutoCreatedQueueTemplate).
	All, Parents, FlexibleLeaves []Setting
}

// Setting is a setting of a queue to be created.
type Setting struct{ Name, Value string }

// Settings are those of templates among the settings of a configuration, or among others where it is nil. Their keys lack YARN's prefix. They are few, and
// each queue of a tree looks through them.
func Settings(configured, others map[string]string) map[string]string {
	if configured == nil {
		configured = others
	}
	out := map[string]string{}
	for key, value := range configured {
		if strings.Contains(key, "."+LeafPrefix) || strings.Contains(key, "."+flexible) {
			out[key] = value
		}
	}
	return out
}

// Of reads how queues are created below path from the settings of templates. c has the switches, and the depth.
func (c *Creation) Of(settings map[string]string, path string) {
	c.Leaves = below(settings, path, LeafPrefix)
	for i := range c.Leaves {
		c.Leaves[i].Name = LeafPrefix + c.Leaves[i].Name
	}
	c.All = inherited(settings, path, "template.", c.Depth)
	c.Parents, c.FlexibleLeaves = inherited(settings, path, "parent-template.", c.Depth), inherited(settings, path, "leaf-template.", c.Depth)
}

// Settings are those of a queue with a name to be created, by names without its path. Those for its kind come before those for all.
func (c *Creation) Settings(made Created) map[string]string {
	out := map[string]string{}
	lists := [][]Setting{c.All, c.FlexibleLeaves}
	switch {
	case made.Legacy:
		for _, s := range c.Leaves {
			out[strings.TrimPrefix(s.Name, LeafPrefix)] = s.Value
		}
		return out
	case made.Parent:
		lists[1] = c.Parents
	}
	for _, list := range lists {
		for _, s := range list {
			out[s.Name] = s.Value
		}
	}
	return out
}

// Leaf returns a setting of legacy leaves by its name without the queue's path, or "".
func (c *Creation) Leaf(name string) string {
	for _, s := range c.Leaves {
		if s.Name == LeafPrefix+name {
			return s.Value
		}
	}
	return ""
}

// Partitions are those in which legacy leaves get a capacity: the default one, and those for which their template has one, sorted.
func (c *Creation) Partitions() []string {
	out := []string{""}
	for _, s := range c.Leaves {
		if name, ok := strings.CutPrefix(s.Name, LeafPrefix+label.AccessKey+"."); ok {
			if name, ok = strings.CutSuffix(name, ".capacity"); ok {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// inherited returns the settings of a template of a path. Those of the path with * for its last parts, as many as depth says, are its own, too, unless
// nearer ones differ.
func inherited(settings map[string]string, path, kind string, depth int32) (out []Setting) {
	parts := strings.Split(path, ".")
	for i := len(parts); i > 0 && int32(len(parts)-i) <= depth; i-- {
		for _, s := range below(settings, strings.Join(parts, "."), flexible+kind) {
			if !slices.ContainsFunc(out, func(x Setting) bool { return x.Name == s.Name }) {
				out = append(out, s)
			}
		}
		parts[i-1] = "*"
	}
	sort(out)
	return out
}

// IsSetting reports whether a queue's setting, without its path, is about queues to be created below it, or below others by a path with *.
func IsSetting(name string) bool {
	for strings.HasPrefix(name, "*.") {
		name = name[2:]
	}
	switch name {
	case LegacyKey, FlexibleKey, MaxKey, DepthKey, RemovalKey, LegacyMaxKey, FullKey, "auto-create-child-queue.management-policy":
		return true
	}
	for _, kind := range []string{LeafPrefix, flexible + "template.", flexible + "leaf-template.", flexible + "parent-template."} {
		if strings.HasPrefix(name, kind) {
			return true
		}
	}
	return false
}

// below returns the settings below a queue's path that begin with prefix, without it.
func below(settings map[string]string, path, prefix string) (out []Setting) {
	for key, value := range settings {
		if name, ok := strings.CutPrefix(key, path+"."+prefix); ok {
			out = append(out, Setting{name, value})
		}
	}
	sort(out)
	return out
}

func sort(list []Setting) {
	slices.SortFunc(list, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
}

// PlanLeaf returns the name of a reservable queue's only leaf (Hadoop: ReservationConstants.DEFAULT_QUEUE_SUFFIX).
func PlanLeaf(name string) string { return name + "-default" }

// Plan returns settings with those of a reservable queue's only leaf, which has the applications without a reservation, and the leaf's
// name. The leaf has all of the queue, and some of its limits (Hadoop: PlanQueue, ReservationQueue).
func Plan(settings map[string]string, path, name string) (with map[string]string, leaves []string) {
	name = PlanLeaf(name)
	with = maps.Clone(settings)
	with[path+"."+name+".capacity"] = "100"
	with[path+"."+name+".maximum-am-resource-percent"] = "0" // so one application runs at a time
	for _, key := range []string{"maximum-applications", "minimum-user-limit-percent", "user-limit-factor"} {
		if v, set := settings[path+"."+key]; set {
			with[path+"."+name+"."+key] = v
		}
	}
	return with, []string{name}
}
