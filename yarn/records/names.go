package records

import (
	"strings"

	"heddle/yarn/pb"
)

// The protobuf enums carry prefixes that Hadoop's Java enums don't have. These functions return the Java names, which
// REST and commands show.

// NodeStateName returns NEW, RUNNING, UNHEALTHY, …
func NodeStateName(s pb.NodeState) string { return strings.TrimPrefix(s.String(), "NS_") }

// FinalStatusName returns UNDEFINED, SUCCEEDED, FAILED, KILLED or ENDED.
func FinalStatusName(s pb.FinalApplicationStatus) string {
	return strings.TrimPrefix(s.String(), "APP_")
}

// AttemptStateName returns NEW, SUBMITTED, …, RUNNING, FINISHED, …
func AttemptStateName(s pb.YarnApplicationAttemptState) string {
	return strings.TrimPrefix(s.String(), "APP_ATTEMPT_")
}

// ContainerStateName returns NEW, RUNNING or COMPLETE.
func ContainerStateName(s pb.ContainerState) string { return strings.TrimPrefix(s.String(), "C_") }

// LogAggregationName returns DISABLED, NOT_START, RUNNING, SUCCEEDED, …
func LogAggregationName(s pb.LogAggregationStatus) string {
	return strings.TrimPrefix(s.String(), "LOG_")
}

// Exit statuses that YARN itself gives containers (Hadoop: ContainerExitStatus). Other values are the process's own.
const (
	ExitSuccess                  = 0
	ExitInvalid                  = -1000 // still running
	ExitAborted                  = -100  // released, or its node was lost
	ExitDisksFailed              = -101
	ExitPreempted                = -102
	ExitKilledExceededVMem       = -103
	ExitKilledExceededPMem       = -104
	ExitKilledByAppMaster        = -105
	ExitKilledByResourceManager  = -106
	ExitKilledAfterAppCompletion = -107
	ExitKilledByScheduler        = -108
	ExitKilledForExcessLogs      = -109
)
