// Package shorttasks serves probes: the live part of a node's queue for short tasks, whose rules are those of heddle/nm/probe.
//
// A scheduler (heddle/am/probes) connects with the NMToken of its application for this node, and places probes. When a probe's turn comes and
// there is room in what the node was lent (Lend), the node asks the scheduler for a task, and hands it to an executor: a long-lived process
// that the node starts for the application, and ends when it has been idle for a while. The output and the end of tasks go back to the
// scheduler through the node.
//
// All of it ends with the connection: probes are removed, and the executor is ended with its tasks. Their room is free when the executor is gone.
// An application that the ResourceManager has ended (EndApplication) can't come again.
//
// One lock guards everything. Nothing is sent while it is held: a scheduler that doesn't read holds up only itself.
package shorttasks
