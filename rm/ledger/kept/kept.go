// Package kept counts what requests have left in the ledger, by user and in all, so that a leader can bound it (limit.Bounds). It is pure.
//
// The counts follow from the rest of the ledger, and so aren't in snapshots. They are of memory, in bytes, as far as it is worth counting:
// contexts, names and texts. Live containers are bounded by the cluster's resources. What each submission or report asks for is counted, too: the
// applications of a queue, and what all usable nodes have.
package kept

import (
	"maps"

	"heddle/rm/ledger/limit"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Counts are of one state of the ledger.
type Counts struct {
	live     map[string]*Sum // by user; of applications that have not ended
	all      Sum             // their sum
	ended    int64           // of applications that have ended
	queues   map[string]queue
	nodes    int64
	capacity records.Resource // of nodes that are usable
	tokens   map[string]int   // delegation tokens by owner
}

// queue counts the applications that a queue has taken and that have not ended.
type queue struct {
	all   int
	users map[string]int
}

// Sum is what several applications take.
type Sum struct {
	Applications int
	Bytes        int64
}

// Application is one application as it is counted. The zero value isn't counted.
type Application struct {
	What
	is bool
}

// What holds the parts of an application that count.
type What struct {
	User, Queue string
	Bytes       int64
	Taken       bool // by the queue
	Ended       bool
}

// Node holds the parts of a node that count.
type Node struct {
	Bytes    int64
	Capacity records.Resource // zero if it isn't usable
}

// New returns the counts of an empty ledger.
func New() Counts {
	return Counts{live: map[string]*Sum{}, queues: map[string]queue{}, tokens: map[string]int{}}
}

// Clone returns a copy.
func (c *Counts) Clone() Counts {
	d := *c
	d.tokens = maps.Clone(c.tokens)
	d.live = make(map[string]*Sum, len(c.live))
	for user, own := range c.live {
		sum := *own
		d.live[user] = &sum
	}
	d.queues = make(map[string]queue, len(c.queues))
	for path, q := range c.queues {
		d.queues[path] = queue{q.all, maps.Clone(q.users)}
	}
	return d
}

// Live returns what a user's applications that have not ended take in memory, and what all users' do, in bytes.
func (c *Counts) Live(user string) (own, all int64) {
	if sum := c.live[user]; sum != nil {
		own = sum.Bytes
	}
	return own, c.all.Bytes
}

// Ended returns what applications that have ended take, in bytes.
func (c *Counts) Ended() int64 { return c.ended }

// Nodes returns what nodes take, in bytes.
func (c *Counts) Nodes() int64 { return c.nodes }

// Tokens returns how many delegation tokens an owner has.
func (c *Counts) Tokens(owner string) int { return c.tokens[owner] }

// Overfull reports whether a user's applications, or all that have not ended, are above their bound.
func (c *Counts) Overfull(user string, b limit.Bounds) bool {
	own, all := c.Live(user)
	return limit.Over(b.UserBytes, own) || limit.Over(b.LiveBytes, all)
}

// Taken returns how many applications that have not ended a queue has taken, and how many of them are a user's.
func (c *Counts) Taken(path, user string) (inQueue, ofUser int) {
	q := c.queues[path]
	return q.all, q.users[user]
}

// Capacity returns the sum of the usable nodes' resources.
func (c *Counts) Capacity() records.Resource { return c.capacity }

// Put counts an application as it is now.
func (c *Counts) Put(a *Application, now What) {
	c.Remove(a)
	*a = Application{What: now, is: true}
	c.add(a, 1, now.Bytes)
}

// Remove takes an application out of the counts, if it is in them.
func (c *Counts) Remove(a *Application) {
	if a.is {
		c.add(a, -1, -a.Bytes)
	}
	*a = Application{}
}

// Grow adds bytes to an application that is counted.
func (c *Counts) Grow(a *Application, bytes int64) {
	if a.is && bytes != 0 {
		a.Bytes += bytes
		c.add(a, 0, bytes)
	}
}

func (c *Counts) add(a *Application, applications int, bytes int64) {
	if a.Ended {
		c.ended += bytes
		return
	}
	own := c.live[a.User]
	if own == nil {
		own = new(Sum)
		c.live[a.User] = own
	}
	own.Applications += applications
	own.Bytes += bytes
	if own.Applications == 0 {
		delete(c.live, a.User)
	}
	c.all.Applications += applications
	c.all.Bytes += bytes
	if a.Taken && applications != 0 {
		c.take(a.Queue, a.User, applications)
	}
}

// take counts applications of a queue that came, or that left if they are below 0.
func (c *Counts) take(path, user string, applications int) {
	q := c.queues[path]
	if q.users == nil {
		q.users = map[string]int{}
	}
	q.all += applications
	if q.users[user] += applications; q.users[user] == 0 {
		delete(q.users, user)
	}
	if c.queues[path] = q; q.all == 0 {
		delete(c.queues, path)
	}
}

// AddNode counts a node, which RemoveNode takes out as it was. Leaders see to it that nodes' resources have a sum (rm/leader/offer). Where an entry of the
// log has others, the sum wraps around rather than stay at a bound, so that nodes can be taken out again.
func (c *Counts) AddNode(n Node) {
	c.nodes += n.Bytes
	for i, amount := range n.Capacity {
		c.capacity[i] += amount
	}
}

// RemoveNode is described at AddNode.
func (c *Counts) RemoveNode(n Node) {
	c.nodes -= n.Bytes
	for i, amount := range n.Capacity {
		c.capacity[i] -= amount
	}
}

// Token counts a delegation token by its identifier: by is 1 when it was issued, and -1 when it ended. Those whose owner can't be read count together.
func (c *Counts) Token(identifier []byte, by int) {
	owner := ""
	if id, err := token.ParseDelegation(identifier); err == nil {
		owner = id.Owner
	}
	if c.tokens[owner] += by; c.tokens[owner] == 0 {
		delete(c.tokens, owner)
	}
}
