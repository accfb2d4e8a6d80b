package timelineservice

import (
	"slices"
	"testing"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// An ApplicationMaster may register before its node's answer that it was started: its application was launched nevertheless, and this is published once.
func TestMastersThatAreAheadOfTheirNode(t *testing.T) {
	id := records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 7}, Attempt: 1}
	ref := ledger.AttemptRef(id)
	launch := &ledgerpb.Command{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: ref}}
	register := &ledgerpb.Command{AttemptRegistered: &ledgerpb.AttemptRegistered{Attempt: ref}}
	for name, x := range map[string]struct {
		state    ledger.AttemptState
		commands []*ledgerpb.Command
		launched int
	}{
		"ahead":           {ledger.AttemptAllocated, []*ledgerpb.Command{register}, 1},
		"in one batch":    {ledger.AttemptAllocated, []*ledgerpb.Command{launch, register}, 1},
		"launched before": {ledger.AttemptLaunched, []*ledgerpb.Command{register}, 0},
		"registers again": {ledger.AttemptRunning, []*ledgerpb.Command{register}, 0},
	} {
		s := ledger.New()
		a := &ledger.Attempt{ID: id, State: x.state}
		s.Apps[id.App] = &ledger.Application{ID: id.App, Context: &pb.ApplicationSubmissionContext{}, Attempts: []*ledger.Attempt{a}}
		var names []string
		f := &Follower{view: &view.Viewer{Source: still{s}}, settings: &Settings{v1: true}, tell: func(list []entity, _ *ledger.State) {
			for _, e := range list {
				names = append(names, e.Events[0].Type)
			}
		}}
		c := f.Before(&ledgerpb.Batch{Commands: x.commands}, s)
		a.State = ledger.AttemptRunning
		f.After(c, s)
		n := 0
		for _, name := range names {
			if name == "YARN_APPLICATION_LAUNCHED" {
				n++
			}
		}
		if n != x.launched || !slices.Contains(names, "YARN_APPLICATION_ATTEMPT_REGISTERED") || n > 0 && names[0] != "YARN_APPLICATION_LAUNCHED" {
			t.Errorf("%s: %v, want %d launches", name, names, x.launched)
		}
	}
}
