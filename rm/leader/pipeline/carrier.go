package pipeline

import (
	"sync"

	"heddle/rm/ledger/ledgerpb"
)

// Carrier hands batches to the log and brings them back, beside the leader's loop: encoding a batch takes a while, and so does its
// commit.
type Carrier struct {
	propose  func(*ledgerpb.Batch) (wait func() error)
	proposed chan *Batch
	waiting  chan waiting
	settled  chan *Batch
	ended    sync.WaitGroup
}

type waiting struct {
	batch *Batch
	wait  func() error
}

// NewCarrier starts a carrier. propose hands a batch to the log and may block; the function that it returns waits for the commit, and
// returns what the ledger said. A batch without commands needs no commit.
func NewCarrier(propose func(*ledgerpb.Batch) (wait func() error)) *Carrier {
	c := &Carrier{
		propose:  propose,
		proposed: make(chan *Batch, MaxInFlight),
		waiting:  make(chan waiting, MaxInFlight),
		settled:  make(chan *Batch, MaxInFlight),
	}
	c.ended.Go(c.proposeAll)
	c.ended.Go(c.awaitAll)
	return c
}

// Carry takes a batch that Pipeline.Next returned. It doesn't block, as no more than MaxInFlight batches are under way.
func (c *Carrier) Carry(b *Batch) { c.proposed <- b }

// Settled yields the batches in the order in which they were carried, with Err set.
func (c *Carrier) Settled() <-chan *Batch { return c.settled }

// Close returns when the fate of every batch is known. Nothing may be carried afterwards.
func (c *Carrier) Close() {
	close(c.proposed)
	c.ended.Wait()
}

func (c *Carrier) proposeAll() {
	defer close(c.waiting)
	for b := range c.proposed {
		w := waiting{b, func() error { return nil }}
		if len(b.PB.GetCommands()) > 0 {
			w.wait = c.propose(b.PB)
		}
		c.waiting <- w
	}
}

func (c *Carrier) awaitAll() {
	for w := range c.waiting {
		w.batch.Err = w.wait()
		c.settled <- w.batch
	}
}
