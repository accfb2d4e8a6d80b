package delegation

import (
	"bytes"
	"slices"
	"time"
	"unicode/utf8"

	"heddle/rm/leader/loop"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
)

// Issuer issues the ResourceManager's delegation tokens.
type Issuer struct {
	loop loop.Operations
	work *ledger.State
	cfg  IssuerConfig
}

// IssuerConfig configures an Issuer.
type IssuerConfig struct {
	// A token lives for a lifetime, however often it is renewed, and must be renewed within an interval.
	Lifetime, Interval time.Duration
	Bounds             limit.Bounds      // of them Tokens and TokensOfOwner
	Disk               func() limit.Disk // nil: it always has space
	// JustBegun reports whether the leadership is so young that nothing expires yet: clocks of machines differ. nil: it never is.
	JustBegun func(now time.Time) bool
}

// NewIssuer makes an issuer for a leadership with a working copy.
func NewIssuer(loop loop.Operations, work *ledger.State, cfg IssuerConfig) *Issuer {
	return &Issuer{loop: loop, work: work, cfg: cfg}
}

// Names are those of a new token: whose it is, who may renew it, and who asked for it if that is another.
type Names struct{ Owner, Renewer, RealUser string }

// Draft is what a new delegation token is made from.
type Draft struct {
	Sequence    int32
	Issued, Max int64 // ms since 1970; it can't be renewed beyond Max
	Key         ledger.Key
}

// maxEnded is how many tokens one command ends at most, so that it leaves a batch room.
const maxEnded = 2048

// Issue makes a delegation token: sign turns the draft into the token's identifier and password. It is an operation of its own.
func (is *Issuer) Issue(names Names, sign func(Draft) (identifier, password []byte)) error {
	if err := names.check(); err != nil {
		return err
	}
	return is.loop.Do(func() error {
		if err := is.room(names.Owner); err != nil {
			return err
		}
		now := is.loop.Time()
		d := Draft{
			Sequence: is.work.LastDelegation + 1, Issued: now, Max: now + is.cfg.Lifetime.Milliseconds(),
			Key: is.work.Keys[ledgerpb.KeyKind_DELEGATION].Current,
		}
		id, password := sign(d)
		is.loop.Enter(&ledgerpb.Command{DelegationIssued: &ledgerpb.DelegationIssued{
			Sequence: d.Sequence, Identifier: id, Password: password, RenewBy: is.renewal(d.Max),
		}})
		return nil
	})
}

// check refuses names that are too long to be kept for days, or that can't be in a token.
func (n Names) check() error {
	for _, part := range []struct{ what, name string }{{"owner", n.Owner}, {"renewer", n.Renewer}, {"real user", n.RealUser}} {
		if len(part.name) > limit.MaxTokenName || !utf8.ValidString(part.name) {
			return refusal.New(refusal.Refused, "a delegation token can't be issued: its %s %.100q has %d bytes; names in tokens are UTF-8 of at most %d bytes",
				part.what, part.name, len(part.name), limit.MaxTokenName)
		}
	}
	return nil
}

// room refuses a token if there are too many already, or no space for one.
func (is *Issuer) room(owner string) error {
	b := is.cfg.Bounds
	switch own, all := is.work.Kept.Tokens(owner), len(is.work.Delegations); {
	case is.cfg.Disk != nil && is.cfg.Disk() == limit.DiskFull:
		return refusal.New(refusal.NoSpace, "a delegation token can't be issued now: the file system of the ResourceManager's state folder is almost full. "+
			"Try again when the administrator has made room there (heddle.raft.min-free-mb)")
	case limit.Over(int64(b.TokensOfOwner), int64(own+1)):
		return refusal.New(refusal.Refused, "a delegation token can't be issued: user %.100q has %d valid ones, and may have %d. Cancel those that are no longer needed, "+
			"or wait until they expire; the administrator can raise heddle.delegation-tokens.max-per-owner", owner, own, b.TokensOfOwner)
	case limit.Over(int64(b.Tokens), int64(all+1)):
		return refusal.New(refusal.Refused, "a delegation token for user %.100q can't be issued: there are %d valid ones of all users, and may be %d. Wait until some are cancelled "+
			"or expire; the administrator can raise heddle.delegation-tokens.max", owner, all, b.Tokens)
	}
	return nil
}

// renewal is until when a token is good that is renewed now, in ms since 1970: at most until latest.
func (is *Issuer) renewal(latest int64) int64 {
	return min(latest, is.loop.Time()+is.cfg.Interval.Milliseconds())
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

// Tick ends the tokens that were not renewed in time, by the loop's date.
func (is *Issuer) Tick(now time.Time) {
	if is.cfg.JustBegun != nil && is.cfg.JustBegun(now) {
		return
	}
	now = is.loop.Date()
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
