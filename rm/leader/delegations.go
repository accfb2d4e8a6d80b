package leader

import (
	"bytes"
	"slices"
	"time"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// delegations are the delegation tokens that the ResourceManager issues.
type delegations struct{ *core }

// NewDelegation is what a new delegation token is made from.
type NewDelegation struct {
	Sequence    int32
	Issued, Max int64 // ms since 1970; it can't be renewed beyond Max
	Key         ledger.Key
}

// maxIdentifier bounds the identifier of a delegation token, which is kept as long as the token is good: its owner, its renewer and the
// user who asked for it, in bytes.
const maxIdentifier = 4 << 10

// IssueDelegation makes a delegation token: sign turns what the leader settles into the token's identifier and password.
func (ds *delegations) IssueDelegation(sign func(NewDelegation) (identifier, password []byte)) error {
	return ds.Do(func() error {
		n := NewDelegation{
			Sequence: ds.work.LastDelegation + 1, Issued: ds.Time(), Max: ds.Time() + ds.Settings.DelegationLifetime.Milliseconds(),
			Key: ds.work.Keys[ledgerpb.KeyKind_DELEGATION].Current,
		}
		id, password := sign(n)
		if len(id) > maxIdentifier {
			return refusal.New(refusal.Refused, "a delegation token for names of %d bytes can't be issued: they may have %d", len(id), maxIdentifier)
		}
		ds.Enter(&ledgerpb.Command{DelegationIssued: &ledgerpb.DelegationIssued{
			Sequence: n.Sequence, Identifier: id, Password: password, RenewBy: ds.renewal(n.Max),
		}})
		return nil
	})
}

// renewal is how long a token that is renewed now is good, in ms since 1970.
func (ds *delegations) renewal(most int64) int64 {
	return min(most, ds.Time()+ds.Settings.DelegationRenewal.Milliseconds())
}

// RenewDelegation makes a token good for longer, but not beyond a time (ms since 1970); it returns until when it is good now.
func (ds *delegations) RenewDelegation(seq int32, identifier []byte, most int64) (until int64, err error) {
	err = ds.Do(func() error {
		if d, ok := ds.work.Delegations[seq]; !ok || !bytes.Equal(d.Identifier, identifier) {
			return refusal.New(refusal.NoSuchToken, "Renewal request for unknown token %d", seq)
		}
		until = ds.renewal(most)
		ds.Enter(&ledgerpb.Command{DelegationRenewed: &ledgerpb.DelegationRenewed{Sequence: seq, RenewBy: until}})
		return nil
	})
	return until, err
}

// CancelDelegation makes a token worthless.
func (ds *delegations) CancelDelegation(seq int32, identifier []byte) error {
	return ds.Do(func() error {
		if d, ok := ds.work.Delegations[seq]; !ok || !bytes.Equal(d.Identifier, identifier) {
			return refusal.New(refusal.NoSuchToken, "Token not found: %d", seq)
		}
		ds.endDelegations(seq)
		return nil
	})
}

func (ds *delegations) endDelegations(seqs ...int32) {
	ds.Enter(&ledgerpb.Command{DelegationsEnded: &ledgerpb.DelegationsEnded{Sequences: seqs}})
}

// expireDelegations forgets tokens that nobody renewed.
func (ds *delegations) expireDelegations(now time.Time) {
	if ds.justBegun(now) {
		return
	}
	var over []int32
	for seq, d := range ds.work.Delegations {
		if now.UnixMilli() > d.RenewBy {
			over = append(over, seq)
		}
	}
	slices.Sort(over)
	for part := range slices.Chunk(over, maxTogether) {
		ds.endDelegations(part...)
	}
}
