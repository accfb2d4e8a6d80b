// Package container runs the containers of a node.
//
// A Manager holds the applications that have containers here, and the containers. Each container has a goroutine that
// takes it through its life, in the states of a Hadoop NodeManager:
//
//	NEW → LOCALIZING → SCHEDULED → RUNNING → EXITED_WITH_SUCCESS │ EXITED_WITH_FAILURE → DONE
//
// From SCHEDULED on it has a group (nm/cgroup) that all its processes live in, and dies as a whole with its first
// process. A kill leads over KILLING and CONTAINER_CLEANEDUP_AFTER_KILL to DONE, from wherever the container is; a
// failure to localize over LOCALIZATION_FAILED. A running container can be suspended (PAUSED) and resumed, started anew
// after a failure (RELAUNCHING) and given another launch context (REINITIALIZING).
//
// Everything that matters is in the store before anybody is told of it. After a restart, with whatever end the
// last life of the NodeManager had, Recover takes up every container where it is by then: still running, ended
// meanwhile, or never started.
//
// Statuses and diagnostics are worded as Hadoop's: AMs and people parse them.
package container
