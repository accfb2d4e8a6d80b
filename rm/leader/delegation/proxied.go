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
	// TokensFor gets tokens that this process may renew: of the file system first, then those that belong to it, such as a Key Management Server's. There are
	// none if the file system has no tokens.
	TokensFor(ctx context.Context, user string) ([]token.Token, error)
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
		if w.apps = slices.DeleteFunc(w.apps, ct.over); len(w.apps) == 0 {
			continue // no application would use it
		}
		ct.getting++
		ct.loop.Go(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, ct.calls.Timeout)
			defer cancel()
			got, err := ct.calls.Proxy.Get.TokensFor(ctx, w.user)
			answered := ctx.Err() == nil
			_ = ct.loop.Do(func() error { // the next leader gets one of its own
				ct.getting--
				ct.got(w, got, err, answered)
				ct.getDue()
				return nil
			})
		})
	}
	clear(ct.wanted[len(later):])
	ct.wanted = later
}

// got takes the answer; answered is false if time ran out. First containers wait for the first one alone. Where that fails, applications that have begun
// get theirs by later tries; others fail.
func (ct *Carried) got(w *wanted, got []token.Token, err error, answered bool) {
	if w.apps = slices.DeleteFunc(w.apps, ct.over); len(w.apps) == 0 {
		return // the token ends when it isn't renewed
	}
	if w.failed == 0 {
		if err != nil && answered && ct.calls.Strict {
			for _, app := range w.apps {
				ct.fail(app, fmt.Sprintf("Failed to get tokens of HDFS for %s: %v", w.user, err), err)
			}
		}
		defer func() {
			for _, app := range w.apps {
				ct.calls.Handed.settle(app)
			}
		}()
	}
	log := ct.log.WithField("user", w.user).WithField("applications", w.apps)
	switch {
	case err == nil && len(got) > 0:
		ct.hand(w, got)
		log.WithField("token", token.Describe(got[0])).Info("got a token of HDFS for a user's applications")
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

// hand gives tokens to the nodes of applications, and renews them from now on. The others live as long as the first one.
func (ct *Carried) hand(w *wanted, got []token.Token) {
	creds := &token.Credentials{}
	for _, tok := range got {
		creds.SetToken(tok.Service, tok)
	}
	raw, err := creds.Encode(token.FormatWritable)
	if err != nil {
		ct.log.WithError(err).Error("a token of HDFS can't be given to nodes")
		return
	}
	var first *carriedToken
	for _, tok := range got {
		c := &carriedToken{token: tok, name: nameOf(tok), apps: map[records.ApplicationID]bool{}, due: ct.loop.Date()}
		if first == nil {
			first = c
		} else if first.with = append(first.with, c); ct.others == nil || !ct.others.Renews(tok) {
			continue
		}
		for _, id := range w.apps {
			c.apps[id] = true
			c.spared = c.spared || ct.spares(ct.work.Apps[id])
			ct.of[id] = append(ct.of[id], c)
		}
		ct.all[c.name] = c
	}
	for _, id := range w.apps {
		ct.calls.Handed.give(id, raw)
	}
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
	gone := append(slices.Clone(c.with), c)
	for _, c := range gone {
		delete(ct.all, c.name)
	}
	byUser := map[string][]records.ApplicationID{}
	for id := range c.apps {
		ct.of[id] = slices.DeleteFunc(ct.of[id], func(other *carriedToken) bool { return slices.Contains(gone, other) })
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
