// Package priority reads which priorities users may have in a leaf of YARN's CapacityScheduler.
package priority

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"heddle/yarn/acl"
)

// ACL says which priorities some users may have in a leaf, and which one they have if they ask for none.
type ACL struct {
	Who          acl.List
	Max, Default int32
}

// Parse reads a leaf's acl_application_max_priority: [user=NAME,… group=NAME,… max_priority=N default_priority=N] for each of the lists. It
// returns the lowest maximum first (Hadoop: AppPriorityACLConfigurationParser); ok is false if the text is something else. A value without
// brackets applies to all users, and isn't such a list.
func Parse(text string) (all []ACL, ok bool) {
	if !strings.Contains(text, "[") {
		return nil, true
	}
	for group := range strings.SplitSeq(text, "[") {
		group, _, _ = strings.Cut(group, "]")
		if strings.TrimSpace(group) == "" {
			continue
		}
		entry, ok := parse(group)
		if !ok {
			return nil, false
		}
		all = append(all, entry)
	}
	slices.SortStableFunc(all, func(a, b ACL) int { return cmp.Compare(a.Max, b.Max) })
	return all, true
}

func parse(text string) (a ACL, ok bool) {
	users, groups := "", ""
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		var n int64
		var err error
		switch strings.ToLower(key) {
		case "user":
			users = value
		case "group":
			groups = value
		case "max_priority":
			n, err = strconv.ParseInt(value, 10, 32)
			a.Max = int32(n)
		case "default_priority":
			n, err = strconv.ParseInt(value, 10, 32)
			a.Default = max(0, int32(n))
		default:
			return a, false
		}
		if err != nil {
			return a, false
		}
	}
	if users == "*" || groups == "*" {
		a.Who = acl.Parse("*")
	} else {
		a.Who = acl.Parse(users + " " + groups)
	}
	return a, users != "" || groups != ""
}

// Of returns the priority of an application of a user in a leaf with lists, of which the lowest maximum comes first, and whether the user may have it. asked is
// nil if the user didn't ask for one; otherwise is that of applications of which neither the user nor a list says one, and most the highest of the cluster
// (Hadoop: CapacityScheduler.checkAndGetApplicationPriority, AppPriorityACLsManager).
func Of(lists []ACL, otherwise int32, user string, asked *int32, most int32, groupsOf func(string) ([]string, error)) (p int32, may bool) {
	var his []ACL
	for _, a := range lists {
		if a.Who.Allows(user, groupsOf) {
			his = append(his, a)
		}
	}
	switch {
	case asked != nil:
		p = *asked
	case len(his) > 0:
		p = his[len(his)-1].Default
	default:
		p = otherwise
	}
	p = min(p, most)
	return p, len(lists) == 0 || slices.ContainsFunc(his, func(a ACL) bool { return p <= a.Max })
}
