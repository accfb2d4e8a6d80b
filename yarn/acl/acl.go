// Package acl holds Hadoop's access control lists: "user1,user2 group1,group2", "*" for all users, " " for none.
package acl

import "strings"

// List says who may do something. The zero List admits no user.
type List struct {
	all    bool
	users  map[string]bool
	groups map[string]bool
	text   string
}

// Parse reads a list: users, a blank, groups, each joined by commas. A "*" anywhere means all users.
func Parse(s string) List {
	l := List{users: map[string]bool{}, groups: map[string]bool{}, text: s}
	users, groups, _ := strings.Cut(s, " ")
	if strings.TrimSpace(users) == "*" || strings.TrimSpace(groups) == "*" {
		l.all = true
		return l
	}
	add(l.users, users)
	add(l.groups, groups)
	return l
}

func add(set map[string]bool, names string) {
	for _, n := range strings.Split(names, ",") {
		if n = strings.TrimSpace(n); n != "" {
			set[n] = true
		}
	}
}

// Allows reports whether a user is on the list, by name or by a group. It calls groupsOf only if it has to. If that
// fails, no group matches.
func (l List) Allows(user string, groupsOf func(user string) ([]string, error)) bool {
	if l.all || l.users[user] {
		return true
	}
	if len(l.groups) == 0 || groupsOf == nil {
		return false
	}
	groups, err := groupsOf(user)
	if err != nil {
		return false
	}
	for _, g := range groups {
		if l.groups[g] {
			return true
		}
	}
	return false
}

// AllowsAll reports whether all users are on the list.
func (l List) AllowsAll() bool { return l.all }

// String returns the list as it was written.
func (l List) String() string { return l.text }
