package logs

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"heddle/yarn/records"
)

// Ended describes a container to a policy.
type Ended struct {
	ID       records.ContainerID
	Master   bool // it is the ApplicationMaster's container
	ExitCode int  // 0 while it runs
}

// Policy decides whether the logs of a container are aggregated.
type Policy func(Ended) bool

// Exit codes of a process that SIGKILL or SIGTERM ended.
const (
	exitKilled     = 137
	exitTerminated = 143
)

// policyPackage precedes the names of YARN's policies.
const policyPackage = "org.apache.hadoop.yarn.server.nodemanager.containermanager.logaggregation."

// NewPolicy returns one of YARN's policies by the name of its class, with or without the package
// (yarn.nodemanager.log-aggregation.policy.class, or an application's own choice). The empty name stands for
// AllContainerLogAggregationPolicy. SampleContainerLogAggregationPolicy takes parameters: "SR:0.2,MIN:20" is the share
// of ordinary containers, and the number of first containers. The defaults replace malformed parameters.
func NewPolicy(class, parameters string) (Policy, error) {
	failed := func(c Ended) bool {
		return c.ExitCode != 0 && c.ExitCode != exitKilled && c.ExitCode != exitTerminated
	}
	switch strings.TrimPrefix(class, policyPackage) {
	case "", "AllContainerLogAggregationPolicy":
		return func(Ended) bool { return true }, nil
	case "NoneContainerLogAggregationPolicy":
		return func(Ended) bool { return false }, nil
	case "AMOnlyLogAggregationPolicy":
		return func(c Ended) bool { return c.Master }, nil
	case "FailedContainerLogAggregationPolicy":
		return failed, nil
	case "FailedOrKilledContainerLogAggregationPolicy":
		return func(c Ended) bool { return c.ExitCode != 0 }, nil
	case "AMOrFailedContainerLogAggregationPolicy":
		return func(c Ended) bool { return c.Master || failed(c) }, nil
	case "LimitSizeContainerLogAggregationPolicy":
		return func(c Ended) bool { return c.ExitCode == records.ExitKilledForExcessLogs }, nil
	case "SampleContainerLogAggregationPolicy":
		return newSample(parameters), nil
	}
	return nil, fmt.Errorf("%q is not a log aggregation policy: want one of YARN's: All…, None…, Failed…, FailedOrKilled…, AMOrFailed…,"+
		" Sample…, LimitSizeContainerLogAggregationPolicy or AMOnlyLogAggregationPolicy", class)
}

// newSample selects masters, all containers that failed, the first containers of an attempt, and a share of the others.
func newSample(parameters string) Policy {
	rate, atLeast := 0.2, int64(20)
	for p := range strings.SplitSeq(parameters, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), ":")
		switch name {
		case "SR":
			if r, err := strconv.ParseFloat(value, 64); err == nil && r >= 0 && r <= 1 {
				rate = r
			}
		case "MIN":
			if n, err := strconv.ParseInt(value, 10, 32); err == nil && n >= 0 {
				atLeast = n
			}
		}
	}
	return func(c Ended) bool {
		// The first container is the ApplicationMaster's; the others count from 2.
		if c.Master || c.ExitCode != 0 || c.ID.Sequence() < atLeast+2 {
			return true
		}
		// Java computes this with 32-bit floats, which can't distinguish most container ids from their neighbours. With
		// a rate of a half it takes all.
		return rate != 0 && math.Mod(math.Abs(float64(hash(c.ID))), 1/rate) < 1
	}
}

// hash is Java's ContainerId.hashCode.
func hash(id records.ContainerID) int32 {
	fold := func(n int64) int32 { return int32(n ^ int64(uint64(n)>>32)) }
	mix := func(prime, seed, a, b int32) int32 { return prime*(prime*seed+a) + b } // overflows, as in Java
	app := mix(371237, 6521, fold(id.Attempt.App.ClusterTimestamp), id.Attempt.App.ID)
	return 31*fold(id.ID) + mix(347671, 5501, app, id.Attempt.Attempt)
}
