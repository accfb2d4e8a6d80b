package pipeline

import (
	"errors"
	"testing"
	"testing/synctest"

	"heddle/rm/ledger/ledgerpb"
)

// Batches come back in the order in which they were carried, with what became of each; one without commands never reaches the log.
func TestCarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("lost")
		fates := make(chan error)
		var proposed []*ledgerpb.Batch
		c := NewCarrier(func(b *ledgerpb.Batch) func() error {
			proposed = append(proposed, b)
			return func() error { return <-fates }
		})
		command := &ledgerpb.Command{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}}
		batches := []*Batch{
			{PB: &ledgerpb.Batch{Commands: []*ledgerpb.Command{command}}},
			{PB: &ledgerpb.Batch{}},
			{PB: &ledgerpb.Batch{Commands: []*ledgerpb.Command{command}}},
		}
		for _, b := range batches {
			c.Carry(b)
		}
		synctest.Wait()
		if len(proposed) != 2 {
			t.Errorf("%d batches were proposed while the first waits for its commit", len(proposed))
		}
		if len(c.Settled()) != 0 {
			t.Error("a batch came back before its fate was known")
		}
		fates <- nil
		fates <- lost
		for i, want := range []error{nil, nil, lost} {
			if b := <-c.Settled(); b != batches[i] || !errors.Is(b.Err, want) {
				t.Errorf("batch %d: %v", i, b.Err)
			}
		}
		c.Close()
	})
}
