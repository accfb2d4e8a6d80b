package wire

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
)

// Greeting is the first message of a scheduler. The other side then knows its application by the token that it has come with.
type Greeting struct {
	Scheduler string // tells the schedulers of an application attempt apart
	// Credentials are the user's tokens of file systems, for the node and for tasks, in Hadoop's form (token.Credentials); none: there are no tokens. Nodes of
	// earlier releases pass over them.
	Credentials []byte
}

// Lent is the answer to a Greeting: what a node may use for short tasks. It comes again when that changes.
type Lent struct{ MemoryMB, VCores uint64 }

// Probe places probes of a job in a node's queue, and tells what is known of the job.
type Probe struct {
	Job              uint64
	Count            uint64   // of probes
	Left             uint64   // tasks of the job that wait
	EstimateUS       uint64   // mean duration of its tasks; 0: not known
	MemoryMB, VCores uint64   // of one task
	Nice             uint64   // by how much its priority is below that of its user
	Inputs           []string // names of files that some of these tasks will read, which the node may stage
	Early            bool     // the node asks at once, whatever runs there, and the tasks share its processors (early binding)
	WaitedUS         uint64   // for how long the tasks that wait have waited by now, in the mean; 0: not told, or they have just come
	Avoid            bool     // the node rejects the probes while long tasks run there. Nodes of earlier releases accept them
}

// Estimate says that tasks of a job are expected to take another time than its last Probe, or Estimate, has said. Nodes of earlier releases pass over it.
type Estimate struct{ Job, EstimateUS uint64 }

// Verdict answers a Probe. It comes again, with nothing accepted, for probes that the node gives back.
type Verdict struct {
	Job                uint64
	Accepted, Rejected uint64
	GaveBack           uint64 // probes that it had accepted
	Reason             string // of the rejection
	P50US, P95US       uint64 // when the first of the accepted ones is expected to have a task, from now on; 0: at once
	Memory             bool   // an input that the Probe named is expected to be in memory by then
	Long               bool   // the rejection is for long tasks that run there (Probe.Avoid)
}

// Ask asks for a task of a job. It is answered by a Task, or by NoTask, of the same ID.
type Ask struct {
	ID     uint64 // never used again on a connection
	Job    uint64
	Others uint64   // other probes that wait at the node
	Staged []string // inputs of the job that the node has in memory
	// Bound are the vcores of tasks that were given to the node, and VCores those that it was lent. They come with asks for early binding.
	Bound, VCores uint64
}

// NoTask says that there is no task for an Ask.
type NoTask struct {
	ID   uint64
	Left uint64 // tasks of the job that wait
	Preloads
}

// Preloads lists the job's inputs in an answer to an Ask, for a node that stages them.
type Preloads struct {
	Next string   // file that one of the waiting tasks reads and the node lacks: to be staged at once, as the node is about to ask for another task
	Gone []string // files among Ask.Staged that no waiting task reads any more
}

func (m *Preloads) append(b []byte, from protowire.Number) []byte {
	return texts(text(b, from, m.Next), from+1, m.Gone)
}

func (m *Preloads) set(x field, from protowire.Number) {
	if x.number == from {
		m.Next = string(x.bytes)
	} else {
		m.Gone = append(m.Gone, string(x.bytes))
	}
}

// Drop removes all probes of a job that wait. Tasks continue.
type Drop struct{ Job uint64 }

// Idle says that nothing waits at the node, and how much room it has. It comes again after a Probe at the earliest.
type Idle struct{ MemoryMB, VCores uint64 }

// Begin begins a task that was sent ahead. One that has begun already continues.
type Begin struct{ ID uint64 }

// Recall takes a task back that was sent ahead. It is answered with Ended. One that has begun continues.
type Recall struct{ ID uint64 }

// Refusal is the last message of a node that closes the connection.
type Refusal struct{ Reason string }

func (m *Greeting) kind() Kind { return KindGreeting }
func (m *Lent) kind() Kind     { return KindLent }
func (m *Probe) kind() Kind    { return KindProbe }
func (m *Verdict) kind() Kind  { return KindVerdict }
func (m *Ask) kind() Kind      { return KindAsk }
func (m *NoTask) kind() Kind   { return KindNoTask }
func (m *Drop) kind() Kind     { return KindDrop }
func (m *Refusal) kind() Kind  { return KindRefusal }
func (m *Idle) kind() Kind     { return KindIdle }
func (m *Begin) kind() Kind    { return KindBegin }
func (m *Recall) kind() Kind   { return KindRecall }
func (m *Estimate) kind() Kind { return KindEstimate }

func (m *Greeting) append(b []byte) []byte {
	return text(text(b, 1, m.Scheduler), 2, string(m.Credentials))
}

func (m *Lent) append(b []byte) []byte { return number(number(b, 1, m.MemoryMB), 2, m.VCores) }

func (m *Probe) append(b []byte) []byte {
	b = number(b, 1, m.Job)
	b = number(b, 2, m.Count)
	b = number(b, 3, m.Left)
	b = number(b, 4, m.EstimateUS)
	b = number(b, 5, m.MemoryMB)
	b = number(b, 6, m.VCores)
	b = number(b, 7, m.Nice)
	b = texts(b, 8, m.Inputs)
	b = flag(b, 9, m.Early)
	return flag(number(b, 10, m.WaitedUS), 11, m.Avoid)
}

func (m *Estimate) append(b []byte) []byte { return number(number(b, 1, m.Job), 2, m.EstimateUS) }

func (m *Verdict) append(b []byte) []byte {
	b = number(b, 1, m.Job)
	b = number(b, 2, m.Accepted)
	b = number(b, 3, m.Rejected)
	b = text(b, 4, m.Reason)
	b = number(b, 5, m.P50US)
	b = number(b, 6, m.P95US)
	b = number(b, 7, m.GaveBack)
	return flag(flag(b, 8, m.Memory), 9, m.Long)
}

func (m *Ask) append(b []byte) []byte {
	b = number(b, 1, m.ID)
	b = number(b, 2, m.Job)
	b = number(b, 3, m.Others)
	b = texts(b, 4, m.Staged)
	b = number(b, 5, m.Bound)
	return number(b, 6, m.VCores)
}

func (m *NoTask) append(b []byte) []byte {
	return m.Preloads.append(number(number(b, 1, m.ID), 2, m.Left), 3)
}

func (m *Drop) append(b []byte) []byte { return number(b, 1, m.Job) }

func (m *Refusal) append(b []byte) []byte { return text(b, 1, m.Reason) }

func (m *Idle) append(b []byte) []byte { return number(number(b, 1, m.MemoryMB), 2, m.VCores) }

func (m *Begin) append(b []byte) []byte { return number(b, 1, m.ID) }

func (m *Recall) append(b []byte) []byte { return number(b, 1, m.ID) }

// madeOfProbes is made for the messages of this file.
func madeOfProbes(k Kind) settable {
	switch k {
	case KindGreeting:
		return &Greeting{}
	case KindLent:
		return &Lent{}
	case KindProbe:
		return &Probe{}
	case KindVerdict:
		return &Verdict{}
	case KindAsk:
		return &Ask{}
	case KindNoTask:
		return &NoTask{}
	case KindDrop:
		return &Drop{}
	case KindRefusal:
		return &Refusal{}
	case KindIdle:
		return &Idle{}
	case KindBegin:
		return &Begin{}
	case KindRecall:
		return &Recall{}
	case KindEstimate:
		return &Estimate{}
	}
	return nil
}

func (m *Greeting) set(x field) {
	switch x.number {
	case 1:
		m.Scheduler = string(x.bytes)
	case 2:
		m.Credentials = bytes.Clone(x.bytes)
	}
}

func (m *Lent) set(x field) { assign(x, &m.MemoryMB, &m.VCores) }

func (m *Probe) set(x field) {
	switch x.number {
	case 8:
		m.Inputs = append(m.Inputs, string(x.bytes))
		return
	case 9:
		m.Early = x.value != 0
		return
	case 10:
		m.WaitedUS = x.value
		return
	case 11:
		m.Avoid = x.value != 0
		return
	}
	assign(x, &m.Job, &m.Count, &m.Left, &m.EstimateUS, &m.MemoryMB, &m.VCores, &m.Nice)
}

func (m *Verdict) set(x field) {
	switch x.number {
	case 4:
		m.Reason = string(x.bytes)
		return
	case 8:
		m.Memory = x.value != 0
		return
	case 9:
		m.Long = x.value != 0
		return
	}
	assign(x, &m.Job, &m.Accepted, &m.Rejected, nil, &m.P50US, &m.P95US, &m.GaveBack)
}

func (m *Ask) set(x field) {
	if x.number == 4 {
		m.Staged = append(m.Staged, string(x.bytes))
		return
	}
	assign(x, &m.ID, &m.Job, &m.Others, nil, &m.Bound, &m.VCores)
}

func (m *NoTask) set(x field) {
	if x.number == 3 || x.number == 4 {
		m.Preloads.set(x, 3)
		return
	}
	assign(x, &m.ID, &m.Left)
}

func (m *Drop) set(x field) { assign(x, &m.Job) }

func (m *Idle) set(x field) { assign(x, &m.MemoryMB, &m.VCores) }

func (m *Begin) set(x field) { assign(x, &m.ID) }

func (m *Recall) set(x field) { assign(x, &m.ID) }

func (m *Estimate) set(x field) { assign(x, &m.Job, &m.EstimateUS) }

func (m *Refusal) set(x field) {
	if x.number == 1 {
		m.Reason = string(x.bytes)
	}
}

// assign sets the number that a field of its place is for, counted from 1.
func assign(x field, to ...*uint64) {
	if n := int(x.number) - 1; n < len(to) && to[n] != nil {
		*to[n] = x.value
	}
}
