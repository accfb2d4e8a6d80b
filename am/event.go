package am

import (
	"sync"

	"heddle/am/client"
	"heddle/yarn/records"
)

// Package client describes requests and containers.
type (
	Request      = client.Request
	RequestID    = client.RequestID
	Container    = client.Container
	Launch       = client.Launch
	Resource     = client.Resource
	NodeUpdate   = client.NodeUpdate
	Preemption   = client.Preemption
	Refusal      = client.Refusal
	Registration = client.Registration
	ProbeNode    = client.ProbeNode
	StageReport  = client.StageReport
	TaskTry      = client.TaskTry
	Performance  = client.Performance
	Hints        = client.Hints
)

// ErrDismissed means that the ResourceManager doesn't want this attempt any more.
var ErrDismissed = client.ErrDismissed

// Event is any of the event types of this package.
type Event interface{ event() }

// ContainersAllocated says that containers were granted. Start or release each of them.
type ContainersAllocated struct{ Containers []Container }

// ContainerStarted says that a NodeManager has accepted a container; it may still be localizing its files.
type ContainerStarted struct {
	Container Container
	Services  map[string][]byte // metadata of the node's auxiliary services; nil if an answer was lost
}

// ContainerStartFailed says that a container could not be started. It is given back.
type ContainerStartFailed struct {
	Container Container
	Err       error
}

// ContainerCompleted says that a container has ended, for whatever reason.
type ContainerCompleted struct {
	ID          records.ContainerID
	Container   Container // only the ID if it wasn't known
	ExitStatus  int32     // of the process, or one of records.Exit…
	Diagnostics string
}

// NodesUpdated says that nodes have joined, left, or are about to leave.
type NodesUpdated struct{ Nodes []NodeUpdate }

// ProbeNodesChanged says which nodes take probes of short tasks now, and whether they are busy with long ones, and which don't any more (Options.Probes).
type ProbeNodesChanged struct {
	Come []ProbeNode
	Gone []records.NodeID
}

// PreemptionRequested says that the ResourceManager wants containers back. The application may release them
// itself; otherwise they are killed.
type PreemptionRequested struct{ Containers []Preemption }

// RequestsRefused says that the ResourceManager refused requests. They are dropped.
type RequestsRefused struct{ Refusal }

// ContainersSuspended says that containers are suspended from now on, because their resources are needed elsewhere or an administrator wants
// that. They lose nothing, but may not answer for long: don't count their silence. A running container of an earlier attempt may be
// among them.
type ContainersSuspended struct{ IDs []records.ContainerID }

// ContainersResumed says that suspended containers continue. One that ends while it is suspended isn't named: ContainerCompleted says so.
type ContainersResumed struct{ IDs []records.ContainerID }

// SwapRefused says that a container runs on though Master.Swap wanted it to be suspended, and why.
type SwapRefused struct {
	ID     records.ContainerID
	Reason string
}

// ContainersRecovered says that further containers of earlier attempts were reported after registration.
type ContainersRecovered struct{ Containers []Container }

// Hinted says what the ResourceManager knows of the application's queue and of how fast nodes are, after any of it has changed: all that
// holds now. It comes after Master.WantHints, from a Heddle ResourceManager.
type Hinted struct {
	Hints   Hints
	Classes map[string]int // by host; higher ones are faster; empty: it knows none
}

// Resynced says that another ResourceManager has taken over, and has been told everything again.
type Resynced struct{}

// ShutdownRequested is the last event: the attempt must end, for instance because the application was killed.
type ShutdownRequested struct{ Err error }

// Error is the last event: the conversation with the ResourceManager has failed.
type Error struct{ Err error }

func (ContainersAllocated) event()  {}
func (ContainerStarted) event()     {}
func (ContainerStartFailed) event() {}
func (ContainerCompleted) event()   {}
func (NodesUpdated) event()         {}
func (ProbeNodesChanged) event()    {}
func (PreemptionRequested) event()  {}
func (RequestsRefused) event()      {}
func (ContainersSuspended) event()  {}
func (ContainersResumed) event()    {}
func (SwapRefused) event()          {}
func (ContainersRecovered) event()  {}
func (Hinted) event()               {}
func (Resynced) event()             {}
func (ShutdownRequested) event()    {}
func (Error) event()                {}

// Callbacks are functions for events. Nil functions are skipped.
type Callbacks struct {
	ContainersAllocated  func(ContainersAllocated)
	ContainerStarted     func(ContainerStarted)
	ContainerStartFailed func(ContainerStartFailed)
	ContainerCompleted   func(ContainerCompleted)
	NodesUpdated         func(NodesUpdated)
	ProbeNodesChanged    func(ProbeNodesChanged)
	PreemptionRequested  func(PreemptionRequested)
	RequestsRefused      func(RequestsRefused)
	ContainersSuspended  func(ContainersSuspended)
	ContainersResumed    func(ContainersResumed)
	SwapRefused          func(SwapRefused)
	ContainersRecovered  func(ContainersRecovered)
	Hinted               func(Hinted)
	Resynced             func(Resynced)
	ShutdownRequested    func(ShutdownRequested)
	Error                func(Error)
}

// Dispatch calls the function for an event.
func (c *Callbacks) Dispatch(e Event) {
	switch e := e.(type) {
	case ContainersAllocated:
		call(c.ContainersAllocated, e)
	case ContainerStarted:
		call(c.ContainerStarted, e)
	case ContainerStartFailed:
		call(c.ContainerStartFailed, e)
	case ContainerCompleted:
		call(c.ContainerCompleted, e)
	case NodesUpdated:
		call(c.NodesUpdated, e)
	case ProbeNodesChanged:
		call(c.ProbeNodesChanged, e)
	case PreemptionRequested:
		call(c.PreemptionRequested, e)
	case RequestsRefused:
		call(c.RequestsRefused, e)
	case ContainersSuspended:
		call(c.ContainersSuspended, e)
	case ContainersResumed:
		call(c.ContainersResumed, e)
	case SwapRefused:
		call(c.SwapRefused, e)
	case ContainersRecovered:
		call(c.ContainersRecovered, e)
	case Hinted:
		call(c.Hinted, e)
	case Resynced:
		call(c.Resynced, e)
	case ShutdownRequested:
		call(c.ShutdownRequested, e)
	case Error:
		call(c.Error, e)
	}
}

func call[E Event](f func(E), e E) {
	if f != nil {
		f(e)
	}
}

// queue delivers events in order, however slow the application is, so that the conversation never waits for it.
type queue struct {
	out  chan Event
	wake chan struct{}

	mu     sync.Mutex
	events []Event
	closed bool
}

func newQueue() *queue { return &queue{out: make(chan Event), wake: make(chan struct{}, 1)} }

func (q *queue) put(e Event) {
	q.mu.Lock()
	q.events = append(q.events, e)
	q.mu.Unlock()
	signal(q.wake)
}

// close lets run end after the events in the queue.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.wake)
}

// run delivers events until close, or until done, when they are no longer received. It closes out.
func (q *queue) run(done <-chan struct{}) {
	defer close(q.out)
	for {
		q.mu.Lock()
		events, closed := q.events, q.closed
		q.events = nil
		q.mu.Unlock()
		for _, e := range events {
			select {
			case q.out <- e:
			case <-done:
				return
			}
		}
		switch {
		case len(events) > 0:
		case closed:
			return
		default:
			select {
			case <-q.wake:
			case <-done:
				return
			}
		}
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
