package level

import (
	"slices"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Used is how many bytes a container uses.
type Used struct {
	ID    records.ContainerID
	Bytes int64
}

// Report is what a node says of a container that there was an order for.
type Report struct {
	Container records.ContainerID
	Version   int32 // of the last order that it took
	Wanted    pb.ContainerLevel
	Level     pb.ContainerLevel
	Held      records.Resource // that it takes of the node now
	Swapped   int64            // bytes that are paged out
	Took      int64            // ms: how long the last change of its level took
	Reason    string           // why it isn't where it is to be
}

// News returns those reports that say something else of a container than before, but for how much of it is paged out.
func News(before, now []Report) (news []Report) {
	for i := range now {
		r := now[i]
		at := i // mostly a node says the same in the same order
		if at >= len(before) || before[at].Container != r.Container {
			at = slices.IndexFunc(before, func(o Report) bool { return o.Container == r.Container })
		}
		if at >= 0 {
			old := before[at]
			old.Swapped = r.Swapped
			if old == r {
				continue
			}
		}
		news = append(news, r)
	}
	return news
}
