// Package preempt decides which containers must go so that queues and applications get what they are guaranteed.
//
// It is pure: a Snapshot of queues, applications and containers in, Victims with their reasons out; time is an argument. A Capacity finds
// victims as YARN's ProportionalCapacityPreemptionPolicy does, a Fair as its FSPreemptionThread. Both keep only the times since when queues
// starve or containers are marked; a new leader starts over.
//
// A round answers with two lists: victims whose ApplicationMaster is to be told now, and those whose time is up. What then
// happens to a container (it is killed with the exit status for preemption) is up to its owner.
//
// Amounts, keys, selectors and lazy preemption are those of Hadoop 3.4, as recordings of a stock ResourceManager show
// (TestScenarios/capacity_preemption in integration/policy). docs/compatibility.md has the differences. Smaller ones:
// when a reservation is made again, how often a freed container is offered, the order of killable containers.
package preempt
