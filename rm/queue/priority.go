package queue

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"heddle/yarn/acl"
)

// PriorityACL says which priorities some users may have in a leaf, and which one they have if they ask for none.
type PriorityACL struct {
	Who          acl.List
	Max, Default int32
}

// priorityACLs reads a leaf's acl_application_max_priority: [user=NAME,… group=NAME,… max_priority=N default_priority=N] for each of the
// lists, the lowest maximum first (Hadoop: AppPriorityACLConfigurationParser). A value without brackets applies to everybody.
func (p *parser) priorityACLs(q *Queue) {
	key := q.Path + ".acl_application_max_priority"
	text := p.settings[key]
	if !strings.Contains(text, "[") {
		return
	}
	for group := range strings.SplitSeq(text, "[") {
		group, _, _ = strings.Cut(group, "]")
		if strings.TrimSpace(group) == "" {
			continue
		}
		entry, ok := parsePriorityACL(group)
		if !ok {
			p.fail(key, text, "it must be such as [user=ann,bob group=staff max_priority=5 default_priority=1], as often as needed")
			return
		}
		q.PriorityACLs = append(q.PriorityACLs, entry)
	}
	slices.SortStableFunc(q.PriorityACLs, func(a, b PriorityACL) int { return cmp.Compare(a.Max, b.Max) })
}

func parsePriorityACL(text string) (a PriorityACL, ok bool) {
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
		a.Who = everybody
	} else {
		a.Who = acl.Parse(users + " " + groups)
	}
	return a, users != "" || groups != ""
}

// PriorityOf returns the priority of an application that a user submits to a queue, and whether the user may have it. asked is nil if the user didn't ask
// for one. lists says that access control lists apply (Hadoop: CapacityScheduler.checkAndGetApplicationPriority, AppPriorityACLsManager).
func (q *Queue) PriorityOf(user string, asked *int32, most int32, lists bool, groupsOf func(string) ([]string, error)) (p int32, may bool) {
	var his []PriorityACL
	if lists {
		for _, a := range q.PriorityACLs {
			if a.Who.Allows(user, groupsOf) {
				his = append(his, a)
			}
		}
	}
	switch {
	case asked != nil:
		p = *asked
	case len(his) > 0:
		p = his[len(his)-1].Default
	default:
		p = q.DefaultPriority
	}
	p = min(p, most)
	may = !lists || len(q.PriorityACLs) == 0 || slices.ContainsFunc(his, func(a PriorityACL) bool { return p <= a.Max })
	return p, may
}
