package ledger

import (
	"iter"
	"maps"
	"slices"

	"heddle/rm/ledger/course"
	"heddle/rm/ledger/issued"
	"heddle/rm/ledger/kept"
	"heddle/rm/ledger/keyring"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/nodeattributes"
	"heddle/rm/ledger/nodelabels"
	"heddle/rm/ledger/queues"
	"heddle/rm/ledger/recent"
	"heddle/rm/ledger/usage"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// State is everything that the members of a cluster agree on. It is not safe for concurrent use.
//
// It has many methods because each kind of command is one.
type State struct {
	// Version is the version of the ledger that all members can apply. Release is the release of Heddle that raised it, "" for version 1.
	Version int32
	Release string
	// Refused counts batches with commands that couldn't be applied; by it members find out that their ledgers differ. Void
	// counts the batches from the last such one on, itself included, that its leader sent before it knew.
	Refused int64
	Void    int32

	// Timestamp is when the cluster was created, in ms since 1970; it is part of every id. 0 = not created yet.
	Timestamp int64
	// Leaders counts the cluster's leaderships so far, including the present one.
	Leaders int64
	// Leader is the id of the member that leads or led last.
	Leader string
	// Offered is the id of the member that an administrator wants to lead next, "" for any.
	Offered string
	// LastApplication is the application number that was issued last.
	LastApplication int32
	// Issued are the application numbers that were issued and under which nothing was submitted yet, with their users.
	Issued issued.IDs
	// Keys are the master keys by kind.
	Keys keyring.Rings
	// Submitted counts all applications that were ever accepted, Ended those of them that ended, by state.
	Submitted int64
	Ended     map[AppState]int64

	Apps  map[records.ApplicationID]*Application
	Nodes map[records.NodeID]*Node

	// Delegations are the valid delegation tokens by sequence number; LastDelegation is the highest number issued.
	Delegations    map[int32]Delegation
	LastDelegation int32

	// Queues is the configuration of queues on record.
	Queues QueueConf
	// Created are the queues that were created on demand.
	Created queues.Created

	// Labels are those of nodes.
	Labels nodelabels.Labels
	// Attributes are those of hosts.
	Attributes nodeattributes.Attributes

	// Usage is what was used over time. Clones have none.
	Usage *usage.History

	// Granted counts the grants of the last second that this member has seen. It isn't replicated.
	Granted recent.Count
	// Kept counts what requests have left here. It follows from the rest.
	Kept kept.Counts
}

// QueueConf is a configuration of queues on record.
type QueueConf = queues.Conf

// KeyRing holds the master keys of a kind, Key is one of them.
type (
	KeyRing = keyring.Ring
	Key     = keyring.Key
)

// AppState is the state of an application (Hadoop: RMAppState).
type AppState uint8

// States of an application, in the order in which it passes through them.
const (
	AppAccepted  AppState = iota // waits for its ApplicationMaster
	AppRunning                   // its ApplicationMaster has registered
	AppFinishing                 // its ApplicationMaster has unregistered, and still runs
	AppFinished
	AppFailed
	AppKilled
)

var appStates = [...]struct {
	name   string
	public pb.YarnApplicationState
}{
	AppAccepted:  {"ACCEPTED", pb.YarnApplicationState_ACCEPTED},
	AppRunning:   {"RUNNING", pb.YarnApplicationState_RUNNING},
	AppFinishing: {"FINISHING", pb.YarnApplicationState_FINISHED},
	AppFinished:  {"FINISHED", pb.YarnApplicationState_FINISHED},
	AppFailed:    {"FAILED", pb.YarnApplicationState_FAILED},
	AppKilled:    {"KILLED", pb.YarnApplicationState_KILLED},
}

// String returns Hadoop's name of the state.
func (s AppState) String() string { return appStates[s].name }

// Public returns the state that clients see.
func (s AppState) Public() pb.YarnApplicationState { return appStates[s].public }

// Ended reports whether the application has ended.
func (s AppState) Ended() bool { return s >= AppFinished }

// AttemptState is the state of an attempt (Hadoop: RMAppAttemptState).
type AttemptState uint8

// States of an attempt, in the order in which it passes through them.
const (
	AttemptScheduled AttemptState = iota // waits for a container
	AttemptAllocated                     // has a container that isn't launched yet
	AttemptLaunched                      // its container was started
	AttemptRunning                       // has registered
	AttemptFinishing                     // has unregistered
	AttemptFinished
	AttemptFailed
	AttemptKilled
)

var attemptStates = [...]struct {
	name   string
	public pb.YarnApplicationAttemptState
}{
	AttemptScheduled: {"SCHEDULED", pb.YarnApplicationAttemptState_APP_ATTEMPT_SCHEDULED},
	AttemptAllocated: {"ALLOCATED", pb.YarnApplicationAttemptState_APP_ATTEMPT_ALLOCATED},
	AttemptLaunched:  {"LAUNCHED", pb.YarnApplicationAttemptState_APP_ATTEMPT_LAUNCHED},
	AttemptRunning:   {"RUNNING", pb.YarnApplicationAttemptState_APP_ATTEMPT_RUNNING},
	AttemptFinishing: {"FINISHING", pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHING},
	AttemptFinished:  {"FINISHED", pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHED},
	AttemptFailed:    {"FAILED", pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED},
	AttemptKilled:    {"KILLED", pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED},
}

// String returns Hadoop's name of the state.
func (s AttemptState) String() string { return attemptStates[s].name }

// Public returns the state on the wire.
func (s AttemptState) Public() pb.YarnApplicationAttemptState { return attemptStates[s].public }

// Ended reports whether the attempt has ended.
func (s AttemptState) Ended() bool { return s >= AttemptFinished }

// Application is a submitted application, running or ended. Times are in ms since 1970, 0 = not yet.
type Application struct {
	ID          records.ApplicationID
	User        string
	Queue       string // full path
	Priority    int32
	Context     *pb.ApplicationSubmissionContext // as submitted, or what remains of it at the end; not to be changed
	MaxAttempts int32
	AMResource  records.Resource
	Expires     int64 // end of its lifetime, 0 = none

	State          AppState
	FinalStatus    pb.FinalApplicationStatus
	Diagnostics    string
	KillRequested  bool
	LogAggregation pb.LogAggregationStatus
	SubmitTime     int64
	LaunchTime     int64 // of the first attempt's container
	FinishTime     int64

	// Attempts in order; the last is the current one. If there were very many, the first ones are missing.
	Attempts []*Attempt
	// Containers holds the live containers, and the ended ones whose end the ApplicationMaster hasn't acknowledged.
	Containers Containers
	// Past are containers that have ended and were acknowledged, PastMore is the number of further ones.
	Past     Past
	PastMore int64
	// Used is the sum of what its guaranteed live containers claim, Live the number of all.
	Used records.Resource
	Live int

	// ResourceSeconds sums resource × seconds of its ended containers. PreemptedSeconds does so for preempted ones.
	ResourceSeconds     records.Resource
	Preempted           records.Resource // sum of its preempted containers
	PreemptedSeconds    records.Resource
	PreemptedContainers int64 // ApplicationMasters excluded
	PreemptedAMs        int64

	Course *course.Course // what its receipt needs besides; nil: nothing

	contextBytes, reportBytes int64 // of Context, and of the texts of ends that are not acknowledged
	counted                   kept.Application
}

// Current returns the newest attempt, nil before the first.
func (a *Application) Current() *Attempt {
	if len(a.Attempts) == 0 {
		return nil
	}
	return a.Attempts[len(a.Attempts)-1]
}

// Attempt returns the attempt with a number, counted from 1, or nil.
func (a *Application) Attempt(n int32) *Attempt {
	for i := len(a.Attempts) - 1; i >= 0; i-- {
		if a.Attempts[i].ID.Attempt == n {
			return a.Attempts[i]
		}
	}
	return nil
}

// Attempt is one attempt to run an application.
type Attempt struct {
	ID           records.AttemptID
	State        AttemptState
	StartTime    int64
	LaunchTime   int64
	RegisterTime int64
	FinishTime   int64

	AMContainer   records.ContainerID // zero before it is allocated
	AMNode        records.NodeID
	AMHTTPAddress string // web address of the ApplicationMaster's node, host:port

	// What the ApplicationMaster gave when it registered.
	Host        string
	RPCPort     int32
	TrackingURL string

	FinalStatus  pb.FinalApplicationStatus
	Diagnostics  string
	ExitStatus   int32
	Excused      bool  // its failure doesn't count against the application's attempts
	LastSequence int64 // of its containers
}

// ContainerState is the state of a container.
type ContainerState uint8

// States of a container.
const (
	ContainerAllocated ContainerState = iota
	ContainerRunning                  // its node has started it
	ContainerCompleted                // its end is still to be acknowledged by the ApplicationMaster
)

// Container is a granted container. It stays until its ApplicationMaster has acknowledged its end. There are hundreds of thousands:
// small fields stand side by side.
type Container struct {
	// What the collector of garbage looks at stands together, so that it reads little of each container.

	Node       records.NodeID
	node       *Node   // while it lives
	extras     *extras // nil: none. Clones share it, so its target never changes.
	Diagnostic string

	ID records.ContainerID

	Resource            records.Resource // its claim: what its application, user and queue are charged
	AllocationRequestID int64
	Priority            int32
	ExecutionType       pb.ExecutionType

	Version int32 // how often it was resized
	// Level is what its node is to do with it; LevelVersion counts how often that changed, from version 3 of the ledger on.
	Level        ledgerpb.Level
	LevelVersion int32
	ExitStatus   int32
	State        ContainerState
	AM           bool
	Far          bool  // places were named where it was asked for, and its host isn't among them
	Cold         bool  // its node had to fetch some of its files
	GivenBack    bool  // by its ApplicationMaster
	NoProcessor  int32 // for how many ms its processes could have run and had none, as its node told when it had ended

	Resized int64 // when it was resized last, 0 = never

	// Handle is free for the owner of a copy of the State, who may mark containers with numbers of its own; 0 is none. It isn't
	// part of the state.
	Handle int64

	Asked     int64 // 0 = unknown
	Allocated int64
	Started   int64 // when its node first reported it
	Finished  int64
	Times     Times
}

// Times are a node's report of an ended container, by the ResourceManager's clock: ms since 1970, 0 = unknown.
type Times struct {
	Accepted, Localized int64
	Launched, Ended     int64 // its process: the last launch if there were several
}

// Live reports whether the container holds resources.
func (c *Container) Live() bool { return c.State != ContainerCompleted }

// Node is a NodeManager that has registered and wasn't forgotten since.
type Node struct {
	ID       records.NodeID
	HTTPPort int32

	Rack       string
	Capability records.Resource
	Version    string
	Features   []string // what a Heddle node can do, nil for a stock one
	Missing    []string // guarantees that it lacks, in words for people

	State                pb.NodeState
	HealthReport         string
	DecommissionDeadline int64
	RegisteredAt         int64

	httpAddress string // host:port

	// Containers that live on it, in any order (see State.On), and the sum of what they hold. They are ids, as the collector of garbage
	// would follow each pointer to a container, all over the memory.
	Containers []records.ContainerID
	Used       records.Resource
	Suspended  int // how many of them are suspended
	Lowered    int // how many are suspended or shrunk
}

// Usable reports whether containers may run on the node.
func (n *Node) Usable() bool {
	return n.State == pb.NodeState_NS_RUNNING || n.State == pb.NodeState_NS_DECOMMISSIONING
}

// New returns the state of a cluster that isn't created yet.
func New() *State {
	return &State{
		Version: 1,

		Keys:  keyring.Rings{},
		Ended: map[AppState]int64{},
		Apps:  map[records.ApplicationID]*Application{},
		Nodes: map[records.NodeID]*Node{},

		Delegations: map[int32]Delegation{},

		Kept: kept.New(), Usage: usage.New(),
	}
}

// Epoch returns the number of leaders before the present one; it is part of container ids.
func (s *State) Epoch() int64 { return max(s.Leaders-1, 0) }

// Container finds a container by its id, or returns nil.
func (s *State) Container(id records.ContainerID) *Container {
	if app := s.Apps[id.Attempt.App]; app != nil {
		return app.Containers.Get(id)
	}
	return nil
}

// On iterates over the containers that live on a node, in any order. The loop may change none of them.
func (s *State) On(n *Node) iter.Seq[*Container] {
	return func(yield func(*Container) bool) {
		for _, id := range n.Containers {
			if !yield(s.Container(id)) {
				return
			}
		}
	}
}

// Attempt finds an attempt by its id, or returns nil.
func (s *State) Attempt(id records.AttemptID) *Attempt {
	if app := s.Apps[id.App]; app != nil {
		return app.Attempt(id.Attempt)
	}
	return nil
}

// Clone returns a copy that can be changed independently. Both share the contents of commands, which never change.
func (s *State) Clone() *State {
	c := *s
	c.Keys, c.Ended = maps.Clone(s.Keys), maps.Clone(s.Ended)
	c.Nodes = make(map[records.NodeID]*Node, len(s.Nodes))
	twins := make(map[*Node]*Node, len(s.Nodes))
	for id, n := range s.Nodes {
		d := *n
		d.Containers = slices.Clone(n.Containers)
		c.Nodes[id], twins[n] = &d, &d
	}
	c.Apps = make(map[records.ApplicationID]*Application, len(s.Apps))
	for id, a := range s.Apps {
		c.Apps[id] = a.clone(twins)
	}
	c.Delegations = maps.Clone(s.Delegations)
	c.Attributes = s.Attributes.Clone()
	c.Kept, c.Usage = s.Kept.Clone(), nil
	c.Issued, c.Created = s.Issued.Clone(), s.Created.Clone()
	return &c
}

// copyAttempts gives a copy of an application attempts of its own.
func (a *Application) copyAttempts() {
	all := make([]Attempt, len(a.Attempts))
	own := make([]*Attempt, len(a.Attempts))
	for i, t := range a.Attempts {
		all[i] = *t
		own[i] = &all[i]
	}
	a.Attempts = own
}

// clone copies an application. twins are the copies of nodes.
func (a *Application) clone(twins map[*Node]*Node) *Application {
	c := *a
	c.copyAttempts()
	c.Past = a.Past.Shared()
	c.Containers = a.Containers.clone(func(d *Container) {
		if d.Live() {
			d.node = twins[d.node]
		}
	})
	return &c
}
