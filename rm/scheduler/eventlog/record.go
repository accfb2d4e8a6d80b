package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
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
	Minimum   Amounts `json:"minimum,omitzero"`
	Heartbeat int64   `json:"heartbeat,omitempty"` // ms
	// Continues says that the session began in another file: this one begins with what there was then.
	Continues bool `json:"continues,omitempty"`
	// Gap is what isn't on record before the session; nil: it begins where another one ended, or with a leadership.
	Gap *Gap `json:"gap,omitempty"`
}

// Decision is a drive.Decision as it is written: an object, or, where nothing is said of why, in the short form: a list of
// Kind, App, Container, Node, Priority, ID, Execution, Locality, and the amounts of Resource.
type Decision struct {
	Kind      string                    `json:"kind"`
	App       scheduler.AppHandle       `json:"app,omitempty"`
	Container scheduler.ContainerHandle `json:"container,omitempty"`
	Node      scheduler.NodeHandle      `json:"node,omitempty"`
	Resource  Amounts                   `json:"resource,omitzero"`
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
	copy(d.Resource[:], list[short:n])
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
			Kind: kindName(d.Kind), App: d.App, Container: d.Container, Node: d.Node, Resource: Amounts(d.Resource),
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
