package ledger

import (
	"errors"
	"fmt"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/queues"
)

// ErrUnknown is wrapped by errors of commands that name something the ledger doesn't have.
var ErrUnknown = errors.New("not in the ledger")

// errNoIDs is returned once all 2^31 − 1 numbers of applications were issued.
var errNoIDs = errors.New("all application ids of this cluster were issued")

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
	if n := expected(b, s.Leaders); b.GetLeadership() != n {
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
	if s.Void >= maxVoid { // its leader continues, and so has refused nothing
		return &DivergedError{Refused: s.Refused, Leader: s.Leader, LeaderRefused: s.Refused - 1}
	}
	s.Void++
	return fmt.Errorf("batch behind one that was refused: %w", ErrDeposed)
}

// begins reports whether a batch is the first of a leadership.
func begins(b *ledgerpb.Batch) bool {
	return len(b.GetCommands()) > 0 && b.GetCommands()[0].LeaderStarted != nil
}

// expected returns the number of the leadership that a batch must be of after so many leaderships; one that begins a leadership has the next number.
func expected(b *ledgerpb.Batch, leaders int64) int64 {
	if begins(b) {
		return leaders + 1
	}
	return leaders
}

// ApplyCommand applies one command of a batch that was made at now (ms since 1970), as Apply does.
func (s *State) ApplyCommand(now int64, c *ledgerpb.Command) error {
	switch { // the most frequent ones first
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
	}
	return s.applyToApplications(now, c)
}

func (s *State) applyToApplications(now int64, c *ledgerpb.Command) error {
	switch {
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
		return s.applicationIDIssued(c.ApplicationIdIssued)
	case c.ApplicationSubmitted != nil:
		return s.applicationSubmitted(now, c.ApplicationSubmitted)
	case c.ApplicationUpdated != nil:
		return s.applicationUpdated(c.ApplicationUpdated)
	case c.ApplicationEnded != nil:
		return s.applicationEnded(now, c.ApplicationEnded)
	case c.ApplicationsForgotten != nil:
		return s.applicationsForgotten(c.ApplicationsForgotten)
	case c.CourseNoted != nil:
		app, err := s.app(c.CourseNoted.GetApp())
		if err == nil {
			app.Course = app.Course.With(now, c.CourseNoted)
		}
		return err
	}
	return s.applyToCluster(now, c)
}

func (s *State) applyToCluster(now int64, c *ledgerpb.Command) error {
	switch {
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
		s.Keys.Roll(now, c.KeyRolled)
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
		s.Queues = queues.NewConf(c.QueuesConfigured, now)
		return nil
	case c.QueuesChanged != nil:
		return s.Created.Apply(c.QueuesChanged)
	case c.NodeLabelsChanged != nil:
		return s.Labels.Apply(c.NodeLabelsChanged)
	case c.UsageSampled != nil:
		s.Usage.Apply(now, c.UsageSampled)
		return nil
	case c.NodeAttributesChanged != nil:
		return s.Attributes.Apply(c.NodeAttributesChanged)
	}
	return errors.New("a command has no kind")
}
