// Package kept counts what requests have left in the ledger, by user and in all, so that a leader can bound it (limit.Bounds). It is pure.
//
// The counts follow from the rest of the ledger, and so aren't in snapshots. They are of memory, in bytes, as far as it is worth counting:
// contexts, names and texts. Live containers are bounded by the cluster's resources.
package kept

import (
	"maps"

	"heddle/rm/ledger/limit"
	"heddle/yarn/token"
)

// Counts are of one state of the ledger.
type Counts struct {
	live   map[string]Sum // by user; of applications that have not ended
	all    Sum            // their sum
	ended  int64          // of applications that have ended
	nodes  int64
	tokens map[string]int // delegation tokens by owner
}

// Sum is what several applications take.
type Sum struct {
	Applications int
	Bytes        int64
}

// Application is one application as it is counted. The zero value isn't counted.
type Application struct {
	Bytes     int64
	ended, is bool
}

// New returns the counts of an empty ledger.
func New() Counts { return Counts{live: map[string]Sum{}, tokens: map[string]int{}} }

// Clone returns a copy.
func (c *Counts) Clone() Counts {
	d := *c
	d.live, d.tokens = maps.Clone(c.live), maps.Clone(c.tokens)
	return d
}

// Live returns what a user's applications that have not ended take in memory, and what all users' do, in bytes.
func (c *Counts) Live(user string) (own, all int64) { return c.live[user].Bytes, c.all.Bytes }

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

// Put counts an application of a user that takes so many bytes now.
func (c *Counts) Put(a *Application, user string, bytes int64, ended bool) {
	c.Remove(a, user)
	*a = Application{Bytes: bytes, ended: ended, is: true}
	c.add(a, user, 1, bytes)
}

// Remove takes an application out of the counts, if it is in them.
func (c *Counts) Remove(a *Application, user string) {
	if a.is {
		c.add(a, user, -1, -a.Bytes)
	}
	*a = Application{}
}

// Grow adds bytes to an application that is counted.
func (c *Counts) Grow(a *Application, user string, bytes int64) {
	if a.is && bytes != 0 {
		a.Bytes += bytes
		c.add(a, user, 0, bytes)
	}
}

func (c *Counts) add(a *Application, user string, applications int, bytes int64) {
	if a.ended {
		c.ended += bytes
		return
	}
	own := c.live[user]
	own.Applications += applications
	own.Bytes += bytes
	if c.live[user] = own; own.Applications == 0 {
		delete(c.live, user)
	}
	c.all.Applications += applications
	c.all.Bytes += bytes
}

// Node counts bytes of nodes that came, or that left if they are below 0.
func (c *Counts) Node(bytes int64) { c.nodes += bytes }

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
