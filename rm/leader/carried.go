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

// carried are the delegation tokens in the credentials of live applications. They are renewed as long as one of the
// applications lives, and cancelled after the last one unless one of them asked not to (Hadoop: DelegationTokenRenewer, which
// does so on secure clusters only). Nothing that goes wrong with a token is held against an application: on a cluster without
// security hardly anybody looks at them.
type carried struct {
	*core
	delegations *delegations
	all         map[string]*carriedToken
	of          map[records.ApplicationID][]*carriedToken
}

func newCarried(c *core) *carried {
	return &carried{core: c, all: map[string]*carriedToken{}, of: map[records.ApplicationID][]*carriedToken{}}
}

type carriedToken struct {
	token token.Token
	name  string // in carried.all
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
func (ct *carried) carry(app *ledger.Application) {
	raw := app.Context.GetAmContainerSpec().GetTokens()
	if len(raw) == 0 {
		return
	}
	log := ct.Log.WithField("application", app.ID)
	credentials, err := token.DecodeCredentials(raw)
	if err != nil {
		log.WithError(err).Warn("its credentials can't be read, and their tokens are not renewed")
		return
	}
	for _, named := range credentials.Tokens {
		tok := named.Token
		name := tok.Kind + "\x00" + tok.Service + "\x00" + string(tok.Identifier) + "\x00" + string(tok.Password)
		c := ct.all[name]
		if c == nil {
			c = &carriedToken{token: tok, name: name, apps: map[records.ApplicationID]bool{}}
			switch {
			case tok.Kind == token.KindDelegation:
				if c.own = true; !ct.ownToken(c) {
					log.Warn("a delegation token in its credentials is none of this ResourceManager's, or not good any more")
					continue
				}
			case ct.Tokens == nil || !ct.Tokens.Renews(tok.Kind):
				continue
			}
			c.due = ct.Now()
			ct.all[name] = c
		}
		if c.apps[app.ID] {
			continue // under two aliases
		}
		c.apps[app.ID] = true
		c.keep = c.keep || !app.Context.GetCancelTokensWhenComplete() && !ct.Settings.TokenCalls.CancelKept
		ct.of[app.ID] = append(ct.of[app.ID], c)
		if c.own {
			ct.renewOwn(c)
		}
	}
}

// ownToken reports whether a token is one that was issued here and is still good. Whoever has it must know its password: the
// identifier alone can be guessed.
func (ct *carried) ownToken(c *carriedToken) bool {
	id, err := token.ParseDelegation(c.token.Identifier)
	if err != nil {
		return false
	}
	c.id = id
	d, ok := ct.work.Delegations[id.Sequence]
	return ok && hmac.Equal(d.Identifier, c.token.Identifier) && hmac.Equal(d.Password, c.token.Password) &&
		d.RenewBy >= ct.Now().UnixMilli()
}

// renewOwn renews a token of ours, if it has a renewer: without one nobody may, and it ends by itself.
func (ct *carried) renewOwn(c *carriedToken) {
	c.due = time.Time{}
	if c.id.Renewer == "" || !ct.ownToken(c) {
		return
	}
	until := ct.delegations.renewal(c.id.MaxMS)
	if until > ct.work.Delegations[c.id.Sequence].RenewBy {
		ct.Enter(&ledgerpb.Command{DelegationRenewed: &ledgerpb.DelegationRenewed{Sequence: c.id.Sequence, RenewBy: until}})
	}
	if until < c.id.MaxMS {
		c.due = ct.nextRenewal(time.UnixMilli(until))
	}
}

// nextRenewal is when a token that is good until then is renewed: after nine tenths of the time.
func (ct *carried) nextRenewal(until time.Time) time.Time {
	now := ct.Now()
	return now.Add(until.Sub(now) * 9 / 10)
}

// dropTokens takes note of the end of an application.
func (ct *carried) dropTokens(app records.ApplicationID) {
	for _, c := range ct.of[app] {
		if delete(c.apps, app); len(c.apps) > 0 {
			continue
		}
		switch {
		case c.keep:
			delete(ct.all, c.name)
		case c.own:
			delete(ct.all, c.name)
			if ct.ownToken(c) {
				ct.delegations.endDelegations(c.id.Sequence)
			}
		default:
			c.failed = 0
			c.due = ct.Now().Add(ct.Settings.KeepTokens)
			if ct.Settings.KeepTokens == 0 {
				ct.cancelForeign(c)
			}
		}
	}
	delete(ct.of, app)
}

// renewCarried does what is due.
func (ct *carried) renewCarried(now time.Time) {
	for _, c := range ct.all {
		if c.asking || c.due.IsZero() || now.Before(c.due) {
			continue
		}
		switch {
		case c.own:
			ct.renewOwn(c)
		case len(c.apps) > 0:
			ct.renewForeign(c)
		default:
			ct.cancelForeign(c)
		}
	}
}

func (ct *carried) renewForeign(c *carriedToken) {
	tok := c.token
	c.asking = true
	ct.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, ct.Settings.TokenCalls.Timeout)
		defer cancel()
		until, err := ct.Tokens.RenewToken(ctx, tok)
		_ = ct.Do(func() error { // the next leader renews them all
			ct.renewedForeign(c, until, err)
			return nil
		})
	})
}

func (ct *carried) renewedForeign(c *carriedToken, until time.Time, err error) {
	c.asking = false
	if len(c.apps) == 0 {
		return // due is when it's cancelled
	}
	switch {
	case err == nil:
		c.failed, c.due = 0, time.Time{}
		if until.After(ct.Now()) {
			c.due = ct.nextRenewal(until)
		}
	case !ct.again(c, "renewing", err):
		c.due = time.Time{}
	}
}

// again sees to it that a call that has failed is repeated, if that has a point. Hadoop repeats those that time out.
func (ct *carried) again(c *carriedToken, what string, err error) bool {
	log := ct.Log.WithField("token", fmt.Sprintf("%s of %s", c.token.Kind, c.token.Service)).WithError(err)
	var refused *ipc.RemoteError
	if errors.As(err, &refused) {
		log.Warn(what + " a token in the credentials of an application was refused")
		return false
	}
	calls := ct.Settings.TokenCalls
	if c.failed++; c.failed >= calls.Tries {
		log.WithField("tries", c.failed).Error(what + " a token in the credentials of an application failed and is given up: " +
			"yarn.resourcemanager.delegation-token-renewer.thread-retry-max-attempts says how often it's tried")
		return false
	}
	log.WithField("tries", c.failed).Warn(what + " a token in the credentials of an application failed, to be tried again")
	c.due = ct.Now().Add(calls.Pause)
	return true
}

func (ct *carried) cancelForeign(c *carriedToken) {
	tok := c.token
	c.asking = true
	ct.AfterCommit(func() { // the end of the application is known
		ct.Go(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, ct.Settings.TokenCalls.Timeout)
			defer cancel()
			err := ct.Tokens.CancelToken(ctx, tok)
			_ = ct.Do(func() error { // the next leader doesn't know it: it ends when nobody renews it
				ct.cancelledForeign(c, err)
				return nil
			})
		})
	})
}

func (ct *carried) cancelledForeign(c *carriedToken, err error) {
	c.asking = false
	switch {
	case len(c.apps) > 0: // another one has come with it
		c.failed, c.due = 0, ct.Now()
	case err == nil || !ct.again(c, "cancelling", err):
		delete(ct.all, c.name)
	}
}
