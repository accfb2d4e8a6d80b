package ledger

import (
	"maps"
	"slices"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// State is everything that the members of a cluster agree on. It is not safe for concurrent use.
type State struct {
	// Version is the version of the ledger that all members can apply. Release is that of the program that raised it, "" for 1.
	Version int32
	Release string
	// Refused counts the batches with commands that could not be applied, by which members with different ledgers find out. Void
	// counts those since the last one, itself included, that its leader had sent before it knew.
	Refused int64
	Void    int32

	// Timestamp is when the cluster was created, in ms since 1970; it is part of every id. 0 = not created yet.
	Timestamp int64
	// Leaders counts the leaders that the cluster has had, the present one included.
	Leaders int64
	// Leader is the id of the member that leads, or led last.
	Leader string
	// Offered is the member that an administrator wants to lead next, "" if it's all the same.
	Offered string
	// LastApplication is the application number handed out last.
	LastApplication int32
	// Keys are the master keys by kind.
	Keys map[ledgerpb.KeyKind]KeyRing
	// Submitted counts the applications that a queue ever took, Ended those of them that came to an end, by state.
	Submitted int64
	Ended     map[AppState]int64

	Apps  map[records.ApplicationID]*Application
	Nodes map[records.NodeID]*Node

	// Delegations are the delegation tokens that are good, by sequence number; LastDelegation is the highest one given.
	Delegations    map[int32]Delegation
	LastDelegation int32

	// Queues is how queues were configured at run time.
	Queues QueueConf
}

// QueueConf is a configuration of queues that is not just the files'.
type QueueConf struct {
	Version  int64             // 0: there is none
	Settings map[string]string // properties by name; not to be changed
	FromFile bool              // they were read from a leader's files, and not changed since
	Time     int64             // when they were recorded, in ms since 1970
}

// KeyRing is the master key that new tokens are signed with, the one before it, which stays good for tokens made with it,
// and the one that follows when everybody who checks tokens has it.
type KeyRing struct {
	Current, Previous, Next Key
}

// Key is a master key; the zero Key is none.
type Key struct {
	ID     int32
	Secret []byte
	Rolled int64 // when it was made, in ms since 1970
}

// AppState is the state of an application (Hadoop: RMAppState).
type AppState uint8

// States of an application, in the order in which it goes through them.
const (
	AppAccepted  AppState = iota // waits for its ApplicationMaster
	AppRunning                   // its ApplicationMaster has registered
	AppFinishing                 // its ApplicationMaster has said farewell, and still runs
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

// Public is the state that clients see.
func (s AppState) Public() pb.YarnApplicationState { return appStates[s].public }

// Ended reports whether the application has come to its end.
func (s AppState) Ended() bool { return s >= AppFinished }

// AttemptState is the state of an attempt (Hadoop: RMAppAttemptState).
type AttemptState uint8

// States of an attempt, in the order in which it goes through them.
const (
	AttemptScheduled AttemptState = iota // waits for a container
	AttemptAllocated                     // has a container that its node doesn't know of yet
	AttemptLaunched                      // its container was started
	AttemptRunning                       // has registered
	AttemptFinishing                     // has said farewell
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

// Public is the state on the wire.
func (s AttemptState) Public() pb.YarnApplicationAttemptState { return attemptStates[s].public }

// Ended reports whether the attempt is over.
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

	// Attempts in order; the last is the current one. Of very many the first ones are missing.
	Attempts []*Attempt
	// Containers that live, and those that ended without the ApplicationMaster having taken note.
	Containers Containers
	// Past are the first maxPast containers that have ended since, in the order of their ends; nobody changes them any more.
	// PastMore is the number of the others.
	Past     []*Container
	PastMore int64
	// Used is what its live containers hold, Live their number.
	Used records.Resource
	Live int

	// ResourceSeconds sums resource × seconds of its ended containers, Preempted that of preempted ones.
	ResourceSeconds     records.Resource
	Preempted           records.Resource // what its preempted containers held
	PreemptedSeconds    records.Resource
	PreemptedContainers int64 // without ApplicationMasters
	PreemptedAMs        int64
}

// Current is the newest attempt, nil before the first.
func (a *Application) Current() *Attempt {
	if len(a.Attempts) == 0 {
		return nil
	}
	return a.Attempts[len(a.Attempts)-1]
}

// Attempt returns the attempt of that number, counted from 1, or nil.
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

	// What the ApplicationMaster registered with.
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
	ContainerCompleted                // its end is still to be reported to the ApplicationMaster
)

// Container is a container that was granted. It stays until its ApplicationMaster has taken note of its end.
type Container struct {
	ID                  records.ContainerID
	Node                records.NodeID
	Resource            records.Resource
	Priority            int32
	AllocationRequestID int64
	ExecutionType       pb.ExecutionType
	AM                  bool
	Tags                []string

	Version int32 // how often it was resized
	Resized int64 // when it was last, 0 = never
	// Confirmed is the part of Resource that its node is known to give it, less than Resource from when it's given more until
	// its ApplicationMaster has brought the node word of that (Hadoop: RMContainerImpl.lastConfirmedResource).
	Confirmed records.Resource

	// Handle is for who works on a copy of the State and needs to know its containers by something of its own; 0 is nothing. It is no
	// part of the state.
	Handle int64

	node   *Node // while it lives
	onNode int   // its place in node.Containers

	State      ContainerState
	Suspended  bool
	Asked      int64 // 0 = unknown
	Allocated  int64
	Started    int64 // when its node was first heard to have it
	Finished   int64
	Times      Times
	ExitStatus int32
	Diagnostic string
}

// Times are what a node says of a container when it has ended, by the clock of the ResourceManager: ms since 1970, 0 = unknown.
type Times struct {
	Accepted  int64
	Localized int64
	Launched  int64 // its process, for the last time
	Ended     int64
}

// Live reports whether the container holds resources.
func (c *Container) Live() bool { return c.State != ContainerCompleted }

// Node is a NodeManager that has registered once and was not forgotten since.
type Node struct {
	ID       records.NodeID
	HTTPPort int32

	Rack       string
	Capability records.Resource
	Version    string
	Features   []string // what a Heddle node can do, nil for a stock one
	Missing    []string // guarantees that it can't give, in words

	State                pb.NodeState
	HealthReport         string
	DecommissionDeadline int64
	RegisteredAt         int64

	httpAddress string // host:port

	// Containers that live on it, in no order, and what they hold.
	Containers []*Container
	Used       records.Resource
}

// Usable reports whether containers may run on the node.
func (n *Node) Usable() bool {
	return n.State == pb.NodeState_NS_RUNNING || n.State == pb.NodeState_NS_DECOMMISSIONING
}

// New returns the state of a cluster that was not created yet.
func New() *State {
	return &State{
		Version: 1,

		Keys:  map[ledgerpb.KeyKind]KeyRing{},
		Ended: map[AppState]int64{},
		Apps:  map[records.ApplicationID]*Application{},
		Nodes: map[records.NodeID]*Node{},

		Delegations: map[int32]Delegation{},
	}
}

// Epoch is the number of leaders before the present one; it is part of container ids.
func (s *State) Epoch() int64 { return max(s.Leaders-1, 0) }

// Container finds a container by its id, or returns nil.
func (s *State) Container(id records.ContainerID) *Container {
	if app := s.Apps[id.Attempt.App]; app != nil {
		return app.Containers.Get(id)
	}
	return nil
}

// Attempt finds an attempt by its id, or returns nil.
func (s *State) Attempt(id records.AttemptID) *Attempt {
	if app := s.Apps[id.App]; app != nil {
		return app.Attempt(id.Attempt)
	}
	return nil
}

// Clone returns a copy that can be changed independently. Both share what commands carried, which nobody changes.
func (s *State) Clone() *State {
	c := *s
	c.Keys = make(map[ledgerpb.KeyKind]KeyRing, len(s.Keys))
	for k, v := range s.Keys {
		c.Keys[k] = v
	}
	c.Ended = make(map[AppState]int64, len(s.Ended))
	for k, v := range s.Ended {
		c.Ended[k] = v
	}
	c.Nodes = make(map[records.NodeID]*Node, len(s.Nodes))
	twins := make(map[*Node]*Node, len(s.Nodes))
	for id, n := range s.Nodes {
		d := *n
		d.Containers = make([]*Container, len(n.Containers))
		c.Nodes[id], twins[n] = &d, &d
	}
	c.Apps = make(map[records.ApplicationID]*Application, len(s.Apps))
	for id, a := range s.Apps {
		c.Apps[id] = a.clone(twins)
	}
	c.Delegations = maps.Clone(s.Delegations)
	return &c
}

// clone copies an application. twins are the copies of nodes.
func (a *Application) clone(twins map[*Node]*Node) *Application {
	c := *a
	c.Attempts = make([]*Attempt, len(a.Attempts))
	for i, t := range a.Attempts {
		d := *t
		c.Attempts[i] = &d
	}
	c.Past = slices.Clip(a.Past) // shared, and appended to apart
	c.Containers = a.Containers.clone(func(d *Container) {
		if d.Live() {
			d.node = twins[d.node]
			d.node.Containers[d.onNode] = d
		}
	})
	return &c
}
