package scheduler

import (
	"time"

	"heddle/internal/invariants"
	"heddle/rm/queue"
	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/intern"
	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/nodeindex"
	"heddle/rm/scheduler/order"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// NodeHandle, AppHandle and ContainerHandle name what the scheduler holds. They are reused after their object is gone.
type (
	NodeHandle      = handle.Node
	AppHandle       = handle.App
	ContainerHandle = handle.Container
)

// Locality says how near to its preferred places a container was put.
type Locality uint8

// Localities, best first.
const (
	NodeLocal Locality = iota
	RackLocal
	OffSwitch // also where there was no preference
)

// DecisionKind says what a decision is about.
type DecisionKind uint8

// Kinds of decisions.
const (
	Allocate  DecisionKind = iota // a container is granted
	Activate                      // an application may have containers from now on
	Reserve                       // a node is kept for a container that doesn't fit on it yet
	Unreserve                     // it is kept no more
	Kill                          // a killable container must be ended and freed, for one for which a node is kept
)

// Decision is what the scheduler has decided. Only App is set where the kind is Activate.
type Decision struct {
	Kind                DecisionKind
	Container           handle.Container
	App                 handle.App
	Node                handle.Node
	Resource            records.Resource
	Priority            int32
	AllocationRequestID int64
	ExecutionType       pb.ExecutionType
	Locality            Locality
}

// Config is what a scheduler works by.
type Config struct {
	// Tree is the queues; nil is root.default alone, without limits.
	Tree *queue.Tree
	// Minimum is the smallest container. Limits of users and ApplicationMasters are multiples of it.
	Minimum records.Resource
	// Types are the resources that there are.
	Types records.ResourceTypes
	// Heartbeat is the interval of nodes' heartbeats, in which YARN counts delays for locality; 0 means no such delays.
	Heartbeat time.Duration
}

// Scheduler holds queues, nodes, applications and containers. The zero value is not usable; see New.
type Scheduler struct {
	cfg      Config
	tree     *queue.Tree
	calc     measure.Calculator
	capacity bool // the queues are those of YARN's CapacityScheduler
	now      int64

	queues     []runQueue
	freeQueues []int32
	byPath     map[string]int32
	users      []user
	freeUsers  []int32
	el         order.Arena
	classes    class.Table

	nodes     []node
	freeNodes []handle.Node
	kinds     intern.Amounts // what nodes have
	index     nodeindex.Index
	cursor    int              // where the next search for any node begins, so that load spreads
	openNodes int              // that take containers
	headroom  records.Resource // free on all open nodes
	largest   records.Resource // of any open node, by type
	smallest  records.Resource
	resized   bool             // largest and smallest are out of date
	cluster   records.Resource // of all open nodes, and what is still used on closed ones
	stale     bool             // limits must be computed anew

	apps     []app
	freeApps []handle.App
	held     []handle.App     // applications that wait for one of the limits on how many run at once, by submission
	running  map[string]int32 // applications of a user that count for how many may run at once
	activate []int32          // leaves in which an application may become active

	containers     []container
	freeContainers []handle.Container
	sizes          intern.Amounts
	keepings       []keeping
	freeKeepings   []int32

	changes  int64       // of what applications ask for and hold, of limits and of nodes
	places   int64       // changes of which nodes there are
	lines    order.Arena // of demands
	demandOf []*demand
	passed   int64 // demands and applications that were gone through one by one, which tests hold down

	names      intern.Names       // of hosts and racks
	sites      []site             // hosts and racks by their name's number
	awaited    []bool             // names that demands prefer, or did: those with waiters
	reserved   []handle.Container // in the order in which nodes were kept
	scheduling bool               // undone reservations are among the decisions
	kept                          // which reservations may be filled or undone
	roomier    bool               // nodes may have room for reservations
	undone     []Decision         // on reservations, since the last call of Schedule
	killable   []handle.Container // see MakeKillable
	promises   []promise          // see Promise
	late       []*demand          // that wait for better places for some time
	wakeup     int64              // see NextWake
	fair       fairShares
	starve     starve
	parked     []*demand  // that wait for room on nodes that their application wants, or below their queues' limits
	picked     order.Mask // the classes that the application that was picked last could have
	out        []Decision
	explaining *explaining // while applications are explained
}

// root is the handle of the root queue.
const root = int32(0)

// New returns a scheduler without nodes.
func New(cfg Config) *Scheduler {
	s := &Scheduler{
		cfg: cfg, calc: measure.New(cfg.Types.Len(), cfg.Minimum), index: nodeindex.New(cfg.Types.Len()), classes: class.New(), names: intern.NewNames(), byPath: map[string]int32{}, running: map[string]int32{},
		sizes: intern.NewAmounts(), kinds: intern.NewAmounts(), starve: starve{whole: nodeindex.New(cfg.Types.Len())},
	}
	tree := cfg.Tree
	if tree == nil {
		tree = queue.Default(queue.FIFO)
		s.setTree(tree)
		s.calc.SetMemoryOnly(false)
		return s
	}
	s.setTree(tree)
	return s
}

// Schedule places what can be placed since the events that were entered after the last call, and returns the decisions.
// now is in ms and never goes back. The slice is good until the next call.
//
// Each container goes to the application whose turn it is by the policies of the queues from the root down, for its most
// urgent request that fits anywhere: where it is preferred first, then in the preferred racks, then anywhere.
func (s *Scheduler) Schedule(now int64) []Decision {
	s.now = max(s.now, now)
	s.out = append(s.out[:0], s.undone...)
	s.undone = s.undone[:0]
	if s.names.Crowded() {
		s.forgetNames()
	}
	s.scheduling = true
	s.refresh()
	if s.wakeup != 0 && s.now >= s.wakeup {
		s.wakeUp()
	}
	s.activateApps()
	s.keepPromises()
	reviewing := s.review()
	for more := true; more; more = s.roomier {
		s.fill()
		for h := s.next(); h != order.Nothing; h = s.next() {
			s.place(handle.App(h))
		}
	}
	if reviewing {
		s.keepForStarved()
	}
	if len(s.killable) > 0 {
		s.claim()
	}
	s.scheduling = false
	if invariants.Checked {
		s.mustHold()
	}
	return s.out
}

// NextWake is when Schedule must be called again even if nothing happens, in ms; 0 if it needn't.
func (s *Scheduler) NextWake() int64 { return s.wakeup }

func (s *Scheduler) wakeAt(t int64) {
	if s.wakeup == 0 || t < s.wakeup {
		s.wakeup = t
	}
}
