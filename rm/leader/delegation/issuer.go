package delegation

import (
	"bytes"
	"context"
	"slices"
	"time"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// Loop is the leader's loop, as far as this package needs it (loop.Loop).
type Loop interface {
	Now() time.Time
	Time() int64
	Enter(c *ledgerpb.Command)
	AfterCommit(f func())
	Do(run func() error) error
	Go(f func(ctx context.Context))
}

// Issuer issues the ResourceManager's delegation tokens.
type Issuer struct {
	loop               Loop
	work               *ledger.State
	lifetime, interval time.Duration
}

// NewIssuer makes an issuer for a leadership with a working copy. A token lives for a lifetime, however often it is renewed, and must be
// renewed within an interval.
func NewIssuer(loop Loop, work *ledger.State, lifetime, interval time.Duration) *Issuer {
	return &Issuer{loop: loop, work: work, lifetime: lifetime, interval: interval}
}

// Draft is what a new delegation token is made from.
type Draft struct {
	Sequence    int32
	Issued, Max int64 // ms since 1970; it can't be renewed beyond Max
	Key         ledger.Key
}

// maxIdentifier bounds a token's identifier, which is in the ledger for as long as the token is good: its owner, its renewer and the user
// who asked for it, in bytes.
const maxIdentifier = 4 << 10

// maxEnded is how many tokens one command ends at most, so that it leaves a batch room.
const maxEnded = 2048

// Issue makes a delegation token: sign turns the draft into the token's identifier and password. It is an operation of its own.
func (is *Issuer) Issue(sign func(Draft) (identifier, password []byte)) error {
	return is.loop.Do(func() error {
		now := is.loop.Time()
		d := Draft{
			Sequence: is.work.LastDelegation + 1, Issued: now, Max: now + is.lifetime.Milliseconds(),
			Key: is.work.Keys[ledgerpb.KeyKind_DELEGATION].Current,
		}
		id, password := sign(d)
		if len(id) > maxIdentifier {
			return refusal.New(refusal.Refused, "a delegation token for names of %d bytes can't be issued: they may have %d", len(id), maxIdentifier)
		}
		is.loop.Enter(&ledgerpb.Command{DelegationIssued: &ledgerpb.DelegationIssued{
			Sequence: d.Sequence, Identifier: id, Password: password, RenewBy: is.renewal(d.Max),
		}})
		return nil
	})
}

// renewal is until when a token is good that is renewed now, in ms since 1970: at most until latest.
func (is *Issuer) renewal(latest int64) int64 {
	return min(latest, is.loop.Time()+is.interval.Milliseconds())
}

// Renew makes a token good for longer, but not beyond latest, and returns until when it is good now; both are in ms since 1970. It is an
// operation of its own.
func (is *Issuer) Renew(seq int32, identifier []byte, latest int64) (until int64, err error) {
	err = is.loop.Do(func() error {
		if d, ok := is.work.Delegations[seq]; !ok || !bytes.Equal(d.Identifier, identifier) {
			return refusal.New(refusal.NoSuchToken, "Renewal request for unknown token %d", seq)
		}
		until = is.renewal(latest)
		is.enterRenewal(seq, until)
		return nil
	})
	return until, err
}

func (is *Issuer) enterRenewal(seq int32, until int64) {
	is.loop.Enter(&ledgerpb.Command{DelegationRenewed: &ledgerpb.DelegationRenewed{Sequence: seq, RenewBy: until}})
}

// Cancel makes a token worthless. It is an operation of its own.
func (is *Issuer) Cancel(seq int32, identifier []byte) error {
	return is.loop.Do(func() error {
		if d, ok := is.work.Delegations[seq]; !ok || !bytes.Equal(d.Identifier, identifier) {
			return refusal.New(refusal.NoSuchToken, "Token not found: %d", seq)
		}
		is.end(seq)
		return nil
	})
}

func (is *Issuer) end(seqs ...int32) {
	is.loop.Enter(&ledgerpb.Command{DelegationsEnded: &ledgerpb.DelegationsEnded{Sequences: seqs}})
}

// Expire ends the tokens that nobody has renewed in time. Its caller waits for a while after the beginning of a leadership: clocks of
// machines differ.
func (is *Issuer) Expire(now time.Time) {
	var expired []int32
	for seq, d := range is.work.Delegations {
		if now.UnixMilli() > d.RenewBy {
			expired = append(expired, seq)
		}
	}
	slices.Sort(expired)
	for part := range slices.Chunk(expired, maxEnded) {
		is.end(part...)
	}
}
