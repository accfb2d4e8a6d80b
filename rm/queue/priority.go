package queue

import (
	"slices"

	"heddle/rm/queue/priority"
)

// PriorityOf returns the priority of an application that a user submits to a queue, and whether the user may have it. asked is nil if the user didn't ask
// for one. lists says that access control lists apply (Hadoop: CapacityScheduler.checkAndGetApplicationPriority, AppPriorityACLsManager).
func (q *Queue) PriorityOf(user string, asked *int32, most int32, lists bool, groupsOf func(string) ([]string, error)) (p int32, may bool) {
	var his []priority.ACL
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
	may = !lists || len(q.PriorityACLs) == 0 || slices.ContainsFunc(his, func(a priority.ACL) bool { return p <= a.Max })
	return p, may
}
