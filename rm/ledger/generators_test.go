package ledger

import (
	"cmp"
	"maps"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// generators draw commands of each kind, by the names that the kinds have in ledgerpb.Command. Mostly they name what there is in the
// state, and so are taken; at times they don't.
var generators = map[string]func(*rapid.T, *State) *ledgerpb.Command{
	"cluster_created": func(*rapid.T, *State) *ledgerpb.Command { return cluster() },
	"leader_started": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{LeaderStarted: &ledgerpb.LeaderStarted{RmId: text(t, "rm"), Refused: s.Refused}}
	},
	"leadership_offered": func(t *rapid.T, _ *State) *ledgerpb.Command {
		return &ledgerpb.Command{LeadershipOffered: &ledgerpb.LeadershipOffered{RmId: text(t, "rm")}}
	},
	"ledger_version_raised": func(t *rapid.T, _ *State) *ledgerpb.Command {
		to := rapid.SampledFrom([]int32{Version, Version - 1}).Draw(t, "version")
		return &ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: to, Release: text(t, "release")}}
	},
	"key_rolled": func(t *rapid.T, _ *State) *ledgerpb.Command {
		return &ledgerpb.Command{KeyRolled: &ledgerpb.KeyRolled{
			Kind: someKey(t), KeyId: rapid.Int32().Draw(t, "key"), Secret: []byte{rapid.Byte().Draw(t, "secret")}, Next: rapid.Bool().Draw(t, "next"),
		}}
	},
	"key_activated": func(t *rapid.T, _ *State) *ledgerpb.Command {
		return &ledgerpb.Command{KeyActivated: &ledgerpb.KeyActivated{Kind: someKey(t)}}
	},
	"application_id_issued": func(t *rapid.T, s *State) *ledgerpb.Command {
		c := &ledgerpb.ApplicationIdIssued{}
		if s.Version >= OwnerVersion {
			c.User = text(t, "user")
		}
		return &ledgerpb.Command{ApplicationIdIssued: c}
	},
	"application_submitted": func(t *rapid.T, _ *State) *ledgerpb.Command {
		c := submit(rapid.Int32Range(1, 3).Draw(t, "app"))
		c.ApplicationSubmitted.Priority = rapid.Int32Range(0, 2).Draw(t, "priority")
		c.ApplicationSubmitted.Expires = rapid.Int64Range(0, 2).Draw(t, "expires")
		return c
	},
	"application_updated": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{ApplicationUpdated: &ledgerpb.ApplicationUpdated{
			App: AppRef(someApp(t, s)), Priority: maybe(t, rapid.Int32()), Queue: maybe(t, rapid.Just("root.other")), Expires: maybe(t, rapid.Int64()),
			Diagnostics: maybe(t, rapid.Just("moved")), KillRequested: maybe(t, rapid.Bool()), LogAggregation: maybe(t, rapid.Int32Range(1, 6)),
		}}
	},
	"application_ended": func(t *rapid.T, s *State) *ledgerpb.Command {
		c := endApp(someApp(t, s).ID, rapid.SampledFrom([]pb.YarnApplicationState{
			pb.YarnApplicationState_FINISHED, pb.YarnApplicationState_FAILED, pb.YarnApplicationState_KILLED,
		}).Draw(t, "state"))
		c.ApplicationEnded.Diagnostics = text(t, "why")
		return c
	},
	"applications_forgotten": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{ApplicationsForgotten: &ledgerpb.ApplicationsForgotten{Apps: []*ledgerpb.AppRef{AppRef(someApp(t, s))}}}
	},
	"attempt_started": func(t *rapid.T, s *State) *ledgerpb.Command {
		id := someAttempt(t, s)
		if t := s.Attempt(id); t != nil && t.State.Ended() {
			id.Attempt++
		}
		return start(id)
	},
	"attempt_launched": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: AttemptRef(someAttempt(t, s))}}
	},
	"attempt_registered": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{AttemptRegistered: &ledgerpb.AttemptRegistered{
			Attempt: AttemptRef(someAttempt(t, s)), Host: text(t, "host"), RpcPort: rapid.Int32().Draw(t, "port"), TrackingUrl: text(t, "url"),
		}}
	},
	"attempt_finishing": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{AttemptFinishing: &ledgerpb.AttemptFinishing{
			Attempt: AttemptRef(someAttempt(t, s)), FinalStatus: rapid.Int32Range(0, 4).Draw(t, "final"), Diagnostics: text(t, "why"),
			TrackingUrl: text(t, "url"),
		}}
	},
	"attempt_ended": func(t *rapid.T, s *State) *ledgerpb.Command {
		c := endAttempt(someAttempt(t, s), rapid.SampledFrom([]pb.YarnApplicationAttemptState{
			pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHED, pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED,
			pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED,
		}).Draw(t, "state"), rapid.Bool().Draw(t, "keep"))
		c.AttemptEnded.Excused = rapid.Bool().Draw(t, "excused")
		return c
	},
	"containers_allocated": func(t *rapid.T, s *State) *ledgerpb.Command {
		id := records.ContainerID{Attempt: someAttempt(t, s), ID: rapid.Int64Range(1, 6).Draw(t, "sequence")}
		if t := s.Attempt(id.Attempt); t != nil {
			id.ID += t.LastSequence - 1
		}
		id.ID |= s.Epoch() << records.EpochShift
		c := allocate(id, rapid.Bool().Draw(t, "am"))
		g := c.ContainersAllocated.Grants[0]
		g.Node, g.Resource = NodeRef(someNode(t)), Amounts(someSize(t))
		g.Priority, g.ExecutionType, g.Waited = rapid.Int32().Draw(t, "priority"), rapid.Int32Range(0, 2).Draw(t, "type"), rapid.Int64Range(0, 9).Draw(t, "waited")
		g.Tags = rapid.SampledFrom([][]string{nil, {"tag"}}).Draw(t, "tags")
		return c
	},
	"containers_running": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{ContainersRunning: &ledgerpb.ContainersRunning{Containers: ContainerRefs(someContainer(t, s))}}
	},
	"containers_completed": func(t *rapid.T, s *State) *ledgerpb.Command {
		c := complete(someContainer(t, s), rapid.SampledFrom([]int32{0, 1, records.ExitPreempted}).Draw(t, "exit"))
		c.ContainersCompleted.Completions[0].Unreported = rapid.Bool().Draw(t, "unreported")
		c.ContainersCompleted.Completions[0].Diagnostics = text(t, "why")
		return c
	},
	"containers_reported": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{ContainersReported: &ledgerpb.ContainersReported{Containers: ContainerRefs(someContainer(t, s))}}
	},
	"containers_suspended": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{ContainersSuspended: &ledgerpb.ContainersSuspended{Containers: ContainerRefs(someContainer(t, s))}}
	},
	"containers_resumed": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{ContainersResumed: &ledgerpb.ContainersResumed{Containers: ContainerRefs(someContainer(t, s))}}
	},
	"container_resized": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{ContainerResized: &ledgerpb.ContainerResized{
			Container: ContainerRef(someContainer(t, s)), Resource: Amounts(someSize(t)),
		}}
	},
	"container_confirmed": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{ContainerConfirmed: &ledgerpb.ContainerConfirmed{
			Container: ContainerRef(someContainer(t, s)), Resource: Amounts(someSize(t)),
		}}
	},
	"container_level_changed": func(t *rapid.T, s *State) *ledgerpb.Command {
		c := &ledgerpb.ContainerLevelChanged{
			Container: ContainerRef(someContainer(t, s)), Level: ledgerpb.Level(rapid.Int32Range(0, 4).Draw(t, "level")),
			Version: rapid.Int32Range(0, 2).Draw(t, "version"),
		}
		if there := s.Container(containerID(c.Container)); there != nil {
			c.Version += there.LevelVersion
		}
		if c.Level != ledgerpb.Level_RUNNING && rapid.Bool().Draw(t, "less") {
			c.Held = Amounts(someSize(t))
		}
		if s.Version >= CauseVersion && c.Level != ledgerpb.Level_RUNNING {
			c.Cause = Cause{Queue: text(t, "queue"), App: someApp(t, s), User: text(t, "user"), BreathEvery: rapid.Int64Range(-1, 1).Draw(t, "breath")}.record()
		}
		return &ledgerpb.Command{ContainerLevelChanged: c}
	},
	"node_registered": func(t *rapid.T, _ *State) *ledgerpb.Command {
		c := register(someNode(t), someSize(t).Times(9))
		c.NodeRegistered.Features = rapid.SampledFrom([][]string{nil, {"suspend"}}).Draw(t, "features")
		c.NodeRegistered.Missing = rapid.SampledFrom([][]string{nil, {"cgroups"}}).Draw(t, "missing")
		return c
	},
	"node_updated": func(t *rapid.T, _ *State) *ledgerpb.Command {
		c := &ledgerpb.NodeUpdated{
			Node: NodeRef(someNode(t)), State: maybe(t, rapid.Int32Range(1, 7)), HealthReport: maybe(t, rapid.Just("disks")),
			DecommissionDeadline: maybe(t, rapid.Int64()),
		}
		if rapid.Bool().Draw(t, "capability") {
			c.Capability = Amounts(someSize(t))
		}
		return &ledgerpb.Command{NodeUpdated: c}
	},
	"node_forgotten": func(t *rapid.T, _ *State) *ledgerpb.Command {
		return &ledgerpb.Command{NodeForgotten: &ledgerpb.NodeForgotten{Node: NodeRef(someNode(t))}}
	},
	"delegation_issued": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{DelegationIssued: &ledgerpb.DelegationIssued{
			Sequence: s.LastDelegation + rapid.Int32Range(0, 2).Draw(t, "on"), Identifier: []byte{rapid.Byte().Draw(t, "identifier")},
			Password: []byte{1}, RenewBy: 1000,
		}}
	},
	"delegation_renewed": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{DelegationRenewed: &ledgerpb.DelegationRenewed{Sequence: someDelegation(t, s), RenewBy: 2000}}
	},
	"delegations_ended": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{DelegationsEnded: &ledgerpb.DelegationsEnded{Sequences: []int32{someDelegation(t, s)}}}
	},
	"queues_configured": func(t *rapid.T, s *State) *ledgerpb.Command {
		return &ledgerpb.Command{QueuesConfigured: &ledgerpb.QueuesConfigured{
			Version: s.Queues.Version + 1, Settings: map[string]string{"root.queues": text(t, "queues")}, FromFile: rapid.Bool().Draw(t, "from a file"),
		}}
	},
	"queues_changed": func(t *rapid.T, s *State) *ledgerpb.Command {
		c := &ledgerpb.QueuesChanged{}
		for _, name := range []string{"a", "a.b", "a.b.c", "d"} {
			switch rapid.IntRange(0, 3).Draw(t, name) {
			case 1:
				c.Created = append(c.Created, &ledgerpb.CreatedQueue{Path: "root." + name, Parent: name != "d", User: text(t, "user"), Legacy: rapid.Bool().Draw(t, "legacy")})
			case 2:
				c.Deleted = append(c.Deleted, "root."+name)
			}
		}
		return &ledgerpb.Command{QueuesChanged: c}
	},
	"node_labels_changed": func(t *rapid.T, _ *State) *ledgerpb.Command {
		c := &ledgerpb.NodeLabelsChanged{Imported: rapid.Bool().Draw(t, "imported")}
		if name := text(t, "added"); name != "" {
			c.Added = []*ledgerpb.NodeLabel{{Name: name, Exclusive: rapid.Bool().Draw(t, "exclusive")}}
		}
		if name := text(t, "removed"); name != "" {
			c.Removed = []string{name}
		}
		for range rapid.IntRange(0, 2).Draw(t, "nodes") {
			node := NodeRef(someNode(t))
			node.Port = rapid.Int32Range(0, 1).Draw(t, "port")
			c.Nodes = append(c.Nodes, &ledgerpb.LabelledNode{Node: node, Label: text(t, "label")})
		}
		return &ledgerpb.Command{NodeLabelsChanged: c}
	},
	"usage_sampled": func(t *rapid.T, _ *State) *ledgerpb.Command {
		c := &ledgerpb.UsageSampled{All: rapid.Bool().Draw(t, "all")}
		for range rapid.IntRange(0, 2).Draw(t, "rows") {
			c.Rows = append(c.Rows, &ledgerpb.UsageRow{Name: text(t, "name"), Figures: []uint64{rapid.Uint64().Draw(t, "figure")}})
		}
		return &ledgerpb.Command{UsageSampled: c}
	},
	"course_noted": func(t *rapid.T, s *State) *ledgerpb.Command {
		c := &ledgerpb.CourseNoted{App: AppRef(someApp(t, s))}
		for range rapid.IntRange(0, 2).Draw(t, "waits") {
			c.Waits = append(c.Waits, &ledgerpb.CourseWait{Priority: rapid.Int32Range(0, 1).Draw(t, "priority"), Limit: text(t, "limit"), Begins: rapid.Bool().Draw(t, "begins")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "tasks") {
			c.Tasks = append(c.Tasks, &ledgerpb.CourseTask{Container: rapid.Int64().Draw(t, "container"), From: 1, To: rapid.Int64().Draw(t, "to"), Outcome: rapid.Int32Range(0, 2).Draw(t, "outcome")})
		}
		return &ledgerpb.Command{CourseNoted: c}
	},
	"node_attributes_changed": func(t *rapid.T, _ *State) *ledgerpb.Command {
		c := &ledgerpb.NodeAttributesChanged{}
		for range rapid.IntRange(0, 2).Draw(t, "hosts") {
			h := &ledgerpb.HostAttributes{Host: NodeRef(someNode(t)).GetHost(), Reported: rapid.Bool().Draw(t, "reported")}
			for _, name := range []string{"a", "b", text(t, "name")} {
				if rapid.Bool().Draw(t, "has") {
					h.Attributes = append(h.Attributes, &ledgerpb.NodeAttribute{Name: name, Value: text(t, "value")})
				}
			}
			c.Hosts = append(c.Hosts, h)
		}
		return &ledgerpb.Command{NodeAttributesChanged: c}
	},
}

// kinds are all kinds of commands. In often those come first, and several times, without which nothing much happens: rapid prefers what
// stands first.
var (
	kinds = slices.Sorted(maps.Keys(generators))
	often = slices.Concat([]string{
		"containers_allocated", "attempt_started", "application_submitted", "containers_allocated", "container_resized", "container_confirmed",
		"ledger_version_raised", "container_level_changed", "container_level_changed",
		"containers_running", "attempt_registered", "containers_completed", "containers_suspended", "containers_resumed", "containers_reported",
		"node_registered", "attempt_launched", "attempt_ended", "attempt_finishing", "application_ended", "applications_forgotten",
	}, kinds)
)

// kindOf is the kind of a command.
func kindOf(c *ledgerpb.Command) (kind string) {
	c.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		kind = string(fd.Name())
		return false
	})
	return kind
}

func text(t *rapid.T, what string) string {
	return rapid.SampledFrom([]string{"", "x", "yy"}).Draw(t, what)
}

// maybe draws a value for an optional field, or none.
func maybe[T any](t *rapid.T, g *rapid.Generator[T]) *T {
	if rapid.Bool().Draw(t, "set") {
		v := g.Draw(t, "value")
		return &v
	}
	return nil
}

func someKey(t *rapid.T) ledgerpb.KeyKind {
	return rapid.SampledFrom([]ledgerpb.KeyKind{ledgerpb.KeyKind_NM, ledgerpb.KeyKind_WEB}).Draw(t, "kind of key")
}

func someSize(t *rapid.T) records.Resource {
	return records.NewResource(rapid.Int64Range(1, 4).Draw(t, "GB")<<10, rapid.Int64Range(1, 2).Draw(t, "cores"))
}

func someNode(t *rapid.T) records.NodeID {
	return records.NodeID{Host: rapid.SampledFrom([]string{"n1", "n1", "n2"}).Draw(t, "host"), Port: 1}
}

func someApp(t *rapid.T, _ *State) records.ApplicationID {
	return app(rapid.Int32Range(1, 3).Draw(t, "app"))
}

// someAttempt is mostly the current attempt of an application.
func someAttempt(t *rapid.T, s *State) records.AttemptID {
	id := records.AttemptID{App: someApp(t, s), Attempt: 1}
	if a := s.Apps[id.App]; a != nil && a.Current() != nil && rapid.IntRange(0, 9).Draw(t, "current") > 0 {
		return a.Current().ID
	}
	return id
}

// someContainer is mostly one that there is.
func someContainer(t *rapid.T, s *State) records.ContainerID {
	var there []records.ContainerID
	for _, a := range s.Apps {
		for c := range a.Containers.All() {
			there = append(there, c.ID)
		}
	}
	if len(there) == 0 || rapid.IntRange(0, 9).Draw(t, "a container that is there") == 0 {
		return container(1, 1, 1)
	}
	slices.SortFunc(there, func(a, b records.ContainerID) int {
		return cmp.Or(a.Attempt.App.Compare(b.Attempt.App), cmp.Compare(a.Attempt.Attempt, b.Attempt.Attempt), cmp.Compare(a.ID, b.ID))
	})
	return rapid.SampledFrom(there).Draw(t, "container")
}

func someDelegation(t *rapid.T, s *State) int32 {
	return max(1, s.LastDelegation-rapid.Int32Range(0, 2).Draw(t, "ago"))
}
