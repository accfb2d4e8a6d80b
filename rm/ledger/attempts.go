package ledger

import (
	"fmt"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func (s *State) attemptStarted(now int64, c *ledgerpb.AttemptStarted) error {
	app, err := s.liveApp(c.GetAttempt().GetApp())
	if err != nil {
		return err
	}
	id := attemptID(c.GetAttempt())
	next := int32(1)
	if t := app.Current(); t != nil {
		if !t.State.Ended() {
			return fmt.Errorf("%v can't start: %v is %v", id, t.ID, t.State)
		}
		next = t.ID.Attempt + 1
	}
	if id.Attempt != next {
		return fmt.Errorf("%v can't start: the next attempt is number %d", id, next)
	}
	if next == 1 {
		s.Submitted++
	}
	app.Attempts = append(app.Attempts, &Attempt{
		ID: id, StartTime: now, RPCPort: -1, ExitStatus: records.ExitInvalid,
	})
	if s.Version >= 2 {
		app.forgetAttempts()
	}
	app.State = AppAccepted
	app.weigh(s)
	return nil
}

// liveAttempt finds an attempt if it is its application's current one and hasn't ended.
func (s *State) liveAttempt(r *ledgerpb.AttemptRef) (*Application, *Attempt, error) {
	app, err := s.liveApp(r.GetApp())
	if err != nil {
		return nil, nil, err
	}
	t := app.Current()
	if id := attemptID(r); t == nil || t.ID != id {
		return nil, nil, fmt.Errorf("%v as the current attempt: %w", id, ErrUnknown)
	}
	if t.State.Ended() {
		return nil, nil, fmt.Errorf("%v is %v already", t.ID, t.State)
	}
	return app, t, nil
}

func (s *State) attemptLaunched(now int64, c *ledgerpb.AttemptLaunched) error {
	app, t, err := s.liveAttempt(c.GetAttempt())
	if err != nil {
		return err
	}
	if t.State > AttemptAllocated {
		return fmt.Errorf("%v was launched already", t.ID)
	}
	t.State = AttemptLaunched
	t.LaunchTime = now
	if app.LaunchTime == 0 {
		app.LaunchTime = now
	}
	return nil
}

// attemptRegistered also handles an attempt that registers again with a new leader.
func (s *State) attemptRegistered(now int64, c *ledgerpb.AttemptRegistered) error {
	app, t, err := s.liveAttempt(c.GetAttempt())
	if err != nil {
		return err
	}
	if t.State > AttemptRunning {
		return fmt.Errorf("%v is %v already", t.ID, t.State)
	}
	if t.LaunchTime == 0 {
		t.LaunchTime = now
	}
	if app.LaunchTime == 0 {
		app.LaunchTime = now
	}
	if t.RegisterTime == 0 {
		t.RegisterTime = now
	}
	t.State = AttemptRunning
	t.Host, t.RPCPort, t.TrackingURL = c.GetHost(), c.GetRpcPort(), c.GetTrackingUrl()
	app.State = AppRunning
	app.weigh(s)
	return nil
}

func (s *State) attemptFinishing(now int64, c *ledgerpb.AttemptFinishing) error {
	app, t, err := s.liveAttempt(c.GetAttempt())
	if err != nil {
		return err
	}
	t.State = AttemptFinishing
	t.FinalStatus = pb.FinalApplicationStatus(c.GetFinalStatus())
	t.Diagnostics = c.GetDiagnostics()
	t.TrackingURL = c.GetTrackingUrl()
	app.State = AppFinishing
	app.FinalStatus = t.FinalStatus
	app.Diagnostics = t.Diagnostics
	app.FinishTime = now
	app.weigh(s)
	return nil
}

func (s *State) attemptEnded(now int64, c *ledgerpb.AttemptEnded) error {
	app, t, err := s.liveAttempt(c.GetAttempt())
	if err != nil {
		return err
	}
	switch pb.YarnApplicationAttemptState(c.GetState()) {
	case pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHED:
		t.State = AttemptFinished
	case pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED:
		t.State = AttemptKilled
	case pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED:
		t.State = AttemptFailed
	default:
		return fmt.Errorf("%v: %d is not a state to end in", t.ID, c.GetState())
	}
	if c.GetDiagnostics() != "" {
		t.Diagnostics = c.GetDiagnostics()
	}
	t.ExitStatus = c.GetExitStatus()
	t.Excused = c.GetExcused()
	t.FinishTime = now
	for cont := range app.Containers.All() {
		if cont.AM || !c.GetKeepContainers() {
			drop(s, now, app, cont, records.ExitKilledByResourceManager)
		}
	}
	app.weigh(s)
	return nil
}
