package raft

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft-wal/types"
)

// hangingDisk doesn't answer writes of entries while it is locked.
type hangingDisk struct{ sync.RWMutex }

type hangingFiler struct {
	types.SegmentFiler
	disk *hangingDisk
}

func (f hangingFiler) Create(info types.SegmentInfo) (types.SegmentWriter, error) {
	w, err := f.SegmentFiler.Create(info)
	return hangingWriter{w, f.disk}, err
}

type hangingWriter struct {
	types.SegmentWriter
	disk *hangingDisk
}

func (w hangingWriter) Append(entries []types.LogEntry) error {
	w.disk.RLock()
	defer w.disk.RUnlock()
	return w.SegmentWriter.Append(entries)
}

// A leader whose disk doesn't answer sends heartbeats all the same. It has to stop, so that the others elect another.
func TestLeaderWhoseDiskDoesNotAnswerIsReplaced(t *testing.T) {
	t.Parallel()
	disks := map[string]*hangingDisk{}
	members := group(t, 3, func(c *Config) {
		own := &hangingDisk{}
		disks[c.ID] = own
		c.disk = func(d *disk) { d.filer = hangingFiler{d.filer, own} }
		c.diskPatience = 200 * time.Millisecond
	})
	lead, term := leader(t, members)
	propose(t, lead, 1)
	disks[lead.cfg.ID].Lock()
	lost := lead.Propose(Entry{Data: []byte("lost")})
	queued := make(chan error) // raft doesn't even accept it
	go func() {
		_, err := lead.Propose(Entry{Data: []byte("queued")}).Wait()
		queued <- err
	}()
	<-term.Done()
	<-lead.Failed()
	if err := <-queued; err == nil {
		t.Error("what never reached the log is acknowledged")
	}
	if _, err := lost.Wait(); err == nil {
		t.Error("what is on no disk is acknowledged")
	}
	if lead.IsLeader() {
		t.Error("it says that it leads")
	}
	next, _ := leader(t, slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return m == lead }))
	propose(t, next, 1)
	disks[lead.cfg.ID].Unlock()
}
