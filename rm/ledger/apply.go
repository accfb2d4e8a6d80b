package ledger

import (
	"errors"
	"fmt"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// ErrUnknown is wrapped by errors of commands that name something the ledger doesn't have.
var ErrUnknown = errors.New("not in the ledger")

// ErrDeposed is returned for batches of a leader that was deposed.
var ErrDeposed = errors.New("made by a leader that was deposed")

// Apply applies a batch. A command that can't be applied changes nothing; the others of the batch still count. The error
// joins the errors of all refused commands. Leaders try every command on their own copy first, so such an error
// means a defect, the same one on every member: the leadership ends, and what its leader sent before it knew is void.
//
// A *NewerError or *DivergedError means that this member must stop; the batch has changed nothing.
func (s *State) Apply(b *ledgerpb.Batch) error {
	if v := b.GetVersion(); v > Version {
		return &NewerError{Version: v}
	}
	if n := s.expected(b); b.GetLeadership() != n {
		return fmt.Errorf("batch of leadership %d during %d: %w", b.GetLeadership(), n, ErrDeposed)
	}
	if err := s.agrees(b); err != nil {
		return err
	}
	var errs []error
	for i, c := range b.GetCommands() {
		if err := s.ApplyCommand(b.GetTime(), c); err != nil {
			errs = append(errs, fmt.Errorf("command %d of %d: %w", i+1, len(b.GetCommands()), err))
		}
	}
	if len(errs) > 0 && s.Version >= 2 {
		s.Refused++
		s.Void = 1
	}
	return errors.Join(errs...)
}

// maxVoid is the number of batches that a leader may have sent before it knows that one was refused. It has fewer under way.
const maxVoid = 16

// agrees checks a batch against the batches that this member has refused so far.
func (s *State) agrees(b *ledgerpb.Batch) error {
	if s.Version < 2 {
		return nil
	}
	if begins(b) {
		if n := b.GetCommands()[0].LeaderStarted.GetRefused(); n != s.Refused {
			return &DivergedError{Refused: s.Refused, Leader: b.GetCommands()[0].LeaderStarted.GetRmId(), LeaderRefused: n}
		}
		return nil
	}
	if s.Void == 0 {
		return nil
	}
	if s.Void >= maxVoid { // its leader goes on, and so has refused nothing
		return &DivergedError{Refused: s.Refused, Leader: s.Leader, LeaderRefused: s.Refused - 1}
	}
	s.Void++
	return fmt.Errorf("batch behind one that was refused: %w", ErrDeposed)
}

// begins reports whether a batch is the first of a leadership.
func begins(b *ledgerpb.Batch) bool {
	return len(b.GetCommands()) > 0 && b.GetCommands()[0].LeaderStarted != nil
}

// expected is the number of the leadership whose batches are valid now; a batch that starts a leadership must have the next number.
func (s *State) expected(b *ledgerpb.Batch) int64 {
	if begins(b) {
		return s.Leaders + 1
	}
	return s.Leaders
}

// ApplyCommand applies one command of a batch that was made at now (ms since 1970), as Apply does.
func (s *State) ApplyCommand(now int64, c *ledgerpb.Command) error {
	switch {
	case c.ContainersAllocated != nil:
		return s.containersAllocated(now, c.ContainersAllocated)
	case c.ContainersRunning != nil:
		return s.containersRunning(now, c.ContainersRunning)
	case c.ContainersCompleted != nil:
		return s.containersCompleted(now, c.ContainersCompleted)
	case c.ContainersReported != nil:
		return s.containersReported(c.ContainersReported)
	case c.ContainerResized != nil:
		return s.containerResized(now, c.ContainerResized)
	case c.ContainerConfirmed != nil:
		return s.containerConfirmed(c.ContainerConfirmed)
	case c.ContainersSuspended != nil:
		return s.containersSuspended(c.ContainersSuspended.GetContainers(), true)
	case c.ContainersResumed != nil:
		return s.containersSuspended(c.ContainersResumed.GetContainers(), false)
	case c.ContainerLevelChanged != nil:
		return s.containerLevelChanged(now, c.ContainerLevelChanged)
	case c.NodeRegistered != nil:
		return s.nodeRegistered(now, c.NodeRegistered)
	case c.NodeUpdated != nil:
		return s.nodeUpdated(c.NodeUpdated)
	case c.NodeForgotten != nil:
		return s.nodeForgotten(c.NodeForgotten)
	case c.AttemptStarted != nil:
		return s.attemptStarted(now, c.AttemptStarted)
	case c.AttemptLaunched != nil:
		return s.attemptLaunched(now, c.AttemptLaunched)
	case c.AttemptRegistered != nil:
		return s.attemptRegistered(now, c.AttemptRegistered)
	case c.AttemptFinishing != nil:
		return s.attemptFinishing(now, c.AttemptFinishing)
	case c.AttemptEnded != nil:
		return s.attemptEnded(now, c.AttemptEnded)
	case c.ApplicationIdIssued != nil:
		s.applicationIDIssued()
		return nil
	case c.ApplicationSubmitted != nil:
		return s.applicationSubmitted(now, c.ApplicationSubmitted)
	case c.ApplicationUpdated != nil:
		return s.applicationUpdated(c.ApplicationUpdated)
	case c.ApplicationEnded != nil:
		return s.applicationEnded(now, c.ApplicationEnded)
	case c.ApplicationsForgotten != nil:
		return s.applicationsForgotten(c.ApplicationsForgotten)
	case c.ClusterCreated != nil:
		return s.clusterCreated(c.ClusterCreated)
	case c.LeaderStarted != nil:
		s.Leaders++
		s.Leader = c.LeaderStarted.GetRmId()
		s.Offered = ""
		s.Void = 0
		return nil
	case c.LeadershipOffered != nil:
		s.Offered = c.LeadershipOffered.GetRmId()
		return nil
	case c.LedgerVersionRaised != nil:
		return s.versionRaised(c.LedgerVersionRaised)
	case c.KeyRolled != nil:
		s.keyRolled(now, c.KeyRolled)
		return nil
	case c.KeyActivated != nil:
		return s.keyActivated(c.KeyActivated)
	case c.DelegationIssued != nil:
		return s.delegationIssued(c.DelegationIssued)
	case c.DelegationRenewed != nil:
		return s.delegationRenewed(c.DelegationRenewed)
	case c.DelegationsEnded != nil:
		return s.delegationsEnded(c.DelegationsEnded)
	case c.QueuesConfigured != nil:
		s.queuesConfigured(now, c.QueuesConfigured)
		return nil
	}
	return errors.New("a command has no kind")
}

func (s *State) clusterCreated(c *ledgerpb.ClusterCreated) error {
	if s.Timestamp != 0 {
		return fmt.Errorf("the cluster was created already, at %d", s.Timestamp)
	}
	s.Timestamp = c.GetTimestamp()
	return nil
}

func (s *State) keyRolled(now int64, c *ledgerpb.KeyRolled) {
	key := Key{ID: c.GetKeyId(), Secret: c.GetSecret(), Rolled: now}
	ring := s.Keys[c.GetKind()]
	if c.GetNext() {
		ring.Next = key
	} else {
		ring = KeyRing{Current: key, Previous: ring.Current}
	}
	s.Keys[c.GetKind()] = ring
}

func (s *State) queuesConfigured(now int64, c *ledgerpb.QueuesConfigured) {
	s.Queues = QueueConf{Version: c.GetVersion(), Settings: c.GetSettings(), FromFile: c.GetFromFile(), Time: now}
}

func (s *State) keyActivated(c *ledgerpb.KeyActivated) error {
	ring := s.Keys[c.GetKind()]
	if ring.Next.Secret == nil {
		return fmt.Errorf("no next key of kind %v: %w", c.GetKind(), ErrUnknown)
	}
	s.Keys[c.GetKind()] = KeyRing{Current: ring.Next, Previous: ring.Current}
	return nil
}

func (s *State) applicationSubmitted(now int64, c *ledgerpb.ApplicationSubmitted) error {
	id := appID(c.GetApp())
	if s.Apps[id] != nil {
		return fmt.Errorf("%v was submitted already", id)
	}
	s.Apps[id] = newApplication(c, now)
	return nil
}

// applicationIDIssued increments the application number. Clients may submit under ids that they made up, however high. Such an id
// must not be issued again, and must not use up the ids below it.
func (s *State) applicationIDIssued() {
	for {
		s.LastApplication++
		if s.Apps[records.ApplicationID{ClusterTimestamp: s.Timestamp, ID: s.LastApplication}] == nil {
			return
		}
	}
}

func newApplication(c *ledgerpb.ApplicationSubmitted, now int64) *Application {
	return &Application{
		ID:             appID(c.GetApp()),
		User:           c.GetUser(),
		Queue:          c.GetQueue(),
		Priority:       c.GetPriority(),
		Context:        c.GetContext(),
		MaxAttempts:    c.GetMaxAttempts(),
		AMResource:     amounts(c.GetAmResource()),
		Expires:        c.GetExpires(),
		State:          AppAccepted,
		LogAggregation: pb.LogAggregationStatus_LOG_NOT_START,
		SubmitTime:     now,
	}
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
		drop(now, app, cont, records.ExitKilledAfterAppCompletion)
	}
	app.State = state
	app.FinalStatus = pb.FinalApplicationStatus(c.GetFinalStatus())
	app.Diagnostics = c.GetDiagnostics()
	app.FinishTime = now
	if s.Version >= 2 {
		app.Context = remains(app.Context)
	}
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
			delete(s.Apps, app.ID)
		}
	}
	return errors.Join(errs...)
}

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
			drop(now, app, cont, records.ExitKilledByResourceManager)
		}
	}
	return nil
}
