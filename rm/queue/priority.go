package queue

import "heddle/rm/queue/priority"

// PriorityOf returns the priority of an application that a user submits to a queue, and whether the user may have it; see priority.Of.
func (q *Queue) PriorityOf(user string, asked *int32, most int32, lists bool, groupsOf func(string) ([]string, error)) (p int32, may bool) {
	if !lists {
		return priority.Of(nil, q.DefaultPriority, user, asked, most, groupsOf)
	}
	return priority.Of(q.PriorityACLs, q.DefaultPriority, user, asked, most, groupsOf)
}
