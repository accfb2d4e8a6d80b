package leader

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/ipc"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Tokens renews and cancels delegation tokens that others have issued. Its methods may block.
type Tokens interface {
	// Renews reports whether it deals with tokens of a kind.
	Renews(kind string) bool
	// RenewToken makes a token good for longer; it returns until when. What the issuer refuses is an *ipc.RemoteError.
	RenewToken(ctx context.Context, t token.Token) (until time.Time, err error)
	CancelToken(ctx context.Context, t token.Token) error
}

// carriedTokens are the delegation tokens in the credentials of live applications. They are renewed as long as one of the
// applications lives, and cancelled after the last one unless one of them asked not to (Hadoop: DelegationTokenRenewer, which
// does so on secure clusters only). Nothing that goes wrong with a token is held against an application: on a cluster without
// security hardly anybody looks at them.
type carriedTokens struct {
	all  map[string]*carriedToken
	apps map[records.ApplicationID][]*carriedToken
}

type carriedToken struct {
	token token.Token
	name  string // in carriedTokens.all
	// own is that this ResourceManager has issued it, with a number.
	own  bool
	id   token.Delegation
	apps map[records.ApplicationID]bool
	keep bool // an application wants it to outlive itself

	due    time.Time // of the next renewal, or once no application is left, of the cancellation; zero = never
	asking bool      // a call about it is under way
	failed int       // calls for the same renewal or cancellation that nobody has answered
}

// TokenCalls is how patient a leader is with those who have issued tokens.
type TokenCalls struct {
	Timeout time.Duration // of a call
	Pause   time.Duration // before a call that nobody answered is repeated
	Tries   int           // calls for one renewal or cancellation; what is refused is never repeated
	// CancelKept is that tokens are cancelled even if an application asked not to.
	CancelKept bool
}

// carry takes note of the tokens of an application. Own ones are renewed with the submission itself, others right after it.
func (t *turn) carry(app *ledger.Application) {
	raw := app.Context.GetAmContainerSpec().GetTokens()
	if len(raw) == 0 {
		return
	}
	log := t.Log.WithField("application", app.ID)
	credentials, err := token.DecodeCredentials(raw)
	if err != nil {
		log.WithError(err).Warn("its credentials can't be read, and their tokens are not renewed")
		return
	}
	if t.carried.all == nil {
		t.carried = carriedTokens{all: map[string]*carriedToken{}, apps: map[records.ApplicationID][]*carriedToken{}}
	}
	for _, named := range credentials.Tokens {
		tok := named.Token
		name := tok.Kind + "\x00" + tok.Service + "\x00" + string(tok.Identifier) + "\x00" + string(tok.Password)
		c := t.carried.all[name]
		if c == nil {
			c = &carriedToken{token: tok, name: name, apps: map[records.ApplicationID]bool{}}
			switch {
			case tok.Kind == token.KindDelegation:
				if c.own = true; !t.ownToken(c) {
					log.Warn("a delegation token in its credentials is none of this ResourceManager's, or not good any more")
					continue
				}
			case t.Tokens == nil || !t.Tokens.Renews(tok.Kind):
				continue
			}
			c.due = t.Now()
			t.carried.all[name] = c
		}
		if c.apps[app.ID] {
			continue // under two aliases
		}
		c.apps[app.ID] = true
		c.keep = c.keep || !app.Context.GetCancelTokensWhenComplete() && !t.Settings.TokenCalls.CancelKept
		t.carried.apps[app.ID] = append(t.carried.apps[app.ID], c)
		if c.own {
			t.renewOwn(c)
		}
	}
}

// ownToken reports whether a token is one that was issued here and is still good. Whoever has it must know its password: the
// identifier alone can be guessed.
func (t *turn) ownToken(c *carriedToken) bool {
	id, err := token.ParseDelegation(c.token.Identifier)
	if err != nil {
		return false
	}
	c.id = id
	d, ok := t.work.Delegations[id.Sequence]
	return ok && hmac.Equal(d.Identifier, c.token.Identifier) && hmac.Equal(d.Password, c.token.Password) &&
		d.RenewBy >= t.Now().UnixMilli()
}

// renewOwn renews a token of ours, if it has a renewer: without one nobody may, and it ends by itself.
func (t *turn) renewOwn(c *carriedToken) {
	c.due = time.Time{}
	if c.id.Renewer == "" || !t.ownToken(c) {
		return
	}
	until := t.renewal(c.id.MaxMS)
	if until > t.work.Delegations[c.id.Sequence].RenewBy {
		t.Enter(&ledgerpb.Command{DelegationRenewed: &ledgerpb.DelegationRenewed{Sequence: c.id.Sequence, RenewBy: until}})
	}
	if until < c.id.MaxMS {
		c.due = t.nextRenewal(time.UnixMilli(until))
	}
}

// nextRenewal is when a token that is good until then is renewed: after nine tenths of the time.
func (t *turn) nextRenewal(until time.Time) time.Time {
	now := t.Now()
	return now.Add(until.Sub(now) * 9 / 10)
}

// dropTokens takes note of the end of an application.
func (t *turn) dropTokens(app records.ApplicationID) {
	for _, c := range t.carried.apps[app] {
		if delete(c.apps, app); len(c.apps) > 0 {
			continue
		}
		switch {
		case c.keep:
			delete(t.carried.all, c.name)
		case c.own:
			delete(t.carried.all, c.name)
			if t.ownToken(c) {
				t.endDelegations(c.id.Sequence)
			}
		default:
			c.failed = 0
			c.due = t.Now().Add(t.Settings.KeepTokens)
			if t.Settings.KeepTokens == 0 {
				t.cancelForeign(c)
			}
		}
	}
	delete(t.carried.apps, app)
}

// renewCarried does what is due.
func (t *turn) renewCarried(now time.Time) {
	for _, c := range t.carried.all {
		if c.asking || c.due.IsZero() || now.Before(c.due) {
			continue
		}
		switch {
		case c.own:
			t.renewOwn(c)
		case len(c.apps) > 0:
			t.renewForeign(c)
		default:
			t.cancelForeign(c)
		}
	}
}

func (t *turn) renewForeign(c *carriedToken) {
	leader, tok := t.Leader, c.token
	c.asking = true
	leader.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, leader.Settings.TokenCalls.Timeout)
		defer cancel()
		until, err := leader.Tokens.RenewToken(ctx, tok)
		_ = leader.do(func(t *turn) error { // the next leader renews them all
			t.renewedForeign(c, until, err)
			return nil
		})
	})
}

func (t *turn) renewedForeign(c *carriedToken, until time.Time, err error) {
	c.asking = false
	if len(c.apps) == 0 {
		return // due is when it's cancelled
	}
	switch {
	case err == nil:
		c.failed, c.due = 0, time.Time{}
		if until.After(t.Now()) {
			c.due = t.nextRenewal(until)
		}
	case !t.again(c, "renewing", err):
		c.due = time.Time{}
	}
}

// again sees to it that a call that has failed is repeated, if that has a point. Hadoop repeats those that time out.
func (t *turn) again(c *carriedToken, what string, err error) bool {
	log := t.Log.WithField("token", fmt.Sprintf("%s of %s", c.token.Kind, c.token.Service)).WithError(err)
	var refused *ipc.RemoteError
	if errors.As(err, &refused) {
		log.Warn(what + " a token in the credentials of an application was refused")
		return false
	}
	calls := t.Settings.TokenCalls
	if c.failed++; c.failed >= calls.Tries {
		log.WithField("tries", c.failed).Error(what + " a token in the credentials of an application failed and is given up: " +
			"yarn.resourcemanager.delegation-token-renewer.thread-retry-max-attempts says how often it's tried")
		return false
	}
	log.WithField("tries", c.failed).Warn(what + " a token in the credentials of an application failed, to be tried again")
	c.due = t.Now().Add(calls.Pause)
	return true
}

func (t *turn) cancelForeign(c *carriedToken) {
	leader, tok := t.Leader, c.token
	c.asking = true
	t.AfterCommit(func() { // the end of the application is known
		leader.Go(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, leader.Settings.TokenCalls.Timeout)
			defer cancel()
			err := leader.Tokens.CancelToken(ctx, tok)
			_ = leader.do(func(t *turn) error { // the next leader doesn't know it: it ends when nobody renews it
				t.cancelledForeign(c, err)
				return nil
			})
		})
	})
}

func (t *turn) cancelledForeign(c *carriedToken, err error) {
	c.asking = false
	switch {
	case len(c.apps) > 0: // another one has come with it
		c.failed, c.due = 0, t.Now()
	case err == nil || !t.again(c, "cancelling", err):
		delete(t.carried.all, c.name)
	}
}
