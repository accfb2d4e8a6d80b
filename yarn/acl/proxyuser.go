package acl

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// ProxyUsers says which users may act for which others, and from where (Hadoop: DefaultImpersonationProvider). The zero
// value allows nobody to.
type ProxyUsers struct {
	rules map[string]*proxyRule
}

type proxyRule struct {
	hosts         []string
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
		list := strings.FieldsFunc(value, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' || c == '\n' })
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

// Refusal is the reason why somebody may not act for somebody else, in Hadoop's words.
type Refusal string

func (r Refusal) Error() string { return string(r) }

func refusal(format string, args ...any) error { return Refusal(fmt.Sprintf(format, args...)) }

// hostPatience bounds the look-up of a host that a rule names.
const hostPatience = 2 * time.Second

// Allow returns nil if realUser, who calls from an address, may act for user. Otherwise the error is a Refusal.
func (p ProxyUsers) Allow(ctx context.Context, realUser, user string, from netip.Addr, groupsOf func(user string) ([]string, error)) error {
	r := p.rules[realUser]
	if r == nil || !r.mayActFor(user, groupsOf) {
		return refusal("User: %s is not allowed to impersonate %s", realUser, user)
	}
	if !r.mayComeFrom(ctx, from.Unmap()) {
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

func (r *proxyRule) mayComeFrom(ctx context.Context, from netip.Addr) bool {
	ctx, cancel := context.WithTimeout(ctx, hostPatience)
	defer cancel()
	return slices.ContainsFunc(r.hosts, func(host string) bool {
		if host == "*" {
			return true
		}
		if network, err := netip.ParsePrefix(host); err == nil {
			return network.Contains(from)
		}
		if a, err := netip.ParseAddr(host); err == nil {
			return a.Unmap() == from
		}
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		return err == nil && slices.ContainsFunc(found, func(a netip.Addr) bool { return a.Unmap() == from })
	})
}
