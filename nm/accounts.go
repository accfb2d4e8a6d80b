package nm

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/nm/store"
	"heddle/yarn/account"
)

// accounts looks up the operating system's users that containers run as, and remembers them over a restart: a node that
// restarts while their directory (LDAP, NIS) doesn't answer continues with its earlier users.
type accounts struct {
	lookUp func(name string) (account.Account, error)
	now    func() time.Time

	mu     sync.Mutex
	log    *logrus.Entry
	bucket *store.Bucket // nil: nothing is remembered yet
}

// accountsKept is how long an account counts that can't be looked up: it may have been removed meanwhile.
const accountsKept = 7 * 24 * time.Hour

// savedAccount is the form in the store, by name.
type savedAccount struct {
	UID    int   `json:"uid"`
	GID    int   `json:"gid"`
	Groups []int `json:"groups,omitempty"`
	Seen   int64 `json:"seen"` // ms since 1970
}

func newAccounts() *accounts { return &accounts{lookUp: account.System.Lookup, now: time.Now} }

// keep has accounts remembered from now on.
func (a *accounts) keep(b store.Bucket, log *logrus.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bucket, a.log = &b, log
}

// Lookup returns an account, or what was known of it the last time if it can't be looked up.
func (a *accounts) Lookup(name string) (account.Account, error) {
	is, err := a.lookUp(name)
	a.mu.Lock()
	bucket, log := a.bucket, a.log
	a.mu.Unlock()
	if bucket == nil {
		return is, err
	}
	if err == nil {
		a.save(*bucket, log, name, is)
		return is, nil
	}
	var s savedAccount
	found, bad := bucket.GetJSON(name, &s)
	if bad != nil || !found || a.now().Sub(time.UnixMilli(s.Seen)) > accountsKept {
		return is, err
	}
	log.WithError(err).Warnf("user %s is taken for who it was before", name)
	return account.Account{UID: s.UID, GID: s.GID, Groups: s.Groups}, nil
}

// save remembers an account. It doesn't wait for the disk.
func (a *accounts) save(b store.Bucket, log *logrus.Entry, name string, is account.Account) {
	text, err := json.Marshal(savedAccount{UID: is.UID, GID: is.GID, Groups: is.Groups, Seen: a.now().UnixMilli()})
	if err != nil {
		return // it is made of numbers
	}
	written := b.Begin(name, text)
	go func() {
		if err := <-written; err != nil {
			log.WithError(err).Warnf("could not remember user %s", name)
		}
	}()
}
