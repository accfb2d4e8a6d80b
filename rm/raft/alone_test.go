package raft

import (
	"strings"
	"testing"

	"heddle/internal/await"
)

// With heddle.raft.witness.commit-alone=false nothing is acknowledged that lies on one disk only, however long the other full member is away. It is
// acknowledged when that is back and has it.
func TestNothingIsAcknowledgedOnOneDiskWhereThatIsForbidden(t *testing.T) {
	t.Parallel()
	members, w := trio(t, func(c *Config) { c.AwaitFull = true })
	lead, term := leader(t, members)
	propose(t, lead, 3)
	standby := other(members, lead)
	await.Until(t, "both have all", func() bool { return len(standby.fsm.all()) == 3 })
	standby.stop(t)
	await.Until(t, "the other one is away", func() bool {
		oneDisk, say := lead.Trouble()
		return !oneDisk && strings.Contains(say, "commit-alone is false") && len(lead.OneDisk()) == 1
	})
	p := lead.Propose(Entry{Data: []byte("alone")})
	done := make(chan error, 1)
	go func() {
		_, err := p.Wait()
		done <- err
	}()
	for range 20 {
		heard := len(w.heard.all())
		await.Until(t, "the witness hears of the leader", func() bool { return len(w.heard.all()) > heard || term.Err() != nil })
	}
	select {
	case err := <-done:
		if term.Err() == nil {
			t.Fatalf("it is acknowledged while it lies on one disk, %v", err)
		}
		done <- err
	default:
	}
	if at, last := lead.raft.LastIndex(), w.status().Last; term.Err() == nil && last >= at {
		t.Errorf("the witness has entry %d of %d", last, at)
	}
	standby.restart(t)
	reign := leadership{members: members}
	if err := <-done; err != nil { // the leadership has ended meanwhile
		t.Logf("it failed: %v", err)
		now, _ := reign.now(t)
		propose(t, now, 1)
	}
	await.Until(t, "both have it", func() bool { return len(standby.fsm.all()) == 4 && len(lead.fsm.all()) == 4 })
}
