// Package pool gives short tasks to executors, the processes of heddle/am/executor: the user's side of heddle xargs and of heddle's
// Python library.
//
// A Pool takes tasks (Submit) and connections of executors, and brings both together. An executor gets a task when it has a slot for it, so
// that no task waits behind another while there is room elsewhere. When an executor is lost, its tasks run again on others: each task runs
// at least once, and Done is called exactly once. A task that loses executor after executor is given up (Options.Losses). An executor whose
// container is suspended isn't lost (Standstill): it gets no more tasks, and continues with those that it has when its container resumes.
//
// Containers (containers.go) holds as many executors in the containers of a cluster as a pool has work for.
package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"

	"heddle/yarn/wire"
)

// Task is a task to run. The pool owns it until Done is called. Functions are called from goroutines of the pool, those of one task one
// after the other; they must not wait for the pool.
type Task struct {
	wire.Task // without ID
	// Output gets what the task writes: stream 0 is standard output, 1 standard error. It must not keep the bytes.
	Output func(stream int, b []byte)
	// Restart says that an executor was lost, and the task runs again: its output so far doesn't count.
	Restart func()
	// Done gets how the task has ended. The error wraps ErrLost if no executor could end it, or is that of the pool.
	Done func(wire.Ended, error)

	id       uint64 // of the attempt
	place    int    // in the queue
	losses   int
	executor *executor // that has it; nil while it waits
	sent     bool
	canceled bool
	over     bool
}

// ErrLost is wrapped by the error of a task whose executors were lost again and again.
var ErrLost = errors.New("lost")

// Options of a Pool.
type Options struct {
	Secret   []byte // wire.NewSecret
	Listen   string // host:port for executors; port 0 for any
	Prefetch int    // tasks that an executor has beyond its slots. They wait there, also when there is room elsewhere
	Losses   int    // a task that has lost so many executors is given up; 4 by default
	Log      *logrus.Entry
}

// Pool runs tasks on executors. Its methods may be called from any goroutine.
type Pool struct {
	o        Options
	log      *logrus.Entry
	listener net.Listener
	accepter *wire.Accepter
	ctx      context.Context
	cancel   context.CancelFunc
	serving  sync.WaitGroup

	mu        sync.Mutex
	waiting   queue
	running   int
	executors []*executor
	last      int               // executor that got a task, by its place among them
	reasons   map[string]string // of lost executors, by container
	still     map[string]bool   // containers that are suspended
	came      map[string]bool   // containers whose executors have come
	gone      []string          // containers of lost executors, for Lost
	err       error
	changed   chan struct{}
}

// executor is one that is connected.
type executor struct {
	wire.Hello
	conn    *wire.Conn
	last    uint64
	tasks   map[uint64]*Task
	leaving bool       // it gets no tasks
	still   bool       // its container is suspended: the same, until it resumes
	talk    sync.Mutex // held while Output of one of its tasks is called
}

// New makes a pool that listens.
func New(o Options) (*Pool, error) {
	if o.Log == nil {
		l := logrus.New()
		l.SetOutput(io.Discard)
		o.Log = logrus.NewEntry(l)
	}
	if o.Losses <= 0 {
		o.Losses = 4
	}
	a, err := wire.NewAccepter(o.Secret)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listening for executors: %w", err)
	}
	p := &Pool{
		o: o, log: o.Log, listener: l, accepter: a, reasons: map[string]string{}, came: map[string]bool{},
		still: map[string]bool{}, changed: make(chan struct{}, 1),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.serving.Go(p.accept)
	return p, nil
}

// Port returns where the pool listens.
func (p *Pool) Port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Close ends all connections, by which executors end. Tasks that have not ended get ErrClosed.
func (p *Pool) Close() {
	p.Fail(ErrClosed)
	p.cancel()
	p.listener.Close()
	p.serving.Wait()
}

// ErrClosed is the error of tasks that were not over when their pool was closed.
var ErrClosed = errors.New("the pool of executors is closed")

// Fail ends all tasks, those too that are submitted later, with an error: there will be no executors.
func (p *Pool) Fail(err error) {
	p.mu.Lock()
	if p.err == nil {
		p.err = err
	}
	err = p.err
	var all []*Task
	executors := slices.Clone(p.executors)
	for t := p.waiting.pop(); t != nil; t = p.waiting.pop() {
		all = append(all, t)
	}
	for _, e := range p.executors {
		for id, t := range e.tasks {
			delete(e.tasks, id)
			p.running--
			all = append(all, t)
		}
	}
	for _, t := range all {
		t.over = true
	}
	p.mu.Unlock()
	for _, e := range executors {
		e.awaitOutput()
	}
	for _, t := range all {
		t.Done(wire.Ended{}, err)
	}
	p.change()
}

// Submit takes tasks.
func (p *Pool) Submit(tasks ...*Task) {
	for _, t := range tasks {
		p.submit(t)
	}
}

func (p *Pool) submit(t *Task) {
	p.mu.Lock()
	if err := p.err; err != nil {
		t.over = true
		p.mu.Unlock()
		t.Done(wire.Ended{}, err)
		return
	}
	p.waiting.push(t)
	e := p.vacant()
	var next *Task
	var id uint64
	if e != nil {
		next, id = p.assign(e)
	}
	p.mu.Unlock()
	if next != nil {
		p.send(e, next, id)
	}
	p.change()
}

// Cancel ends a task. Done is called as always.
func (p *Pool) Cancel(t *Task) {
	p.mu.Lock()
	t.canceled = true
	if t.over {
		p.mu.Unlock()
		return
	}
	e := t.executor
	if e == nil {
		p.waiting.remove(t)
		t.over = true
		p.mu.Unlock()
		t.Done(wire.Ended{Why: wire.Canceled}, nil)
		return
	}
	id, sent := t.id, t.sent
	p.mu.Unlock()
	if sent {
		_ = e.conn.Send(&wire.Cancel{ID: id}) // a lost executor's tasks are taken back
	}
}

// State is how much there is to do, and how many do it.
type State struct {
	Waiting, Running int // tasks
	Executors        int
}

// State returns the present state.
func (p *Pool) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return State{Waiting: p.waiting.n, Running: p.running, Executors: len(p.executors)}
}

// Changed gets something when the state has changed.
func (p *Pool) Changed() <-chan struct{} { return p.changed }

func (p *Pool) change() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Leave lets up to n executors without tasks end, those first that are suspended. It returns their containers.
func (p *Pool) Leave(n int) (containers []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, still := range []bool{true, false} {
		for _, e := range p.executors {
			if len(containers) < n && len(e.tasks) == 0 && !e.leaving && e.still == still {
				e.leaving = true
				containers = append(containers, e.Container)
			}
		}
	}
	return containers
}

// Explain says why the executor of a container is lost, for errors of its tasks.
func (p *Pool) Explain(container, why string) {
	p.Standstill(container, false) // it is lost also if it was suspended
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.reasons) > 100 {
		clear(p.reasons)
	}
	p.reasons[container] = why
}

func (e *executor) room(prefetch int) bool {
	return !e.leaving && !e.still && len(e.tasks) < int(e.Slots)+prefetch
}

// vacant returns an executor with room, one after the other.
func (p *Pool) vacant() *executor {
	for range p.executors {
		p.last = (p.last + 1) % len(p.executors)
		if e := p.executors[p.last]; e.room(p.o.Prefetch) {
			return e
		}
	}
	return nil
}

// assign gives an executor the next task. It returns nil if none waits. The caller sends it.
func (p *Pool) assign(e *executor) (t *Task, id uint64) {
	t = p.waiting.pop()
	if t == nil {
		return nil, 0
	}
	e.last++
	t.id, t.executor, t.sent = e.last, e, false
	e.tasks[t.id] = t
	p.running++
	return t, t.id
}

// send sends a task that is assigned.
func (p *Pool) send(e *executor, t *Task, id uint64) {
	m := t.Task
	m.ID = id
	err := e.conn.Send(&m)
	p.mu.Lock()
	if e.tasks[id] != t {
		p.mu.Unlock()
		return // it has ended, or was taken back
	}
	if errors.Is(err, wire.ErrTooLarge) {
		delete(e.tasks, id)
		p.running--
		t.over = true
		p.mu.Unlock()
		t.Done(wire.Ended{}, err)
		p.fill(e) // another task gets the room
		return
	}
	t.sent = true
	canceled := t.canceled
	p.mu.Unlock()
	if canceled {
		_ = e.conn.Send(&wire.Cancel{ID: id}) // as in Cancel
	}
}
