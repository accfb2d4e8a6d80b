package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/access"
	"heddle/rm/door"
	"heddle/rm/hosts"
	"heddle/rm/leader"
	"heddle/rm/leader/delegation"
	"heddle/rm/leader/refusal"
	"heddle/rm/queue"
	"heddle/rm/service/identity"
	"heddle/rm/timelineservice/collectors"
	"heddle/rm/view"
	"heddle/yarn/ipc"
	"heddle/yarn/records"
)

// Backend is the ResourceManager that the services speak for.
type Backend interface {
	view.Source
	// VerifyLeader asks a majority whether this member still leads.
	VerifyLeader() error
	// Transfer has a member lead, or with "" any but this one.
	Transfer(ctx context.Context, to string) error
	// RemoveMember takes a member out of the group; only the leader can.
	RemoveMember(ctx context.Context, id string) error
	// ForceLeader makes this member lead without the others, or with lose false only says what would be lost. by is the administrator's name.
	ForceLeader(ctx context.Context, by string, lose bool) (loss string, err error)
	// AwaitLeadership reports whether this member leads, as soon as that is settled.
	AwaitLeadership() bool
	// HA reports whether there are several ResourceManagers.
	HA() bool
	ID() string
	// LedgerVersion returns the newest version of the ledger that this member can apply.
	LedgerVersion() int32
}

// Config is what the services work with.
type Config struct {
	Backend    Backend
	View       *view.Viewer
	Types      records.ResourceTypes
	Expiry     time.Duration            // of a container's token
	Heartbeat  time.Duration            // of NodeManagers
	Resolve    func(host string) string // its IP address, for the service field of tokens; may be slow
	Groups     func(user string) ([]string, error)
	Refresh    func(Refreshable) error // rereads a part of the configuration
	Access     *access.Checker
	Door       *door.Door // nil: one without an audit log
	Queues     *queue.Live
	Hosts      hosts.Files
	Handed     *delegation.Handed   // what nodes get for applications; nil: nothing
	Collectors *collectors.Known    // of timeline version 2; nil: it is off
	Names      identity.NameService // nil: the system's name service
	Identity   identity.Names
	// FilterByUser: lists contain only applications that the caller may see (yarn.webapp.filter-entity-list-by-user).
	FilterByUser bool
	// ClientTokens hands out client-to-AM tokens, which Hadoop does on secure clusters only.
	ClientTokens bool
	ServiceACLs  bool // are on
	Log          *logrus.Entry
}

// Refreshable is a part of the configuration that can be reread.
type Refreshable uint8

// What can be reread.
const (
	Groups      Refreshable = iota // the groups of users, which are remembered for a while
	Admins                         // of the cluster
	ProxyUsers                     // who may act for others
	ServiceACLs                    // who may connect to which protocol
)

// Service answers for one ResourceManager.
//
// It has many methods because each method of the protocols is one.
type Service struct {
	Config
	keys  keyCache
	named formsCache
	spare sync.Pool // of *parts
}

// New returns the services of a ResourceManager.
func New(cfg Config) *Service {
	if cfg.Door == nil {
		cfg.Door = door.New(door.Config{View: cfg.View, Access: cfg.Access})
	}
	return &Service{Config: cfg}
}

// Gate is the ipc.ServerConfig.Gate of ports that only the leader serves.
func (s *Service) Gate(string) error {
	if !s.Backend.AwaitLeadership() {
		return s.standby()
	}
	return nil
}

func (s *Service) standby() error {
	return ipc.NewException(ipc.StandbyException, "ResourceManager %s is not Active!", s.Backend.ID())
}

// deposed answers for a call whose leader was deposed under it. If this member leads again, the client is to try it again at once;
// sent away it would come back only after a long sleep.
func (s *Service) deposed() error {
	if s.Backend.AwaitLeadership() {
		return ipc.NewException(ipc.RetriableException, "ResourceManager %s lost its leadership for a moment; try again", s.Backend.ID())
	}
	return s.standby()
}

// leader returns the leader, or the exception that sends clients to another ResourceManager.
func (s *Service) leader() (*leader.Leader, error) {
	if l := s.Backend.Leader(); l != nil {
		return l, nil
	}
	return nil, s.standby()
}

var classes = map[refusal.Reason]string{
	refusal.NoSuchApplication: ipc.ApplicationNotFound,
	refusal.NoSuchAttempt:     ipc.AttemptNotFound,
	refusal.NoSuchContainer:   ipc.ContainerNotFound,
	refusal.NotRegistered:     ipc.MasterNotRegistered,
	refusal.InvalidAMRequest:  ipc.InvalidMasterRequest,
	refusal.InvalidResource:   ipc.InvalidResourceRequest,
	refusal.InvalidLabel:      ipc.InvalidLabelRequest,
	refusal.InvalidBlacklist:  ipc.InvalidBlacklistRequest,
	refusal.InvalidRelease:    ipc.InvalidContainerRelease,
	refusal.NoApplicationID:   ipc.ApplicationIDNotProvided,
	refusal.Refused:           ipc.YarnException,
	refusal.AccessDenied:      ipc.AccessControlException,
	refusal.NoSuchToken:       ipc.InvalidToken,
	refusal.NoSpace:           ipc.RetriableException,
}

// exception gives an error of the leader its Java class.
func (s *Service) exception(err error) error {
	var refused *refusal.Error
	var absent *door.Absent
	var notPermitted *door.NotPermitted
	var noTarget *door.NoSuchTarget
	switch {
	case err == nil:
		return nil
	case errors.As(err, &absent):
		return s.noApplication(absent.App)
	case errors.As(err, &notPermitted), errors.As(err, &noTarget):
		return ipc.NewException(ipc.YarnException, "java.security.AccessControlException: %v", err)
	case errors.As(err, &refused) && refused.Reason == refusal.InvalidTag:
		return ipc.NewException(ipc.YarnException, "%s: %s", ipc.IllegalArgumentException, refused.Text)
	case errors.As(err, &refused):
		return ipc.NewException(classes[refused.Reason], "%s", refused.Text)
	case errors.Is(err, leader.ErrDeposed):
		return s.deposed()
	}
	return err
}

// absent answers for something that isn't there. A member that was deposed without knowing it may just not have heard of
// it, and a client that believes it submits again: so make sure.
func (s *Service) absent(class, format string, args ...any) error {
	if err := s.Backend.VerifyLeader(); err != nil {
		return s.standby()
	}
	return ipc.NewException(class, format, args...)
}
