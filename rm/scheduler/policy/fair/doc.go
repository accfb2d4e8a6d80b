// Package fair is YARN's FairScheduler. Queues and applications are due shares by weight; those below their minimum share
// come first.
//
// keys.go orders by memory (fair) or by dominant shares (drf), shares.go has what queues are due and the limit on
// ApplicationMasters, minimum_share.go which leaves starve, reservations.go who has nodes reserved, own_order.go which of an
// application's requests comes first on a node. Reservations don't count as used.
package fair
