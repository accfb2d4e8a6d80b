package ledger

import (
	"errors"
	"fmt"

	"heddle/yarn/records"
)

// Check verifies what must hold at any time: sums are those of the containers they sum up, nothing of an ended application
// lives, no node has more than it can hold (unless it shrank or went away), ids are within what was handed out.
func (s *State) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	onNode := map[records.NodeID]records.Resource{}
	count := map[records.NodeID]int{}
	for id, app := range s.Apps {
		var used records.Resource
		live := 0
		filed := 0
		for c := range app.Containers.All() {
			filed++
			if app.Containers.Get(c.ID) != c || c.ID.Attempt.App != id {
				bad("%v is filed under another id, or wrongly under %v", c.ID, id)
			}
			if !c.Live() {
				continue
			}
			live++
			used = used.Add(c.Resource)
			onNode[c.Node] = onNode[c.Node].Add(c.Resource)
			count[c.Node]++
			if n := s.Nodes[c.Node]; n == nil || n != c.node || c.onNode >= len(n.Containers) || n.Containers[c.onNode] != c {
				bad("%v is not filed under its node %v", c.ID, c.Node)
			}
		}
		if filed != app.Containers.Len() {
			bad("%v has %d containers, and counts %d", id, filed, app.Containers.Len())
		}
		if used != app.Used || live != app.Live {
			bad("%v holds %d containers with %v, its sums say %d with %v", id, live, used, app.Live, app.Used)
		}
		if app.State.Ended() && live > 0 {
			bad("%v is %v and holds %d containers", id, app.State, live)
		}
		for i, t := range app.Attempts {
			if i > 0 && t.ID.Attempt <= app.Attempts[i-1].ID.Attempt {
				bad("%v comes behind %v", t.ID, app.Attempts[i-1].ID)
			}
			if !t.State.Ended() && (i < len(app.Attempts)-1 || app.State.Ended()) {
				bad("%v is %v although it is over", t.ID, t.State)
			}
		}
	}
	for id, n := range s.Nodes {
		if n.Used != onNode[id] || len(n.Containers) != count[id] {
			bad("node %v has %d containers with %v, its sums say %d with %v",
				id, count[id], onNode[id], len(n.Containers), n.Used)
		}
	}
	return errors.Join(errs...)
}
