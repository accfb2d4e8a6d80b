// Package access identifies callers of NameNodes: bearers of delegation tokens, or owners of Kerberos tickets. See docs/decisions/hdfs.md.
package access

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/conf/usernames"
	"heddle/hdfsadapter/zone"
	"heddle/yarn/ipc"
	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/negotiate"
	"heddle/yarn/principal"
	"heddle/yarn/sasl"
	"heddle/yarn/token"
)

// loginPause is the time between attempts to log in that fail.
const loginPause = 10 * time.Second

// Login holds a user's Kerberos tickets.
type Login interface {
	secure.Source
	Principal() string
}

// Access says by what calls to NameNodes are made. It is safe for concurrent use.
type Access struct {
	conf  *conf.Config
	log   func() (Login, error) // logs a daemon in; nil: kinit did
	names *principal.Rules

	Kerberos  bool           // all callers prove their identity
	Encrypts  bool           // data may be encrypted although there is no Kerberos
	Qualities sasl.Qualities // of connections to DataNodes; nil: they aren't protected, unless the NameNode says otherwise

	mu    sync.Mutex
	login Login
	err   error // why there is no login
	tried time.Time
}

// FromConf reads a configuration. in logs a daemon in to Kerberos; nil: calls without a token use the tickets of kinit.
func FromConf(c *conf.Config, in func() (Login, error)) (*Access, error) {
	a := &Access{conf: c, log: in, Kerberos: secure.On(c), Encrypts: c.Bool("dfs.encrypt.data.transfer")}
	const protection = "dfs.data.transfer.protection"
	if text := strings.Join(c.Strings(protection), ","); text != "" && a.Kerberos {
		var err error
		if a.Qualities, err = sasl.ParseQualities(text); err != nil {
			return nil, conf.ErrorAt(c, protection, fmt.Errorf("%s: %w", protection, err))
		}
	}
	if !a.Kerberos {
		return a, nil
	}
	var err error
	a.names, err = usernames.Of(c)
	return a, err
}

// User returns the short name of the tickets' owner, "" without tickets, or without Kerberos.
func (a *Access) User() string {
	if !a.Kerberos || a.log != nil {
		return ""
	}
	l, err := a.who()
	if err != nil {
		return "" // the caller has tokens, or learns later what is missing
	}
	short, err := a.names.Short(l.Principal())
	if err != nil {
		return ""
	}
	return short
}

// who returns the owner of the tickets that prove the caller.
func (a *Access) who() (Login, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login != nil || a.err != nil && time.Since(a.tried) < loginPause {
		return a.login, a.err
	}
	a.tried = time.Now()
	if a.log != nil {
		a.login, a.err = a.log()
		return a.login, a.err
	}
	l, err := secure.Cache(a.conf)
	if a.err = err; err == nil {
		a.login = l
	}
	return a.login, a.err
}

// Identity returns by what calls to the NameNodes at addresses are made: a token, or tickets. own says that they are this process's own calls. A daemon's tickets
// are for its own calls only: users would have its rights.
func (a *Access) Identity(user string, own bool, tok *token.Token, addrs []string) (ipc.Identity, error) {
	switch {
	case !a.Kerberos:
		return ipc.Identity{User: user, Token: tok}, nil
	case tok != nil:
		return ipc.Identity{User: user, Token: tok, RequireToken: true}, nil
	case !own && a.log != nil:
		return ipc.Identity{}, fmt.Errorf("%s has no delegation token of the NameNode at %s: a job must bring one with its credentials", user, strings.Join(addrs, ", "))
	}
	l, err := a.who()
	if err != nil {
		return ipc.Identity{}, err
	}
	tickets, err := secure.ForNameNodes(a.conf, l)
	if err != nil {
		return ipc.Identity{}, err
	}
	return ipc.Identity{User: l.Principal(), Kerberos: &nameNodeTickets{tickets, addrs}}, nil
}

// KeyServer returns by what a user asks a Key Management Server: a token of it, or tickets, as Identity does. web sends the requests.
func (a *Access) KeyServer(user string, own bool, tokens []token.Token, s *zone.Server, web http.RoundTripper) (zone.Caller, error) {
	if !a.Kerberos {
		return zone.Caller{Web: web, User: user}, nil
	}
	for i := range tokens {
		if s.Issued(tokens[i]) {
			return zone.Caller{Web: web, Token: &tokens[i]}, nil
		}
	}
	if !own && a.log != nil {
		return zone.Caller{}, fmt.Errorf("%s has no delegation token of the Key Management Server %s: a job must bring one with its credentials", user, s)
	}
	return zone.Caller{Web: &negotiate.Transport{Next: web, Tickets: func() (negotiate.Tickets, error) { return a.who() }}}, nil
}

// nameNodeTickets gives tickets for the NameNodes of one file system.
type nameNodeTickets struct {
	expected *secure.Tickets
	addrs    []string
}

// Ticket implements ipc.Tickets.
func (t *nameNodeTickets) Ticket(ctx context.Context, service, host string) (ticket kerberos.Ticket, err error) {
	for _, addr := range t.addrs {
		if ticket, err = t.expected.TicketAt(ctx, addr, service, host); err == nil {
			break
		}
	}
	return ticket, err
}

// HAService is the prefix of the service of a nameservice's tokens (Hadoop: HAUtilClient.buildTokenServicePrefixForLogicalUri).
const HAService = "ha-hdfs:"

// ChooseToken returns the delegation token for a file system: one for its nameservice, or one for any of its NameNodes.
func ChooseToken(tokens []token.Token, authority string, addrs []string) *token.Token {
	for i := range tokens {
		t := &tokens[i]
		if t.Kind == token.KindHDFS && (t.Service == HAService+authority || serves(t.Service, addrs)) {
			return t
		}
	}
	return nil
}

// serves reports whether a token's service is one of some addresses. Hadoop's clients write IP addresses into tokens, unless
// hadoop.security.token.service.use_ip is false.
func serves(service string, addrs []string) bool {
	if slices.Contains(addrs, service) {
		return true
	}
	ip, port, err := net.SplitHostPort(service)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(addrs, func(addr string) bool {
		host, at, err := net.SplitHostPort(addr)
		if err != nil || at != port {
			return false
		}
		ctx, cancel := context.WithTimeout(context.Background(), lookupFor)
		defer cancel()
		found, err := net.DefaultResolver.LookupHost(ctx, host)
		return err == nil && slices.Contains(found, ip)
	})
}

// lookupFor bounds the look-up of a NameNode's name.
const lookupFor = 5 * time.Second

// ServiceOf returns the service that a token of some NameNodes has: Hadoop's daemons look for it by that. logical says that the authority is a nameservice's.
func ServiceOf(ctx context.Context, authority string, addrs []string, logical bool) string {
	if logical {
		return HAService + authority
	}
	host, port, err := net.SplitHostPort(addrs[0])
	if err != nil {
		return addrs[0]
	}
	ctx, cancel := context.WithTimeout(ctx, lookupFor)
	defer cancel()
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	for _, ip := range found {
		if err == nil && ip.IP.To4() != nil {
			return net.JoinHostPort(ip.IP.String(), port)
		}
	}
	return addrs[0]
}
