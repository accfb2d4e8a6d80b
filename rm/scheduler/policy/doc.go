// Package policy has the policies by which queues are scheduled: YARN's CapacityScheduler, FairScheduler and FifoScheduler, each a package
// below this one.
//
// A policy decides on limits of queues and users, by what queues and applications are ordered, when an application becomes active, who has
// nodes reserved, and how all that is explained. Package core searches for the next request and its node, and asks the policy. To add one,
// implement Policy in a package here, give its queues a kind in rm/queue, which refuses unknown names, and add its line to known. Package
// leaf has the interface of leaf policies.
package policy
