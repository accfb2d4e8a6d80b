// Package login gets a process its Kerberos tickets: daemons by a keytab, commands by the ticket cache that kinit fills. A Login is what a client of RPC
// or HTTP asks for tickets of services.
package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"heddle/yarn/kerberos"
)

const (
	// renewAt is the part of a login's life after which the next ticket begins a new one. Hadoop's daemons have the same.
	renewAt = 0.8
	// leastPause is the time between two attempts to log in (hadoop.kerberos.min.seconds.before.relogin). So a KDC that refuses isn't asked for each call.
	leastPause = time.Minute
	// fresh is what must be left of a ticket's life for another use.
	fresh = time.Minute
)

// Login has the tickets of one principal. It is safe for concurrent use; one request at a time goes to the KDC.
type Login struct {
	principal string
	name      types.PrincipalName
	realm     string
	begin     func() (*session, error) // logs in
	now       func() time.Time

	mu      sync.Mutex
	session *session
	tried   time.Time // when begin was called last
	err     error     // what it said
}

// session is one login.
type session struct {
	client      *client.Client
	tgt         messages.Ticket
	key         types.EncryptionKey
	start, end  time.Time
	tickets     map[string]cached
	unrenewable bool // of a ticket cache: kinit alone makes a new one
}

type cached struct {
	kerberos.Ticket
	end time.Time
}

// FromKeytab returns the login of a principal such as nm/host@EXAMPLE.COM, whose keys a keytab has. It logs in at once, so that a wrong keytab is noticed
// when the daemon starts.
func FromKeytab(c *config.Config, keytab *kerberos.Keytab, principal string) (*Login, error) {
	account, realm, ok := strings.Cut(principal, "@")
	if !ok || account == "" || realm == "" {
		return nil, fmt.Errorf("the principal %q must have the form NAME@REALM or NAME/HOST@REALM", principal)
	}
	l := &Login{principal: principal, name: types.PrincipalName{NameType: 1, NameString: strings.Split(account, "/")}, realm: realm, now: time.Now}
	l.begin = func() (*session, error) {
		if err := keytab.Reload(); err != nil { // it may have a new version by now
			return nil, err
		}
		k := client.NewWithKeytab(account, realm, keytab.Keys(), c, client.DisablePAFXFAST(true))
		req, err := messages.NewASReqForTGT(realm, c, l.name)
		if err != nil {
			return nil, err
		}
		rep, err := k.ASExchange(realm, req, 0)
		if err != nil {
			return nil, err
		}
		part := rep.DecryptedEncPart
		return &session{client: k, tgt: rep.Ticket, key: part.Key, start: part.AuthTime, end: part.EndTime, tickets: map[string]cached{}}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l, l.login()
}

// FromCache returns the login of the user that ran kinit. path is the file of the cache, with FILE: before it or not.
func FromCache(c *config.Config, path string) (*Login, error) {
	file, err := cacheFile(path)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no Kerberos ticket in %s: run kinit", file)
	} else if err != nil {
		return nil, fmt.Errorf("ticket cache: %w", err)
	}
	cache, err := parseCache(b)
	if err != nil {
		return nil, fmt.Errorf("ticket cache %s: %w: run kinit", file, err)
	}
	name, realm := cache.GetClientPrincipalName(), cache.GetClientRealm()
	l := &Login{principal: name.PrincipalNameString() + "@" + realm, name: name, realm: realm, now: time.Now}
	entry, ok := cache.GetEntry(types.PrincipalName{NameType: 2, NameString: []string{"krbtgt", realm}})
	if !ok {
		return nil, fmt.Errorf("%s has no ticket-granting ticket of %s: run kinit", file, realm)
	}
	var tgt messages.Ticket
	if err := tgt.Unmarshal(entry.Ticket); err != nil {
		return nil, fmt.Errorf("ticket cache %s: %w: run kinit", file, err)
	}
	k, err := client.NewFromCCache(cache, c, client.DisablePAFXFAST(true))
	if err != nil {
		return nil, fmt.Errorf("ticket cache %s: %w: run kinit", file, err)
	}
	l.session = &session{client: k, tgt: tgt, key: entry.Key, start: entry.AuthTime, end: entry.EndTime, tickets: map[string]cached{}, unrenewable: true}
	l.begin = func() (*session, error) {
		return nil, fmt.Errorf("the ticket of %s in %s ended at %v: run kinit", l.principal, file, entry.EndTime.Local())
	}
	if !l.now().Before(entry.EndTime) {
		_, err := l.begin()
		return nil, err
	}
	return l, nil
}

// cacheFile returns the file of a cache's name, as $KRB5CCNAME has it.
func cacheFile(name string) (string, error) {
	kind, path, ok := strings.Cut(name, ":")
	if !ok || strings.HasPrefix(name, "/") {
		return name, nil
	}
	if kind != "FILE" {
		return "", fmt.Errorf("the ticket cache %s is of the kind %s, and Heddle reads files only: set KRB5CCNAME=FILE:/tmp/krb5cc_%d and run kinit", name, kind, os.Getuid())
	}
	return path, nil
}

// parseCache reads a cache. gokrb5's decoder panics on what is cut.
func parseCache(b []byte) (c *credentials.CCache, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, fmt.Errorf("malformed: %v", p)
		}
	}()
	c = new(credentials.CCache)
	if err := c.Unmarshal(b); err != nil {
		return nil, err
	}
	if len(c.GetClientPrincipalName().NameString) == 0 || c.GetClientRealm() == "" {
		return nil, errors.New("it names no user")
	}
	return c, nil
}

// Principal returns the full name of the tickets' owner.
func (l *Login) Principal() string { return l.principal }

// login logs in unless that was tried just now. Call it with the lock.
func (l *Login) login() error {
	now := l.now()
	if !l.tried.IsZero() && now.Sub(l.tried) < leastPause {
		return l.err
	}
	s, err := l.begin()
	l.tried, l.err = now, nil
	if err != nil {
		l.err = fmt.Errorf("logging in to Kerberos as %s: %w", l.principal, err)
		return l.err
	}
	l.session = s
	return nil
}

// Ticket returns a ticket for a service on a host. It logs in again first if most of the login's life is over.
func (l *Login) Ticket(_ context.Context, service, host string) (kerberos.Ticket, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	spn := service + "/" + host
	if s := l.session; s != nil {
		if t, ok := s.tickets[spn]; ok && now.Add(fresh).Before(t.end) {
			return t.Ticket, nil
		}
	}
	due := l.session == nil || !now.Before(l.session.start.Add(time.Duration(renewAt*float64(l.session.end.Sub(l.session.start)))))
	if due && (l.session == nil || !l.session.unrenewable || !now.Before(l.session.end)) {
		if err := l.login(); err != nil && (l.session == nil || !now.Before(l.session.end)) {
			return kerberos.Ticket{}, err
		}
	}
	s := l.session
	name := types.PrincipalName{NameType: 2, NameString: []string{service, host}}
	_, rep, err := s.client.TGSREQGenerateAndExchange(name, l.realm, s.tgt, s.key, false)
	if err != nil {
		return kerberos.Ticket{}, fmt.Errorf("a ticket of %s for %s: %w", l.principal, spn, err)
	}
	t := kerberos.Ticket{Ticket: rep.Ticket, Key: rep.DecryptedEncPart.Key, Client: l.name, Realm: l.realm}
	s.tickets[spn] = cached{t, rep.DecryptedEncPart.EndTime}
	return t, nil
}
