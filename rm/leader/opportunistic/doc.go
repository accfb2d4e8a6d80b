// Package opportunistic gives applications the opportunistic containers that they ask for (Hadoop: OpportunisticContainerAllocatorAMService with its
// CentralizedOpportunisticContainerAllocator and NodeQueueLoadMonitor).
//
// Such containers use what guaranteed ones leave idle. They are charged to no queue and to no node, so the scheduler doesn't know them. Each goes to one of the nodes
// whose queue of waiting containers is shortest; the node starts it when there is room, and has it make way for guaranteed ones (nm/makeway). A node gets no more
// than its queue takes, those counted that it hasn't been heard to have: whatever ApplicationMasters ask for, nodes × queue length is the most that waits.
//
// The ledger has the containers. The rest is soft: what is asked, which ApplicationMasters say again to a new leader, and how long nodes' queues are, which
// their heartbeats say. A leader has one Allocator; its methods are for the loop's operations.
package opportunistic
