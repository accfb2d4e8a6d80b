package delegation

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/yarn/ipc"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// TokenRenewer renews and cancels delegation tokens that others have issued (Hadoop: TokenRenewer). Its methods may block, and are called
// beside the loop.
type TokenRenewer interface {
	// Renews reports whether it deals with a token. It doesn't block.
	Renews(t token.Token) bool
	// RenewToken makes a token good for longer, and returns until when. A refusal of the issuer is an *ipc.RemoteError.
	RenewToken(ctx context.Context, t token.Token) (until time.Time, err error)
	CancelToken(ctx context.Context, t token.Token) error
}

// Calls says how often, and how patiently, the issuers of tokens are called.
type Calls struct {
	Timeout time.Duration // of a call
	Pause   time.Duration // before a call that failed is repeated
	Tries   int           // calls for one renewal or cancellation; a refused one is never repeated
	// CancelAlways has tokens cancelled even if an application asked not to.
	CancelAlways bool
	// CancelDelay is how long foreign tokens outlive the last application that brought them: its nodes may have logs to upload.
	CancelDelay time.Duration
	// Strict has applications fail whose tokens can't be renewed, or got, as they begin, like Hadoop on secure clusters: by the first answer, also if it is that
	// the issuer or the KDC is away. Calls without an answer are repeated.
	Strict bool
	Proxy  Proxy
	Handed *Handed // what nodes get for applications; nil: no node asks
}

// Carried are the delegation tokens in the credentials of live applications. They are renewed as long as one of the applications lives,
// and cancelled after the last one unless one of them asked not to. Hadoop does so on secure clusters only. A failure isn't held against
// an application unless Calls.Strict says so: on a cluster without security few services check tokens.
type Carried struct {
	loop   loop.Operations
	work   *ledger.State
	issuer *Issuer
	others TokenRenewer
	calls  Calls
	log    *logrus.Entry

	all map[string]*carriedToken
	of  map[records.ApplicationID][]*carriedToken

	wanted  []*wanted
	getting int
	handed  map[records.ApplicationID]time.Time       // ended applications whose credentials nodes may still need, until then
	late    map[records.ApplicationID][]*carriedToken // their tokens
}

// NewCarried makes the empty set of a leadership with a working copy. issuer deals with the ResourceManager's own tokens, others with
// those of other issuers; nil if nothing does.
func NewCarried(loop loop.Operations, work *ledger.State, issuer *Issuer, others TokenRenewer, calls Calls, log *logrus.Entry) *Carried {
	if calls.Handed == nil {
		calls.Handed = NewHanded()
	}
	calls.Handed.reset()
	return &Carried{
		loop: loop, work: work, issuer: issuer, others: others, calls: calls, log: log,
		all: map[string]*carriedToken{}, of: map[records.ApplicationID][]*carriedToken{}, handed: map[records.ApplicationID]time.Time{},
		late: map[records.ApplicationID][]*carriedToken{},
	}
}

type carriedToken struct {
	token token.Token
	name  string // in Carried.all
	// own is true if this ResourceManager has issued it; id is then what its identifier says.
	own    bool
	id     token.Delegation
	apps   map[records.ApplicationID]bool
	spared bool            // an application asked not to cancel it
	with   []*carriedToken // were got with it, and end with it

	due    time.Time               // of the next renewal, or of the cancellation once no application is left; zero = never
	until  time.Time               // it is good until then; zero: unknown
	first  []records.ApplicationID // they begin when it is renewed
	asking bool                    // a call about it is under way
	failed int                     // failed calls for the same renewal or cancellation
}

// AppBegan adds the tokens of an application that begins. Own ones are renewed with its submission, others by the next Tick.
func (ct *Carried) AppBegan(app *ledger.Application) {
	hdfs := false
	if raw := app.Context.GetAmContainerSpec().GetTokens(); len(raw) > 0 {
		credentials, err := token.DecodeCredentials(raw)
		if err != nil {
			ct.log.WithField("application", app.ID).WithError(err).Warn("its credentials can't be read, and their tokens are not renewed")
			return
		}
		for _, named := range credentials.Tokens {
			hdfs = hdfs || named.Token.Kind == token.KindHDFS
			ct.carry(app, named.Token)
		}
	}
	if !hdfs && ct.calls.Proxy.Get != nil {
		ct.want(app.User, app.ID)
	}
}

// carry adds a token of an application that begins. One without a renewer is left alone: its owner replaces it.
func (ct *Carried) carry(app *ledger.Application, tok token.Token) {
	if token.HasNoRenewer(tok) {
		return
	}
	name := nameOf(tok)
	c := ct.all[name]
	if c == nil {
		c = &carriedToken{token: tok, name: name, apps: map[records.ApplicationID]bool{}}
		switch {
		case tok.Kind == token.KindDelegation:
			if c.own = true; !ct.ownToken(c) {
				ct.log.WithField("application", app.ID).Warn("a delegation token in its credentials is none of this ResourceManager's, or not good any more")
				ct.refuse(app, c)
				return
			}
		case ct.others == nil || !ct.others.Renews(tok):
			return
		}
		c.due = ct.loop.Date()
		ct.all[name] = c
	}
	if c.apps[app.ID] {
		return // under two aliases
	}
	c.apps[app.ID] = true
	c.spared = c.spared || ct.spares(app)
	ct.of[app.ID] = append(ct.of[app.ID], c)
	switch {
	case c.own:
		ct.renewOwn(c)
	case ct.calls.Strict && c.until.IsZero():
		c.first, c.due = append(c.first, app.ID), ct.loop.Date()
		ct.calls.Handed.expect(app.ID)
	}
}

// refuse ends an application that brings a token of ours that isn't good, once it has begun.
func (ct *Carried) refuse(app *ledger.Application, c *carriedToken) {
	if !ct.calls.Strict {
		return
	}
	c.first = []records.ApplicationID{app.ID}
	ct.calls.Handed.expect(app.ID)
	ct.loop.Go(func(context.Context) {
		_ = ct.loop.Do(func() error { // the next leader refuses it, too
			ct.failFirst(c, errors.New("no such token"))
			return nil
		})
	})
}

// ownToken reports whether a token was issued here and is still good. Its bearer must know its password: the identifier alone can be
// guessed.
func (ct *Carried) ownToken(c *carriedToken) bool {
	id, err := token.ParseDelegation(c.token.Identifier)
	if err != nil {
		return false
	}
	c.id = id
	d, ok := ct.work.Delegations[id.Sequence]
	return ok && hmac.Equal(d.Identifier, c.token.Identifier) && hmac.Equal(d.Password, c.token.Password) &&
		d.RenewBy >= ct.loop.Date().UnixMilli()
}

// renewOwn renews a token of ours.
func (ct *Carried) renewOwn(c *carriedToken) {
	c.due = time.Time{}
	if !ct.ownToken(c) {
		return
	}
	until := ct.issuer.renewal(c.id.MaxMS)
	if until > ct.work.Delegations[c.id.Sequence].RenewBy {
		ct.issuer.enterRenewal(c.id.Sequence, until)
	}
	if until < c.id.MaxMS {
		c.due = ct.nextRenewal(time.UnixMilli(until))
	}
}

// nextRenewal returns when to renew a token that is good until then: after nine tenths of the time.
func (ct *Carried) nextRenewal(until time.Time) time.Time {
	now := ct.loop.Date()
	return now.Add(until.Sub(now) * 9 / 10)
}

// AppEnded removes the tokens of an application that has ended, and cancels those that no other application has.
func (ct *Carried) AppEnded(app records.ApplicationID) {
	for _, c := range ct.of[app] {
		if delete(c.apps, app); len(c.apps) > 0 {
			continue
		}
		switch {
		case c.spared:
			delete(ct.all, c.name)
		case c.own:
			delete(ct.all, c.name)
			if ct.ownToken(c) {
				ct.issuer.end(c.id.Sequence)
			}
		default:
			c.failed = 0
			c.due = ct.loop.Date().Add(ct.calls.CancelDelay)
			if ct.calls.CancelDelay == 0 {
				ct.cancelForeign(c)
			}
		}
	}
	ct.handed[app] = ct.loop.Date().Add(ct.calls.CancelDelay)
	if tokens := ct.of[app]; len(tokens) > 0 && ct.calls.CancelDelay > 0 {
		ct.late[app] = tokens
		ct.calls.Handed.ended(app)
	}
	delete(ct.of, app)
}

// keep puts off the cancellation of tokens that nodes still need. They aren't renewed any more, so none is kept for longer than it is good.
func (ct *Carried) keep(now time.Time) {
	for app := range ct.calls.Handed.takeKept() {
		until := now.Add(ct.calls.CancelDelay)
		ct.handed[app] = until
		for _, c := range ct.late[app] {
			if len(c.apps) == 0 && !c.due.IsZero() {
				c.due = until
			}
		}
	}
}

// NodeLeft forgets what a node has been told.
func (ct *Carried) NodeLeft(node records.NodeID) { ct.calls.Handed.left(node) }

// Tick renews and cancels tokens that are due by the loop's date.
func (ct *Carried) Tick(time.Time) {
	now := ct.loop.Date()
	ct.keep(now)
	ct.getDue()
	ct.calls.Handed.publish()
	for app, until := range ct.handed {
		if !now.Before(until) {
			delete(ct.handed, app)
			delete(ct.late, app)
			ct.calls.Handed.forget(app)
		}
	}
	for _, c := range ct.all {
		if c.asking || c.due.IsZero() || now.Before(c.due) {
			continue
		}
		switch {
		case c.own:
			ct.renewOwn(c)
		case len(c.apps) > 0 && ct.ends(c):
			ct.replace(c)
		case len(c.apps) > 0:
			ct.renewForeign(c)
		default:
			ct.cancelForeign(c)
		}
	}
}

func (ct *Carried) renewForeign(c *carriedToken) {
	tok := c.token
	c.asking = true
	ct.loop.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, ct.calls.Timeout)
		defer cancel()
		until, err := ct.others.RenewToken(ctx, tok)
		answered := ctx.Err() == nil
		_ = ct.loop.Do(func() error { // the next leader renews them all
			ct.renewedForeign(c, until, err, answered)
			return nil
		})
	})
}

// renewedForeign takes what came of a renewal. answered is false if time ran out.
func (ct *Carried) renewedForeign(c *carriedToken, until time.Time, err error, answered bool) {
	c.asking = false
	if len(c.apps) == 0 {
		return // due is when it's cancelled
	}
	switch {
	case err == nil:
		c.failed, c.due, c.until = 0, time.Time{}, until
		if until.After(ct.loop.Date()) {
			c.due = ct.nextRenewal(until)
		}
		ct.settle(c)
	case ct.expired(c):
		ct.settle(c)
		ct.replace(c)
	case !ct.again(c, "renewing", err):
		c.due = time.Time{}
		ct.failFirst(c, err)
	case answered && ct.calls.Strict:
		ct.failFirst(c, err) // tried again for those that have begun
	}
}

// settle lets applications begin that wait for a token's first renewal.
func (ct *Carried) settle(c *carriedToken) {
	for _, app := range c.first {
		ct.calls.Handed.settle(app)
	}
	c.first = nil
}

// failFirst has the applications fail that wait for a token's first renewal, and have not begun. Those that an earlier leader let begin go on.
func (ct *Carried) failFirst(c *carriedToken, err error) {
	for _, id := range c.first {
		ct.fail(id, "Failed to renew token: "+token.Describe(c.token), err)
	}
	ct.settle(c)
}

// fail has an application fail that has not begun.
func (ct *Carried) fail(id records.ApplicationID, why string, err error) {
	if !ct.over(id) && !begun(ct.work.Apps[id]) {
		ct.log.WithField("application", id).WithError(err).Warn("an application fails: " + why)
		ct.calls.Handed.refuse(id, why)
	}
}

// begun reports whether an ApplicationMaster of an application may have been started.
func begun(app *ledger.Application) bool {
	at := app.Current()
	return at != nil && (at.ID.Attempt > 1 || at.State >= ledger.AttemptLaunched)
}

// again makes a failed call due once more, and reports whether it did: refusals, and calls beyond Calls.Tries, aren't repeated. Hadoop
// repeats those that time out.
func (ct *Carried) again(c *carriedToken, what string, err error) bool {
	log := ct.log.WithField("token", fmt.Sprintf("%s of %s", c.token.Kind, c.token.Service)).WithError(err)
	var refused *ipc.RemoteError
	if errors.As(err, &refused) {
		log.Warn(what + " a token in the credentials of an application was refused")
		return false
	}
	if c.failed++; c.failed >= ct.calls.Tries {
		log.WithField("tries", c.failed).Error(what + " a token in the credentials of an application failed and is given up: " +
			"yarn.resourcemanager.delegation-token-renewer.thread-retry-max-attempts says how often it's tried")
		return false
	}
	log.WithField("tries", c.failed).Warn(what + " a token in the credentials of an application failed, to be tried again")
	c.due = ct.loop.Date().Add(ct.calls.Pause)
	return true
}

func (ct *Carried) cancelForeign(c *carriedToken) {
	tok := c.token
	c.asking = true
	ct.loop.AfterCommit(func() { // the end of the application is known
		ct.loop.Go(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, ct.calls.Timeout)
			defer cancel()
			err := ct.others.CancelToken(ctx, tok)
			_ = ct.loop.Do(func() error { // the next leader doesn't know it: it ends when it isn't renewed
				ct.cancelledForeign(c, err)
				return nil
			})
		})
	})
}

func (ct *Carried) cancelledForeign(c *carriedToken, err error) {
	c.asking = false
	switch {
	case len(c.apps) > 0: // another one has come with it
		c.failed, c.due = 0, ct.loop.Date()
	case err == nil || !ct.again(c, "cancelling", err):
		delete(ct.all, c.name)
	}
}
