package acl

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// ProxyUsers says which users may act for which others, and from where (Hadoop: DefaultImpersonationProvider). The zero
// value allows no user to.
type ProxyUsers struct {
	rules map[string]*proxyRule
}

type proxyRule struct {
	hosts         Hosts
	groups, users []string
}

// NewProxyUsers takes the settings below hadoop.proxyuser., by the rest of their keys: <user>.hosts, .groups and .users,
// each a list, or "*".
func NewProxyUsers(settings map[string]string) ProxyUsers {
	p := ProxyUsers{rules: map[string]*proxyRule{}}
	for key, value := range settings {
		dot := strings.LastIndexByte(key, '.')
		if dot < 0 {
			continue
		}
		r := p.rules[key[:dot]]
		if r == nil {
			r = &proxyRule{}
		}
		list := words(value)
		switch key[dot+1:] {
		case "hosts":
			r.hosts = list
		case "groups":
			r.groups = list
		case "users":
			r.users = list
		default:
			continue
		}
		p.rules[key[:dot]] = r
	}
	return p
}

// Refusal is the reason why a user may not act for another, in Hadoop's words.
type Refusal string

func (r Refusal) Error() string { return string(r) }

func refusal(format string, args ...any) error { return Refusal(fmt.Sprintf(format, args...)) }

// Allow returns nil if realUser, who calls from an address, may act for user. Otherwise the error is a Refusal.
func (p ProxyUsers) Allow(ctx context.Context, realUser, user string, from netip.Addr, groupsOf func(user string) ([]string, error)) error {
	r := p.rules[realUser]
	if r == nil || !r.mayActFor(user, groupsOf) {
		return refusal("User: %s is not allowed to impersonate %s", realUser, user)
	}
	if !r.hosts.Include(ctx, from) {
		return refusal("Unauthorized connection for super-user: %s from IP /%s", realUser, from.Unmap())
	}
	return nil
}

func (r *proxyRule) mayActFor(user string, groupsOf func(string) ([]string, error)) bool {
	everybody := func(list []string) bool { return slices.Contains(list, "*") }
	if everybody(r.users) || everybody(r.groups) || slices.Contains(r.users, user) {
		return true
	}
	if len(r.groups) == 0 || groupsOf == nil {
		return false
	}
	groups, err := groupsOf(user)
	return err == nil && slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(r.groups, g) })
}
