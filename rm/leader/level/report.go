package level

import (
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

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
