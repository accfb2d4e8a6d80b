package delegation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"heddle/rm/ledger"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// TokenGetter gets tokens of the default file system for users, as their proxy. Its method may block, and is called beside the loop.
type TokenGetter interface {
	// TokenFor gets a token that this process may renew. ok is false if the file system has no tokens.
	TokenFor(ctx context.Context, user string) (t token.Token, ok bool, err error)
}

// Proxy says how tokens are got for applications (yarn.resourcemanager.proxy-user-privileges.enabled; Hadoop: DelegationTokenRenewer). Applications
// without a token for HDFS get one as they begin, and so do those whose token can't be renewed for much longer.
type Proxy struct {
	Get TokenGetter // nil: none are got
	// Remaining is how long a token may be renewed at least, or else another one is got (yarn.resourcemanager.system-credentials.valid-time-remaining).
	Remaining time.Duration
}

// maxGets is how many tokens are got at a time.
const maxGets = 20

// wanted is a token for applications of a user.
type wanted struct {
	user   string
	apps   []records.ApplicationID
	failed int
	due    time.Time
}

// want has a token got for applications of a user.
func (ct *Carried) want(user string, apps ...records.ApplicationID) {
	for _, app := range apps {
		ct.calls.Handed.expect(app)
	}
	ct.wanted = append(ct.wanted, &wanted{user: user, apps: apps})
	ct.getDue()
}

// getDue gets the tokens that are due.
func (ct *Carried) getDue() {
	now := ct.loop.Date()
	later := ct.wanted[:0]
	for _, w := range ct.wanted {
		if ct.getting >= maxGets || now.Before(w.due) {
			later = append(later, w)
			continue
		}
		ct.getting++
		ct.loop.Go(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, ct.calls.Timeout)
			defer cancel()
			tok, ok, err := ct.calls.Proxy.Get.TokenFor(ctx, w.user)
			_ = ct.loop.Do(func() error { // the next leader gets one of its own
				ct.getting--
				ct.got(w, tok, ok, err)
				ct.getDue()
				return nil
			})
		})
	}
	clear(ct.wanted[len(later):])
	ct.wanted = later
}

// got takes the answer. First containers wait for the first one alone.
func (ct *Carried) got(w *wanted, tok token.Token, ok bool, err error) {
	if w.apps = slices.DeleteFunc(w.apps, ct.over); len(w.apps) == 0 {
		return // the token ends when it isn't renewed
	}
	if w.failed == 0 {
		defer func() {
			for _, app := range w.apps {
				ct.calls.Handed.settle(app)
			}
		}()
	}
	log := ct.log.WithField("user", w.user).WithField("applications", w.apps)
	switch {
	case err == nil && ok:
		ct.hand(w, tok)
		log.WithField("token", token.Describe(tok)).Info("got a token of HDFS for a user's applications")
	case err == nil:
	case w.failed+1 < ct.calls.Tries:
		w.failed++
		w.due = ct.loop.Date().Add(ct.calls.Pause)
		ct.wanted = append(ct.wanted, w)
		log.WithError(err).WithField("tries", w.failed).Warn("getting a token of HDFS for a user failed, to be tried again")
	default:
		log.WithError(err).Error("no token of HDFS can be got for a user: the NameNodes' core-site.xml must let the ResourceManager's account act for users (hadoop.proxyuser.*)")
	}
}

// over reports whether an application has ended.
func (ct *Carried) over(id records.ApplicationID) bool {
	app := ct.work.Apps[id]
	return app == nil || app.State.Ended()
}

// hand gives a token to the nodes of applications, and renews it from now on.
func (ct *Carried) hand(w *wanted, tok token.Token) {
	c := &carriedToken{token: tok, name: nameOf(tok), apps: map[records.ApplicationID]bool{}, due: ct.loop.Date()}
	raw, err := (&token.Credentials{Tokens: []token.NamedToken{{Alias: tok.Service, Token: tok}}}).Encode(token.FormatWritable)
	if err != nil {
		ct.log.WithError(err).Error("a token of HDFS can't be given to nodes")
		return
	}
	for _, id := range w.apps {
		c.apps[id] = true
		c.spared = c.spared || ct.spares(ct.work.Apps[id])
		ct.of[id] = append(ct.of[id], c)
		ct.calls.Handed.give(id, raw)
	}
	ct.all[c.name] = c
}

// spares reports whether an application asks not to cancel its tokens.
func (ct *Carried) spares(app *ledger.Application) bool {
	return !app.Context.GetCancelTokensWhenComplete() && !ct.calls.CancelAlways
}

// ends reports whether a token can't be renewed for much longer, as was seen when it was renewed last.
func (ct *Carried) ends(c *carriedToken) bool {
	last, ok := ct.lastOf(c)
	return ok && !c.until.IsZero() && last.Sub(c.until) < ct.calls.Proxy.Remaining
}

// expired reports whether a token can't be renewed any more.
func (ct *Carried) expired(c *carriedToken) bool {
	last, ok := ct.lastOf(c)
	return ok && ct.loop.Date().UnixMilli() > last.UnixMilli()
}

// lastOf returns when a token can be renewed for the last time; ok is false if it isn't one that can be replaced.
func (ct *Carried) lastOf(c *carriedToken) (last time.Time, ok bool) {
	if ct.calls.Proxy.Get == nil || c.token.Kind != token.KindHDFS {
		return last, false
	}
	id, err := token.ParseHDFS(c.token.Identifier)
	return time.UnixMilli(id.MaxMS), err == nil
}

// replace gets another token for the applications of one that ends, which is left to end.
func (ct *Carried) replace(c *carriedToken) {
	delete(ct.all, c.name)
	byUser := map[string][]records.ApplicationID{}
	for id := range c.apps {
		ct.of[id] = slices.DeleteFunc(ct.of[id], func(other *carriedToken) bool { return other == c })
		if !ct.over(id) {
			user := ct.work.Apps[id].User
			byUser[user] = append(byUser[user], id)
		}
	}
	for user, apps := range byUser {
		ct.want(user, apps...)
	}
}

// nameOf is a token's name in Carried.all.
func nameOf(t token.Token) string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s", t.Kind, t.Service, t.Identifier, t.Password)
}
