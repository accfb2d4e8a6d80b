// Package queues is the part of the ledger that records queues: their configuration, and the queues that were created on demand. It is pure.
package queues

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue/template"
)

// Conf is a configuration of queues that was put on record, from a leader's files or by a change at run time.
type Conf struct {
	Version  int64             // 0: there is none
	Settings map[string]string // properties by name; not to be changed
	FromFile bool              // they were read from a leader's files, and not changed since
	Time     int64             // when they were recorded, in ms since 1970
}

// NewConf is the configuration of a command that was applied at a time.
func NewConf(c *ledgerpb.QueuesConfigured, now int64) Conf {
	return Conf{Version: c.GetVersion(), Settings: c.GetSettings(), FromFile: c.GetFromFile(), Time: now}
}

// MaxCreated is the number of queues that may be on record as created on demand, MaxOfUser that of one user's: those who create queues are not
// administrators.
const (
	MaxCreated = 20_000
	MaxOfUser  = 5_000
)

// ErrBound is wrapped by errors of changes that would leave more.
var ErrBound = errors.New("there can't be more queues that were created on demand")

// Queue is a queue that was created on demand.
type Queue struct {
	template.Created
	User string // whose application needed it
}

// Created are the queues that were created on demand. The zero value has none.
type Created struct {
	List   []Queue // in the order of their creation
	Known  map[string]bool
	OfUser map[string]int
}

// Len is the number of queues.
func (c *Created) Len() int { return len(c.List) }

// Has reports whether a queue was created on demand.
func (c *Created) Has(path string) bool { return c.Known[path] }

// All returns the queues, each behind the one above it. The list is a copy.
func (c *Created) All() []template.Created {
	out := make([]template.Created, len(c.List))
	for i, q := range c.List {
		out[i] = q.Created
	}
	return out
}

// Fits says why so many queues more can't be created for a user.
func (c *Created) Fits(user string, more int) error {
	switch {
	case len(c.List)+more > MaxCreated:
		return fmt.Errorf("%w: there are %d of at most %d", ErrBound, len(c.List), MaxCreated)
	case c.OfUser[user]+more > MaxOfUser:
		return fmt.Errorf("%w for user %s, who has %d of at most %d", ErrBound, user, c.OfUser[user], MaxOfUser)
	}
	return nil
}

// Apply makes a change. An error changes nothing.
func (c *Created) Apply(change *ledgerpb.QueuesChanged) error {
	gone := map[string]bool{}
	for _, path := range change.GetDeleted() {
		if !c.Known[path] {
			return fmt.Errorf("queue %s was not created on demand", path)
		}
		gone[path] = true
	}
	if len(gone) > 0 {
		for _, q := range c.List {
			if above := parent(q.Path); !gone[q.Path] && gone[above] {
				return fmt.Errorf("queue %s can't be deleted, as %s is below it", above, q.Path)
			}
		}
	}
	next := map[string]bool{}
	ofUser := map[string]int{}
	for _, q := range change.GetCreated() {
		if path := q.GetPath(); path == "" || next[path] || c.Known[path] && !gone[path] {
			return fmt.Errorf("queue %q was created already", path)
		}
		next[q.GetPath()] = true
		ofUser[q.GetUser()]++
	}
	for user, n := range ofUser {
		if err := c.Fits(user, n-len(gone)); err != nil {
			return err
		}
	}
	c.remove(gone)
	for _, q := range change.GetCreated() {
		c.add(q)
	}
	return nil
}

func (c *Created) remove(gone map[string]bool) {
	if len(gone) == 0 {
		return
	}
	kept := make([]Queue, 0, len(c.List))
	for _, q := range c.List {
		if !gone[q.Path] {
			kept = append(kept, q)
			continue
		}
		delete(c.Known, q.Path)
		if c.OfUser[q.User]--; c.OfUser[q.User] == 0 {
			delete(c.OfUser, q.User)
		}
	}
	c.List = kept
	if len(kept) == 0 {
		*c = Created{}
	}
}

func (c *Created) add(q *ledgerpb.CreatedQueue) {
	if c.Known == nil {
		c.Known, c.OfUser = map[string]bool{}, map[string]int{}
	}
	c.List = append(c.List, Queue{template.Created{Path: q.GetPath(), Parent: q.GetParent(), Legacy: q.GetLegacy()}, q.GetUser()})
	c.Known[q.GetPath()] = true
	c.OfUser[q.GetUser()]++
}

// parent is the path above a path.
func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '.'))] }

// Clone returns a copy that can be changed independently.
func (c *Created) Clone() Created {
	c.List = slices.Clip(c.List) // shared; each appends to its own copy
	return Created{List: c.List, Known: maps.Clone(c.Known), OfUser: maps.Clone(c.OfUser)}
}

// Frozen returns the queues as they are now, to be read while c changes.
func (c *Created) Frozen() Created {
	c.List = slices.Clip(c.List)
	return Created{List: c.List}
}

// Record returns all queues as a snapshot has them, nil if there are none.
func (c *Created) Record() *ledgerpb.CreatedQueues {
	if len(c.List) == 0 {
		return nil
	}
	r := &ledgerpb.CreatedQueues{}
	for _, q := range c.List {
		r.Queues = append(r.Queues, &ledgerpb.CreatedQueue{Path: q.Path, Parent: q.Parent, Legacy: q.Legacy, User: q.User})
	}
	return r
}

// Restore takes over what Record has made.
func (c *Created) Restore(r *ledgerpb.CreatedQueues) error {
	*c = Created{}
	return c.Apply(&ledgerpb.QueuesChanged{Created: r.GetQueues()})
}
