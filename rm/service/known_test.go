package service

import (
	"slices"
	"testing"

	"heddle/yarn/pb"
)

// A state that only newer clients know filters nothing, as with Hadoop: applications of no other state were left out.
func TestUnknownStatesFilterNothing(t *testing.T) {
	sent := []pb.YarnApplicationState{999, pb.YarnApplicationState_RUNNING, -1}
	if got := known(sent); !slices.Equal(got, []pb.YarnApplicationState{pb.YarnApplicationState_RUNNING}) || len(sent) != 3 {
		t.Errorf("%v of %v", got, sent)
	}
	if got := known([]pb.NodeState{999}); len(got) > 0 {
		t.Errorf("%v", got)
	}
}
