// Package health is the summary of the scheduler's last run that YARN's REST API shows.
package health

import "heddle/rm/rest/amount"

// Info is a summary of the scheduler's last run (Hadoop: CapacitySchedulerHealthInfo).
type Info struct {
	LastRun    int64       `yarn:"lastrun"`
	Operations []Operation `yarn:"operationsInfo"`
	Details    []Detail    `yarn:"lastRunDetails"`
}

// Operation is the last one of a kind.
type Operation struct {
	Operation string `yarn:"operation"`
	Node      string `yarn:"nodeId"`
	Container string `yarn:"containerId"`
	Queue     string `yarn:"queue"`
}

// Detail counts operations of a kind.
type Detail struct {
	Operation string          `yarn:"operation"`
	Count     int             `yarn:"count"`
	Resources amount.Resource `yarn:"resources"`
}

// Of names no operations: the scheduler decides when something is asked for, not in runs. now is in ms since 1970, none an amount of nothing.
func Of(now int64, none amount.Resource) Info {
	h := Info{LastRun: now}
	for _, op := range []string{"last-allocation", "last-release", "last-preemption", "last-reservation"} {
		h.Operations = append(h.Operations, Operation{op, "N/A", "N/A", "N/A"})
	}
	for _, op := range []string{"releases", "allocations", "reservations"} {
		h.Details = append(h.Details, Detail{op, 0, none})
	}
	return h
}
