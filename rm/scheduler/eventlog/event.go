package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Op says what an event is. The names are those of drive.Driver's methods.
type Op string

// Ops, with the fields of Event that they have.
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
	SetTree         Op = "setTree"         // Queues, Tree; Open is the result
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

// Event is a change of what a scheduler knows: what Recorder.Apply carries out, what is written to a log, and what a replay reads. Which fields it has
// depends on its Op.
type Event struct {
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
	Resource  Amounts                   `json:"resource,omitzero"`
	Asks      Asks                      `json:"asks,omitempty"`
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
	Tasks      *Tasks                      `json:"tasks,omitempty"`
	Attributes map[string]string           `json:"attributes,omitempty"` // by name with prefix

	Tree *queue.Tree `json:"-"` // made of Queues
	Err  error       `json:"-"` // why it had no effect: the result of a SetTree or a Swap
}

// Added returns the event that a node joins.
func Added(spec scheduler.NodeSpec) Event {
	return Event{Op: AddNode, Host: spec.Host, Rack: spec.Rack, Resource: Amounts(spec.Capability), Label: spec.Label}
}

// Submitted returns the event that an application comes, which may ask for containers.
func Submitted(spec drive.AppSpec) Event {
	e := Event{
		Op: AddApp, Priority: spec.Priority, Seq: spec.Seq, Queue: spec.Queue, User: spec.User, Type: spec.Type, Resource: Amounts(spec.AM),
		AM: spec.SpareMaster, Never: spec.NeverSuspend, Label: spec.Label,
	}
	if spec.ID != (records.ApplicationID{}) {
		e.Name = spec.ID.String()
	}
	return e
}

// Restored returns the event that a container is there which was granted earlier.
func Restored(a scheduler.AppHandle, n scheduler.NodeHandle, r records.Resource, c drive.Container) Event {
	return Event{
		Op: Restore, App: a, Node: n, Resource: Amounts(r), Attempt: c.Attempt, First: c.ID, Priority: c.Priority, AM: c.AM, Since: c.Since,
	}
}

// Opened returns the event that a node takes new containers for some kinds of work.
func Opened(n scheduler.NodeHandle, to scheduler.Works) Event {
	e := Event{Op: SetOpen, Node: n, Open: to != scheduler.NoWork}
	if e.Open && to != scheduler.AllWork {
		e.Work = to
	}
	return e
}

// Works returns for which kinds of work a node takes new containers after a SetOpen.
func (e *Event) Works() scheduler.Works {
	if e.Work != scheduler.NoWork {
		return e.Work
	}
	return scheduler.OpenIf(e.Open)
}

// NodeSpec returns what an AddNode says of the node.
func (e *Event) NodeSpec() scheduler.NodeSpec {
	return scheduler.NodeSpec{Host: e.Host, Rack: e.Rack, Capability: records.Resource(e.Resource), Label: e.Label}
}

// container returns what a Restore says of the container.
func (e *Event) container() drive.Container {
	return drive.Container{Attempt: e.Attempt, ID: e.First, Priority: e.Priority, AM: e.AM, Since: e.Since}
}

// app returns what an AddApp says of the application. It fails where its name is no id.
func (e *Event) app() (spec drive.AppSpec, err error) {
	if e.Name != "" {
		spec.ID, err = records.ParseApplicationID(e.Name)
	}
	spec.AppSpec = scheduler.AppSpec{
		Priority: e.Priority, Seq: e.Seq, Queue: e.Queue, User: e.User, Type: e.Type, AM: records.Resource(e.Resource), Label: e.Label,
	}
	spec.SpareMaster, spec.NeverSuspend = e.AM, e.Never
	return spec, err
}

// Tasks is a scheduler.TaskReport as it is written.
type Tasks struct {
	Left      int64   `json:"left,omitempty"`
	Copies    bool    `json:"copies,omitempty"`
	Young     int64   `json:"young,omitempty"`
	Detection int64   `json:"detection,omitempty"` // ms
	ToRead    int64   `json:"toRead,omitempty"`
	ToMake    int64   `json:"toMake,omitempty"`
	Ended     int64   `json:"ended,omitempty"`
	Beta      float64 `json:"beta,omitempty"`
}

func (t *Tasks) report() scheduler.TaskReport { return scheduler.TaskReport(*t) }

// sane reports whether an ApplicationMaster can tell so of its tasks.
func (t *Tasks) sane() bool {
	return t != nil && min(t.Left, t.Young, t.Detection, t.ToRead, t.ToMake, t.Ended) >= 0 && t.Beta >= 0
}

// Amounts is a resource. It is written as a list by index, without trailing zeros.
type Amounts records.Resource

// maxAmount bounds amounts of events and of asks that are read.
const maxAmount = 1 << 50

// MarshalJSON writes the list.
func (a Amounts) MarshalJSON() ([]byte, error) {
	r := records.Resource(a)
	return json.Marshal(r[:used(&r)])
}

// UnmarshalJSON reads it, whatever the amounts.
func (a *Amounts) UnmarshalJSON(text []byte) error {
	var list []int64
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if len(list) > len(a) {
		return invalid{fmt.Errorf("has %d types of resources, %d are possible", len(list), len(a))}
	}
	*a = Amounts{}
	copy(a[:], list)
	return nil
}

// Check refuses amounts below 0, and those that are so large that sums could overflow.
func (a *Amounts) Check() error {
	for i, v := range a {
		if v < 0 || v > maxAmount {
			return invalid{fmt.Errorf("amount %d of resource %d is out of range", v, i)}
		}
	}
	return nil
}

// invalid is an error of a value that can be read, and makes no sense.
type invalid struct{ error }

func (e invalid) Unwrap() error { return e.error }

// used returns how many types of resources there are up to the last one that isn't 0.
func used(r *records.Resource) int {
	n := len(r)
	for n > 0 && r[n-1] == 0 {
		n--
	}
	return n
}

// Asks are rows of requests. They are written in a form of their own. What is read makes sense.
type Asks []scheduler.Ask

// ask is a scheduler.Ask as it is written.
type ask struct {
	Priority  int32   `json:"priority,omitempty"`
	ID        int64   `json:"id,omitempty"`
	Name      string  `json:"name"`
	Resource  Amounts `json:"resource,omitzero"`
	Count     int32   `json:"count"`
	Relax     bool    `json:"relax,omitempty"`
	Execution int32   `json:"execution,omitempty"`
	Work      uint8   `json:"work,omitempty"`
	Label     string  `json:"label,omitempty"`
	Stays     bool    `json:"stays,omitempty"`

	Scheduling *scheduler.SchedulingRequest `json:"placement,omitempty"`
}

// MarshalJSON writes asks in their form.
func (all Asks) MarshalJSON() ([]byte, error) {
	out := make([]ask, len(all))
	for i := range all {
		a := &all[i]
		out[i] = ask{
			Priority: a.Priority, ID: a.AllocationRequestID, Name: a.Name, Resource: Amounts(a.Capability),
			Count: a.Count, Relax: a.RelaxLocality, Execution: int32(a.ExecutionType), Work: uint8(a.Work),
			Label: a.Label, Stays: a.Stays, Scheduling: a.Scheduling,
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(out)
	return text.Bytes(), err
}

// UnmarshalJSON reads them. Errors say what of one makes no sense.
func (all *Asks) UnmarshalJSON(text []byte) error {
	var list []ask
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*all = make(Asks, len(list))
	for i := range list {
		a := &list[i]
		err := a.Resource.Check()
		if err == nil && a.Count < 0 {
			err = fmt.Errorf("asks for %d containers", a.Count)
		}
		if err == nil && a.Scheduling != nil {
			err = a.Scheduling.Check()
		}
		if err != nil {
			return invalid{err}
		}
		(*all)[i] = scheduler.Ask{
			Priority: a.Priority, AllocationRequestID: a.ID, Name: a.Name, Capability: records.Resource(a.Resource), Count: a.Count,
			RelaxLocality: a.Relax, ExecutionType: pb.ExecutionType(a.Execution), Work: scheduler.Work(a.Work),
			Label: a.Label, Stays: a.Stays, Scheduling: a.Scheduling,
		}
	}
	return nil
}
