package load

import (
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// Load holds what a cluster was under. Times are ms since 1970, durations ms.
type Load struct {
	Begin, End int64            // of the record
	Queues     *eventlog.Source // at the beginning; nil: without queues
	Minimum    records.Resource
	Heartbeat  int64
	Reask      int64   // from the loss of a container to the request for another
	Nodes      int     // that there ever were
	Events     []Event // of the cluster, in the order of their times
	Apps       []App   // in the order of their submission
	Sessions   int     // leaderships
	Pauses     []Pause // in which no ResourceManager led that knew any node, in the order of their times
	Entries    int64   // lines of the record
	Decisions  int64   // of the scheduler
	Bytes      int64   // of the record, unpacked
	Torn       []string
	Notes      []string // what the record has, and the load hasn't
	// Parts holds what became of containers by the label that their node had when they began.
	Parts map[string]*Outcome
}

// Pause is a time, in ms since 1970, in which no container was granted: from a leader's last step until the next one knew a node.
type Pause struct{ From, To int64 }

// Event is a change of the cluster.
type Event struct {
	Time int64
	Op   eventlog.Op // AddNode, RemoveNode, SetLabel, SetCapability, SetOpen, SetAbility, SetExclusive, SetAttributes or SetTree
	Node int         // number of the node
	Spec *scheduler.NodeSpec
	Open scheduler.Works
	// Ability belongs to SetAbility, Exclusive to the label Label.
	Ability   drive.Ability
	Label     string
	Exclusive bool
	Queues    *eventlog.Source
	// Attributes are all that Host has, by their names with prefixes.
	Host       string
	Attributes map[string]string
}

// App is an application.
type App struct {
	ID          string // as records.ApplicationID writes it; empty: it has none
	Name        string // what people call it
	Queue, User string
	Type, Label string
	Priority    int32
	Master      records.Resource // of the ApplicationMaster's container; zero: it runs elsewhere
	Tags        []string         // by which others' placement constraints name it
	Spare, Keep bool             // its ApplicationMaster is spared by preemption; none of its containers is suspended
	Submit      int64            // Load.Begin if it was there before
	Before      bool             // it was there when the record began
	Line        int              // of the record, in the file that names it first
	Attempts    []Attempt
	Changes     []Change // in the order of their times
	// Withdrawn is how long after Submit it ended with requests unserved; 0: it didn't.
	Withdrawn int64
	// Cut says that it hadn't ended when the record did.
	Cut bool
	Now *Present // if it is Cut
	// Then holds what became of it.
	Then Outcome
}

// Change holds what befell an application from outside.
type Change struct {
	After       int64 // Submit
	Op          eventlog.Op
	Queue       string // MoveApp
	Priority    int32  // SetPriority
	Add, Remove []string
}

// Attempt is one life of an application's ApplicationMaster.
type Attempt struct {
	Asks    []Ask
	Kinds   []Kind
	Ends    int32 // completions of containers, after which it ends by itself
	Held    int64 // container time of the kinds that are held, together
	Tail    int64 // from its last container's end, or its last request, to its own end
	Fixed   int64 // from the ApplicationMaster's grant to the end, where nothing else ends it: it failed, or had no containers; -1: not so
	Master  Start // of its ApplicationMaster's container, if that ran when the record began
	Running []Start
	Maps    int // completions of maps, for which reduces wait; 0: nothing waits for maps
	granted bool
	span    int64 // from the grant to the last thing it did
}

// Start is a container that ran when the record began.
type Start struct {
	Kind     int // among Attempt.Kinds; Master: unused
	Life     int // among Kind.Lives
	Node     int
	Priority int32
	Since    int64
	Size     records.Resource
	Tags     []string // allocation tags
	Is       bool
}

// Ask is a change of what an attempt asks for.
type Ask struct {
	Ended int32 // how many containers of the attempt had ended
	Delay int64 // since the last of: that many had ended, the ask before, the grant of the ApplicationMaster
	Rows  []Row
}

// Row is a row of an ask: Count is the change.
type Row struct {
	scheduler.Ask
}

// Kind is containers of an attempt of one priority and size.
type Kind struct {
	Priority int32
	Size     records.Resource
	Lives    []Life // in the order of their grants
	Held     bool   // some ended with the attempt
	Reduce   bool   // they may wait for maps
	Map      bool   // reduces wait for them
}

// Life is how long a container ran.
type Life struct {
	MS         int64 // without the time for which it was suspended
	Begin, End int64 // then
	Post       int64 // of a reduce: how much of MS comes after the last map, if that ends after it began; -1: it waits for none
	Ends       Ending
}

// Ending says how a container ended.
type Ending uint8

// Endings.
const (
	Done   Ending = iota // by itself, or its ApplicationMaster released it
	Failed               // by itself, before its work was done
	WithIt               // with its attempt
	CutOff               // not before the record did
	undone               // preempted or lost; not part of a Load
)

// Outcome holds what became of an application, in a record or when a load is played. Times are ms since 1970; -1: never.
type Outcome struct {
	Granted    int64   // first container
	End        int64   // -1: it hadn't ended
	Waits      []int32 // of containers, from ask to grant, in ms
	MemoryMS   int64   // MB · ms that its containers ran
	CoreMS     int64   // vcores · ms
	WithinMS   int64   // of MemoryMS: within the time of the record
	Preempted  int32   // containers that preemption killed
	LostMS     int64   // that these, and those of lost nodes, had run
	Suspended  int32   // suspensions
	SuspendMS  int64
	Containers int32
}
