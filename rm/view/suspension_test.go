package view

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/rm/leader/level"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// suspending is a ledger of a node that has 3 GB and 3 cores, and three containers there, of which two are tasks of an application.
func suspending(t *testing.T) (s *ledger.State, change func(at int64, c *ledgerpb.Command), tasks []records.ContainerID) {
	t.Helper()
	s = ledger.New()
	change = func(at int64, c *ledgerpb.Command) {
		t.Helper()
		limit.Clean(c)
		if err := s.Apply(&ledgerpb.Batch{Time: at, Leadership: max(s.Epoch(), 1), Version: s.Version, Commands: []*ledgerpb.Command{c}}); err != nil {
			t.Fatal(err)
		}
	}
	node := records.NodeID{Host: "n7", Port: 1}
	app := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	attempt := records.AttemptID{App: app, Attempt: 1}
	size := ledger.Amounts(records.NewResource(1024, 1))
	for _, c := range []*ledgerpb.Command{
		{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm1"}},
		{ClusterCreated: &ledgerpb.ClusterCreated{Timestamp: 1}},
		{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: ledger.Version}},
		{NodeRegistered: &ledgerpb.NodeRegistered{Node: ledger.NodeRef(node), Capability: ledger.Amounts(records.NewResource(3072, 3))}},
		{ApplicationSubmitted: &ledgerpb.ApplicationSubmitted{
			App: ledger.AppRef(app), User: "u", Queue: "root.long", MaxAttempts: 1, Context: &pb.ApplicationSubmissionContext{}, AmResource: size,
		}},
		{AttemptStarted: &ledgerpb.AttemptStarted{Attempt: ledger.AttemptRef(attempt)}},
		{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ledger.AttemptRef(attempt), Grants: []*ledgerpb.Grant{
			{Id: 1, Node: ledger.NodeRef(node), Resource: size, Am: true},
		}}},
		{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: ledger.AttemptRef(attempt)}},
		{AttemptRegistered: &ledgerpb.AttemptRegistered{Attempt: ledger.AttemptRef(attempt)}},
		{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ledger.AttemptRef(attempt), Grants: []*ledgerpb.Grant{
			{Id: 2, Node: ledger.NodeRef(node), Resource: size}, {Id: 3, Node: ledger.NodeRef(node), Resource: size},
		}}},
	} {
		change(1000, c)
	}
	return s, change, []records.ContainerID{{Attempt: attempt, ID: 2}, {Attempt: attempt, ID: 3}}
}

// lowered returns the containers that are suspended or shrunk, that with the oldest suspension first.
func lowered(v *Viewer) (list []Container) {
	v.Source.Read(func(s *ledger.State) {
		for _, n := range s.Nodes {
			for c := range s.On(n) {
				if c.Level != ledgerpb.Level_RUNNING {
					list = append(list, container(s, s.Apps[c.ID.Attempt.App], c))
				}
			}
		}
	})
	slices.SortFunc(list, func(a, b Container) int { return cmp.Compare(a.Suspension().Since, b.Suspension().Since) })
	return list
}

// People read for how long and for whom a container is suspended, and what its node lacks until it resumes. Who is suspended longest
// comes first.
func TestSuspendedContainers(t *testing.T) {
	s, change, tasks := suspending(t)
	least, now := records.NewResource(64, 0), int64(50_000)
	v := &Viewer{Source: fixed{s}, Now: func() time.Time { return time.UnixMilli(now) }}
	texts := func() (out []string) {
		for _, c := range lowered(v) {
			out = append(out, v.Diagnostics(c))
		}
		return out
	}
	expect := func(want ...string) {
		t.Helper()
		if got := texts(); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q, want %q", got, want)
		}
	}
	change(9_000, s.Container(tasks[1]).ChangeLevel(ledgerpb.Level_RECLAIMED, least, ledger.Cause{Queue: "root.short"}))
	change(39_000, s.Container(tasks[0]).ChangeLevel(ledgerpb.Level_FROZEN, records.NewResource(1024, 0), ledger.Cause{User: "ann"}))
	expect("suspended 41 s for queue root.short, resumes as soon as there was room for it on n7 for a moment", "suspended 11 s by user ann")
	// somebody else has the room
	short := records.AttemptID{App: tasks[0].Attempt.App, Attempt: 1}
	change(40_000, &ledgerpb.Command{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ledger.AttemptRef(short), Grants: []*ledgerpb.Grant{
		{Id: 4, Node: ledger.NodeRef(records.NodeID{Host: "n7", Port: 1}), Resource: ledger.Amounts(records.NewResource(960, 2))},
	}}})
	expect("suspended 41 s for queue root.short, resumes when 960 MB and 1 vcore free up on n7", "suspended 11 s by user ann")
	smaller := func(mb int64) {
		change(40_000, &ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{
			Node: ledger.NodeRef(records.NodeID{Host: "n7", Port: 1}), Capability: ledger.Amounts(records.NewResource(mb, 3)),
		}})
	}
	smaller(1000)
	expect("suspended 41 s for queue root.short, resumes when nothing else runs on n7, which has become too small for it", "suspended 11 s by user ann, can resume when nothing else runs on n7, which has become too small for it")
	smaller(3072)
	a, _ := v.App(tasks[0].Attempt.App)
	if c, _ := v.Container(records.ContainerID{Attempt: tasks[0].Attempt, ID: 1}); v.Diagnostics(c) != "" {
		t.Errorf("one that runs: %q", v.Diagnostics(c))
	}
	if got := v.Summary(&a, nil); !strings.HasPrefix(got, tasks[0].String()+" is suspended 11 s by user ann; "+tasks[1].String()+" is suspended 41 s for queue root.short, resumes when 960 MB and 1 vcore free up on n7") {
		t.Errorf("%q", got)
	}
	apps := []App{a}
	if v.AddDiagnostics(apps); !strings.HasPrefix(apps[0].Diagnostics, "Container "+tasks[0].String()+" is suspended 11 s") {
		t.Errorf("%q", apps[0].Diagnostics)
	}
	change(41_000, s.Container(tasks[1]).ChangeLevel(ledgerpb.Level_RUNNING, records.NewResource(1024, 1), ledger.Cause{}))
	change(42_000, s.Container(tasks[0]).ChangeLevel(ledgerpb.Level_SHRUNK, records.NewResource(2048>>2, 1), ledger.Cause{}))
	expect("shrunk to 512 MB and 1 vcore 11 s by its ApplicationMaster")
	got, _ := v.Timeline(tasks[0].Attempt.App)
	if x := got.Containers[2].Suspended; len(x) != 1 || x[0] != (ledger.Span{From: 9_000, To: 41_000, Cause: ledger.Cause{Queue: "root.short"}}) {
		t.Errorf("%+v", x)
	}
	if x := got.Containers[1].Suspended; len(x) != 1 || x[0].From != 39_000 || x[0].To != 0 {
		t.Errorf("%+v", x)
	}
}

// Of a container that an earlier release has suspended nobody knows for whom.
func TestContainersThatAnEarlierReleaseHasSuspended(t *testing.T) {
	s, change, tasks := suspending(t)
	s.Version = ledger.CauseVersion - 1
	change(9_000, s.Container(tasks[0]).ChangeLevel(ledgerpb.Level_RECLAIMED, records.NewResource(64, 0), ledger.Cause{}))
	v := &Viewer{Source: fixed{s}, Now: func() time.Time { return time.UnixMilli(50_000) }}
	list := lowered(v)
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	if x := v.SuspendedOf(list[0]); x.For() != "" || x.Text(50_000) != "suspended by an earlier release, which didn't record for whom" {
		t.Errorf("%+v", x)
	}
}

// What a node has not reported yet isn't said of its container as if it were so.
func TestLevelsThatNodesHaveNotReported(t *testing.T) {
	s, change, tasks := suspending(t)
	change(2000, s.Container(tasks[0]).ChangeLevel(ledgerpb.Level_FROZEN, records.NewResource(1024, 0), ledger.Cause{User: "ann"}))
	for id, want := range map[records.ContainerID]string{
		tasks[0]: "suspended 8 s by user ann (n7 has not reported it yet)", tasks[1]: "resuming for 4 s; n7 has not reported it yet",
	} {
		c := s.Container(id)
		x := suspended(container(s, s.Apps[id.Attempt.App], c))
		x.UnderWay = &level.UnderWay{To: c.Level, Node: c.Node, Since: 6000}
		if got := x.Text(10_000); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An amount of one vcore is singular, as in "1 vcore frees up"; all others are plural.
func TestFrees(t *testing.T) {
	for _, x := range []struct {
		short records.Resource
		want  string
	}{
		{records.NewResource(0, 1), "frees"},
		{records.NewResource(0, 2), "free"},
		{records.NewResource(2048, 0), "free"},
		{records.NewResource(960, 1), "free"},
	} {
		if got := frees(x.short); got != x.want {
			t.Errorf("%s %s up, want %s", amount(x.short), got, x.want)
		}
	}
}
