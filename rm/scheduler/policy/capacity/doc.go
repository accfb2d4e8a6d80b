// Package capacity is YARN's CapacityScheduler. Queues are guaranteed a share of the cluster, and use what others leave up to
// their maximum.
//
// user_limits.go has the limits of users, masters.go those of ApplicationMasters, search.go who is next and who is blocked by the
// head of its queue, lazy_preemption.go the containers that end when their room is needed, activities.go what YARN's
// activities say of a node. Reservations count as used; a request that finds no room reserves a node in its turn.
package capacity
