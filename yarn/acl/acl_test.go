package acl

import (
	"errors"
	"testing"
)

func TestAllows(t *testing.T) {
	groups := func(user string) ([]string, error) {
		switch user {
		case "bob":
			return []string{"staff", "ops"}, nil
		case "eve":
			return nil, errors.New("no such user")
		}
		return nil, nil
	}
	for _, c := range []struct {
		list, user string
		want       bool
	}{
		{"*", "anybody", true},
		{" * ", "anybody", true},
		{"alice,bob", "bob", true},
		{"alice, bob", "alice", true},
		{"alice", "bob", false},
		{"alice ops", "bob", true},
		{" ops,dev", "bob", true},
		{" dev", "bob", false},
		{" ops", "eve", false},
		{"", "alice", false},
		{" ", "alice", false},
		{"ali*", "alice", false},
	} {
		if got := Parse(c.list).Allows(c.user, groups); got != c.want {
			t.Errorf("%q allows %s: %v", c.list, c.user, got)
		}
	}
	if (List{}).Allows("alice", groups) {
		t.Error("the zero list admits somebody")
	}
}
