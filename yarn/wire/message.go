package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Kind is the kind of a message, and its field's number.
type Kind protowire.Number

// Kinds of messages.
const (
	KindPing   Kind = 1
	KindHello  Kind = 2 // from executors
	KindTask   Kind = 3 // to executors and nodes
	KindCancel Kind = 4 // likewise
	KindOutput Kind = 5 // from executors and nodes
	KindEnded  Kind = 6 // likewise

	// Those of probes are in probe.go.
	KindGreeting Kind = 7  // from schedulers
	KindLent     Kind = 8  // from nodes
	KindProbe    Kind = 9  // to nodes
	KindVerdict  Kind = 10 // from nodes
	KindAsk      Kind = 11 // from nodes
	KindNoTask   Kind = 12 // to nodes
	KindDrop     Kind = 13 // to nodes
	KindRefusal  Kind = 14 // from nodes
	KindIdle     Kind = 15 // from nodes
	KindBegin    Kind = 16 // to executors of nodes
	KindRecall   Kind = 17 // likewise
	KindEstimate Kind = 18 // to nodes
)

// Hello is the first message of an executor.
type Hello struct {
	Container string // the id of its container
	Host      string
	Slots     uint64 // tasks that it runs at a time
	PID       uint64 // its process, which a node of its machine looks at; 0: not told
}

// Kinds of tasks.
const (
	Command = 0 // Args are run as processes
	Call    = 1 // Payload is handed to an interpreter that is kept warm; Args are the interpreter's command line
	Nothing = 2 // ends when its TimeoutMS are over, as benchmarks need it
)

// Task is a task to run.
type Task struct {
	ID        uint64 // of the attempt, never used again on a connection
	What      uint64 // Command, Call or Nothing
	Args      []string
	Env       []string // NAME=VALUE, in addition to the executor's own
	Dir       string   // used if the node has it, unless NeedDir
	NeedDir   bool     // a node that lacks Dir doesn't run the task
	TimeoutMS uint64
	Payload   []byte
	// For nodes: tasks of the job that wait, and whether the task is a copy of one that runs. Its ID is that of the Ask.
	Left     uint64
	Clone    bool
	WaitedUS uint64 // from its submission until now; 0: not told, or it is repeated
	Input    string // file that the task reads, which the node may have staged
	Preloads
	// For executors: the task waits until one that the executor has begun ends (Ended.Began), until Begin or until Recall.
	Ahead bool
}

// InputVariable is the environment variable by which a task learns where its input is in memory. It isn't set if that is nowhere.
const InputVariable = "HEDDLE_STAGED_INPUT"

// Cancel ends a task. It is still answered with Ended.
type Cancel struct{ ID uint64 }

// Output is a part of a task's output.
type Output struct {
	ID     uint64
	Stream uint64 // 0: standard output, 1: standard error
	Data   []byte
}

// Why a task wasn't run.
const (
	Ran       = 0
	Missing   = 1 // its program doesn't exist
	Forbidden = 2 // its program can't be executed
	Faulty    = 3 // anything else; Fault says what
	Canceled  = 4
	Gone      = 5 // its end is unknown: its executor is gone, for the reason in Fault. Only nodes say so
	TooLong   = 6 // its command line is longer than the system allows
)

// Ended says how a task has ended.
type Ended struct {
	ID       uint64
	Exit     uint64
	Signal   uint64
	TimedOut bool
	Why      uint64
	Fault    string
	Result   []byte // of a Call
	// From executors: the task that has begun in place of this one, of those that were ahead; 0: none has.
	Began uint64
}

// Message is one of the types above; nil is a ping.
type Message interface{ append(b []byte) []byte }

func (m *Hello) kind() Kind  { return KindHello }
func (m *Task) kind() Kind   { return KindTask }
func (m *Cancel) kind() Kind { return KindCancel }
func (m *Output) kind() Kind { return KindOutput }
func (m *Ended) kind() Kind  { return KindEnded }

func (m *Hello) append(b []byte) []byte {
	b = text(b, 1, m.Container)
	b = text(b, 2, m.Host)
	b = number(b, 3, m.Slots)
	return number(b, 4, m.PID)
}

func (m *Task) append(b []byte) []byte {
	b = number(b, 1, m.ID)
	b = number(b, 2, m.What)
	b = texts(b, 3, m.Args)
	b = texts(b, 4, m.Env)
	b = text(b, 5, m.Dir)
	b = number(b, 6, m.TimeoutMS)
	b = blob(b, 7, m.Payload)
	b = number(b, 8, m.Left)
	b = flag(b, 9, m.Clone)
	b = text(b, 10, m.Input)
	b = m.Preloads.append(b, 11)
	b = number(b, 13, m.WaitedUS)
	b = flag(b, 20, m.NeedDir)
	return flag(b, 21, m.Ahead)
}

func (m *Cancel) append(b []byte) []byte { return number(b, 1, m.ID) }

func (m *Output) append(b []byte) []byte {
	b = number(b, 1, m.ID)
	b = number(b, 2, m.Stream)
	return blob(b, 3, m.Data)
}

func (m *Ended) append(b []byte) []byte {
	b = number(b, 1, m.ID)
	b = number(b, 2, m.Exit)
	b = number(b, 3, m.Signal)
	b = flag(b, 4, m.TimedOut)
	b = number(b, 5, m.Why)
	b = text(b, 6, m.Fault)
	b = blob(b, 7, m.Result)
	return number(b, 8, m.Began)
}

// number, flag, text and blob leave out what is zero, as proto3 does.
func number(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func flag(b []byte, field protowire.Number, v bool) []byte {
	if !v {
		return b
	}
	return number(b, field, 1)
}

func text(b []byte, field protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// texts keeps empty ones: their number and order count.
func texts(b []byte, field protowire.Number, all []string) []byte {
	for _, v := range all {
		b = protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
	}
	return b
}

func blob(b []byte, field protowire.Number, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// ErrMalformed is wrapped by the errors of messages that are none.
var ErrMalformed = errors.New("malformed message")

// field is one of a message: a number or bytes.
type field struct {
	number protowire.Number
	value  uint64
	bytes  []byte // not copied
}

// fields calls f for each field of a message. Fields of other types are skipped, as newer peers may send some.
func fields(b []byte, f func(field)) error {
	for count := 0; len(b) > 0; count++ {
		if count == maxFields {
			return fmt.Errorf("%w: it has more than %d fields", ErrMalformed, maxFields)
		}
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrMalformed, protowire.ParseError(n))
		}
		b = b[n:]
		x := field{number: number}
		switch kind {
		case protowire.VarintType:
			x.value, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			x.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
			number = 0
		}
		if n < 0 {
			return fmt.Errorf("%w: field %d: %w", ErrMalformed, number, protowire.ParseError(n))
		}
		b = b[n:]
		if number != 0 {
			f(x)
		}
	}
	return nil
}

// decode reads the body of a frame. The message's bytes may be those of the body. Of a kind that is unknown it returns nil, as of a ping.
func decode(body []byte) (Message, error) {
	var m settable
	var err error
	outer := fields(body, func(x field) {
		if err != nil {
			return
		}
		if found := made(Kind(x.number)); found != nil {
			m, err = found, fields(x.bytes, found.set)
		}
	})
	if outer != nil {
		err = outer
	}
	if err != nil || m == nil {
		return nil, err
	}
	return m, nil
}

// settable is a message that takes fields.
type settable interface {
	Message
	set(field)
}

// made returns an empty message of a kind, or nil.
func made(k Kind) settable {
	switch k {
	case KindHello:
		return &Hello{}
	case KindTask:
		return &Task{}
	case KindCancel:
		return &Cancel{}
	case KindOutput:
		return &Output{}
	case KindEnded:
		return &Ended{}
	}
	return madeOfProbes(k)
}

func (m *Cancel) set(x field) {
	if x.number == 1 {
		m.ID = x.value
	}
}

func (m *Hello) set(x field) {
	switch x.number {
	case 1:
		m.Container = string(x.bytes)
	case 2:
		m.Host = string(x.bytes)
	case 3:
		m.Slots = x.value
	case 4:
		m.PID = x.value
	}
}

func (m *Task) set(x field) {
	switch x.number {
	case 1:
		m.ID = x.value
	case 2:
		m.What = x.value
	case 3:
		m.Args = append(m.Args, string(x.bytes))
	case 4:
		m.Env = append(m.Env, string(x.bytes))
	case 5:
		m.Dir = string(x.bytes)
	case 6:
		m.TimeoutMS = x.value
	case 7:
		m.Payload = x.bytes
	case 8:
		m.Left = x.value
	case 9:
		m.Clone = x.value != 0
	case 10:
		m.Input = string(x.bytes)
	case 11, 12:
		m.Preloads.set(x, 11)
	case 13:
		m.WaitedUS = x.value
	case 20:
		m.NeedDir = x.value != 0
	case 21:
		m.Ahead = x.value != 0
	}
}

func (m *Output) set(x field) {
	switch x.number {
	case 1:
		m.ID = x.value
	case 2:
		m.Stream = x.value
	case 3:
		m.Data = x.bytes
	}
}

func (m *Ended) set(x field) {
	switch x.number {
	case 1:
		m.ID = x.value
	case 2:
		m.Exit = x.value
	case 3:
		m.Signal = x.value
	case 4:
		m.TimedOut = x.value != 0
	case 5:
		m.Why = x.value
	case 6:
		m.Fault = string(x.bytes)
	case 7:
		m.Result = x.bytes
	case 8:
		m.Began = x.value
	}
}
