package session

import (
	"slices"
	"sync"

	"heddle/rm/leader/warming"
	"heddle/yarn/records"
)

// NodeBox collects committed orders for a node. It is safe for concurrent use. The zero value is empty.
type NodeBox struct {
	mu     sync.Mutex
	orders Orders
}

// Orders are what a node has to do, as one reply says it.
type Orders struct {
	Cleanup     []records.ContainerID // containers to end
	CleanupApps []records.ApplicationID
	Removed     []records.ContainerID // whose end the leader knows: the node may forget them
	Resource    *records.Resource     // what the node offers from now on; nil: as before
	Signals     []Signal
	Resized     []Grant // containers that are to have less from now on
	Warming     []warming.Order
	Lent        *records.Resource // what the node may use for short tasks from now on; nil: as before
	QueueLimit  *int              // opportunistic containers that may wait there from now on; nil: as before
	Long        *bool             // whether long tasks run there from now on; nil: as before
}

// EndContainers tells the node to end containers.
func (b *NodeBox) EndContainers(ids ...records.ContainerID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders.Cleanup = append(b.orders.Cleanup, ids...)
}

// EndApp has the node clean up behind an application.
func (b *NodeBox) EndApp(id records.ApplicationID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders.CleanupApps = append(b.orders.CleanupApps, id)
}

// Forget tells the node to forget ended containers.
func (b *NodeBox) Forget(ids ...records.ContainerID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders.Removed = append(b.orders.Removed, ids...)
}

// Shrink tells the node to hold a container to less.
func (b *NodeBox) Shrink(g Grant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders.Resized = append(b.orders.Resized, g)
}

// Warm orders the node to read input ahead of a job's maps. A later update of the waiting count replaces the earlier one.
// nil is the box of a node that has gone.
func (b *NodeBox) Warm(o warming.Order) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.Ranges == nil {
		if o.Total > 0 && slices.ContainsFunc(b.orders.Warming, func(w warming.Order) bool { return w.App == o.App && w.Total == 0 }) {
			return // nothing of the job waits any more
		}
		b.orders.Warming = slices.DeleteFunc(b.orders.Warming, func(w warming.Order) bool {
			return w.App == o.App && (w.Ranges == nil || o.Waiting == 0)
		})
	}
	b.orders.Warming = append(b.orders.Warming, o)
}

// Offer has the node offer other resources. The last ones count.
func (b *NodeBox) Offer(r records.Resource) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders.Resource = &r
}

// Lend tells the node the resources that it may use for short tasks. The last ones count.
func (b *NodeBox) Lend(r records.Resource) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders.Lent = &r
}

// SetLong tells the node whether long tasks run there. The last word counts.
func (b *NodeBox) SetLong(has bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders.Long = &has
}

// LimitQueue tells the node how many opportunistic containers may wait there. The last word counts.
func (b *NodeBox) LimitQueue(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders.QueueLimit = &n
}

// Signal tells the node to send a command to a container.
func (b *NodeBox) Signal(s Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders.Signals = append(b.orders.Signals, s)
}

// Deliver empties the box into a reply.
func (b *NodeBox) Deliver() Orders {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.orders
	b.orders = Orders{}
	return out
}
