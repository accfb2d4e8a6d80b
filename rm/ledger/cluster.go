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

func (s *State) keyRolled(now int64, c *ledgerpb.KeyRolled) {
	key := Key{ID: c.GetKeyId(), Secret: c.GetSecret(), Rolled: now}
	ring := s.Keys[c.GetKind()]
	if c.GetNext() {
		ring.Next = key
	} else {
		ring = KeyRing{Current: key, Previous: ring.Current}
	}
	s.Keys[c.GetKind()] = ring
}

func (s *State) keyActivated(c *ledgerpb.KeyActivated) error {
	ring := s.Keys[c.GetKind()]
	if ring.Next.Secret == nil {
		return fmt.Errorf("no next key of kind %v: %w", c.GetKind(), ErrUnknown)
	}
	s.Keys[c.GetKind()] = KeyRing{Current: ring.Next, Previous: ring.Current}
	return nil
}
