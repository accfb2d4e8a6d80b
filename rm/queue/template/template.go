// Package template reads what YARN's CapacityScheduler would give queues that it makes on demand. Heddle makes none, and shows the
// settings in REST.
package template

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// LegacyKey and FlexibleKey switch the two kinds of creation on, below a queue's path.
const (
	LegacyKey   = "auto-create-child-queue.enabled"
	FlexibleKey = flexible + "enabled"
)

const (
	legacy   = "leaf-queue-template."
	flexible = "auto-queue-creation-v2."
)

// Creation is how queues would be made below a queue.
type Creation struct {
	Legacy, Flexible bool
	// Leaves are the settings of legacy leaves; names begin with leaf-queue-template (Hadoop: LeafQueueTemplateInfo).
	Leaves []Setting
	// All, Parents and FlexibleLeaves are the settings of flexible queues (Hadoop: AutoCreatedQueueTemplate).
	All, Parents, FlexibleLeaves []Setting
}

// Setting is a setting of a queue to be made.
type Setting struct{ Name, Value string }

// Of reads how queues would be made below path. The keys of settings lack YARN's prefix.
func Of(settings map[string]string, path string, legacyOn, flexibleOn bool) Creation {
	c := Creation{Legacy: legacyOn, Flexible: flexibleOn, Leaves: below(settings, path, legacy)}
	for i := range c.Leaves {
		c.Leaves[i].Name = legacy + c.Leaves[i].Name
	}
	c.All = inherited(settings, path, "template.")
	c.Parents, c.FlexibleLeaves = inherited(settings, path, "parent-template."), inherited(settings, path, "leaf-template.")
	return c
}

// inherited returns the settings of a template of a path. Those of the path with * for its last parts are its own, too, unless nearer ones differ.
func inherited(settings map[string]string, path, kind string) (out []Setting) {
	parts := strings.Split(path, ".")
	for i := len(parts); i > 0; i-- {
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

// Plan returns settings with those of a reservable queue's only leaf, which has the applications without a reservation, and the leaf's
// name. The leaf has all of the queue, and some of its limits (Hadoop: PlanQueue, ReservationQueue).
func Plan(settings map[string]string, path, name string) (with map[string]string, leaves []string) {
	name += "-default"
	with = maps.Clone(settings)
	with[path+"."+name+".capacity"] = "100"
	for _, key := range []string{"maximum-applications", "minimum-user-limit-percent", "user-limit-factor"} {
		if v, set := settings[path+"."+key]; set {
			with[path+"."+name+"."+key] = v
		}
	}
	return with, []string{name}
}
