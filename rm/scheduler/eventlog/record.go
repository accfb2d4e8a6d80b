package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Version of the format that is written. A reader also understands those before it. In the first one rounds of preemption were
// the caller's business: Schedule stood for Step, and what rounds did to containers and reservations were events of their own. Before
// the third one growth was, too: Resize stood for it. Suspension came with the third one, and types of applications, how containers
// ended and the outputs of maps with the fourth,
// input in memory with the fifth, speeds of nodes with the sixth, and what ApplicationMasters tell of their tasks with the seventh, labels of nodes with the
// eighth, short decisions with the ninth, placement constraints with the tenth, and containers that had not begun when they were to be suspended with the
// eleventh. A program that doesn't know an event says so.
const Version = 11

// Header begins a session.
type Header struct {
	Format    int     `json:"heddle-events"` // Version
	Heddle    string  `json:"heddle"`        // version of the program
	Time      int64   `json:"time"`          // of the beginning, in ms since 1970
	Queues    *Source `json:"queues"`        // nil: the tree of a scheduler without queues
	Minimum   amounts `json:"minimum,omitempty"`
	Heartbeat int64   `json:"heartbeat,omitempty"` // ms
	// Continues says that the session began in another file: this one begins with what there was then.
	Continues bool `json:"continues,omitempty"`
	// Gap is what isn't on record before the session; nil: it begins where another one ended, or with a leadership.
	Gap *Gap `json:"gap,omitempty"`
}

// Op says what an event was. The names are those of drive.Driver's methods.
type Op string

// Ops, with the fields of Record that they have.
const (
	AddNode         Op = "addNode"         // Node is the result; Host, Rack, Resource, Label
	RemoveNode      Op = "removeNode"      // Node
	SetCapability   Op = "setCapability"   // Node, Resource
	SetOpen         Op = "setOpen"         // Node, Open, Work
	SetLabel        Op = "setLabel"        // Node, Label
	SetExclusive    Op = "setExclusive"    // Label, Open: whether it is
	SetAttributes   Op = "setAttributes"   // Host, Attributes
	NameApp         Op = "nameApp"         // App, Name: its id, Add: tags
	SetTags         Op = "setTags"         // Container, Add
	AddApp          Op = "addApp"          // App is the result; Priority, Seq, Queue, User, Type, Resource, Name, AM: whether that is spared, Never, Label
	RemoveApp       Op = "removeApp"       // App
	MoveApp         Op = "moveApp"         // App, Queue
	SetPriority     Op = "setPriority"     // App, Priority
	UpdateAsks      Op = "updateAsks"      // App, Asks
	ClearAsks       Op = "clearAsks"       // App
	UpdateBlacklist Op = "updateBlacklist" // App, Add, Remove
	Restore         Op = "restore"         // Container is the result; App, Node, Resource, Attempt, First, Priority, AM, Since
	Identify        Op = "identify"        // Attempt, First, AM, Containers
	Free            Op = "free"            // Container, Failed
	Resize          Op = "resize"          // Container, Resource; Open is the result
	Grow            Op = "grow"            // Container, Resource; Open is the result
	SetHeld         Op = "setHeld"         // Container, Resource; Open is the result
	NoteHeld        Op = "noteHeld"        // Container, Resource; Open is the result
	SetAbility      Op = "setAbility"      // Node, Ability
	SetProgress     Op = "setProgress"     // App, Part
	WasSuspended    Op = "wasSuspended"    // Container, Resource, Since, Queue; Open is the result
	SetPast         Op = "setPast"         // Container, Times, Total
	SetStopped      Op = "setStopped"      // Container, Open: whether it is suspended
	SetMemory       Op = "setMemory"       // Container, Total: bytes
	Took            Op = "took"            // Container, Total: ms
	NoteOutputs     Op = "noteOutputs"     // App, Maps, Bytes
	NoteStaged      Op = "noteStaged"      // App, Node, Maps
	NoteTasks       Op = "noteTasks"       // App, Tasks
	NoteBandwidth   Op = "noteBandwidth"   // Part: bytes per second
	NoteSpeed       Op = "noteSpeed"       // Host, Task, Part: speed
	Return          Op = "return"          // Container, Forced; Open is the result
	Refused         Op = "refused"         // Container
	NotBegun        Op = "notBegun"        // Container: the same for one that hadn't begun
	Swap            Op = "swap"            // Container, Priority, Request; Open is the result
	Unswap          Op = "unswap"          // Container
	Step            Op = "step"            // Time, Decisions
	SetTree         Op = "setTree"         // Queues; Open is the result
	Name            Op = "name"            // App, Name: what people call it, if that isn't its id; the scheduler isn't told
)

// Ops of the first format only.
const (
	Unreserve       Op = "unreserve"       // Container; Open is the result
	MoveReservation Op = "moveReservation" // Container, Node; Open is the result
	MakeKillable    Op = "makeKillable"    // Container; Open is the result
	PreemptFor      Op = "promise"         // Container, App
	SpareKillable   Op = "spareKillable"   // nothing
	Schedule        Op = "schedule"        // Time, Decisions
)

// Record is an event.
type Record struct {
	Op        Op                        `json:"op"`
	Time      int64                     `json:"t,omitempty"` // ms since 1970
	Node      scheduler.NodeHandle      `json:"node,omitempty"`
	App       scheduler.AppHandle       `json:"app,omitempty"`
	Container scheduler.ContainerHandle `json:"container,omitempty"`
	Name      string                    `json:"name,omitempty"`
	Host      string                    `json:"host,omitempty"`
	Rack      string                    `json:"rack,omitempty"`
	Queue     string                    `json:"queue,omitempty"`
	User      string                    `json:"user,omitempty"`
	Type      string                    `json:"type,omitempty"` // of an application
	Label     string                    `json:"label,omitempty"`
	Priority  int32                     `json:"priority,omitempty"`
	Seq       int64                     `json:"seq,omitempty"`
	Open      bool                      `json:"open,omitempty"`
	Work      scheduler.Works           `json:"work,omitempty"` // if it is some kinds only
	AM        bool                      `json:"am,omitempty"`
	Never     bool                      `json:"never,omitempty"` // an application that isn't suspended
	Attempt   int32                     `json:"attempt,omitempty"`
	First     int64                     `json:"first,omitempty"` // number of the first container in the attempt
	Since     int64                     `json:"since,omitempty"` // ms since 1970
	Resource  amounts                   `json:"resource,omitempty"`
	Asks      []ask                     `json:"asks,omitempty"`
	Add       []string                  `json:"add,omitempty"`
	Remove    []string                  `json:"remove,omitempty"`
	Queues    *Source                   `json:"queues,omitempty"`
	Decisions []Decision                `json:"decisions,omitempty"`

	Containers []scheduler.ContainerHandle `json:"containers,omitempty"`
	Ability    *drive.Ability              `json:"ability,omitempty"`
	Part       float64                     `json:"part,omitempty"`
	Forced     bool                        `json:"forced,omitempty"`
	Times      int                         `json:"times,omitempty"`  // of suspensions
	Total      int64                       `json:"total,omitempty"`  // ms or bytes
	Failed     bool                        `json:"failed,omitempty"` // before its work was done
	Maps       int64                       `json:"maps,omitempty"`
	Task       survey.Task                 `json:"task,omitempty"`    // 0: maps and others, 1: reduces
	Request    int64                       `json:"request,omitempty"` // allocation request id
	Bytes      int64                       `json:"bytes,omitempty"`
	Tasks      *tasks                      `json:"tasks,omitempty"`
	Attributes map[string]string           `json:"attributes,omitempty"` // by name with prefix
}

// tasks is a scheduler.TaskReport as it is written.
type tasks struct {
	Left      int64   `json:"left,omitempty"`
	Copies    bool    `json:"copies,omitempty"`
	Young     int64   `json:"young,omitempty"`
	Detection int64   `json:"detection,omitempty"` // ms
	ToRead    int64   `json:"toRead,omitempty"`
	ToMake    int64   `json:"toMake,omitempty"`
	Ended     int64   `json:"ended,omitempty"`
	Beta      float64 `json:"beta,omitempty"`
}

func (t *tasks) decode() (scheduler.TaskReport, error) {
	if t == nil || min(t.Left, t.Young, t.Detection, t.ToRead, t.ToMake, t.Ended) < 0 || !(t.Beta >= 0) {
		return scheduler.TaskReport{}, fmt.Errorf("%+v can't be what an ApplicationMaster tells of its tasks", t)
	}
	return scheduler.TaskReport(*t), nil
}

// amounts is a resource by index, without trailing zeros.
type amounts []int64

func amountsOf(r records.Resource) amounts {
	n := used(&r)
	if n == 0 {
		return nil
	}
	return append(amounts(nil), r[:n]...)
}

// used returns how many types of resources there are up to the last one that isn't 0.
func used(r *records.Resource) int {
	n := len(r)
	for n > 0 && r[n-1] == 0 {
		n--
	}
	return n
}

// most bounds amounts, so that sums of them can't overflow.
const most = 1 << 50

func (a amounts) resource() (r records.Resource, err error) {
	if len(a) > len(r) {
		return r, fmt.Errorf("has %d types of resources, %d are possible", len(a), len(r))
	}
	for i, v := range a {
		if v < 0 || v > most {
			return r, fmt.Errorf("amount %d of resource %d is out of range", v, i)
		}
		r[i] = v
	}
	return r, nil
}

type ask struct {
	Priority  int32   `json:"priority,omitempty"`
	ID        int64   `json:"id,omitempty"`
	Name      string  `json:"name"`
	Resource  amounts `json:"resource,omitempty"`
	Count     int32   `json:"count"`
	Relax     bool    `json:"relax,omitempty"`
	Execution int32   `json:"execution,omitempty"`
	Work      uint8   `json:"work,omitempty"`
	Label     string  `json:"label,omitempty"`
	Stays     bool    `json:"stays,omitempty"`

	Placement *scheduler.Placement `json:"placement,omitempty"`
}

func asksOf(asks []scheduler.Ask) []ask {
	out := make([]ask, len(asks))
	for i := range asks {
		a := &asks[i]
		out[i] = ask{
			Priority: a.Priority, ID: a.AllocationRequestID, Name: a.Name, Resource: amountsOf(a.Capability),
			Count: a.Count, Relax: a.RelaxLocality, Execution: int32(a.ExecutionType), Work: uint8(a.Work),
			Label: a.Label, Stays: a.Stays, Placement: a.Placement,
		}
	}
	return out
}

func (a *ask) decode() (scheduler.Ask, error) {
	r, err := a.Resource.resource()
	if err == nil && a.Count < 0 {
		err = fmt.Errorf("asks for %d containers", a.Count)
	}
	if err == nil && a.Placement != nil {
		err = a.Placement.Check()
	}
	return scheduler.Ask{
		Priority: a.Priority, AllocationRequestID: a.ID, Name: a.Name, Capability: r, Count: a.Count,
		RelaxLocality: a.Relax, ExecutionType: pb.ExecutionType(a.Execution), Work: scheduler.Work(a.Work),
		Label: a.Label, Stays: a.Stays, Placement: a.Placement,
	}, err
}

// Decision is a drive.Decision as it is written: an object, or, where nothing is said of why, in the short form: a list of
// Kind, App, Container, Node, Priority, ID, Execution, Locality, and the amounts of Resource.
type Decision struct {
	Kind      string                    `json:"kind"`
	App       scheduler.AppHandle       `json:"app,omitempty"`
	Container scheduler.ContainerHandle `json:"container,omitempty"`
	Node      scheduler.NodeHandle      `json:"node,omitempty"`
	Resource  amounts                   `json:"resource,omitempty"`
	Priority  int32                     `json:"priority,omitempty"`
	ID        int64                     `json:"id,omitempty"`
	Execution int32                     `json:"execution,omitempty"`
	Locality  uint8                     `json:"locality,omitempty"`
	Reason    string                    `json:"reason,omitempty"` // for people; a replay may find other words
	For       string                    `json:"for,omitempty"`
}

var kinds = [...]string{
	drive.Allocate: "allocate", drive.Activate: "activate", drive.Reserve: "reserve", drive.Unreserve: "unreserve",
	drive.Kill: "kill", drive.Tell: "tell", drive.Killable: "killable", drive.Grow: "grow", drive.Suspend: "suspend", drive.Shrink: "shrink", drive.Resume: "resume",
	drive.Charge: "charge",
}

// short is how many numbers the short form has before the amounts.
const short = 7

// limits are the least and the greatest numbers of the short form.
var limits = [short][2]int64{
	{0, math.MaxInt32},
	{0, math.MaxInt32},
	{0, math.MaxInt32},
	{math.MinInt32, math.MaxInt32},
	{math.MinInt64, math.MaxInt64},
	{math.MinInt32, math.MaxInt32},
	{0, math.MaxUint8},
}

// UnmarshalJSON reads both forms. Its errors say what is wrong.
func (d *Decision) UnmarshalJSON(text []byte) error {
	if len(text) == 0 || text[0] != '[' {
		type long Decision
		return json.Unmarshal(text, (*long)(d))
	}
	first, rest, _ := bytes.Cut(bytes.Trim(text, "[] "), []byte(","))
	kind, err := kindOf(bytes.Trim(first, `" `))
	if err != nil {
		return err
	}
	var list [short + len(records.Resource{})]int64
	n, err := numbers(rest, list[:])
	if err != nil {
		return fmt.Errorf("a decision: %w", err)
	}
	if n < short {
		return fmt.Errorf("a decision has %d numbers: it needs %d before the amounts of resources", n, short)
	}
	for i, limit := range limits {
		if list[i] < limit[0] || list[i] > limit[1] {
			return fmt.Errorf("number %d of a decision is %d: it is out of range", i+1, list[i])
		}
	}
	*d = Decision{
		Kind: kind, App: scheduler.AppHandle(list[0]), Container: scheduler.ContainerHandle(list[1]), Node: scheduler.NodeHandle(list[2]),
		Priority: int32(list[3]), ID: list[4], Execution: int32(list[5]), Locality: uint8(list[6]),
	}
	if n > short {
		d.Resource = append(amounts(nil), list[short:n]...)
	}
	return nil
}

func kindOf(text []byte) (string, error) {
	for _, k := range kinds {
		if k == string(text) {
			return k, nil
		}
	}
	return "", fmt.Errorf("%q is no kind of decision", text)
}

// numbers reads whole numbers with commas between them, and returns how many there are.
func numbers(text []byte, to []int64) (n int, err error) {
	for more := true; more; n++ {
		if n == len(to) {
			return n, fmt.Errorf("there are more than %d numbers", len(to))
		}
		var part []byte
		part, text, more = bytes.Cut(text, []byte(","))
		if to[n], err = strconv.ParseInt(string(bytes.TrimSpace(part)), 10, 64); err != nil {
			return n, err
		}
	}
	return n, nil
}

func decisionsOf(decisions []drive.Decision) []Decision {
	out := make([]Decision, len(decisions))
	for i := range decisions {
		d := &decisions[i]
		out[i] = Decision{
			Kind: kindName(d.Kind), App: d.App, Container: d.Container, Node: d.Node, Resource: amountsOf(d.Resource),
			Priority: d.Priority, ID: d.AllocationRequestID, Execution: int32(d.ExecutionType), Locality: uint8(d.Locality), Reason: d.Reason,
			For: d.For,
		}
	}
	return out
}

func kindName(k drive.Kind) string {
	if int(k) < len(kinds) && kinds[k] != "" {
		return kinds[k]
	}
	return fmt.Sprint("kind", int(k))
}

// Size is the record's Resource. Errors say which amount is out of range.
func (r *Record) Size() (records.Resource, error) { return r.Resource.resource() }

// Requests are the record's Asks. Errors say what of one makes no sense.
func (r *Record) Requests() ([]scheduler.Ask, error) {
	asks := make([]scheduler.Ask, len(r.Asks))
	for i := range r.Asks {
		var err error
		if asks[i], err = r.Asks[i].decode(); err != nil {
			return nil, err
		}
	}
	return asks, nil
}

// Size is the decision's Resource, as Record.Size is a record's.
func (d *Decision) Size() (records.Resource, error) { return d.Resource.resource() }

// Least is the smallest container of the session.
func (h *Header) Least() (records.Resource, error) { return h.Minimum.resource() }
