package sched

import (
	"slices"
	"time"
)

// Node is a node, by a dense number that the caller gives out.
type Node int32

// ID is a job of a Scheduler. It isn't used again.
type ID uint64

// Job describes the tasks that a caller wants run.
type Job struct {
	Tasks int
	// Nodes are those that may run its tasks; nil: all. The Scheduler keeps the slice, and changes its order.
	Nodes []Node
	// Where are the nodes of each task; nil: no task has a constraint of its own. A nil element is a task without one, to which Nodes
	// applies. The Scheduler keeps the slices, and changes their order.
	Where [][]Node
	// Alone forbids clones.
	Alone bool
	// Placed is a job whose probes another places, such as a central scheduler: Submit draws none.
	Placed bool
}

// state of a task.
type state uint8

const (
	waiting state = iota
	running
	done
)

type task struct {
	state state
	again bool // an attempt of it was launched before
	first Node // where its first attempt that still runs is, −1: nowhere
	clone Node // where its clone is, −1: it has none
}

const nowhere Node = -1

// job is one that isn't over.
type job struct {
	generation uint32
	live       bool
	alone      bool
	stolen     bool // Steal has taken of it
	round      int32
	left       int32 // tasks that wait
	ended      int32 // tasks that are done
	next       int32 // no task before this one waits, but those to be repeated
	uncloned   int32 // every task before this one has a clone or is done, or can't have one
	unanswered int32 // probes of this round
	rejected   int32 // probes of this round
	short      int32 // probes that no node accepted
	out        int32 // probes that nodes accepted since a task waits and haven't asked with; with Config.Sticky, that haven't got a no-op
	quotes     int32
	declined   int32   // probes
	quoted     float64 // ns: moving mean of the quotes
	waits      waits
	bids       []bid
	tasks      []task
	retry      []int32 // tasks to be repeated
	nodes      []Node
	allowed    map[Node]bool // nodes, as a set
	where      [][]Node
	byNode     map[Node][]int32 // tasks that may run on a node because of where
	probed     []Node           // nodes that accepted probes
	newest     Bitmap
}

// constrain sets where tasks from a number on may run.
func (j *job) constrain(from int, where [][]Node) {
	if j.byNode == nil {
		j.byNode = map[Node][]int32{}
	}
	for len(j.where) < from {
		j.where = append(j.where, nil)
	}
	j.where = append(j.where, where...)
	for t := from; t < len(j.tasks); t++ {
		if t == len(j.where) {
			j.where = append(j.where, nil)
		}
		for _, n := range j.where[t] {
			j.byNode[n] = append(j.byNode[n], int32(t))
		}
	}
}

// nodesOf returns the nodes where a task may run because of its own constraint; nil: it has none.
func (j *job) nodesOf(t int32) []Node {
	if j.where == nil {
		return nil
	}
	return j.where[t]
}

// may reports whether a task may run on a node.
func (j *job) may(t int32, n Node) bool {
	if where := j.nodesOf(t); where != nil {
		return slices.Contains(where, n)
	}
	return j.allowed == nil || j.allowed[n]
}

// Bitmap has a bit for each node, which is set if the node has long work. Words aren't changed once it is passed on.
type Bitmap struct {
	Words []uint64
	At    time.Duration // when it was made; later ones replace earlier ones
}

// Has reports whether a node's bit is set.
func (b Bitmap) Has(n Node) bool { return b.word(int(n)/64)&(1<<(uint(n)%64)) != 0 }

// word has the bits of 64 nodes. Beyond the last one there is no long work.
func (b Bitmap) word(i int) uint64 {
	if i < len(b.Words) {
		return b.Words[i]
	}
	return 0
}
