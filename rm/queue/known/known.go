// Package known has the names of the CapacityScheduler's settings. They lack the prefix yarn.scheduler.capacity.
package known

import (
	"slices"
	"strings"

	"heddle/rm/queue/leafpolicy"
	"heddle/rm/queue/nodesort"
	"heddle/rm/queue/suspension"
	"heddle/rm/queue/template"
)

var (
	// Global keys are those of the scheduler.
	Global = wordSet(`maximum-applications maximum-am-resource-percent global-queue-max-application max-parallel-apps
		user.max-parallel-apps resource-calculator node-locality-delay rack-locality-additional-delay rack-locality-full-reset
		reservations-continue-look-all-nodes queue-mappings queue-mappings-override.enable mapping-rule-format mapping-rule-json mapping-rule-json-file mapping-rule-json-file.text legacy-queue-mode.enabled
		minimum-user-limit-percent user-limit-factor lazy-preemption-enabled ` + template.DepthKey + ` ` + template.ExpiryKey + `
		ordering-policy.priority-utilization.underutilized-preemption.enabled
		ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation`)
	// Accepted keys have no effect here, because nothing waits for heartbeats.
	Accepted = wordSet(`user-metrics.enable application.fail-fast skip-allocate-on-nodes-with-reserved-containers schedule-asynchronously.enable
		schedule-asynchronously.maximum-threads schedule-asynchronously.maximum-pending-backlogs schedule-asynchronously.scheduling-interval-ms
		per-node-heartbeat.maximum-offswitch-assignments per-node-heartbeat.multiple-assignments-enabled per-node-heartbeat.maximum-container-assignments`)
	laterKeys = []string{"workflow-priority-mappings", "queue.auto.refresh."}
	// Queue has the keys of a queue, without its path.
	Queue = wordSet(`queues capacity maximum-capacity minimum-user-limit-percent user-limit-factor maximum-applications maximum-am-resource-percent max-parallel-apps
		maximum-allocation maximum-allocation-mb maximum-allocation-vcores ordering-policy ordering-policy.fair.enable-size-based-weight priority
		default-application-priority state acl_submit_applications acl_administer_queue acl_application_max_priority disable_preemption
		intra-queue-preemption.disable_preemption maximum-application-lifetime default-application-lifetime allow-zero-capacity-sum reservable
		accessible-node-labels acl_submit_reservations multi-node-sorting.policy acl_administer_reservations acl_list_reservations ` + leafpolicy.StageKey + ` ` + suspension.MeansKey + ` ` + suspension.UnableKey)
	laterQueueKeys = []string{
		"average-capacity", "reservation-", "instantaneous-max-capacity",
		"show-reservations-as-queues", "ordering-policy.",
	}
)

// IsGlobal reports whether a key is one of the scheduler as a whole that has an effect.
func IsGlobal(key string) bool { return Global[key] || nodesort.IsSetting(key) }

// Later reports whether a key of the scheduler has an effect in YARN that Heddle lacks.
func Later(key string) bool { return hasPrefixOf(key, laterKeys) }

// LaterOfQueue is Later for a key of a queue, without its path.
func LaterOfQueue(key string) bool { return hasPrefixOf(key, laterQueueKeys) }

func wordSet(text string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		out[w] = true
	}
	return out
}

func hasPrefixOf(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}
