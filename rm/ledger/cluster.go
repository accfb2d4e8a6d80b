package ledger

import (
	"fmt"

	"heddle/rm/ledger/ledgerpb"
)

func (s *State) clusterCreated(c *ledgerpb.ClusterCreated) error {
	if s.Timestamp != 0 {
		return fmt.Errorf("the cluster was created already, at %d", s.Timestamp)
	}
	s.Timestamp = c.GetTimestamp()
	return nil
}

func (s *State) keyActivated(c *ledgerpb.KeyActivated) error {
	if !s.Keys.Activate(c.GetKind()) {
		return fmt.Errorf("no next key of kind %v: %w", c.GetKind(), ErrUnknown)
	}
	return nil
}
