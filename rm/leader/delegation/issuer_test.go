package delegation

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/yarn/token"
)

const (
	day      = 24 * time.Hour
	lifetime = 7 * day
	interval = day
)

// issue issues a token of alice's.
func issue(t *testing.T, is *Issuer, renewer string) token.Token {
	t.Helper()
	var made token.Token
	err := is.Issue(Names{Owner: "alice", Renewer: renewer}, func(d Draft) (identifier, password []byte) {
		id := token.Delegation{Owner: "alice", Renewer: renewer, IssueMS: d.Issued, MaxMS: d.Max, Sequence: d.Sequence, KeyID: d.Key.ID}
		made = token.NewMasterKey(d.Key.ID, d.Key.Secret).Mint(token.KindDelegation, "10.0.0.1:8032", id.Encode())
		return made.Identifier, made.Password
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func withIssuer(t *testing.T, test func(t *testing.T, loop *looptest.Loop, is *Issuer)) {
	synctest.Test(t, func(t *testing.T) {
		loop := looptest.New(t)
		loop.State.Keys[ledgerpb.KeyKind_DELEGATION] = ledger.KeyRing{Current: ledger.Key{ID: 7, Secret: []byte("secret")}}
		test(t, loop, NewIssuer(loop, loop.State, IssuerConfig{Lifetime: lifetime, Interval: interval}))
	})
}

func TestDraftsAreNumberedAndSignedWithTheCurrentKey(t *testing.T) {
	withIssuer(t, func(t *testing.T, loop *looptest.Loop, is *Issuer) {
		begun := time.Now()
		for want := int32(1); want <= 2; want++ {
			id, err := token.ParseDelegation(issue(t, is, "yarn").Identifier)
			if err != nil {
				t.Fatal(err)
			}
			if id.Sequence != want || id.KeyID != 7 || id.IssueMS != begun.UnixMilli() || id.MaxMS != begun.Add(lifetime).UnixMilli() {
				t.Errorf("token %d: %+v", want, id)
			}
			if by := loop.State.Delegations[want].RenewBy; by != begun.Add(interval).UnixMilli() {
				t.Errorf("token %d is to be renewed by %d", want, by)
			}
		}
	})
}

// Tokens are kept for days, so their names are short, and say what is wrong.
func TestNamesInTokensAreBounded(t *testing.T) {
	withIssuer(t, func(t *testing.T, loop *looptest.Loop, is *Issuer) {
		sign := func(Draft) (identifier, password []byte) { return []byte{1}, []byte{2} }
		long := strings.Repeat("n", limit.MaxTokenName)
		for what, names := range map[string]Names{
			"owner": {Owner: long + "n"}, "renewer": {Owner: "alice", Renewer: long + "n"}, "real user": {Owner: "alice", RealUser: "caf\xe9"},
		} {
			if err := is.Issue(names, sign); !refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), what) || len(loop.State.Delegations) != 0 {
				t.Errorf("%s: %v, %d tokens", what, err, len(loop.State.Delegations))
			}
		}
		if err := is.Issue(Names{Owner: long, Renewer: long, RealUser: long}, sign); err != nil {
			t.Error(err)
		}
	})
}

// One client made 81,000 tokens in a minute, which were kept for days. Now an owner has a bound, and so have all; tokens that end make room.
func TestTokensAreBoundedForAnOwnerAndInAll(t *testing.T) {
	withIssuer(t, func(t *testing.T, loop *looptest.Loop, _ *Issuer) {
		is := NewIssuer(loop, loop.State, IssuerConfig{Lifetime: lifetime, Interval: interval, Bounds: limit.Bounds{TokensOfOwner: 3, Tokens: 5}})
		issue := func(owner string) error {
			return is.Issue(Names{Owner: owner}, func(d Draft) (identifier, password []byte) {
				return token.Delegation{Owner: owner, Sequence: d.Sequence}.Encode(), []byte{2}
			})
		}
		for range 3 {
			if err := issue("alice"); err != nil {
				t.Fatal(err)
			}
		}
		if err := issue("alice"); !refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), `"alice" has 3`) || !strings.Contains(err.Error(), "heddle.delegation-tokens.max-per-owner") {
			t.Errorf("alice's fourth: %v", err)
		}
		for range 2 {
			if err := issue("bob"); err != nil {
				t.Fatal(err)
			}
		}
		if err := issue("bob"); !refusal.Is(err, refusal.Refused) || !strings.HasSuffix(err.Error(), "heddle.delegation-tokens.max") {
			t.Errorf("the sixth of all: %v", err)
		}
		time.Sleep(interval + time.Millisecond)
		_ = loop.Do(func() error { is.Tick(loop.Now()); return nil })
		if err := issue("alice"); err != nil {
			t.Errorf("after all have expired: %v", err)
		}
	})
}

// Tokens that aren't committed yet count.
func TestTokensUnderWayCount(t *testing.T) {
	withIssuer(t, func(t *testing.T, loop *looptest.Loop, _ *Issuer) {
		is := NewIssuer(uncommitted{loop}, loop.State, IssuerConfig{Bounds: limit.Bounds{Tokens: 2}})
		refused := 0
		for range 5 {
			if is.Issue(Names{Owner: "alice"}, func(Draft) (identifier, password []byte) { return nil, nil }) != nil {
				refused++
			}
		}
		if refused != 3 {
			t.Errorf("%d of 5 are refused", refused)
		}
	})
}

// uncommitted is a loop whose commands are all under way.
type uncommitted struct{ *looptest.Loop }

func (u uncommitted) Do(run func() error) error { return u.Operate(run) }

func TestRenewAndCancel(t *testing.T) {
	withIssuer(t, func(t *testing.T, loop *looptest.Loop, is *Issuer) {
		first, latest := issue(t, is, "yarn").Identifier, time.Now().Add(lifetime)
		time.Sleep(20 * time.Hour)
		if until, err := is.Renew(1, first, latest.UnixMilli()); err != nil || until != time.Now().Add(interval).UnixMilli() || loop.State.Delegations[1].RenewBy != until {
			t.Errorf("renewed until %d, on record until %d: %v", until, loop.State.Delegations[1].RenewBy, err)
		}
		time.Sleep(time.Until(latest) - time.Hour)
		if until, err := is.Renew(1, first, latest.UnixMilli()); err != nil || until != latest.UnixMilli() {
			t.Errorf("renewed until %d, beyond %d: %v", until, latest.UnixMilli(), err)
		}
		if _, err := is.Renew(2, first, latest.UnixMilli()); !refusal.Is(err, refusal.NoSuchToken) || !strings.Contains(err.Error(), "unknown token 2") {
			t.Errorf("a token that isn't there: %v", err)
		}
		if _, err := is.Renew(1, []byte("guess"), latest.UnixMilli()); !refusal.Is(err, refusal.NoSuchToken) {
			t.Errorf("another identifier under its number: %v", err)
		}
		if err := is.Cancel(1, []byte("guess")); !refusal.Is(err, refusal.NoSuchToken) || len(loop.State.Delegations) != 1 {
			t.Errorf("cancelled with another identifier: %v", err)
		}
		if err := is.Cancel(1, first); err != nil || len(loop.State.Delegations) != 0 {
			t.Errorf("%v, %d tokens are left", err, len(loop.State.Delegations))
		}
		if err := is.Cancel(1, first); !refusal.Is(err, refusal.NoSuchToken) {
			t.Errorf("cancelled twice: %v", err)
		}
	})
}

func TestExpireEndsTokensAfterTheirTime(t *testing.T) {
	withIssuer(t, func(t *testing.T, loop *looptest.Loop, is *Issuer) {
		for range maxEnded + 1 {
			issue(t, is, "yarn")
		}
		expire := func() int {
			_ = loop.Do(func() error { is.Tick(loop.Now()); return nil })
			return len(loop.State.Delegations)
		}
		time.Sleep(interval)
		if n := expire(); n != maxEnded+1 {
			t.Errorf("%d tokens are left in their last millisecond", n)
		}
		time.Sleep(time.Millisecond)
		if n := expire(); n != 0 {
			t.Errorf("%d tokens are left after it", n)
		}
	})
}
