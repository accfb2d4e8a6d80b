// Package settings has what the configuration says to a leader.
package settings

import (
	"time"

	"heddle/conf"
	"heddle/rm/leader/constraints"
	"heddle/rm/leader/delegation"
	"heddle/rm/leader/division"
	"heddle/rm/leader/lending"
	"heddle/rm/leader/nodelabels"
	"heddle/rm/leader/opportunistic"
	"heddle/rm/leader/placement"
	"heddle/rm/leader/queueconf"
	"heddle/rm/leader/request"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/queue"
	"heddle/yarn/records"
)

// Settings are what the configuration says. Durations of 0 mean never.
type Settings struct {
	ID    string // of this ResourceManager
	Types records.ResourceTypes

	MinAllocation records.Resource  // asks are rounded up to multiples of it
	MaxAllocation records.Resource  // of one container
	Lending       lending.Settings  // to nodes that take probes, for short tasks
	Division      division.Settings // of the cluster between long and short tasks
	NodeSpeeds    []conf.NodeSpeed  // of hosts, where they aren't to be learned

	MaxAttempts       int32 // that an application has when it says nothing
	GlobalMaxAttempts int32 // that it may ask for
	MaxCompleted      int   // ended applications that are remembered
	MaxPriority       int32 // of an application

	AMExpiry          time.Duration // silence after which an ApplicationMaster counts as dead
	NodeExpiry        time.Duration // silence after which a node counts as lost
	AllocationExpiry  time.Duration // within which a granted container must be started
	HeartbeatInterval time.Duration // of NodeManagers
	// SchedulingWait is how long after the start larger nodes than those that are there may come: until then containers may be
	// as large as MaxAllocation.
	SchedulingWait time.Duration
	// DecommissionTimeout is the time that nodes that leave gracefully get by default; less than 0 is no end.
	DecommissionTimeout time.Duration
	KeyLifetime         map[ledgerpb.KeyKind]time.Duration
	Certificates        bool // ApplicationMasters get some
	NoReceipts          bool // neither limits of waits nor tries of tasks are noted

	DelegationLifetime time.Duration // of a delegation token, however often it is renewed
	DelegationRenewal  time.Duration // within which it must be renewed
	TokenCalls         delegation.Calls

	// PageURL returns the address of an application's page.
	PageURL func(records.ApplicationID) string

	// Increment is the step in which containers grow, where it isn't MinAllocation: with the queues of YARN's FairScheduler.
	Increment records.Resource
	// Queues are those that there are at the beginning; nil is root.default alone.
	Queues *queue.Tree
	// Live is what others than the leader read of them; nil is one of its own.
	Live *queue.Live
	// QueueSource reads them again; nil leaves them as they are.
	QueueSource queueconf.Source
	// MaySubmit decides which users may submit to a queue, by its path; nil allows all.
	MaySubmit func(user, queue string) bool
	// ACLs is yarn.acl.enable: lists of queues say who may have which priorities, and a FairScheduler's queues refuse submissions at once.
	ACLs         bool
	Groups       func(user string) ([]string, error) // of a user, the primary one first; nil is none
	TagPlacement placement.Tags

	// MaxSubmission is the size of the largest context of a submission, in bytes; 0 is what a command can hold.
	MaxSubmission int
	Ended         func(*ledger.Application) // is told of applications that are over (ends.Ends); may be nil

	// Bounds are how much requests may leave behind in the ledger.
	Bounds limit.Bounds

	Labels        nodelabels.Settings
	RequestLabels request.LabelSettings
	Constraints   constraints.Settings
	Chances       opportunistic.Settings // of applications that ask for opportunistic containers

	// History keeps what was used over time.
	History bool

	MaxTags      int // of an application; 0 means no limit, as does 0 of the next ones
	MaxTagLength int // in characters
	MaxRequests  int // of an application that differ in priority or allocation request id
	MaxPlaces    int // hosts and racks in an application's requests, and on its blacklist
}
