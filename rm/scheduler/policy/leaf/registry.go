package leaf

import (
	"fmt"
	"maps"
	"slices"

	"heddle/rm/queue/leafpolicy"
	"heddle/rm/scheduler/ranking"
)

// known are the leaf policies by name: a rule that is built in, or ranking.ByRatio and how the Policy is made.
var known = map[string]entry{
	"fifo":                  {rule: ranking.ByPriority},
	"fifo-with-partitions":  {rule: ranking.ByPriority},
	"fifo-for-pending-apps": {rule: ranking.ByPriority},
	"fair":                  {rule: ranking.ByAppUse},
}

type entry struct {
	rule  ranking.Rule
	make  func() Policy
	stage bool // it is a stage policy
}

// Register adds a policy by the name that queues give it, with the settings that it has in each queue. It is for init functions: it panics if
// the name is taken.
func Register(name string, make func() Policy, settings ...leafpolicy.Setting) {
	if _, taken := known[name]; taken {
		panic(fmt.Sprintf("there are two leaf policies %q", name))
	}
	known[name] = entry{rule: ranking.ByRatio, make: make}
	leafpolicy.AddOrdering(name, settings...)
}

// RegisterStage adds a stage policy by the name that queues give it: one that orders applications by the stages of their work, and takes
// the place of a leaf's order where heddle-stage-policy names it. It is for init functions.
func RegisterStage(name string, make func() Policy) {
	if _, taken := known[name]; taken {
		panic(fmt.Sprintf("there are two leaf policies %q", name))
	}
	known[name] = entry{rule: ranking.ByRatio, make: make, stage: true}
	leafpolicy.AddStage(name)
}

// Names returns the names of all leaf policies but stage policies, sorted.
func Names() []string {
	names := slices.Sorted(maps.Keys(known))
	return slices.DeleteFunc(names, func(name string) bool { return known[name].stage })
}

// Rule returns the rule by which a policy orders applications. Package queue admits no name that isn't known.
func Rule(name string) ranking.Rule {
	e, ok := known[name]
	if !ok {
		panic(fmt.Sprintf("there is no leaf policy %q, only %v", name, Names()))
	}
	return e.rule
}

// New returns a new policy for a leaf, which must be one whose rule is ranking.ByRatio.
func New(name string) *Guard {
	g := &Guard{Name: name, policy: known[name].make()}
	g.watch, _ = g.policy.(Watcher)
	g.why, _ = g.policy.(Explainer)
	g.shuffles, _ = g.policy.(Shuffler)
	g.places, _ = g.policy.(Placer)
	g.ranks, _ = g.policy.(Ranker)
	g.reports, _ = g.policy.(Reporter)
	g.prompts, _ = g.policy.(Prompter)
	g.locates, _ = g.policy.(Localizer)
	g.grants, _ = g.policy.(Granter)
	g.configures, _ = g.policy.(Configurer)
	g.leads, _ = g.policy.(Leader)
	g.timer, _ = g.policy.(Timer)
	return g
}
