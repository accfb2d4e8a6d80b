package drive

import (
	"cmp"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Kind says what a decision is about.
type Kind uint8

// Kinds of decisions. The first ones are the scheduler's own.
const (
	Allocate  = Kind(scheduler.Allocate)
	Activate  = Kind(scheduler.Activate)
	Reserve   = Kind(scheduler.Reserve)
	Unreserve = Kind(scheduler.Unreserve)
	Kill      = Kind(scheduler.Kill) // the container must be ended and freed now
)

// Kinds that rounds add.
const (
	Tell     Kind = iota + Kill + 1 // the application will lose the container unless it gives enough back
	Killable                        // the container ends as soon as its room is needed; then a Kill says so
	Grow                            // the container is as large as it was to be (Driver.Grow)
	Suspend                         // the container is to be suspended, and hold no more than Resource
	Shrink                          // the container is to hold Resource; what it is to do stays as it was
	Resume                          // the container gets back what it claims, and resumes
	Charge                          // Resource is charged for the container, as room waits for its return, or does so no more
)

// Decision is a decision of the scheduler or of preemption. Only App is set where the kind is Activate.
type Decision struct {
	Kind                Kind
	Container           scheduler.ContainerHandle
	App                 scheduler.AppHandle
	Node                scheduler.NodeHandle
	Resource            records.Resource
	Priority            int32
	AllocationRequestID int64
	ExecutionType       pb.ExecutionType
	Locality            scheduler.Locality
	// Reason is why preemption decided so, for people. It is empty where preemption had no part in it.
	Reason string
	// For is the path of the queue for which a container is suspended or shrunk, ForApp the application there that gets its resources.
	For    string
	ForApp records.ApplicationID
	// Quote is preemption's estimate of the cost of a suspension, and of its alternatives; nil: none was made.
	Quote *preempt.Quote
}

// Driver drives a scheduler. Questions go to the scheduler itself. Every change goes through the Driver's methods, which are
// the scheduler's, or its core's, where the Driver has none of that name; only Schedule, Snapshot and what preemption does to containers and
// reservations are the Driver's alone to call.
type Driver struct {
	*scheduler.Scheduler
	swaps
	cfg  scheduler.Config
	tree *queue.Tree
	now  int64

	apps       []app // by handle
	byID       map[records.ApplicationID]scheduler.AppHandle
	containers []container // by handle

	capacity []preempt.Capacity // by partition
	fair     preempt.Fair
	next     int64                                // when the next round is due; 0: with the next Step, if preemption is on by then
	killable map[scheduler.ContainerHandle]string // why containers are killable
	notes    []note
	growing  growths
	sus      suspender

	out   []Decision
	kills int // in out
}

// New returns a Driver of a new scheduler. Rounds are run as the settings of the queues say; without a tree there are none.
func New(cfg scheduler.Config) *Driver {
	tree := cmp.Or(cfg.Tree, queue.Default(queue.FIFO))
	d := &Driver{
		Scheduler: scheduler.New(cfg), cfg: cfg, tree: tree, byID: map[records.ApplicationID]scheduler.AppHandle{},
		killable: map[scheduler.ContainerHandle]string{}, growing: growths{at: map[records.ContainerID]scheduler.ContainerHandle{}},
	}
	d.sus, d.swaps.d = newSuspender(d), d
	return d
}

// SetTree replaces the queues, and with them the settings of preemption. An error leaves everything as it was.
func (d *Driver) SetTree(t *queue.Tree) error {
	if err := d.Scheduler.SetTree(t); err != nil {
		return err
	}
	d.tree, d.sus.enabled = t, t.Suspends()
	d.sus.findFirstDue()
	return nil
}

// Step decides at a time, by everything that was entered since the last call. It places what it can, and then runs a round of
// preemption if one is due. Where containers must be killed it stops: the caller frees them and calls Step again. The slice
// is good until the next call.
func (d *Driver) Step(now int64) []Decision {
	killed := d.killing() // what those held is for the applications for which they were killed
	d.begin(now)
	if !killed {
		d.grow()
	}
	d.sus.resumeFirst()
	d.sus.setAside()
	d.carryOut()
	if d.place(); d.killing() {
		return d.out
	}
	d.sus.try()
	again := false
	d.sus.nextDemand = 0
	switch {
	case d.now >= d.next:
		again = d.round()
	case d.sus.demanded():
		again = d.sus.onDemand()
	}
	if again && !d.killing() {
		d.place()
	}
	return d.out
}

// Place is Step without rounds, for replays of logs in which what rounds did stands as events of its own.
func (d *Driver) Place(now int64) []Decision {
	d.begin(now)
	d.place()
	return d.out
}

func (d *Driver) begin(now int64) {
	d.now = max(d.now, now)
	d.out = d.out[:0]
	d.kills = 0
}

func (d *Driver) place() {
	decided := d.Schedule(d.now)
	for i := range decided {
		d.add(&decided[i])
	}
	d.notes = d.notes[:0]
}

// killing reports whether there are containers that must end before anything else is decided.
func (d *Driver) killing() bool { return d.kills > 0 }

// add takes over a decision of the scheduler.
func (d *Driver) add(x *scheduler.Decision) {
	d.out = append(d.out, Decision{
		Kind: Kind(x.Kind), Container: x.Container, App: x.App, Node: x.Node, Resource: x.Resource, Priority: x.Priority,
		AllocationRequestID: x.AllocationRequestID, ExecutionType: x.ExecutionType, Locality: x.Locality,
	})
	switch x.Kind {
	case scheduler.Allocate:
		if len(d.sus.vain) > 0 { // else it isn't compared
			d.apps[x.App].granted++
		}
		d.enter(x.Container, container{app: x.App, priority: x.Priority, since: d.now})
	case scheduler.Kill:
		d.out[len(d.out)-1].Reason = d.killable[x.Container] + "; its room is needed now"
		d.kills++
	case scheduler.Reserve, scheduler.Unreserve:
		d.out[len(d.out)-1].Reason = d.noted(x)
	}
}

// NextRound returns when Step must be called for a round even if nothing happens, in ms; 0 if no rounds are run. NextWake is the
// same for what the scheduler waits for.
func (d *Driver) NextRound() int64 {
	next := d.next
	sooner := func(t int64) {
		if t > 0 && (next == 0 || t < next) {
			next = t
		}
	}
	sooner(d.sus.nextDemand)
	if len(d.sus.of) > 0 {
		sooner(d.sus.nextTry)
	}
	return next
}
