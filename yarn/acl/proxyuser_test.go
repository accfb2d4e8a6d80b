package acl

import (
	"context"
	"errors"
	"net/netip"
	"testing"
)

func TestProxyUsers(t *testing.T) {
	p := NewProxyUsers(map[string]string{
		"root.hosts": "*", "root.groups": "*",
		"oozie.hosts": "10.0.0.0/8, 127.0.0.1", "oozie.users": "alice,bob",
		"svc.knox.hosts": "localhost", "svc.knox.groups": "staff",
		"nowhere.users": "*",
		"odd":           "x", "odd.colour": "red",
	})
	groups := func(user string) ([]string, error) {
		if user == "carol" {
			return []string{"carol", "staff"}, nil
		}
		return nil, errors.New("no such user")
	}
	for _, c := range []struct {
		real, user, from, want string
	}{
		{"root", "alice", "192.0.2.1", ""},
		{"oozie", "alice", "10.1.2.3", ""},
		{"oozie", "alice", "::ffff:10.1.2.3", ""},
		{"oozie", "alice", "192.0.2.1", "Unauthorized connection for super-user: oozie from IP /192.0.2.1"},
		{"oozie", "carol", "10.1.2.3", "User: oozie is not allowed to impersonate carol"},
		{"svc.knox", "carol", "127.0.0.1", ""},
		{"svc.knox", "alice", "127.0.0.1", "User: svc.knox is not allowed to impersonate alice"},
		{"nowhere", "alice", "127.0.0.1", "Unauthorized connection for super-user: nowhere from IP /127.0.0.1"},
		{"bob", "alice", "127.0.0.1", "User: bob is not allowed to impersonate alice"},
		{"odd", "alice", "127.0.0.1", "User: odd is not allowed to impersonate alice"},
	} {
		got := ""
		if err := p.Allow(context.Background(), c.real, c.user, netip.MustParseAddr(c.from), groups); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s as %s from %s: got %q, want %q", c.real, c.user, c.from, got, c.want)
		}
	}
	if err := (ProxyUsers{}).Allow(context.Background(), "root", "alice", netip.Addr{}, nil); err == nil {
		t.Error("without rules somebody may")
	}
}
