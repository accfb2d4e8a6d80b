package rm

import (
	"fmt"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

const (
	// lostIDs is how many ids of applications are passed over after entries were lost, and lostLeaderships how many leaderships, whose numbers are part of the ids of
	// containers.
	lostIDs         = 10_000
	lostLeaderships = 100
	// idsPerBatch is how many ids one entry passes over.
	idsPerBatch = 1000
)

// skipLost passes over numbers that entries may have given out which were lost when an administrator made this member lead without the others: no id is
// given out twice. It is called before the leadership begins, and may be repeated.
func skipLost(r *ResourceManager, s *ledger.State) error {
	if s.Timestamp == 0 {
		return r.raft.CloseGap()
	}
	leadership := s.Leaders
	enter := func(commands ...*ledgerpb.Command) func() error {
		return r.propose(&ledgerpb.Batch{Version: s.Version, Leadership: leadership, Time: time.Now().UnixMilli(), Commands: commands})
	}
	var under []func() error
	for range lostLeaderships {
		leadership++
		under = append(under, enter(&ledgerpb.Command{LeaderStarted: &ledgerpb.LeaderStarted{RmId: r.id, Refused: s.Refused}}))
	}
	for range lostIDs / idsPerBatch {
		var commands []*ledgerpb.Command
		for range idsPerBatch {
			commands = append(commands, &ledgerpb.Command{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}})
		}
		under = append(under, enter(commands...))
	}
	for _, wait := range under {
		if err := wait(); err != nil {
			return fmt.Errorf("pass over ids that may have been given out: %w", err)
		}
	}
	r.log.WithField("ids", lostIDs).Warn("passing over ids of applications, as entries that gave them out may be lost")
	return r.raft.CloseGap()
}
