package service

import (
	"testing"

	"heddle/rm/leader/refusal"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// A node that is still about an order has not carried it out, whatever else it answers; what it refuses is refused.
func TestOrdersThatAreCarriedOut(t *testing.T) {
	const running, shrunk, frozen, reclaimed = pb.ContainerLevel_LEVEL_RUNNING, pb.ContainerLevel_LEVEL_SHRUNK, pb.ContainerLevel_LEVEL_FROZEN, pb.ContainerLevel_LEVEL_RECLAIMED
	for name, c := range map[string]struct {
		version       int32
		wanted, level pb.ContainerLevel
		failed        bool
		done, refused bool
	}{
		"it runs":                       {version: 5, wanted: running, level: running, done: true},
		"it stands still, for now":      {version: 5, wanted: running, level: reclaimed},
		"it waits for room":             {version: 4, wanted: reclaimed, level: reclaimed},
		"it stands still":               {version: 5, wanted: frozen, level: frozen, done: true},
		"its memory is still taken":     {version: 5, wanted: reclaimed, level: frozen, done: true},
		"it runs on, for now":           {version: 5, wanted: reclaimed, level: running},
		"it is shrunk":                  {version: 5, wanted: shrunk, level: shrunk, done: true},
		"it is still to be shrunk":      {version: 5, wanted: shrunk, level: running, done: true},
		"somebody wanted another later": {version: 6, wanted: frozen, level: running, done: true},
		"its node can't":                {version: 5, wanted: frozen, level: running, failed: true, refused: true},
		"its node couldn't, before":     {version: 4, wanted: frozen, level: running, failed: true},
	} {
		s := &pb.ContainerSuspension{}
		s.SetVersion(c.version)
		s.SetWanted(c.wanted)
		s.SetLevel(c.level)
		s.SetFailed(c.failed)
		resp := &pb.OrderContainersResponse{}
		resp.SetSuspension([]*pb.ContainerSuspension{s})
		if err := carriedOut(records.NodeID{Host: "n1", Port: 1}, resp, 5); (err == nil) != c.done || refusal.Is(err, refusal.Refused) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := carriedOut(records.NodeID{}, &pb.OrderContainersResponse{}, 5); err != nil {
		t.Errorf("a node that says nothing: %v", err)
	}
}
