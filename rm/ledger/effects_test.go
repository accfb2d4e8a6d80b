package ledger

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

var (
	node2   = records.NodeID{Host: "n2", Port: 2}
	unknown = records.NodeID{Host: "nowhere", Port: 1}
)

// world is a cluster with two nodes and an application (1) whose second attempt runs, with an ApplicationMaster (1) and a task (2).
// The first attempt has failed. Another application (2) was only submitted.
func world(t testing.TB) *State {
	t.Helper()
	s := raised(t)
	run(t, s, 0, register(node1, records.NewResource(8192, 8)), register(node2, records.NewResource(4096, 4)), submit(1), submit(2), start(attempt(1, 1)))
	run(t, s, 20, allocate(container(1, 1, 1), true), endAttempt(attempt(1, 1), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, false), start(attempt(1, 2)))
	run(t, s, 30, allocate(container(1, 2, 1), true), allocate(container(1, 2, 2), false))
	return s
}

func run(t testing.TB, s *State, ms int64, c ...*ledgerpb.Command) {
	t.Helper()
	b := commands(c).at(ms)
	b.Leadership = s.Leaders
	mustApply(t, s, b)
}

// expect applies a command, and holds the outcome against the state before with the change that is expected: nothing else may differ.
func expect(t *testing.T, s *State, ms int64, c *ledgerpb.Command, change func(want *State)) {
	t.Helper()
	want := s.Clone()
	change(want)
	b := commands{c}.at(ms)
	b.Leadership = s.Leaders
	if err := s.Apply(b); err != nil {
		t.Errorf("%v: %v", c, err)
	}
	for _, d := range differences(s, want) {
		t.Errorf("%v: %s", c, d)
	}
}

// refuse applies a command that must be refused, with nothing changed but the number of refusals.
func refuse(t *testing.T, s *State, c *ledgerpb.Command, as error) {
	t.Helper()
	want := s.Clone()
	err := s.ApplyCommand(created, c)
	if err == nil || as != nil && !errors.Is(err, as) {
		t.Errorf("%v: %v", c, err)
	}
	for _, d := range differences(s, want) {
		t.Errorf("%v is refused, and yet: %s", c, d)
	}
}

func update(u *ledgerpb.ApplicationUpdated) *ledgerpb.Command {
	u.App = AppRef(app(1))
	return &ledgerpb.Command{ApplicationUpdated: u}
}

func TestUpdateOfAnApplicationChangesWhatItNamesAlone(t *testing.T) {
	s := world(t)
	a := func(s *State) *Application { return s.Apps[app(1)] }
	expect(t, s, 40, update(&ledgerpb.ApplicationUpdated{Priority: proto.Int32(7)}), func(want *State) { a(want).Priority = 7 })
	expect(t, s, 40, update(&ledgerpb.ApplicationUpdated{Queue: proto.String("root.other")}), func(want *State) { a(want).Queue = "root.other" })
	expect(t, s, 40, update(&ledgerpb.ApplicationUpdated{Expires: proto.Int64(99)}), func(want *State) { a(want).Expires = 99 })
	expect(t, s, 40, update(&ledgerpb.ApplicationUpdated{Diagnostics: proto.String("slow")}), func(want *State) { a(want).Diagnostics = "slow" })
	expect(t, s, 40, update(&ledgerpb.ApplicationUpdated{KillRequested: proto.Bool(true)}), func(want *State) { a(want).KillRequested = true })
	expect(t, s, 40, update(&ledgerpb.ApplicationUpdated{LogAggregation: proto.Int32(4)}), func(want *State) {
		a(want).LogAggregation = pb.LogAggregationStatus_LOG_SUCCEEDED
	})
	expect(t, s, 40, update(&ledgerpb.ApplicationUpdated{}), func(*State) {})
}

func TestSubmissionIsKeptAsItCame(t *testing.T) {
	s := world(t)
	c := submitted(3, nil)
	sub := c.ApplicationSubmitted
	sub.Priority, sub.Expires, sub.MaxAttempts = 5, created+1000, 4
	expect(t, s, 50, c, func(want *State) {
		want.Apps[app(3)] = &Application{
			ID: app(3), User: "alice", Queue: "root.default", Priority: 5, Context: sub.Context, MaxAttempts: 4, AMResource: small,
			Expires: created + 1000, SubmitTime: created + 50, LogAggregation: pb.LogAggregationStatus_LOG_NOT_START,
		}
	})
}

func TestEndOfAnApplication(t *testing.T) {
	for state, public := range map[AppState]pb.YarnApplicationState{
		AppFinished: pb.YarnApplicationState_FINISHED, AppFailed: pb.YarnApplicationState_FAILED, AppKilled: pb.YarnApplicationState_KILLED,
	} {
		s := world(t)
		run(t, s, 40, endAttempt(attempt(1, 2), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, true))
		end := endApp(1, public)
		end.ApplicationEnded.Diagnostics = "over"
		expect(t, s, 1030, end, func(want *State) {
			a := want.Apps[app(1)]
			task := a.Containers.Get(container(1, 2, 2))
			drop(s, created+1030, a, task, records.ExitKilledAfterAppCompletion)
			a.State, a.FinalStatus, a.Diagnostics, a.FinishTime = state, pb.FinalApplicationStatus_APP_FAILED, "over", created+1030
			want.Ended[state] = 1
		})
		if past := last(s.Apps[app(1)].Past); past.ExitStatus != records.ExitKilledAfterAppCompletion || past.Finished != created+1030 {
			t.Errorf("its task ended as %+v", past)
		}
		// No queue ever took the other one, so it doesn't count among those that ended.
		expect(t, s, 1040, endApp(2, public), func(want *State) {
			a := want.Apps[app(2)]
			a.State, a.FinalStatus, a.FinishTime = state, pb.FinalApplicationStatus_APP_FAILED, created+1040
		})
	}
}

func TestAttemptsStartInARow(t *testing.T) {
	s := world(t)
	refuse(t, s, start(attempt(2, 0)), nil)
	refuse(t, s, start(attempt(2, 2)), nil)
	expect(t, s, 40, start(attempt(2, 1)), func(want *State) {
		want.Submitted++
		a := want.Apps[app(2)]
		a.Attempts = []*Attempt{{ID: attempt(2, 1), StartTime: created + 40, RPCPort: -1, ExitStatus: records.ExitInvalid}}
	})
	run(t, s, 50, endAttempt(attempt(1, 2), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, false))
	s.Apps[app(1)].State = AppRunning
	refuse(t, s, start(attempt(1, 2)), nil)
	refuse(t, s, start(attempt(1, 4)), nil)
	expect(t, s, 60, start(attempt(1, 3)), func(want *State) {
		a := want.Apps[app(1)]
		a.State = AppAccepted
		a.Attempts = append(a.Attempts, &Attempt{ID: attempt(1, 3), StartTime: created + 60, RPCPort: -1, ExitStatus: records.ExitInvalid})
	})
}

func launched(id records.AttemptID) *ledgerpb.Command {
	return &ledgerpb.Command{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: AttemptRef(id)}}
}

func registered(id records.AttemptID) *ledgerpb.Command {
	return &ledgerpb.Command{AttemptRegistered: &ledgerpb.AttemptRegistered{
		Attempt: AttemptRef(id), Host: "h", RpcPort: 9, TrackingUrl: "http://h",
	}}
}

func TestLaunchOfAnAttempt(t *testing.T) {
	s := world(t)
	expect(t, s, 100, launched(attempt(1, 2)), func(want *State) {
		a := want.Apps[app(1)]
		a.LaunchTime = created + 100
		a.Attempts[1].State, a.Attempts[1].LaunchTime = AttemptLaunched, created+100
	})
	refuse(t, s, launched(attempt(1, 2)), nil)

	// The application was launched when its first attempt was.
	run(t, s, 200, endAttempt(attempt(1, 2), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, false), start(attempt(1, 3)), allocate(container(1, 3, 1), true))
	expect(t, s, 300, launched(attempt(1, 3)), func(want *State) {
		t := want.Apps[app(1)].Attempts[2]
		t.State, t.LaunchTime = AttemptLaunched, created+300
	})
}

func TestRegistrationOfAnAttempt(t *testing.T) {
	register := func(want *State, n int) *Attempt {
		a := want.Apps[app(1)]
		a.State = AppRunning
		t := a.Attempts[n]
		t.State, t.Host, t.RPCPort, t.TrackingURL = AttemptRunning, "h", 9, "http://h"
		return t
	}
	// One that registers was launched, though nobody has said so.
	s := world(t)
	expect(t, s, 100, registered(attempt(1, 2)), func(want *State) {
		want.Apps[app(1)].LaunchTime = created + 100
		t := register(want, 1)
		t.LaunchTime, t.RegisterTime = created+100, created+100
	})
	// With a new leader it registers again, perhaps from elsewhere; the times stay.
	again := registered(attempt(1, 2))
	again.AttemptRegistered.Host, again.AttemptRegistered.RpcPort, again.AttemptRegistered.TrackingUrl = "i", 10, "http://i"
	expect(t, s, 200, again, func(want *State) {
		t := want.Apps[app(1)].Attempts[1]
		t.Host, t.RPCPort, t.TrackingURL = "i", 10, "http://i"
	})

	s = world(t)
	run(t, s, 50, launched(attempt(1, 2)))
	expect(t, s, 100, registered(attempt(1, 2)), func(want *State) { register(want, 1).RegisterTime = created + 100 })
	run(t, s, 150, &ledgerpb.Command{AttemptFinishing: &ledgerpb.AttemptFinishing{Attempt: AttemptRef(attempt(1, 2))}})
	refuse(t, s, registered(attempt(1, 2)), nil)
}

func TestFarewellOfAnAttempt(t *testing.T) {
	s := world(t)
	run(t, s, 100, registered(attempt(1, 2)))
	expect(t, s, 200, &ledgerpb.Command{AttemptFinishing: &ledgerpb.AttemptFinishing{
		Attempt: AttemptRef(attempt(1, 2)), FinalStatus: int32(pb.FinalApplicationStatus_APP_SUCCEEDED), Diagnostics: "bye", TrackingUrl: "http://history",
	}}, func(want *State) {
		a := want.Apps[app(1)]
		a.State, a.FinalStatus, a.Diagnostics, a.FinishTime = AppFinishing, pb.FinalApplicationStatus_APP_SUCCEEDED, "bye", created+200
		t := a.Attempts[1]
		t.State, t.FinalStatus, t.Diagnostics, t.TrackingURL = AttemptFinishing, pb.FinalApplicationStatus_APP_SUCCEEDED, "bye", "http://history"
	})
	// Its end says nothing more, so that what it said stays.
	end := endAttempt(attempt(1, 2), pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHED, true)
	end.AttemptEnded.Diagnostics, end.AttemptEnded.ExitStatus = "", 0
	expect(t, s, 300, end, func(want *State) {
		a := want.Apps[app(1)]
		t := a.Attempts[1]
		t.State, t.ExitStatus, t.FinishTime = AttemptFinished, 0, created+300
		drop(s, created+300, a, a.Containers.Get(container(1, 2, 1)), records.ExitKilledByResourceManager)
	})
}

func TestEndOfAnAttempt(t *testing.T) {
	for state, public := range map[AttemptState]pb.YarnApplicationAttemptState{
		AttemptFinished: pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHED,
		AttemptKilled:   pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED,
		AttemptFailed:   pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED,
	} {
		s := world(t)
		end := endAttempt(attempt(1, 2), public, false)
		end.AttemptEnded.Excused = true
		expect(t, s, 40, end, func(want *State) {
			a := want.Apps[app(1)]
			t := a.Attempts[1]
			t.State, t.Diagnostics, t.ExitStatus, t.Excused, t.FinishTime = state, "why", 1, true, created+40
			for _, n := range []int64{1, 2} {
				drop(s, created+40, a, a.Containers.Get(container(1, 2, n)), records.ExitKilledByResourceManager)
			}
		})
		for c := range s.Apps[app(1)].Past.All() {
			if c.ExitStatus != records.ExitKilledByResourceManager {
				t.Errorf("%v: %v ended with %d", state, c.ID, c.ExitStatus)
			}
		}
	}
}

// What names something that isn't there, or whose time is over, is refused, and says so.
func TestCommandsForWhatIsNotThereAreRefused(t *testing.T) {
	s := world(t)
	run(t, s, 40, &ledgerpb.Command{DelegationIssued: &ledgerpb.DelegationIssued{Sequence: 1}}, endApp(2, pb.YarnApplicationState_KILLED), submit(3))
	gone, next := AttemptRef(attempt(9, 1)), AttemptRef(attempt(1, 3))
	cont := ContainerRef(container(1, 2, 7))
	for _, c := range []*ledgerpb.Command{
		update(&ledgerpb.ApplicationUpdated{}),
		endApp(9, pb.YarnApplicationState_FAILED),
		{ApplicationsForgotten: &ledgerpb.ApplicationsForgotten{Apps: []*ledgerpb.AppRef{AppRef(app(9))}}},
		start(attempt(9, 1)),
		{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: gone}},
		{AttemptRegistered: &ledgerpb.AttemptRegistered{Attempt: gone}},
		{AttemptFinishing: &ledgerpb.AttemptFinishing{Attempt: gone}},
		{AttemptEnded: &ledgerpb.AttemptEnded{Attempt: gone, State: int32(pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED)}},
		{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: next}},
		{AttemptRegistered: &ledgerpb.AttemptRegistered{Attempt: next}},
		{AttemptFinishing: &ledgerpb.AttemptFinishing{Attempt: next}},
		{AttemptEnded: &ledgerpb.AttemptEnded{Attempt: next, State: int32(pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED)}},
		allocate(container(9, 1, 1), false),
		{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: AttemptRef(attempt(1, 2)), Grants: []*ledgerpb.Grant{{Id: 3, Node: NodeRef(unknown)}}}},
		{ContainersRunning: &ledgerpb.ContainersRunning{Containers: []*ledgerpb.ContainerRef{cont}}},
		{ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{{Container: cont}}}},
		{ContainersReported: &ledgerpb.ContainersReported{Containers: []*ledgerpb.ContainerRef{cont}}},
		{ContainersSuspended: &ledgerpb.ContainersSuspended{Containers: []*ledgerpb.ContainerRef{cont}}},
		{ContainersResumed: &ledgerpb.ContainersResumed{Containers: []*ledgerpb.ContainerRef{cont}}},
		{ContainerResized: &ledgerpb.ContainerResized{Container: cont}},
		{ContainerConfirmed: &ledgerpb.ContainerConfirmed{Container: cont}},
		{ContainerLevelChanged: &ledgerpb.ContainerLevelChanged{Container: cont, Version: 1}},
		{NodeUpdated: &ledgerpb.NodeUpdated{Node: NodeRef(unknown)}},
		{NodeForgotten: &ledgerpb.NodeForgotten{Node: NodeRef(unknown)}},
		{KeyActivated: &ledgerpb.KeyActivated{Kind: ledgerpb.KeyKind_WEB}},
		{DelegationRenewed: &ledgerpb.DelegationRenewed{Sequence: 2, RenewBy: 1}},
		{DelegationsEnded: &ledgerpb.DelegationsEnded{Sequences: []int32{1, 2}}},
	} {
		if c.ApplicationUpdated != nil {
			c.ApplicationUpdated.App = AppRef(app(9))
		}
		refuse(t, s, c, ErrUnknown)
	}
	for _, c := range []*ledgerpb.Command{
		start(attempt(2, 1)),                       // it has ended
		endApp(2, pb.YarnApplicationState_KILLED),  // again
		endApp(3, pb.YarnApplicationState_RUNNING), // no end
		{NodeRegistered: &ledgerpb.NodeRegistered{Node: &ledgerpb.NodeRef{Port: 1}}},
		{NodeForgotten: &ledgerpb.NodeForgotten{Node: NodeRef(node1)}},
		{DelegationIssued: &ledgerpb.DelegationIssued{Sequence: 1}},
		{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: Version}},
		{ContainersReported: &ledgerpb.ContainersReported{Containers: ContainerRefs(container(1, 2, 2))}},
	} {
		refuse(t, s, c, nil)
	}
	// An attempt that has ended is over, also while it's the last one.
	run(t, s, 50, endAttempt(attempt(1, 2), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, true))
	over := AttemptRef(attempt(1, 2))
	for _, c := range []*ledgerpb.Command{
		{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: over}},
		{AttemptRegistered: &ledgerpb.AttemptRegistered{Attempt: over}},
		{AttemptFinishing: &ledgerpb.AttemptFinishing{Attempt: over}},
		endAttempt(attempt(1, 2), pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED, false),
		allocate(container(1, 2, 3), false),
	} {
		refuse(t, s, c, nil)
	}
}

func TestLeadershipIsOfferedUntilSomebodyLeads(t *testing.T) {
	s := world(t)
	expect(t, s, 40, &ledgerpb.Command{LeadershipOffered: &ledgerpb.LeadershipOffered{RmId: "rm2"}}, func(want *State) { want.Offered = "rm2" })
	s.Void = 3
	want := s.Clone()
	want.Leaders, want.Leader, want.Offered, want.Void = 2, "rm2", "", 0
	lead := commands{{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm2"}}}.at(50)
	lead.Leadership = 2
	mustApply(t, s, lead)
	for _, d := range differences(s, want) {
		t.Error(d)
	}
}

func TestQueuesAreConfiguredAsAWhole(t *testing.T) {
	s := world(t)
	settings := map[string]string{"a": "b"}
	expect(t, s, 40, &ledgerpb.Command{QueuesConfigured: &ledgerpb.QueuesConfigured{Settings: settings, FromFile: true, Version: 3}}, func(want *State) {
		want.Queues = QueueConf{Version: 3, Settings: settings, FromFile: true, Time: created + 40}
	})
	expect(t, s, 50, &ledgerpb.Command{QueuesConfigured: &ledgerpb.QueuesConfigured{Version: 4}}, func(want *State) {
		want.Queues = QueueConf{Version: 4, Time: created + 50}
	})
}

func TestDelegationTokens(t *testing.T) {
	s := world(t)
	issue := func(seq int32) *ledgerpb.Command {
		return &ledgerpb.Command{DelegationIssued: &ledgerpb.DelegationIssued{Sequence: seq, Identifier: []byte{1}, Password: []byte{2}, RenewBy: 30}}
	}
	token := Delegation{Identifier: []byte{1}, Password: []byte{2}, RenewBy: 30}
	for _, seq := range []int32{1, 3, 2} {
		expect(t, s, 40, issue(seq), func(want *State) {
			want.Delegations[seq] = token
			want.LastDelegation = max(want.LastDelegation, seq)
		})
	}
	expect(t, s, 40, &ledgerpb.Command{DelegationRenewed: &ledgerpb.DelegationRenewed{Sequence: 2, RenewBy: 60}}, func(want *State) {
		want.Delegations[2] = Delegation{Identifier: []byte{1}, Password: []byte{2}, RenewBy: 60}
	})
	expect(t, s, 40, &ledgerpb.Command{DelegationsEnded: &ledgerpb.DelegationsEnded{Sequences: []int32{3, 1}}}, func(want *State) {
		delete(want.Delegations, 1)
		delete(want.Delegations, 3)
	})
}

// Keys wait as the next one only if they are to.
func TestRollingAKeyChangesItsKindAlone(t *testing.T) {
	s := world(t)
	roll := func(kind ledgerpb.KeyKind, id int32, next bool) *ledgerpb.Command {
		return &ledgerpb.Command{KeyRolled: &ledgerpb.KeyRolled{Kind: kind, KeyId: id, Secret: []byte{byte(id)}, Next: next}}
	}
	key := func(id int32, ms int64) Key { return Key{ID: id, Secret: []byte{byte(id)}, Rolled: created + ms} }
	run(t, s, 1, roll(ledgerpb.KeyKind_WEB, 9, false))
	expect(t, s, 2, roll(ledgerpb.KeyKind_NM, 1, false), func(want *State) { want.Keys[ledgerpb.KeyKind_NM] = KeyRing{Current: key(1, 2)} })
	expect(t, s, 3, roll(ledgerpb.KeyKind_NM, 2, true), func(want *State) {
		want.Keys[ledgerpb.KeyKind_NM] = KeyRing{Current: key(1, 2), Next: key(2, 3)}
	})
	expect(t, s, 4, &ledgerpb.Command{KeyActivated: &ledgerpb.KeyActivated{Kind: ledgerpb.KeyKind_NM}}, func(want *State) {
		want.Keys[ledgerpb.KeyKind_NM] = KeyRing{Current: key(2, 3), Previous: key(1, 2)}
	})
}

// Each state has the name and the public state that Hadoop gives it.
func TestStatesAsClientsSeeThem(t *testing.T) {
	for s, want := range map[AppState]string{
		AppAccepted: "ACCEPTED ACCEPTED", AppRunning: "RUNNING RUNNING", AppFinishing: "FINISHING FINISHED",
		AppFinished: "FINISHED FINISHED", AppFailed: "FAILED FAILED", AppKilled: "KILLED KILLED",
	} {
		if got := s.String() + " " + s.Public().String(); got != want {
			t.Errorf("%d: %s", s, got)
		}
	}
	for s, want := range map[AttemptState]pb.YarnApplicationAttemptState{
		AttemptScheduled: pb.YarnApplicationAttemptState_APP_ATTEMPT_SCHEDULED, AttemptAllocated: pb.YarnApplicationAttemptState_APP_ATTEMPT_ALLOCATED,
		AttemptLaunched: pb.YarnApplicationAttemptState_APP_ATTEMPT_LAUNCHED, AttemptRunning: pb.YarnApplicationAttemptState_APP_ATTEMPT_RUNNING,
		AttemptFinishing: pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHING, AttemptFinished: pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHED,
		AttemptFailed: pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, AttemptKilled: pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED,
	} {
		if s.Public() != want || "APP_ATTEMPT_"+s.String() != want.String() || s.Ended() != (s >= AttemptFinished) {
			t.Errorf("%d: %s, %v, ended: %v", s, s, s.Public(), s.Ended())
		}
	}
}

// What an application leaves behind of containers whose end nobody asked for goes with its attempt.
func TestEndsThatNobodyAskedForGoWithTheAttempt(t *testing.T) {
	s := world(t)
	run(t, s, 40, complete(container(1, 2, 2), 3))
	run(t, s, 50, endAttempt(attempt(1, 2), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, false))
	a := s.Apps[app(1)]
	if c := last(a.Past); a.Containers.Len() != 0 || c.ID != container(1, 2, 2) || c.ExitStatus != 3 || c.Finished != created+40 {
		t.Errorf("%d are left; %+v", a.Containers.Len(), c)
	}
}

// Attempts and containers are found by their ids, among those of applications that come and go.
func TestWhatIsThereIsFoundByItsID(t *testing.T) {
	s := world(t)
	a := s.Apps[app(1)]
	for id, want := range map[records.AttemptID]*Attempt{attempt(1, 1): a.Attempts[0], attempt(1, 2): a.Attempts[1], attempt(1, 3): nil, attempt(2, 1): nil, attempt(9, 1): nil} {
		if s.Attempt(id) != want {
			t.Errorf("%v: %v", id, s.Attempt(id))
		}
	}
	if c := s.Container(container(1, 2, 2)); c == nil || c.ID != container(1, 2, 2) || s.Container(container(9, 2, 2)) != nil {
		t.Errorf("%v", c)
	}
}
