// Package leafpolicy has the names of the policies of a leaf: YARN's orders and others (ordering-policy), and stage policies, which decide
// by the maps and reduces of MapReduce applications and take the place of an order (heddle-stage-policy). Package queue reads them from
// files, and refuses unknown names. Package rm/scheduler/policy/leaf has the policies.
package leafpolicy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/conf"
)

const policyPackage = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy."

// orders of applications that a leaf can have, with YARN's classes of them.
var policies = map[string]string{
	"fifo": "FifoOrderingPolicy", "fair": "FairOrderingPolicy",
	"fifo-with-partitions": "FifoOrderingPolicyWithExclusivePartitions", "fifo-for-pending-apps": "FifoOrderingPolicyForPendingApps",
}

// AddOrdering adds an order of applications that isn't one of YARN's, with its settings. It is for init functions.
func AddOrdering(name string, settings ...Setting) {
	policies[name] = ""
	for _, s := range settings {
		s.Ordering = name
		numbers = append(numbers, s)
	}
}

// ParseOrdering returns the name of an order, which may be given as the name of its class. An error names those that there are.
func ParseOrdering(v string) (name string, err error) {
	for name, class := range policies {
		if v == name || class != "" && v == policyPackage+class {
			return name, nil
		}
	}
	return "fifo", fmt.Errorf("it must be one of %s, as the queue holds applications", strings.Join(slices.Sorted(maps.Keys(policies)), ", "))
}

// StageKey is the setting of a queue, and those below it, that names its stage policy. Fair queues have an element of this name.
const StageKey = "heddle-stage-policy"

// NoStages is the stage policy of a queue that orders its applications without regard to stages.
const NoStages = "none"

var stages = []string{NoStages}

// AddStage adds a stage policy. It is for init functions.
func AddStage(name string) { stages = append(stages, name) }

// IsStage reports whether a queue with a stage policy regards stages: it isn't empty, nor NoStages.
func IsStage(policy string) bool { return policy != "" && policy != NoStages }

// ParseStage returns the stage policy that a word is. An error names those that there are.
func ParseStage(word string) (string, error) {
	if word = strings.TrimSpace(word); slices.Contains(stages, word) {
		return word, nil
	}
	return NoStages, fmt.Errorf("it must be one of %s", strings.Join(slices.Sorted(slices.Values(stages)), ", "))
}

// StageOf reads the stage policy of queues that name none. Its value has been checked where the configuration was.
func StageOf(c *conf.Config) string {
	name, _ := ParseStage(c.Text("heddle.scheduler.stage-policy"))
	return name
}
