package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// fixed is a ledger without a leader, as a follower has it.
type fixed struct{ *ledger.State }

func (f fixed) Read(show func(*ledger.State)) { show(f.State) }
func (fixed) Leader() *leader.Leader          { return nil }

// Containers are shown in the order of their grants, those that have ended among those that live. What the node told comes before
// what the ResourceManager saw.
func TestTimeline(t *testing.T) {
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	attempt := records.AttemptID{App: id, Attempt: 1}
	container := func(n int64) records.ContainerID { return records.ContainerID{Attempt: attempt, ID: n} }
	node := records.NodeID{Host: "n", Port: 1}
	s := ledger.New()
	s.Apps[id] = &ledger.Application{
		ID: id, State: ledger.AppRunning, SubmitTime: 100, Context: &pb.ApplicationSubmissionContext{}, PastMore: 2,
		Attempts: []*ledger.Attempt{{ID: attempt, State: ledger.AttemptRunning, StartTime: 101, LaunchTime: 110, RegisterTime: 200, AMContainer: container(1)}},
		Past: ledger.PastOf(
			&ledger.Container{ID: container(3), Node: node, Asked: 200, Allocated: 201, Started: 210, Finished: 300, State: ledger.ContainerCompleted, ExitStatus: 1},
			&ledger.Container{ID: container(2), Node: node, Asked: 200, Allocated: 201, Started: 210, Finished: 290, State: ledger.ContainerCompleted, Times: ledger.Times{Accepted: 203, Localized: 204, Launched: 205, Ended: 289}},
		),
	}
	for _, c := range []*ledger.Container{
		{ID: container(1), Node: node, AM: true, Asked: 101, Allocated: 102, Started: 111, State: ledger.ContainerRunning, ExitStatus: records.ExitInvalid},
		{ID: container(4), Node: node, Priority: 20, Allocated: 250, ExitStatus: records.ExitInvalid},
	} {
		s.Apps[id].Containers.Put(c)
	}
	v := &Viewer{Source: fixed{s}, Now: time.Now}
	got, ok := v.Timeline(id)
	if !ok || got.More != 2 || got.App.SubmitTime != 100 {
		t.Fatalf("%+v, %v", got, ok)
	}
	if diff := cmp.Diff([]AttemptTimes{{ID: attempt, AMContainer: container(1), Asked: 101, Launched: 110, Registered: 200}}, got.Attempts); diff != "" {
		t.Error(diff)
	}
	want := []ContainerTimes{
		{ID: container(1), Node: node, AM: true, Asked: 101, Granted: 102, Started: 111, Live: true, Exit: records.ExitInvalid},
		{ID: container(2), Node: node, Asked: 200, Granted: 201, Accepted: 203, Localized: 204, Started: 205, Ended: 289},
		{ID: container(3), Node: node, Asked: 200, Granted: 201, Started: 210, Ended: 300, Exit: 1},
		{ID: container(4), Node: node, Priority: 20, Granted: 250, Live: true, Exit: records.ExitInvalid},
	}
	if diff := cmp.Diff(want, got.Containers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(MasterDelays{Delay{1, 1}, Delay{1, 8}, Delay{1, 90}}, v.Masters()); diff != "" {
		t.Error(diff)
	}
	if got := (Delay{4, 10}).Mean(); got != 2.5 {
		t.Errorf("%v", got)
	}
	if _, ok := v.Timeline(records.ApplicationID{ClusterTimestamp: 1, ID: 2}); ok {
		t.Error("an application that isn't there has a timeline")
	}
}

func BenchmarkTimelineOfManyContainers(b *testing.B) {
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	s := ledger.New()
	s.Apps[id] = &ledger.Application{ID: id, State: ledger.AppRunning, Context: &pb.ApplicationSubmissionContext{}}
	for i := range int64(100_000) {
		s.Apps[id].Containers.Put(&ledger.Container{ID: records.ContainerID{Attempt: records.AttemptID{App: id, Attempt: 1}, ID: i + 1}, Allocated: i / 100, Started: i, State: ledger.ContainerRunning})
	}
	v := &Viewer{Source: fixed{s}, Now: time.Now}
	b.ReportAllocs()
	for b.Loop() {
		if t, ok := v.Timeline(id); !ok || len(t.Containers) != 100_000 {
			b.Fatal(len(t.Containers))
		}
	}
}
