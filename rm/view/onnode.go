package view

import (
	"cmp"
	"slices"

	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// NodeContainer is a container on a node, with its application.
type NodeContainer struct {
	ContainerTimes
	Name, User string // of the application
}

// maxOnNode is how many containers of a node are returned, the newest ones.
const maxOnNode = 2000

// OnNode returns the containers of a node that live, or ended after a time in ms since 1970, in the order of their grants; see admits applications. hidden is the number of those
// of other applications, more that of older ones that were left out. Ended containers are known as in Timeline. Applications that ended before that time aren't looked into.
func OnNode(v *Viewer, id records.NodeID, since int64, see func(*AppRow) bool) (list []NodeContainer, hidden, more int) {
	var row AppRow
	by := soft{leader: v.Source.Leader()}
	for ids := v.newest(); len(ids) > 0; {
		ids = v.nextPart(ids, func(a *ledger.Application) bool {
			if a.State.Ended() && a.FinishTime < since {
				return true
			}
			asked, may := false, false
			for c := range containersOf(a) {
				if c.Node != id || !c.Live() && cmp.Or(c.Times.Ended, c.Finished) < since {
					continue
				}
				if !asked {
					row.fill(a)
					asked, may = true, see(&row)
				}
				if !may {
					hidden++
					continue
				}
				list = append(list, NodeContainer{by.times(c), row.Name(), a.User})
			}
			return true
		})
		if len(list) > 2*maxOnNode { // not more in memory than that
			list, more = newestOf(list, more)
		}
	}
	list, more = newestOf(list, more)
	return list, hidden, more
}

// containersOf are the containers of an application that are known.
func containersOf(a *ledger.Application) func(yield func(*ledger.Container) bool) {
	return func(yield func(*ledger.Container) bool) {
		for c := range a.Past.All() {
			if !yield(c) {
				return
			}
		}
		for c := range a.Containers.All() {
			if !yield(c) {
				return
			}
		}
	}
}

func newestOf(list []NodeContainer, more int) ([]NodeContainer, int) {
	slices.SortFunc(list, func(a, b NodeContainer) int { return cmp.Or(cmp.Compare(a.Granted, b.Granted), a.ID.Compare(b.ID)) })
	over := max(0, len(list)-maxOnNode)
	return slices.Clone(list[over:]), more + over
}
