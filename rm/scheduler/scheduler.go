package scheduler

import (
	"time"

	"heddle/internal/invariants"
	"heddle/rm/queue"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// NodeHandle, AppHandle and ContainerHandle name what the scheduler holds. They are reused after their object is gone.
type (
	NodeHandle      int32
	AppHandle       int32
	ContainerHandle int32
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
	Container           ContainerHandle
	App                 AppHandle
	Node                NodeHandle
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
	cfg        Config
	tree       *queue.Tree
	memoryOnly bool // nodes and limits are measured by memory alone (YARN: DefaultResourceCalculator)
	capacity   bool // the queues are those of YARN's CapacityScheduler
	now        int64

	queues     []runQueue
	freeQueues []int32
	byPath     map[string]int32
	users      []user
	freeUsers  []int32
	el         elements
	classes    classes

	nodes     []node
	freeNodes []NodeHandle
	kinds     sizes // what nodes have
	index     index
	cursor    int              // where the next search for any node begins, so that load spreads
	openNodes int              // that take containers
	headroom  records.Resource // free on all open nodes
	largest   records.Resource // of any open node, by type
	smallest  records.Resource
	resized   bool             // largest and smallest are out of date
	cluster   records.Resource // of all open nodes, and what is still used on closed ones
	limitsOf  records.Resource // the size of the cluster that limits were computed for
	stale     bool             // limits must be computed anew

	apps     []app
	freeApps []AppHandle
	held     []AppHandle      // applications that wait for one of the limits on how many run at once, by submission
	running  map[string]int32 // applications of a user that count for how many may run at once
	activate []int32          // leaves in which an application may become active

	containers     []container
	freeContainers []ContainerHandle
	sizes          sizes
	keepings       []keeping
	freeKeepings   []int32

	changes  int64    // of what applications ask for and hold, of limits and of nodes
	places   int64    // changes of which nodes there are
	lines    elements // of demands
	demandOf []*demand
	passed   int64 // demands and applications that were gone through one by one, which tests hold down

	names      map[string]int32
	spelled    []string // names by their number
	freeNames  []int32
	mostNames  int               // so many names that those nobody uses are to be forgotten
	leastNames int               // and not fewer
	sites      []site            // hosts and racks by their name's number
	awaited    []bool            // names that demands prefer, or did: those with waiters
	reserved   []ContainerHandle // in the order in which nodes were kept
	scheduling bool              // undone reservations are among the decisions
	least      records.Resource  // Config.Minimum as it is measured
	kept                         // which reservations may be filled or undone
	roomier    bool              // nodes may have room for reservations
	undone     []Decision        // on reservations, since the last call of Schedule
	killable   []ContainerHandle // see MakeKillable
	promises   []promise         // see Promise
	late       []*demand         // that wait for better places for some time
	wakeup     int64             // see NextWake
	fair       fairShares
	starve     starve
	parked     []*demand // that wait for room on nodes that their application wants, or below their queues' limits
	picked     mask      // the classes that the application that was picked last could have
	out        []Decision
	explaining *explaining // while applications are explained
}

// root is the handle of the root queue.
const root = int32(0)

// New returns a scheduler without nodes.
func New(cfg Config) *Scheduler {
	s := &Scheduler{
		cfg: cfg, index: newIndex(cfg.Types.Len()), classes: newClasses(), names: map[string]int32{}, mostNames: minNames, leastNames: minNames, byPath: map[string]int32{}, running: map[string]int32{},
		sizes: newSizes(), kinds: newSizes(), starve: starve{whole: newIndex(cfg.Types.Len())},
	}
	tree := cfg.Tree
	if tree == nil {
		tree = queue.Default(queue.FIFO)
		s.setTree(tree)
		s.memoryOnly, s.least = false, cfg.Minimum
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
	if len(s.names) > s.mostNames {
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
		for h := s.next(); h != nothing; h = s.next() {
			s.place(AppHandle(h))
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

// types is how many types of resources there are.
func (s *Scheduler) types() int { return s.index.types }

// fits reports whether a measured amount is at most another, of which only what is measured counts.
func (s *Scheduler) fits(size, in *records.Resource) bool {
	if s.memoryOnly || size[records.Memory] > in[records.Memory] {
		return size[records.Memory] <= in[records.Memory]
	}
	for i := 1; i < s.types(); i++ {
		if size[i] > in[i] {
			return false
		}
	}
	return true
}

// negative is an amount to be taken off.
func (s *Scheduler) negative(r *records.Resource) (out records.Resource) {
	s.sub(&out, r)
	return out
}

// add adds one amount to another. In hot paths it counts that nothing is copied, and that types that there aren't are passed
// over.
func (s *Scheduler) add(to, r *records.Resource) {
	to[records.Memory] += r[records.Memory]
	to[records.VCores] += r[records.VCores]
	for i := records.VCores + 1; i < s.types(); i++ {
		to[i] += r[i]
	}
}

// sub is add's opposite.
func (s *Scheduler) sub(from, r *records.Resource) {
	from[records.Memory] -= r[records.Memory]
	from[records.VCores] -= r[records.VCores]
	for i := records.VCores + 1; i < s.types(); i++ {
		from[i] -= r[i]
	}
}

// measure is what of an amount counts on nodes and for limits.
func (s *Scheduler) measure(r records.Resource) records.Resource {
	if s.memoryOnly {
		return records.Resource{records.Memory: r[records.Memory]}
	}
	return r
}

// take returns a free handle, of an object that was released or a new one.
func take[T any, H ~int32](all *[]T, free *[]H) H {
	if k := len(*free); k > 0 {
		h := (*free)[k-1]
		*free = (*free)[:k-1]
		return h
	}
	var zero T
	*all = append(*all, zero)
	return H(len(*all) - 1)
}
