package preempt

import (
	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler/fairshare"
	"heddle/yarn/records"
)

// Snapshot is what a round looks at. A round doesn't change it.
type Snapshot struct {
	Cluster  records.Resource // of all nodes of the partition
	Others   records.Resource // of the nodes of other partitions: what a round takes at most is a part of the whole cluster
	Chosen   records.Resource // what rounds of other partitions have chosen at the same time
	Dominant bool             // amounts are compared by their dominant share, not by memory alone
	Minimum  records.Resource // the smallest container
	Queues   []Queue          // the root first, parents before their children
	Apps     []App            // with containers or pending asks
	Nodes    []Node           // for fair preemption; App.Containers index them
	// Fill adds the containers of an application, by its place in Apps, or, with -1, those of all with Nodes and Queue.Killable. That takes most of the time of a
	// snapshot, so it isn't done unless it is needed. nil: they are there.
	Fill func(app int)
}

// Complete adds what is missing. The cluster must be as it was.
func (s *Snapshot) Complete() {
	if fill := s.Fill; fill != nil {
		s.Fill = nil
		fill(-1)
	}
}

// Queue is a queue at this moment.
type Queue struct {
	Path   string
	Parent int // index in Queues, -1 of the root
	Used   records.Resource

	// Of a tree of YARN's CapacityScheduler:
	Guaranteed records.Resource
	Maximum    records.Resource
	Pending    records.Resource // of a leaf: asked for, within the limits of users, without what is reserved already
	Asked      records.Resource // the same with what is reserved
	Reserved   records.Resource // of Used: nodes are reserved for it
	Killable   records.Resource // of Used: of containers that are killable
	MaxAM      records.Resource // of a leaf: what ApplicationMasters that are spared may hold together
	Priority   int32            // among its siblings; 0 where the parent doesn't heed priorities
	Disabled   bool             // nothing is taken from it by other queues
	// Means is how resources are taken from its containers, Unable the same for those on nodes that can't suspend.
	Means, Unable suspension.Means
	IntraOff      bool // nothing is taken from it by its own applications
	FairRanking   bool // its applications are served by fairness, not one after the other

	// Of a tree of YARN's FairScheduler:
	Share       fairshare.Queue // Fair is computed already
	MinTimeout  int64           // ms below its minimum share before it preempts; negative: never
	FairTimeout int64           // ms below its fair share before it preempts; negative: never
	Threshold   float64         // part of the fair share below which it starves
}

// App is an application at this moment.
type App struct {
	ID        records.ApplicationID
	Queue     int // index in Queues
	User      string
	Priority  int32 // higher numbers are more important
	Seq       int64 // order of submission
	Used      records.Resource
	Fair      records.Resource // its share of the queue, in a Fair tree
	Remaining float64          // seconds until it ends, as far as it tells; +Inf: unknown
	UserLimit records.Resource // what its user may use of the queue beside all others, in a Capacity tree
	Asks      []Ask            // that are pending, most urgent first
	// Containers that it runs, and reservations that it has, in the order in which they were made.
	Containers []Container
}

// Ask is a number of equal containers that an application waits for.
type Ask struct {
	Name       string // a host, a rack, or * for any node
	Relax      bool   // another node does as well
	Capability records.Resource
	Count      int64
	Priority   int32 // lower numbers are more urgent
}

// Container is one that can be taken.
type Container struct {
	ID       records.ContainerID
	Node     int // index in Nodes
	Resource records.Resource
	Priority int32 // lower numbers are more important
	AM       bool  // runs the ApplicationMaster
	Reserved bool  // isn't running: a node is reserved for it. ID is of no attempt then, and higher the later that began
	Relax    bool  // of a reservation: another node does as well
	Killable bool  // was taken already, and ends when its room is needed
	Since    int64 // ms: when it was granted, or its node was reserved for it
	Handle   int32 // of whoever made the snapshot
	Spared   bool  // may not be taken, such as one that ends already

	// Held is what it takes on its node now, Footprint what it can be left: less only where it may be suspended, or shrunk.
	Held, Footprint records.Resource
	Quote           Quote // what taking its resources costs
	Whole           bool  // its node can't shrink it: it is suspended at once
	Idle            bool  // it holds the least on its node already, and is charged more as room waits for its return
}

// Node is a node at this moment.
type Node struct {
	Host, Rack string
	Free       records.Resource // that its containers don't use, none if it is closed
	Closed     bool             // takes no new containers
	Handle     int32            // of whoever made the snapshot
}

// Victim is a container that must go.
type Victim struct {
	App      records.ApplicationID
	ID       records.ContainerID
	Queue    string // path of the leaf that loses it
	Resource records.Resource
	AM       bool
	Reserved bool
	Handle   int32  // that the Container had
	Reason   string // with the numbers that decided
	// For is the recipient of the room; the zero value means the application whose turn it is.
	For records.ApplicationID
}

// Move is a reservation that another node is better for.
type Move struct {
	App    records.ApplicationID
	Queue  string // path of its leaf
	Handle int32  // that the Container had
	To     int32  // Handle of the Node
	Reason string
}

// Round is what one round asks for.
type Round struct {
	Undo []Victim // reservations, which go without a wait
	Move []Move
	Tell []Victim // newly marked: their ApplicationMasters are to be told
	Kill []Victim // marked long enough
	// Chosen sums up the resources of all of the round's victims, with those that were told before.
	Chosen records.Resource
}

// Cut is a container from which resources are taken, and which continues with less, or later.
type Cut struct {
	Victim
	To  records.Resource // what it takes on its node from now on
	All bool             // that is the least that it can be left
	By  string           // path of the leaf for which it is cut
	// ByApp is the application there whose request gets what is taken last.
	ByApp records.ApplicationID
	Quote Quote // that the Container had
	Node  int32 // Handle of its node
}

// pending returns what an application waits for.
func (a *App) pending() (sum records.Resource) {
	for _, k := range a.Asks {
		sum = sum.Add(k.Capability.Times(k.Count))
	}
	return sum
}
