package leader

import (
	"math"

	"heddle/rm/leader/refusal"
	"heddle/rm/leader/session"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Registration is the answer to an ApplicationMaster that registers.
type Registration struct {
	Maximum  records.Resource
	Queue    string
	ACLs     []*pb.ApplicationACLMap
	Previous []Grant          // containers of earlier attempts that continue
	NewNodes []records.NodeID // nodes of Previous for which it needs a token
}

// Register begins, or after a change of leaders resumes, the dialogue with an ApplicationMaster.
func (ms *masters) Register(id records.AttemptID, host string, port int32, trackingURL string) (Registration, error) {
	s := ms.masterSessions.Get(id)
	if s == nil {
		return Registration{}, refusal.New(refusal.InvalidAMRequest, "Application doesn't exist in cache %v", id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dialogue.Registered() {
		return Registration{}, refusal.New(refusal.InvalidAMRequest, "Application Master is already registered : %v", id.App)
	}
	s.seen.At(ms.Now())
	trackingURL = limit.Head(trackingURL, limit.MaxURL)
	var r Registration
	err := ms.Do(func() error {
		app, attempt, err := ms.liveAttempt(id)
		if err != nil {
			return err
		}
		if attempt.State < ledger.AttemptFinishing {
			ms.Enter(&ledgerpb.Command{AttemptRegistered: &ledgerpb.AttemptRegistered{
				Attempt: ledger.AttemptRef(id), Host: host, RpcPort: port, TrackingUrl: trackingURL,
			}})
		}
		ms.AfterCommit(ms.apps[id.App].box.Greet)
		r = Registration{Maximum: ms.requests.Maximum(), Queue: app.Queue, ACLs: app.Context.GetAmContainerSpec().GetApplication_ACLs()}
		for c := range app.Containers.All() {
			if c.Live() && c.ID.Attempt != id {
				r.Previous = append(r.Previous, session.GrantOf(c))
			}
		}
		return nil
	})
	if err != nil {
		return Registration{}, err
	}
	s.dialogue.Register()
	r.NewNodes = ms.newNodes(s, r.Previous)
	return r, nil
}

// Finish unregisters an ApplicationMaster. An attempt that is over already is fine, as an ApplicationMaster repeats the call until it has an answer.
func (ms *masters) Finish(id records.AttemptID, final pb.FinalApplicationStatus, diagnostics, trackingURL string) error {
	s := ms.masterSessions.Get(id)
	if s == nil {
		return ms.finished(id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.At(ms.Now())
	if !s.dialogue.Registered() {
		return refusal.New(refusal.NotRegistered, "Application Master is trying to unregister before registering for: %v", id.App)
	}
	err := ms.Do(func() error {
		app, attempt, err := ms.liveAttempt(id)
		if err != nil {
			return err
		}
		if attempt.State == ledger.AttemptFinishing {
			return nil
		}
		ms.Enter(&ledgerpb.Command{AttemptFinishing: &ledgerpb.AttemptFinishing{
			Attempt: ledger.AttemptRef(id), FinalStatus: int32(final), Diagnostics: diagnostics,
			TrackingUrl: trackingURL,
		}})
		ms.sched.Apply(&eventlog.Event{Op: eventlog.ClearAsks, App: ms.apps[app.ID].handle})
		if app.Context.GetUnmanagedAm() {
			ms.attempts.finish(app, attempt, records.ExitSuccess)
		}
		return nil
	})
	if refusal.Is(err, refusal.NoSuchAttempt) {
		return ms.finished(id)
	}
	if err == nil {
		s.progress.Store(math.Float32bits(1))
	}
	return err
}

// finished returns nil when an attempt has finished properly.
func (ms *masters) finished(id records.AttemptID) error {
	return ms.Do(func() error {
		if a := ms.work.Attempt(id); a == nil || a.State != ledger.AttemptFinished {
			return refusal.New(refusal.NoSuchAttempt, "Application attempt %v doesn't exist in ApplicationMasterService cache.", id)
		}
		return nil
	})
}

// newNodes picks the nodes for which an ApplicationMaster needs a token: it has none yet, or one of an old key.
func (ms *masters) newNodes(s *amSession, grants []Grant) []records.NodeID {
	var nodes []records.NodeID
	key := ms.keys.NMTokenKey()
	for i := range grants {
		n := grants[i].Node
		if have, ok := s.keys[n]; !ok || have != key {
			s.keys[n] = key
			nodes = append(nodes, n)
		}
	}
	return nodes
}
