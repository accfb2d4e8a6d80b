package ledger

import (
	"fmt"

	"heddle/rm/ledger/ledgerpb"
)

// Delegation is a valid delegation token.
type Delegation struct {
	Identifier, Password []byte
	RenewBy              int64 // when it expires unless it's renewed, in ms since 1970
}

func (d Delegation) record(seq int32) *ledgerpb.DelegationIssued {
	return &ledgerpb.DelegationIssued{Sequence: seq, Identifier: d.Identifier, Password: d.Password, RenewBy: d.RenewBy}
}

func (s *State) delegationIssued(c *ledgerpb.DelegationIssued) error {
	seq := c.GetSequence()
	if _, ok := s.Delegations[seq]; ok {
		return fmt.Errorf("delegation token %d was issued already", seq)
	}
	s.Delegations[seq] = Delegation{Identifier: c.GetIdentifier(), Password: c.GetPassword(), RenewBy: c.GetRenewBy()}
	s.Kept.Token(c.GetIdentifier(), 1)
	s.LastDelegation = max(s.LastDelegation, seq)
	return nil
}

func (s *State) delegationRenewed(c *ledgerpb.DelegationRenewed) error {
	d, ok := s.Delegations[c.GetSequence()]
	if !ok {
		return fmt.Errorf("delegation token %d: %w", c.GetSequence(), ErrUnknown)
	}
	d.RenewBy = c.GetRenewBy()
	s.Delegations[c.GetSequence()] = d
	return nil
}

func (s *State) delegationsEnded(c *ledgerpb.DelegationsEnded) error {
	for _, seq := range c.GetSequences() {
		if _, ok := s.Delegations[seq]; !ok {
			return fmt.Errorf("delegation token %d: %w", seq, ErrUnknown)
		}
	}
	for _, seq := range c.GetSequences() {
		if d, ok := s.Delegations[seq]; ok { // a command may name one twice
			s.Kept.Token(d.Identifier, -1)
			delete(s.Delegations, seq)
		}
	}
	return nil
}
