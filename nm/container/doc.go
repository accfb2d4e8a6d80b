// Package container runs the containers of a node.
//
// A Manager holds the applications that have containers here, and the containers. Each container has a goroutine that
// takes it through its life, in the states of a Hadoop NodeManager:
//
//	NEW → LOCALIZING → SCHEDULED → RUNNING → EXITED_WITH_SUCCESS │ EXITED_WITH_FAILURE → DONE
//
// From SCHEDULED on a container has a group (nm/cgroup), which all its processes live in. It dies as a whole with its first process. A kill
// leads over KILLING and CONTAINER_CLEANEDUP_AFTER_KILL to DONE, wherever the container is; a failure to localize leads over
// LOCALIZATION_FAILED. A running container can be suspended (PAUSED) and resumed, started again after a failure (RELAUNCHING) and given
// another launch context (REINITIALIZING). The table transitions has all of this. A state changes by Container.transition only, which logs
// a transition that the table lacks as a defect.
//
// State is in the store before it is reported. Recover takes up every container after a restart, however the last life of the
// NodeManager ended: the container still runs, ended meanwhile, or never started.
//
// A container has a ladder (nm/suspend), by which commands suspend, shrink and resume it. Its state is PAUSED while it is to be suspended,
// also while it breathes. A command writes the wanted level to the disk, takes the CPU away or gives it back, and returns. Memory follows
// in the background, where any later command comes before it.
//
// Statuses and diagnostics are worded as Hadoop's: AMs and people parse them.
//
// It is large because a life, a kill, a command and a recovery meet in one container, under its locks and its table of states.
package container
