package ledger

import (
	"errors"
	"fmt"
	"math"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func (s *State) applicationSubmitted(now int64, c *ledgerpb.ApplicationSubmitted) error {
	id := appID(c.GetApp())
	if s.Apps[id] != nil {
		return fmt.Errorf("%v was submitted already", id)
	}
	app := newApplication(c, now)
	s.Apps[id] = app
	app.weigh(s)
	if id.ClusterTimestamp == s.Timestamp {
		s.Issued.Remove(id.ID)
	}
	return nil
}

// applicationIDIssued increments the application number. Clients of earlier releases could submit under ids that they made up, however high.
// Such an id must not be issued again, and must not use up the ids below it.
func (s *State) applicationIDIssued(c *ledgerpb.ApplicationIdIssued) error {
	next := s.LastApplication
	for {
		if next == math.MaxInt32 {
			return errNoIDs
		}
		next++
		if s.Apps[records.ApplicationID{ClusterTimestamp: s.Timestamp, ID: next}] == nil {
			break
		}
	}
	s.LastApplication = next
	if s.Version >= OwnerVersion {
		s.Issued.Add(next, c.GetUser())
	}
	return nil
}

func newApplication(c *ledgerpb.ApplicationSubmitted, now int64) *Application {
	a := &Application{
		ID:             appID(c.GetApp()),
		User:           c.GetUser(),
		Queue:          c.GetQueue(),
		Priority:       c.GetPriority(),
		MaxAttempts:    c.GetMaxAttempts(),
		AMResource:     amounts(c.GetAmResource()),
		Expires:        c.GetExpires(),
		State:          AppAccepted,
		LogAggregation: pb.LogAggregationStatus_LOG_NOT_START,
		SubmitTime:     now,
	}
	a.setContext(c.GetContext())
	return a
}

func (s *State) app(r *ledgerpb.AppRef) (*Application, error) {
	id := appID(r)
	if app := s.Apps[id]; app != nil {
		return app, nil
	}
	return nil, fmt.Errorf("%v: %w", id, ErrUnknown)
}

// liveApp finds an application that has not ended.
func (s *State) liveApp(r *ledgerpb.AppRef) (*Application, error) {
	app, err := s.app(r)
	if err == nil && app.State.Ended() {
		return nil, fmt.Errorf("%v is %v already", app.ID, app.State)
	}
	return app, err
}

func (s *State) applicationUpdated(c *ledgerpb.ApplicationUpdated) error {
	app, err := s.app(c.GetApp())
	if err != nil {
		return err
	}
	if c.Priority != nil {
		app.Priority = c.GetPriority()
	}
	if c.Queue != nil {
		app.Queue = c.GetQueue()
	}
	if c.Expires != nil {
		app.Expires = c.GetExpires()
	}
	if c.Diagnostics != nil {
		app.Diagnostics = c.GetDiagnostics()
	}
	if c.KillRequested != nil {
		app.KillRequested = c.GetKillRequested()
	}
	if c.LogAggregation != nil {
		app.LogAggregation = pb.LogAggregationStatus(c.GetLogAggregation())
	}
	app.weigh(s)
	return nil
}

// applicationEnded ends an application and all its live containers.
func (s *State) applicationEnded(now int64, c *ledgerpb.ApplicationEnded) error {
	app, err := s.liveApp(c.GetApp())
	if err != nil {
		return err
	}
	state := endState(pb.YarnApplicationState(c.GetState()))
	if state == 0 {
		return fmt.Errorf("%v: %d is not a state to end in", app.ID, c.GetState())
	}
	if t := app.Current(); t != nil && !t.State.Ended() {
		return fmt.Errorf("%v can't end: its attempt %v is %v", app.ID, t.ID, t.State)
	}
	for cont := range app.Containers.All() {
		drop(s, now, app, cont, records.ExitKilledAfterAppCompletion)
	}
	app.State = state
	app.FinalStatus = pb.FinalApplicationStatus(c.GetFinalStatus())
	app.Diagnostics = c.GetDiagnostics()
	app.FinishTime = now
	if s.Version >= 2 {
		app.setContext(limit.Remains(app.Context))
	}
	app.weigh(s)
	if len(app.Attempts) > 0 {
		s.Ended[state]++
	}
	return nil
}

func endState(p pb.YarnApplicationState) AppState {
	for _, s := range []AppState{AppFinished, AppFailed, AppKilled} {
		if s.Public() == p {
			return s
		}
	}
	return 0
}

func (s *State) applicationsForgotten(c *ledgerpb.ApplicationsForgotten) error {
	var errs []error
	for _, r := range c.GetApps() {
		app, err := s.app(r)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !app.State.Ended():
			errs = append(errs, fmt.Errorf("%v can't be forgotten: it is %v", app.ID, app.State))
		default:
			s.Kept.Remove(&app.counted)
			delete(s.Apps, app.ID)
		}
	}
	return errors.Join(errs...)
}
