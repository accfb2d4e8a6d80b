// Package nodesort reads by which order the CapacityScheduler looks for nodes (Hadoop: MultiNodeSortingManager): multi-node-placement-enabled, and the policy of a
// queue. ResourceUsageMultiNodeLookupPolicy, Hadoop's only one, prefers the nodes of which the least is allocated.
package nodesort

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/conf"
)

// Keys, without the scheduler's prefix. PolicyKey is also one of a queue.
const (
	EnabledKey = "multi-node-placement-enabled"
	PolicyKey  = "multi-node-sorting.policy"
	NamesKey   = PolicyKey + ".names"
)

const (
	class    = ".class"
	interval = ".sorting-interval.ms"
	known    = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.ResourceUsageMultiNodeLookupPolicy"
	// usual is how often nodes are sorted, in ms, and most bounds that.
	usual = 1000
	most  = 24 * 60 * 60 * 1000
)

// IsSetting reports whether a key of the scheduler, without its prefix, is one of these.
func IsSetting(key string) bool {
	return key == EnabledKey || key == PolicyKey || key == NamesKey ||
		strings.HasPrefix(key, PolicyKey+".") && (strings.HasSuffix(key, class) || strings.HasSuffix(key, interval))
}

// Every returns how often nodes are sorted for a queue; 0: they aren't, and get containers in turn. An interval of 0 ms sorts them each millisecond. fail is told of
// settings with which YARN's ResourceManager doesn't start.
func Every(settings map[string]string, path string, fail func(key, value, reason string)) time.Duration {
	get := func(key string) string { return strings.TrimSpace(settings[key]) }
	if !strings.EqualFold(get(EnabledKey), "true") {
		return 0
	}
	key := path + "." + PolicyKey
	name := get(key)
	if name == "" {
		key, name = PolicyKey, get(PolicyKey)
	}
	if name == "" {
		return 0
	}
	if names := conf.ParseList(get(NamesKey)); !slices.Contains(names, name) {
		fail(key, name, fmt.Sprintf("it must be one of yarn.scheduler.capacity.%s, which has: %s", NamesKey, strings.Join(names, ", ")))
		return 0
	}
	if of := get(PolicyKey + "." + name + class); of != known {
		fail(PolicyKey+"."+name+class, of, "it must be "+known+", as no other policy is built in")
		return 0
	}
	text := get(PolicyKey + "." + name + interval)
	if text == "" {
		return usual * time.Millisecond
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > most {
		fail(PolicyKey+"."+name+interval, text, fmt.Sprintf("it must be a number of ms, from 0 to %d", most))
		return 0
	}
	return max(time.Duration(ms)*time.Millisecond, 1)
}
