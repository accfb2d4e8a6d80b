package ledger

import (
	"errors"
	"math"
	"testing"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

var task = container(1, 2, 2)

// A container with very much of a type had used less than nothing after some hours.
func TestResourceSecondsDontWrap(t *testing.T) {
	c := &Container{Resource: records.Resource{1024, 1, 1 << 40, records.MaxAmount}}
	const day = 24 * 60 * 60
	if got := ResourceSeconds(c, day*1000); got != (records.Resource{1024 * day, day, day << 40, math.MaxInt64}) {
		t.Errorf("%v", got)
	}
}

func TestGrantIsKeptAsItCame(t *testing.T) {
	s := world(t)
	expect(t, s, 100, &ledgerpb.Command{ContainersAllocated: &ledgerpb.ContainersAllocated{
		Attempt: AttemptRef(attempt(1, 2)),
		Grants: []*ledgerpb.Grant{{
			Id: 5, Node: NodeRef(node2), Resource: Amounts(small), Priority: 3, AllocationRequestId: 4,
			ExecutionType: int32(pb.ExecutionType_OPPORTUNISTIC), Tags: []string{"x"}, Waited: 11,
		}},
	}}, func(want *State) {
		a, n := want.Apps[app(1)], want.Nodes[node2]
		c := &Container{
			ID: container(1, 2, 5), Node: node2, Resource: small, Priority: 3, AllocationRequestID: 4,
			ExecutionType: pb.ExecutionType_OPPORTUNISTIC, extras: &extras{tags: []string{"x"}}, Asked: created + 90, Allocated: created + 100,
			ExitStatus: records.ExitInvalid, node: n,
		}
		a.Containers.Put(c)
		a.Live, a.Attempts[1].LastSequence = 3, 5  // and it is no part of what is used
		n.Containers = []records.ContainerID{c.ID} // it takes nothing that others could get
	})
}

// The node of an opportunistic container is charged for it once it is promoted, and no more when it is demoted. Releases that don't know of that refuse it.
func TestPromotionAndDemotion(t *testing.T) {
	s := world(t)
	retype := func(kind pb.ExecutionType) *ledgerpb.Command {
		return &ledgerpb.Command{ContainerResized: &ledgerpb.ContainerResized{Container: ContainerRef(task), Resource: Amounts(small), ExecutionType: int32(kind)}}
	}
	before := s.Nodes[node1].Used
	s.Version = PromotionVersion - 1
	refuse(t, s, retype(pb.ExecutionType_OPPORTUNISTIC), nil)
	s.Version = PromotionVersion
	for i, step := range []struct {
		kind pb.ExecutionType
		used records.Resource
	}{{pb.ExecutionType_OPPORTUNISTIC, before.Sub(small)}, {pb.ExecutionType_GUARANTEED, before}, {pb.ExecutionType_OPPORTUNISTIC, before.Sub(small)}} {
		run(t, s, int64(100*i), retype(step.kind))
		if c, n := s.Container(task), s.Nodes[node1]; c.ExecutionType != step.kind || n.Used != step.used || c.Version != int32(i+1) || c.Confirmed() != small {
			t.Errorf("step %d: %v, its node has %v", i, c.ExecutionType, n.Used)
		}
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
	run(t, s, 500, complete(task, 0))
	if err := s.Check(); err != nil || s.Nodes[node1].Used != before.Sub(small) {
		t.Errorf("in the end %v, %v", s.Nodes[node1].Used, err)
	}
}

// A container that nobody says otherwise of is guaranteed, and nobody knows when it was asked for; a wait of no time is known.
func TestWhatAGrantLeavesOut(t *testing.T) {
	s := world(t)
	grant := func(id, waited int64) *Container {
		run(t, s, 100, &ledgerpb.Command{ContainersAllocated: &ledgerpb.ContainersAllocated{
			Attempt: AttemptRef(attempt(1, 2)), Grants: []*ledgerpb.Grant{{Id: id, Node: NodeRef(node2), Waited: waited}},
		}})
		return s.Container(container(1, 2, id))
	}
	if c := grant(5, 0); c.ExecutionType != pb.ExecutionType_GUARANTEED || c.Asked != 0 {
		t.Errorf("%+v", c)
	}
	if c := grant(6, 1); c.Asked != created+100 {
		t.Errorf("asked for at %d", c.Asked)
	}
}

func TestGrantOfAnApplicationMaster(t *testing.T) {
	s := world(t)
	run(t, s, 40, start(attempt(2, 1)))
	am := allocate(container(2, 1, 1), true)
	expect(t, s, 50, am, func(want *State) {
		a := want.Apps[app(2)]
		c := &Container{
			ID: container(2, 1, 1), Node: node1, Resource: small, AllocationRequestID: -1, AM: true,
			ExecutionType: pb.ExecutionType_GUARANTEED, Asked: created + 47, Allocated: created + 50, ExitStatus: records.ExitInvalid, node: want.Nodes[node1],
		}
		a.Containers.Put(c)
		a.Used, a.Live = small, 1
		*a.Attempts[0] = Attempt{
			ID: attempt(2, 1), State: AttemptAllocated, StartTime: created + 40, RPCPort: -1, ExitStatus: records.ExitInvalid,
			AMContainer: container(2, 1, 1), AMNode: node1, AMHTTPAddress: "n1:8042", LastSequence: 1,
		}
		n := want.Nodes[node1]
		n.Used, n.Containers = small.Times(3), append(n.Containers, c.ID)
	})
}

// One grant that can't be leaves the others of its command alone.
func TestGrantsStandForThemselves(t *testing.T) {
	s := world(t)
	grants := func(ids ...int64) (all []*ledgerpb.Grant) {
		for _, id := range ids {
			all = append(all, &ledgerpb.Grant{Id: id, Node: NodeRef(node2), Resource: Amounts(small)})
		}
		return all
	}
	c := &ledgerpb.ContainersAllocated{Attempt: AttemptRef(attempt(1, 2)), Grants: grants(4, 4, 3, 5)}
	c.Grants = append(c.Grants, &ledgerpb.Grant{Id: 6, Node: NodeRef(unknown)})
	err := s.ApplyCommand(created, &ledgerpb.Command{ContainersAllocated: c})
	if !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	if a := s.Apps[app(1)]; a.Live != 4 || a.Attempts[1].LastSequence != 5 || s.Container(container(1, 2, 4)) == nil || s.Container(container(1, 2, 5)) == nil {
		t.Errorf("%d live, the last sequence is %d", a.Live, a.Attempts[1].LastSequence)
	}
}

func TestContainerRunsOnce(t *testing.T) {
	s := world(t)
	runs := &ledgerpb.Command{ContainersRunning: &ledgerpb.ContainersRunning{Containers: ContainerRefs(task)}}
	expect(t, s, 100, runs, func(want *State) {
		c := want.Container(task)
		c.State, c.Started = ContainerRunning, created+100
	})
	refuse(t, s, runs, nil)
	// Another of the same command runs all the same.
	both := &ledgerpb.Command{ContainersRunning: &ledgerpb.ContainersRunning{Containers: ContainerRefs(task, container(1, 2, 1))}}
	if err := s.ApplyCommand(created+200, both); err == nil || s.Container(container(1, 2, 1)).State != ContainerRunning {
		t.Errorf("%v", err)
	}
	run(t, s, 300, complete(task, 0))
	refuse(t, s, runs, nil)
}

func TestContainersAreSuspendedAndResumedWhileTheyLive(t *testing.T) {
	s := world(t)
	suspend := &ledgerpb.Command{ContainersSuspended: &ledgerpb.ContainersSuspended{Containers: ContainerRefs(task)}}
	resume := &ledgerpb.Command{ContainersResumed: &ledgerpb.ContainersResumed{Containers: ContainerRefs(task)}}
	expect(t, s, 100, suspend, func(want *State) { want.Container(task).setLevel(ledgerpb.Level_FROZEN, small) })
	expect(t, s, 100, resume, func(want *State) { want.Container(task).setLevel(ledgerpb.Level_RUNNING, small) })
	run(t, s, 200, suspend, complete(task, 0))
	if s.Container(task).Suspended() {
		t.Error("it has ended, and is suspended")
	}
	refuse(t, s, suspend, nil)
	refuse(t, s, resume, nil)
}

func TestEndOfAContainer(t *testing.T) {
	s := world(t)
	done := &ledgerpb.Completion{Container: ContainerRef(task), ExitStatus: 7, Diagnostics: "out of luck", Times: ledgerpb.NewContainerTimes(500, 400, 300, 0)}
	end := &ledgerpb.Command{ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{done}}}
	expect(t, s, 2030, end, func(want *State) {
		a, n, c := want.Apps[app(1)], want.Nodes[node1], want.Container(task)
		c.State, c.ExitStatus, c.Diagnostic, c.Finished, c.node = ContainerCompleted, 7, "out of luck", created+2030, nil
		c.Times = Times{Accepted: created + 1530, Localized: created + 1630, Launched: created + 1730, Ended: created + 2030}
		a.Used, a.Live, a.ResourceSeconds = small, 1, records.NewResource(1024, 2)
		n.Used, n.Containers = small, n.Containers[:1]
	})
	refuse(t, s, end, nil)
	expect(t, s, 2040, &ledgerpb.Command{ContainersReported: &ledgerpb.ContainersReported{Containers: ContainerRefs(task)}}, func(want *State) {
		a, c := want.Apps[app(1)], want.Container(task)
		a.Containers.remove(c.ID)
		c.Diagnostic = ""
		a.Past.Add(c)
	})
}

// Nobody asks for a container whose end needs no report: it is past at once.
func TestEndThatNobodyAsksFor(t *testing.T) {
	s := world(t)
	done := &ledgerpb.Completion{Container: ContainerRef(task), ExitStatus: 7, Diagnostics: "x", Unreported: true}
	other := &ledgerpb.Completion{Container: ContainerRef(container(1, 2, 9))}
	before := s.Container(task)
	b := commands{{ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{other, done}}}}.at(1030)
	b.Leadership = s.Leaders
	if err := s.Apply(b); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	past := last(s.Apps[app(1)].Past)
	if past == before {
		t.Error("it keeps the page in memory in which it lived")
	}
	if c := past; s.Container(task) != nil || c.ID != task || c.ExitStatus != 7 || c.Diagnostic != "" || c.Finished != created+1030 {
		t.Errorf("%+v", c)
	}
}

func TestPreemptedContainersAreCounted(t *testing.T) {
	s := world(t)
	run(t, s, 2030, complete(task, records.ExitPreempted))
	run(t, s, 3030, complete(container(1, 2, 1), records.ExitPreempted))
	a := s.Apps[app(1)]
	if a.PreemptedContainers != 1 || a.PreemptedAMs != 1 || a.Preempted != small.Times(2) || a.PreemptedSeconds != small.Times(5) || a.ResourceSeconds != small.Times(5) {
		t.Errorf("%d containers and %d ApplicationMasters with %v for %v", a.PreemptedContainers, a.PreemptedAMs, a.Preempted, a.PreemptedSeconds)
	}
	s = world(t)
	run(t, s, 2030, complete(task, records.ExitKilledByScheduler))
	if a := s.Apps[app(1)]; a.PreemptedContainers != 0 || a.Preempted != (records.Resource{}) {
		t.Errorf("one that was not preempted counts: %v", a.Preempted)
	}
}

func TestResizeOfAContainer(t *testing.T) {
	s := world(t)
	resize := func(to records.Resource) *ledgerpb.Command {
		return &ledgerpb.Command{ContainerResized: &ledgerpb.ContainerResized{Container: ContainerRef(task), Resource: Amounts(to)}}
	}
	large, tiny := records.NewResource(2048, 1), records.NewResource(256, 1)
	expect(t, s, 2030, resize(large), func(want *State) {
		a, c := want.Apps[app(1)], want.Container(task)
		c.Resource, c.Version, c.Resized = large, 1, created+2030
		c.setConfirmed(small)
		a.Used, want.Nodes[node1].Used = small.Add(large), small.Add(large)
		a.ResourceSeconds = records.NewResource(1024, 2)
	})
	expect(t, s, 3030, resize(tiny), func(want *State) {
		a, c := want.Apps[app(1)], want.Container(task)
		c.Resource, c.Version, c.Resized = tiny, 2, created+3030
		c.setConfirmed(tiny)
		a.Used, want.Nodes[node1].Used = small.Add(tiny), small.Add(tiny)
		a.ResourceSeconds = records.NewResource(1024+2048, 3)
	})
	// From then on it uses what it has now.
	run(t, s, 5030, complete(task, 0))
	if a := s.Apps[app(1)]; a.ResourceSeconds != records.NewResource(1024+2048+512, 5) {
		t.Errorf("it has used %v", a.ResourceSeconds)
	}
	refuse(t, s, resize(large), nil)
}

func TestConfirmedSizeIsWithinWhatAContainerHolds(t *testing.T) {
	s := world(t)
	confirm := func(size records.Resource) *ledgerpb.Command {
		return &ledgerpb.Command{ContainerConfirmed: &ledgerpb.ContainerConfirmed{Container: ContainerRef(task), Resource: Amounts(size)}}
	}
	run(t, s, 100, &ledgerpb.Command{ContainerResized: &ledgerpb.ContainerResized{Container: ContainerRef(task), Resource: Amounts(small.Times(3))}})
	expect(t, s, 200, confirm(small.Times(2)), func(want *State) { want.Container(task).setConfirmed(small.Times(2)) })
	expect(t, s, 300, confirm(small.Times(3)), func(want *State) { want.Container(task).setConfirmed(small.Times(3)) })
	refuse(t, s, confirm(small.Times(4)), nil)
	run(t, s, 400, complete(task, 0))
	refuse(t, s, confirm(small), nil)
}

func TestApplicationsAreForgottenOnceTheyHaveEnded(t *testing.T) {
	s := world(t)
	run(t, s, 40, endApp(2, pb.YarnApplicationState_KILLED))
	all := []*ledgerpb.AppRef{AppRef(app(1)), AppRef(app(7)), AppRef(app(2))}
	err := s.ApplyCommand(created, &ledgerpb.Command{ApplicationsForgotten: &ledgerpb.ApplicationsForgotten{Apps: all}})
	if !errors.Is(err, ErrUnknown) || s.Apps[app(1)] == nil || s.Apps[app(2)] != nil {
		t.Errorf("%v; left: %v", err, s.Apps)
	}
}

// A container that lives knows the web address of its node.
func TestNodeOfAContainer(t *testing.T) {
	s := world(t)
	c := s.Container(task)
	if c.NodeHTTPAddress() != "n1:8042" {
		t.Errorf("%q", c.NodeHTTPAddress())
	}
	run(t, s, 100, complete(task, 0))
	if c.NodeHTTPAddress() != "" {
		t.Errorf("after its end: %q", c.NodeHTTPAddress())
	}
}

// A clock that was set back gives nobody resources for the time before the grant.
func TestNothingIsUsedBeforeTheGrant(t *testing.T) {
	c := &Container{Resource: records.NewResource(1<<20, 4), Allocated: 5000, Resized: 7000}
	if r := ResourceSeconds(c, 6000); r != (records.Resource{}) {
		t.Errorf("%v", r)
	}
	if r := ResourceSeconds(c, 7001); r != records.NewResource(1048, 0) {
		t.Errorf("in a millisecond: %v", r)
	}
}
