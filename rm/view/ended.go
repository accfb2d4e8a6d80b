package view

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// endedRows remembers the rows of applications that have ended, which don't change any more. In the ledger they are all over the memory: to look into
// 100,000 takes 30 ms on a machine where these take 3. It keeps some 100 bytes for each application that the ledger has, once a list was requested.
type endedRows struct {
	mu     sync.RWMutex
	scans  uint64 // so far
	blocks map[blockID]*block
}

// blockSize is how many applications with successive numbers are kept together.
const blockSize = 1024

// blockID is the cluster's start, and the applications' number divided by blockSize.
type blockID struct {
	cluster int64
	part    int32
}

type block struct {
	seen  [blockSize]uint64 // by which scan the application was seen last; 0: it isn't here
	added [blockSize]uint64 // by which scan
	rows  [blockSize]endedRow
	last  uint64 // the newest of seen
}

type endedRow struct {
	user, queue                   string
	context                       *pb.ApplicationSubmissionContext
	submitted, launched, finished int64
	priority                      int32
	final                         pb.FinalApplicationStatus
	state                         ledger.AppState
}

// over reports whether the application has ended in a way that its row doesn't change any more.
func (r *AppRow) over() bool { return r.State.Ended() && r.Containers == 0 }

// endedScan is a pass over all applications. It holds the lock for writing until end.
type endedScan struct {
	of     *endedRows
	number uint64
}

func (e *endedRows) begin() endedScan {
	e.mu.Lock()
	if e.blocks == nil {
		e.blocks = map[blockID]*block{}
	}
	e.scans++
	return endedScan{e, e.scans}
}

func place(id records.ApplicationID) (blockID, int32) {
	return blockID{id.ClusterTimestamp, id.ID / blockSize}, id.ID % blockSize
}

// has reports whether the row of an application, which the ledger has, is known.
func (s endedScan) has(id records.ApplicationID) bool {
	at, i := place(id)
	c := s.of.blocks[at]
	if c == nil || c.seen[i] == 0 {
		return false
	}
	c.seen[i], c.last = s.number, s.number
	return true
}

func (s endedScan) add(r *AppRow) {
	at, i := place(r.ID)
	c := s.of.blocks[at]
	if c == nil {
		c = &block{}
		s.of.blocks[at] = c
	}
	c.seen[i], c.last = s.number, s.number
	c.added[i], c.rows[i] = s.number, endedRow{r.User, r.Queue, r.Context, r.Submitted, r.Launched, r.Finished, r.Priority, r.FinalStatus, r.State}
}

// end calls f with the rows of the ended applications that the ledger has, and forgets those that it has no more. nil forgets them only.
func (s endedScan) end(f func(*AppRow) (more bool)) {
	for at, c := range s.of.blocks {
		if c.last != s.number {
			delete(s.of.blocks, at)
			continue
		}
		for i, seen := range c.seen {
			if seen != s.number && seen != 0 {
				c.seen[i], c.rows[i] = 0, endedRow{}
			}
		}
	}
	if f == nil {
		s.of.mu.Unlock()
		return
	}
	s.each(f)
}

func (s endedScan) each(f func(*AppRow) (more bool)) {
	order := slices.SortedFunc(maps.Keys(s.of.blocks), func(a, b blockID) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.part, b.part))
	})
	blocks := make([]*block, len(order))
	for i, at := range order {
		blocks[i] = s.of.blocks[at]
	}
	s.of.mu.Unlock()
	// another scan may add and forget rows from here on: it locks out this one, a block at a time
	var row AppRow
	for n, c := range blocks {
		if !s.part(order[n], c, &row, f) {
			return
		}
	}
}

func (s endedScan) part(at blockID, c *block, row *AppRow, f func(*AppRow) (more bool)) bool {
	s.of.mu.RLock()
	defer s.of.mu.RUnlock()
	for i, seen := range c.seen {
		if seen < s.number || c.added[i] > s.number { // a later scan added it: for this one it hadn't ended
			continue
		}
		r := &c.rows[i]
		*row = AppRow{
			ID: records.ApplicationID{ClusterTimestamp: at.cluster, ID: at.part*blockSize + int32(i)}, User: r.user, Queue: r.queue, Priority: r.priority,
			State: r.state, FinalStatus: r.final, Submitted: r.submitted, Launched: r.launched, Finished: r.finished, Context: r.context, Master: true,
		}
		if !f(row) {
			return false
		}
	}
	return true
}
