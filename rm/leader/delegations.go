package leader

import (
	"bytes"
	"slices"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

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
func (l *Leader) IssueDelegation(sign func(NewDelegation) (identifier, password []byte)) error {
	return l.do(func(t *turn) error {
		n := NewDelegation{
			Sequence: t.work.LastDelegation + 1, Issued: t.Time(), Max: t.Time() + t.Settings.DelegationLifetime.Milliseconds(),
			Key: t.work.Keys[ledgerpb.KeyKind_DELEGATION].Current,
		}
		id, password := sign(n)
		if len(id) > maxIdentifier {
			return refuse(Refused, "a delegation token for names of %d bytes can't be issued: they may have %d", len(id), maxIdentifier)
		}
		t.Enter(&ledgerpb.Command{DelegationIssued: &ledgerpb.DelegationIssued{
			Sequence: n.Sequence, Identifier: id, Password: password, RenewBy: t.renewal(n.Max),
		}})
		return nil
	})
}

// renewal is how long a token that is renewed now is good, in ms since 1970.
func (t *turn) renewal(most int64) int64 {
	return min(most, t.Time()+t.Settings.DelegationRenewal.Milliseconds())
}

// RenewDelegation makes a token good for longer, but not beyond a time (ms since 1970); it returns until when it is good now.
func (l *Leader) RenewDelegation(seq int32, identifier []byte, most int64) (until int64, err error) {
	err = l.do(func(t *turn) error {
		if d, ok := t.work.Delegations[seq]; !ok || !bytes.Equal(d.Identifier, identifier) {
			return refuse(NoSuchToken, "Renewal request for unknown token %d", seq)
		}
		until = t.renewal(most)
		t.Enter(&ledgerpb.Command{DelegationRenewed: &ledgerpb.DelegationRenewed{Sequence: seq, RenewBy: until}})
		return nil
	})
	return until, err
}

// CancelDelegation makes a token worthless.
func (l *Leader) CancelDelegation(seq int32, identifier []byte) error {
	return l.do(func(t *turn) error {
		if d, ok := t.work.Delegations[seq]; !ok || !bytes.Equal(d.Identifier, identifier) {
			return refuse(NoSuchToken, "Token not found: %d", seq)
		}
		t.endDelegations(seq)
		return nil
	})
}

func (t *turn) endDelegations(seqs ...int32) {
	t.Enter(&ledgerpb.Command{DelegationsEnded: &ledgerpb.DelegationsEnded{Sequences: seqs}})
}

// expireDelegations forgets tokens that nobody renewed.
func (t *turn) expireDelegations(now time.Time) {
	if t.justBegun(now) {
		return
	}
	var over []int32
	for seq, d := range t.work.Delegations {
		if now.UnixMilli() > d.RenewBy {
			over = append(over, seq)
		}
	}
	slices.Sort(over)
	for part := range slices.Chunk(over, maxTogether) {
		t.endDelegations(part...)
	}
}
