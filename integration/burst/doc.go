// Package burst measures a burst of short jobs on a cluster that is full of long containers: heddle-lab bench preempt. It starts a
// ResourceManager and nodes as processes, with real containers, fills the cluster by long jobs in one queue, and submits short ones to
// another. It does so under one way of preemption after the other (Mode), also on a stock YARN.
//
// The jobs are ours (Part): the same binary is ApplicationMaster and task. Each of them reports to the benchmark over a connection, so that
// no figure depends on a ResourceManager's reports, and a killed task counts from the moment of its death. The ResourceManager reports only
// how long containers were suspended, and what they held then.
package burst
