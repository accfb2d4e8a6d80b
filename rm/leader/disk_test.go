package leader

import (
	"strings"
	"testing"

	"heddle/rm/leader/delegation"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger/limit"
	"heddle/yarn/records"
)

// Submissions filled the disk of the log. While it has little space, what is large is refused with the remedy, and all else goes on:
// repeated submissions, containers, kills, ends.
func TestLargeSubmissionsAreRefusedWhileTheDiskIsLow(t *testing.T) {
	run(t, func(w *world) {
		id := func() records.ApplicationID {
			id, _, err := w.NewApplication("alice")
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		token := func() error {
			return w.Delegations().Issue(delegation.Names{Owner: "alice"}, func(delegation.Draft) ([]byte, []byte) { return []byte("alice"), []byte("pw") })
		}
		large, small := withContext(limit.LargeContext), withContext(limit.LargeContext/2)
		taken := id()
		for _, c := range []struct {
			disk                limit.Disk
			large, small, token bool
		}{{limit.DiskFine, true, true, true}, {limit.DiskLow, false, true, true}, {limit.DiskFull, false, false, false}, {limit.DiskFine, true, true, true}} {
			w.disk.Store(uint32(c.disk))
			app := id()
			if err := w.Submit("alice", submission(app, large)); (err == nil) != c.large {
				t.Errorf("disk %d: a large submission: %v", c.disk, err)
			} else if !c.large && (!refusal.Is(err, refusal.NoSpace) || !strings.Contains(err.Error(), "heddle.raft.min-free-mb")) {
				t.Errorf("disk %d: it is refused without the remedy: %v", c.disk, err)
			}
			if err := w.Submit("alice", submission(id(), small)); (err == nil) != c.small {
				t.Errorf("disk %d: a small submission: %v", c.disk, err)
			}
			if err := token(); (err == nil) != c.token {
				t.Errorf("disk %d: a token: %v", c.disk, err)
			}
			if w.state().Apps[taken] == nil {
				if err := w.Submit("alice", submission(taken, large)); err != nil {
					t.Fatal(err)
				}
			} else if err := w.Submit("alice", submission(taken, large)); err != nil {
				t.Errorf("disk %d: an application that is there already is refused: %v", c.disk, err)
			}
			if c.large {
				w.disk.Store(uint32(limit.DiskFull))
				if err := w.Kill(app, "enough"); err != nil {
					t.Errorf("a kill: %v", err)
				}
			}
		}
		n := &peer{w: w, node: w.nodeOf(1, records.NewResource(8192, 8))}
		w.disk.Store(uint32(limit.DiskFine))
		am := w.am(nil)
		w.disk.Store(uint32(limit.DiskFull))
		if got := am.allocate(AllocateCall{Asks: ask(1)}).Grants; len(got) != 1 {
			t.Errorf("%d containers are granted on a full disk", len(got))
		}
		n.heartbeat()
		w.same()
	})
}
