// Package probes runs short tasks on the nodes of a cluster without asking the ResourceManager for each: the live part of a distributed
// scheduler, whose decisions are those of heddle/am/sched. Package heddle/nm/shorttasks is the other side.
//
// A Scheduler gets nodes (Offer, Withdraw) and tasks (Submit), like a heddle/am/pool. It connects to the nodes. It notices at once when a
// NodeManager ends, and within 100 ms when its machine or network is lost (heddle/yarn/wire). Tasks of a lost node or executor run again
// elsewhere: each task runs at least once, and Done is called exactly once. A task that loses node after node is given up (Options.Losses).
//
// OnCluster (cluster.go) gets nodes from a ResourceManager, through an application whose ApplicationMaster is this process.
package probes
