package rm

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/raft"
)

// replica is the committed ledger: what raft applies its entries to, and what is shown.
type replica struct {
	log *logrus.Entry

	mu    sync.RWMutex
	state *ledger.State
}

func newReplica(log *logrus.Entry) *replica {
	return &replica{log: log, state: ledger.New()}
}

// Apply implements raft.FSM. Its result is nil or an error.
func (r *replica) Apply(e raft.Entry) any {
	b, err := batchOf(e)
	if err == nil {
		r.mu.Lock()
		err = r.state.Apply(b)
		r.mu.Unlock()
	}
	if err != nil {
		r.log.WithError(err).Error("an entry of the log can't be applied")
		return fmt.Errorf("apply a batch to the ledger: %w", err)
	}
	return nil
}

// batchOf is what an entry holds: what this member has proposed it knows, the others' it decodes.
func batchOf(e raft.Entry) (*ledgerpb.Batch, error) {
	if b, ok := e.Source.(*ledgerpb.Batch); ok {
		return b, nil
	}
	b := &ledgerpb.Batch{}
	return b, proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(e.Data, b)
}

// Snapshot implements raft.FSM.
func (r *replica) Snapshot() (func(io.Writer) error, error) {
	return r.Clone().WriteSnapshot, nil
}

// Restore implements raft.FSM.
func (r *replica) Restore(in io.Reader) error {
	state, err := ledger.ReadSnapshot(in)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
	return nil
}

// Read shows the committed ledger to f, which must neither change nor keep it.
func (r *replica) Read(f func(*ledger.State)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	f(r.state)
}

// Clone returns a copy of the committed ledger.
func (r *replica) Clone() *ledger.State {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.state.Clone()
}

// image is the committed ledger as a snapshot, equal for equal states.
func (r *replica) image() []byte {
	var b bytes.Buffer
	if err := r.Clone().WriteSnapshot(&b); err != nil {
		return nil
	}
	return b.Bytes()
}
