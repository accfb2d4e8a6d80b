package feed

import (
	"strings"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Of returns the events of a batch, which the ledger has just applied.
func Of(b *ledgerpb.Batch, s *ledger.State) (out []Event) {
	for _, c := range b.GetCommands() {
		if c.ContainersAllocated != nil || c.ContainersRunning != nil || c.ContainersCompleted != nil || c.ContainersReported != nil {
			continue // the many
		}
		if e, ok := of(c, s); ok {
			e.Time = b.GetTime()
			out = append(out, e)
		}
	}
	return out
}

func of(c *ledgerpb.Command, s *ledger.State) (Event, bool) {
	switch {
	case c.ApplicationSubmitted != nil:
		return application(s, c.ApplicationSubmitted.GetApp(), "submitted", ""), true
	case c.ApplicationUpdated != nil:
		return updated(s, c.ApplicationUpdated)
	case c.ApplicationEnded != nil:
		return application(s, c.ApplicationEnded.GetApp(), "ended", c.ApplicationEnded.GetDiagnostics()), true
	case c.AttemptStarted != nil:
		return attempt(s, c.AttemptStarted.GetAttempt(), "started", ""), true
	case c.AttemptLaunched != nil:
		return attempt(s, c.AttemptLaunched.GetAttempt(), "launched", ""), true
	case c.AttemptRegistered != nil:
		return attempt(s, c.AttemptRegistered.GetAttempt(), "registered", ""), true
	case c.AttemptFinishing != nil:
		return attempt(s, c.AttemptFinishing.GetAttempt(), "finishing", c.AttemptFinishing.GetDiagnostics()), true
	case c.AttemptEnded != nil:
		return attempt(s, c.AttemptEnded.GetAttempt(), "ended", c.AttemptEnded.GetDiagnostics()), true
	case c.ContainerLevelChanged != nil:
		return levelled(s, c.ContainerLevelChanged), true
	case c.NodeRegistered != nil:
		return node(s, c.NodeRegistered.GetNode(), "registered"), true
	case c.NodeUpdated != nil:
		return node(s, c.NodeUpdated.GetNode(), "changed"), true
	case c.NodeForgotten != nil:
		return node(s, c.NodeForgotten.GetNode(), "forgotten"), true
	case c.NodeLabelsChanged != nil:
		return Event{Kind: Node, What: "labelled"}, true
	case c.QueuesConfigured != nil:
		return Event{Kind: Queues, What: "configured"}, true
	case c.QueuesChanged != nil:
		return Event{Kind: Queues, What: "changed"}, true
	case c.LeaderStarted != nil:
		return Event{Kind: Leadership, What: "began", Subject: c.LeaderStarted.GetRmId()}, true
	}
	return Event{}, false
}

// application returns an event of an application as it is now.
func application(s *ledger.State, r *ledgerpb.AppRef, what, detail string) Event {
	e := Event{Kind: Application, What: what, App: records.ApplicationID{ClusterTimestamp: r.GetTimestamp(), ID: r.GetId()}, Detail: detail}
	if a := s.Apps[e.App]; a != nil {
		e.User, e.Queue, e.Name, e.State = a.User, a.Queue, a.Context.GetApplicationName(), a.State.Public().String()
	}
	return e
}

func updated(s *ledger.State, u *ledgerpb.ApplicationUpdated) (Event, bool) {
	what := ""
	switch {
	case u.GetKillRequested():
		what = "killing"
	case u.Queue != nil:
		what = "moved"
	case u.Priority != nil:
		what = "prioritized"
	case u.Expires != nil:
		what = "lifetime changed"
	case u.Diagnostics != nil:
		what = "explained"
	default:
		return Event{}, false
	}
	return application(s, u.GetApp(), what, u.GetDiagnostics()), true
}

func attempt(s *ledger.State, r *ledgerpb.AttemptRef, what, detail string) Event {
	e := application(s, r.GetApp(), what, detail)
	e.Kind, e.State = Attempt, ""
	e.Subject = records.AttemptID{App: e.App, Attempt: r.GetAttempt()}.String()
	if a := s.Apps[e.App]; a != nil {
		if t := a.Attempt(r.GetAttempt()); t != nil {
			e.State = t.State.String()
		}
	}
	return e
}

func levelled(s *ledger.State, l *ledgerpb.ContainerLevelChanged) Event {
	e := application(s, l.GetContainer().GetAttempt().GetApp(), "level changed", "")
	e.Kind, e.State = Container, l.GetLevel().String()
	e.Subject = records.ContainerID{Attempt: records.AttemptID{App: e.App, Attempt: l.GetContainer().GetAttempt().GetAttempt()}, ID: l.GetContainer().GetId()}.String()
	switch cause := l.GetCause(); {
	case l.GetLevel() == ledgerpb.Level_RUNNING:
	case cause.GetQueue() != "":
		e.Detail = "for queue " + cause.GetQueue()
	case cause.GetUser() == ledger.ForShortTasks:
		e.Detail = "for short tasks of its node"
	case cause.GetUser() != "":
		e.Detail = "by user " + cause.GetUser()
	default:
		e.Detail = "by its ApplicationMaster"
	}
	return e
}

func node(s *ledger.State, r *ledgerpb.NodeRef, what string) Event {
	id := records.NodeID{Host: r.GetHost(), Port: r.GetPort()}
	e := Event{Kind: Node, What: what, Subject: id.String()}
	if n := s.Nodes[id]; n != nil {
		e.State = strings.TrimPrefix(pb.NodeState_name[int32(n.State)], "NS_")
		e.Detail = n.HealthReport
	}
	return e
}
