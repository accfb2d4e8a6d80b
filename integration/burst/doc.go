// Package burst measures what a burst of short jobs meets on a cluster that is full of long containers: heddle bench preempt. It starts a
// ResourceManager and nodes as processes, with real containers, fills the cluster by long jobs in one queue, and submits short ones to
// another. It does so under one way of preemption after the other (Mode), also on a stock YARN.
//
// The jobs are ours (Part): the same binary is ApplicationMaster and task. Each of them tells the benchmark over a connection what
// happens to it, so that nothing depends on what a ResourceManager says, and a task that is killed counts from the moment of its death.
// Only for how long containers were suspended, and what they held then, is asked of the ResourceManager.
package burst
