package raft

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hashicorp/raft-wal/types"
)

// faultyDisk fails as it is told to.
type faultyDisk struct{ create, commit error }

type faultyFiler struct {
	types.SegmentFiler
	disk *faultyDisk
}

func (f faultyFiler) Create(info types.SegmentInfo) (types.SegmentWriter, error) {
	if f.disk.create != nil {
		return nil, f.disk.create
	}
	return f.SegmentFiler.Create(info)
}

type faultyMeta struct {
	types.MetaStore
	disk *faultyDisk
}

func (m faultyMeta) CommitState(s types.PersistentState) error {
	if m.disk.commit != nil {
		return m.disk.commit
	}
	return m.MetaStore.CommitState(s)
}

// small are segments that a few entries fill.
func small(f *faultyDisk) func(*disk) {
	return func(d *disk) {
		d.segmentSize = 16 << 10
		if f != nil {
			d.filer, d.meta = faultyFiler{d.filer, f}, faultyMeta{d.meta, f}
		}
	}
}

// fill proposes entries until one fails, and returns those that were acknowledged.
func fill(t *testing.T, n *Node) []string {
	t.Helper()
	var acknowledged []string
	for i := range 1000 {
		entry := fmt.Sprintf("%04d%01000d", i, 0)
		if _, err := n.Propose(Entry{Data: []byte(entry)}).Wait(); err != nil {
			return acknowledged
		}
		acknowledged = append(acknowledged, entry)
	}
	return acknowledged
}

// The next segment can't be made, for want of a descriptor or of room, or can't be recorded. The member says so, and with
// the next start everything that was acknowledged is there, and the log goes on.
func TestALogThatCouldNotRotateGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultyDisk{
		"no descriptors":      {create: &os.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}},
		"full disk":           {create: &os.PathError{Op: "fallocate", Path: "x", Err: syscall.ENOSPC}},
		"full disk, metadata": {commit: syscall.ENOSPC},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{
				ID: "rm1", Cluster: "test", Dir: t.TempDir(), Log: quiet(),
				Members: []Member{{ID: "rm1", Address: "127.0.0.1:1"}},
			}
			var now faultyDisk
			cfg.disk = small(&now)
			fsm := &register{}
			n := open(t, cfg, fsm)
			now = fault
			acknowledged := fill(t, n)
			<-n.Failed()
			if n.Failure() == nil || len(acknowledged) == 0 || len(acknowledged) == 1000 {
				t.Errorf("failure %v after %d entries", n.Failure(), len(acknowledged))
			}
			if err := n.Close(); err != nil {
				t.Error(err)
			}
			now = faultyDisk{}
			fsm = &register{}
			n = open(t, cfg, fsm)
			defer n.Close()
			got := fsm.all()
			for i, want := range acknowledged {
				if i >= len(got) || got[i] != want {
					t.Fatalf("of %d acknowledged entries %d are there", len(acknowledged), len(got))
				}
			}
			if more := fill(t, n); len(more) != 1000 {
				t.Errorf("it takes %d further entries: %v", len(more), n.Failure())
			}
		})
	}
}

// open starts a single member and waits until it leads and has applied its log.
func open(t *testing.T, cfg Config, fsm FSM) *Node {
	t.Helper()
	cfg.HeartbeatTimeout, cfg.ElectionTimeout, cfg.LeaseTimeout = 20e6, 20e6, 20e6
	n, err := Open(cfg, fsm)
	if err != nil {
		t.Fatal(err)
	}
	var term context.Context
	for term = range n.Terms() {
		if term.Err() == nil {
			break
		}
	}
	if err := n.Barrier(); err != nil {
		t.Fatal(err)
	}
	return n
}

// A power cut may leave any part of the last write behind. Whatever it is, what was acknowledged before is there, and the
// log goes on.
func TestALogGoesOnAfterATornWrite(t *testing.T) {
	t.Parallel()
	cfg := Config{
		ID: "rm1", Cluster: "test", Dir: t.TempDir(), Log: quiet(),
		Members: []Member{{ID: "rm1", Address: "127.0.0.1:1"}},
	}
	cfg.disk = small(nil)
	n := open(t, cfg, &register{})
	entry := fmt.Sprintf("%01000d", 0)
	for range 8 {
		if _, err := n.Propose(Entry{Data: []byte(entry)}).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(cfg.Dir, "log", "*.wal"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	before, err := readFile(files[0])
	if err != nil || before.torn || before.index != 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	// an entry, an index, and the commit of both: all of it up to some byte
	write := append([]byte{1, 0, 0, 0, 5, 0, 0, 0, 'e', 'n', 't', 'r', 'y', 0, 0, 0}, 2, 0, 0, 0, 8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)
	write = append(write, 3, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef)
	for cut := 1; cut <= len(write); cut++ {
		torn := append([]byte(nil), whole...)
		copy(torn[before.end:], write[:cut])
		if err := os.WriteFile(files[0], torn, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readFile(files[0])
		if err != nil || !got.torn || got.end != before.end || got.index != 0 || got.entries != before.entries {
			t.Errorf("cut after %d bytes: %+v, %v", cut, got, err)
		}
	}
	fsm := &register{}
	n = open(t, cfg, fsm)
	defer n.Close()
	if got := len(fsm.all()); got != 8 {
		t.Errorf("%d of 8 entries", got)
	}
	if more := fill(t, n); len(more) != 1000 {
		t.Errorf("it takes %d further entries: %v", len(more), n.Failure())
	}
}

func readFile(path string) (tailState, error) {
	f, err := os.Open(path)
	if err != nil {
		return tailState{}, err
	}
	defer f.Close()
	return readTail(f)
}
