package level

import (
	"slices"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Unasked is a node's report of its containers' memory that came without a question, as nothing was suspended. A node says once what a container
// uses, and not again before that has changed. The zero value is empty.
type Unasked struct {
	bytes map[records.ContainerID]int64
	prune int // how many there may be before those are forgotten that don't run any more
}

// leastPruned is how many containers are remembered without a look at whether they still run.
const leastPruned = 64

// Ask passes on a node's report. It returns the use of the running containers, in the order of their ids, if that was asked for: once.
func (u *Unasked) Ask(asked bool, used []Used, running map[records.ContainerID]pb.ContainerSubState) []Used {
	if asked && len(u.bytes) == 0 {
		return used
	}
	for _, x := range used {
		if u.bytes == nil {
			u.bytes = map[records.ContainerID]int64{}
		}
		u.bytes[x.ID] = x.Bytes
	}
	if asked || len(u.bytes) > max(u.prune, leastPruned) {
		for id := range u.bytes {
			if _, runs := running[id]; !runs {
				delete(u.bytes, id)
			}
		}
		u.prune = 2 * len(u.bytes)
	}
	if !asked {
		return nil
	}
	all := make([]Used, 0, len(u.bytes))
	for id, bytes := range u.bytes {
		all = append(all, Used{id, bytes})
	}
	slices.SortFunc(all, func(a, b Used) int { return a.ID.Compare(b.ID) })
	*u = Unasked{}
	return all
}
