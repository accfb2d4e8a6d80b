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

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/kdc"
	"heddle/yarn/kerberos/krb5conf"
)

const (
	// renewAt is the part of a login's life after which the next ticket begins a new one. Hadoop's daemons have the same.
	renewAt = 0.8
	// leastPause is the time between two attempts to log in (hadoop.kerberos.min.seconds.before.relogin). So a KDC that refuses isn't asked for each call.
	leastPause = time.Minute
	// firstPause is the same for a login that there was never one of: its daemon can do little without.
	firstPause = 10 * time.Second
	// awayFor is how long a KDC that hasn't answered a request for a ticket isn't asked for others: each would wait as long, one after the other.
	awayFor = 5 * time.Second
	// fresh is how long a ticket must still be valid for another use.
	fresh = time.Minute
)

// Login has the tickets of one principal. It is safe for concurrent use; one request at a time goes to the KDC, and callers whose ticket is there don't wait for it.
type Login struct {
	principal string
	name      types.PrincipalName
	realm     string
	conf      *krb5conf.Config
	begin     func() (*session, error) // logs in
	now       func() time.Time

	turn sync.Mutex // held while the KDC is asked

	mu      sync.Mutex // never held then
	session *session
	tried   time.Time           // when begin was called last
	err     error               // what it said
	asking  map[string]*request // by service and host
	away    time.Time           // until when the KDC isn't asked for tickets
	silent  error               // why
}

// request is a request for a ticket that is under way.
type request struct {
	done   chan struct{}
	ticket kerberos.Ticket
	err    error
}

// session is one login.
type session struct {
	tgt         messages.Ticket
	key         types.EncryptionKey
	start, end  time.Time
	tickets     map[string]cached
	grants      map[string]grant // of other realms; with the turn
	unrenewable bool             // of a ticket cache: kinit alone makes a new one
}

type cached struct {
	kerberos.Ticket
	end time.Time
}

// FromKeytab returns the login of a principal such as nm/host@EXAMPLE.COM, whose keys a keytab has. It logs in at once, so that a wrong keytab is noticed
// when the daemon starts.
func FromKeytab(c *krb5conf.Config, keytab *kerberos.Keytab, principal string) (*Login, error) {
	l, err := Later(c, keytab, principal)
	if err != nil {
		return nil, err
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	return l, l.login()
}

// Later is FromKeytab for a daemon that logs in when it needs the first ticket. So a KDC that is away doesn't keep it from starting.
func Later(c *krb5conf.Config, keytab *kerberos.Keytab, principal string) (*Login, error) {
	account, realm, ok := strings.Cut(principal, "@")
	if !ok || account == "" || realm == "" {
		return nil, fmt.Errorf("the principal %q must have the form NAME@REALM or NAME/HOST@REALM", principal)
	}
	l := &Login{
		principal: principal, name: types.PrincipalName{NameType: 1, NameString: strings.Split(account, "/")},
		realm: realm, conf: c, now: time.Now,
	}
	l.begin = func() (*session, error) {
		if err := keytab.Reload(); err != nil { // it may have a new version by now
			return nil, err
		}
		rep, err := kdc.Login(c.Config, keytab.Keys(), l.name, realm)
		if err != nil {
			return nil, err
		}
		part := rep.DecryptedEncPart
		return &session{
			tgt: rep.Ticket, key: part.Key, start: part.AuthTime, end: part.EndTime,
			tickets: map[string]cached{},
		}, nil
	}
	return l, nil
}

// FromCache returns the login of the user that ran kinit. path is the file of the cache, with FILE: before it or not. The file is read again when most of the ticket's life is
// over: kinit may have put a new one there.
func FromCache(c *krb5conf.Config, path string) (*Login, error) {
	file, err := cacheFile(path)
	if err != nil {
		return nil, err
	}
	name, realm, s, err := readCache(file)
	if err != nil {
		return nil, err
	}
	l := &Login{
		principal: name.PrincipalNameString() + "@" + realm, name: name, realm: realm, conf: c, now: time.Now,
		session: s,
	}
	l.begin = func() (*session, error) { return l.reread(file) }
	if !l.now().Before(s.end) {
		_, err := l.begin()
		return nil, err
	}
	return l, nil
}

// reread returns the session of the cache's ticket as it is now.
func (l *Login) reread(file string) (*session, error) {
	name, realm, s, err := readCache(file)
	switch {
	case err != nil:
		return nil, err
	case name.PrincipalNameString()+"@"+realm != l.principal:
		return nil, fmt.Errorf("the ticket in %s is %s@%s's by now, and not %s's: run kinit", file,
			name.PrincipalNameString(), realm, l.principal)
	case !l.now().Before(s.end):
		return nil, fmt.Errorf("the ticket of %s in %s ended at %v: run kinit", l.principal, file, s.end.Local())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil && l.session.end.Equal(s.end) {
		return l.session, nil // with the tickets of services
	}
	return s, nil
}

// readCache returns the ticket-granting ticket in a cache, and whose it is.
func readCache(file string) (name types.PrincipalName, realm string, s *session, err error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return name, "", nil, fmt.Errorf("there is no Kerberos ticket in %s: run kinit", file)
	} else if err != nil {
		return name, "", nil, fmt.Errorf("ticket cache: %w", err)
	}
	cache, err := parseCache(b)
	if err != nil {
		return name, "", nil, fmt.Errorf("ticket cache %s: %w: run kinit", file, err)
	}
	name, realm = cache.GetClientPrincipalName(), cache.GetClientRealm()
	entry, ok := cache.GetEntry(types.PrincipalName{NameType: 2, NameString: []string{"krbtgt", realm}})
	if !ok {
		return name, "", nil, fmt.Errorf("%s has no ticket-granting ticket of %s: run kinit", file, realm)
	}
	var tgt messages.Ticket
	if err := tgt.Unmarshal(entry.Ticket); err != nil {
		return name, "", nil, fmt.Errorf("ticket cache %s: %w: run kinit", file, err)
	}
	return name, realm, &session{
		tgt: tgt, key: entry.Key, start: entry.AuthTime, end: entry.EndTime,
		tickets: map[string]cached{}, unrenewable: true,
	}, nil
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

// login logs in unless that was tried just now. Call it with the turn.
func (l *Login) login() error {
	l.mu.Lock()
	now, pause := l.now(), leastPause
	switch {
	case l.session == nil:
		pause = firstPause
	case l.session.unrenewable:
		pause = time.Second // a file is read
	}
	if !l.tried.IsZero() && now.Sub(l.tried) < pause {
		defer l.mu.Unlock()
		return l.err
	}
	l.mu.Unlock()
	s, err := l.begin()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried, l.err = now, nil
	if err != nil {
		l.err = fmt.Errorf("logging in to Kerberos as %s: %w", l.principal, err)
		return l.err
	}
	l.session = s
	return nil
}

// Ticket returns a ticket for a service on a host. It logs in again first if most of the login's life is over. When ctx ends it returns; what was asked for is had later.
func (l *Login) Ticket(ctx context.Context, service, host string) (kerberos.Ticket, error) {
	spn := service + "/" + host
	l.mu.Lock()
	if t, ok := l.have(spn); ok {
		l.mu.Unlock()
		return t, nil
	}
	r := l.asking[spn]
	if r == nil {
		r = &request{done: make(chan struct{})}
		if l.asking == nil {
			l.asking = map[string]*request{}
		}
		l.asking[spn] = r
		go l.ask(r, service, host)
	}
	l.mu.Unlock()
	select {
	case <-r.done:
		return r.ticket, r.err
	case <-ctx.Done():
		return kerberos.Ticket{}, fmt.Errorf("a ticket of %s for %s: the KDC hasn't answered: %w", l.principal, spn,
			context.Cause(ctx))
	}
}

// have returns a ticket that is there. Call it with the lock.
func (l *Login) have(spn string) (kerberos.Ticket, bool) {
	if l.session == nil {
		return kerberos.Ticket{}, false
	}
	t, ok := l.session.tickets[spn]
	return t.Ticket, ok && l.now().Add(fresh).Before(t.end)
}

// ask does a request.
func (l *Login) ask(r *request, service, host string) {
	l.turn.Lock()
	r.ticket, r.err = l.fetch(service, host)
	l.turn.Unlock()
	l.mu.Lock()
	delete(l.asking, service+"/"+host)
	l.mu.Unlock()
	close(r.done)
}

// fetch has the KDC make a ticket. Call it with the turn.
func (l *Login) fetch(service, host string) (kerberos.Ticket, error) {
	spn := service + "/" + host
	l.mu.Lock()
	now, s, away, silent := l.now(), l.session, l.away, l.silent
	l.mu.Unlock()
	due := s == nil || !now.Before(s.start.Add(time.Duration(renewAt*float64(s.end.Sub(s.start)))))
	if due {
		err := l.login()
		l.mu.Lock()
		s = l.session
		l.mu.Unlock()
		if err != nil && (s == nil || !now.Before(s.end)) {
			return kerberos.Ticket{}, err
		}
	}
	if now.Before(away) {
		return kerberos.Ticket{}, silent
	}
	rep, err := l.serviceTicket(s, service, host)
	if err != nil {
		err = fmt.Errorf("a ticket of %s for %s: %w", l.principal, spn, err)
		if errors.Is(err, kdc.ErrAway) {
			l.mu.Lock()
			l.away, l.silent = l.now().Add(awayFor), err
			l.mu.Unlock()
		}
		return kerberos.Ticket{}, err
	}
	t := kerberos.Ticket{Ticket: rep.Ticket, Key: rep.DecryptedEncPart.Key, Client: l.name, Realm: l.realm}
	l.mu.Lock()
	s.tickets[spn] = cached{t, rep.DecryptedEncPart.EndTime}
	l.mu.Unlock()
	return t, nil
}
