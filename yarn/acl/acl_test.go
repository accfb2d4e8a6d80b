package acl

import (
	"errors"
	"strings"
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

// FuzzParse reads lists that users submit: a list admits whom it names, keeps its text, and never a user without a name.
func FuzzParse(f *testing.F) {
	f.Add("alice,bob ops", "bob")
	f.Add(" * ", "eve")
	f.Add(",,  ,", "")
	f.Fuzz(func(t *testing.T, text, user string) {
		l := Parse(text)
		if l.String() != text {
			t.Errorf("%q became %q", text, l)
		}
		none := func(string) ([]string, error) { return nil, nil }
		if l.AllowsAll() != l.Allows("nobody\x00named", none) {
			t.Errorf("%q: everybody may: %v", text, l.AllowsAll())
		}
		if l.Allows(user, none) && !l.AllowsAll() && !strings.Contains(text, user) {
			t.Errorf("%q admits %q", text, user)
		}
		if l.Allows("", none) && !l.AllowsAll() {
			t.Errorf("%q admits nobody in particular", text)
		}
	})
}
