// Package executor runs short tasks in a long-lived process. A pool holds such processes in containers, so that a task costs no container's
// start. A task is a command, run as a tree of processes (heddle/am/process), or a call in a warm interpreter (interpreter.go).
//
// Serve is an executor's main function. An Engine alone runs tasks in the caller's process, as heddle does without a cluster.
// Package wire has the messages, heddle/am/pool is the other side.
package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"heddle/am/process"
	"heddle/internal/pause"
	"heddle/yarn/wire"
)

// Engine runs tasks. Its methods may be called from any goroutine.
type Engine struct {
	processes *process.Runner
	env       []string
	warm      interpreters
}

// NewEngine makes an Engine. env are the variables of all tasks; nil: this process's.
func NewEngine(env []string) *Engine {
	if env == nil {
		env = os.Environ()
	}
	e := &Engine{processes: process.New(), env: env}
	e.warm.engine, e.warm.keep = e, keepIdle
	return e
}

// Close ends the interpreters, and what tasks have left behind. No task may run any more.
func (e *Engine) Close() {
	e.warm.close()
	e.processes.Close()
}

// errCanceled is the cause of a task's end that the pool asked for.
var errCanceled = errors.New("canceled")

// Run runs a task. What it writes goes to the function, from several goroutines. If the function fails, the task sees a closed pipe.
func (e *Engine) Run(ctx context.Context, t *wire.Task, output func(stream int, b []byte) error) *wire.Ended {
	switch t.What {
	case wire.Nothing:
		if err := pause.Exactly(ctx, time.Duration(t.TimeoutMS)*time.Millisecond); err != nil {
			return &wire.Ended{ID: t.ID, Why: wire.Canceled}
		}
		return &wire.Ended{ID: t.ID}
	case wire.Command:
		return e.command(ctx, t, output)
	case wire.Call:
		return e.warm.call(ctx, t, output)
	}
	return &wire.Ended{ID: t.ID, Why: wire.Faulty, Fault: fmt.Sprintf("this executor runs no tasks of kind %d: its heddle is of another version than the client's", t.What)}
}

// writer passes on what one stream of a task gets.
type writer struct {
	stream int
	output func(stream int, b []byte) error
}

func (w *writer) Write(b []byte) (int, error) {
	if err := w.output(w.stream, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

var _ io.Writer = (*writer)(nil)

func (e *Engine) command(ctx context.Context, t *wire.Task, output func(int, []byte) error) *wire.Ended {
	if t.NeedDir && folder(t.Dir) == "" {
		return &wire.Ended{ID: t.ID, Why: wire.Faulty, Fault: fmt.Sprintf("the node has no folder %s that the command may enter", t.Dir)}
	}
	r, err := e.processes.Run(ctx, process.Command{
		Args: t.Args, Env: e.environ(t.Env), Dir: folder(t.Dir), Timeout: time.Duration(t.TimeoutMS) * time.Millisecond,
		Stdout: &writer{0, output}, Stderr: &writer{1, output},
	})
	return ended(t.ID, r, err)
}

// environ adds variables. Those of PATH are looked through after the executor's own.
func (e *Engine) environ(more []string) []string {
	if len(more) == 0 {
		return e.env
	}
	env := e.env[:len(e.env):len(e.env)]
	for _, v := range more {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			for _, own := range e.env {
				if own, ok := strings.CutPrefix(own, "PATH="); ok && own != path {
					v = "PATH=" + own + ":" + path
				}
			}
		}
		env = append(env, v)
	}
	return env
}

// folder returns a folder if it is there for this process, otherwise "".
func folder(dir string) string {
	if dir == "" || syscall.Access(dir, 1) != nil {
		return ""
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

func ended(id uint64, r process.Result, err error) *wire.Ended {
	e := &wire.Ended{ID: id, Exit: uint64(r.Exit), Signal: uint64(r.Signal), TimedOut: r.TimedOut}
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled), errors.Is(err, errCanceled):
		e.Why = wire.Canceled
	case errors.Is(err, fs.ErrNotExist):
		e.Why = wire.Missing
	case errors.Is(err, fs.ErrPermission):
		e.Why = wire.Forbidden
	case errors.Is(err, syscall.E2BIG):
		e.Why, e.Fault = wire.TooLong, err.Error()
	default:
		e.Why, e.Fault = wire.Faulty, process.Reason(err)
	}
	return e
}

// Serve runs the tasks that a pool sends, until the connection ends or ctx does. All tasks have ended then.
func Serve(ctx context.Context, c *wire.Conn, hello wire.Hello, e *Engine) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, c.Close)()
	s := &server{
		ctx: ctx, conn: c, engine: e, slots: make(chan struct{}, max(hello.Slots, 1)),
		running: map[uint64]context.CancelCauseFunc{},
	}
	defer s.tasks.Wait()
	if err := c.Send(&hello); err != nil {
		return err
	}
	for {
		m, err := c.Receive()
		if err != nil {
			cancel(errCanceled)
			return err
		}
		switch m := m.(type) {
		case *wire.Task:
			if m.What == wire.Nothing && m.TimeoutMS == 0 {
				// It costs less than a goroutine.
				if err := c.Send(&wire.Ended{ID: m.ID}); err != nil {
					return err
				}
				continue
			}
			if m.Ahead {
				s.keep(m)
			} else {
				s.begin(m)
			}
		case *wire.Begin:
			if t := s.take(m.ID); t != nil {
				s.begin(t)
			}
		case *wire.Recall:
			s.recall(m.ID)
		case *wire.Cancel:
			if !s.recall(m.ID) {
				s.cancel(m.ID)
			}
		}
	}
}

type server struct {
	ctx    context.Context // of the executor
	conn   *wire.Conn
	engine *Engine
	slots  chan struct{}

	tasks   sync.WaitGroup
	mu      sync.Mutex
	running map[uint64]context.CancelCauseFunc
	ahead   []*wire.Task // that wait for the end of another one
}

// begin begins a task.
func (s *server) begin(t *wire.Task) {
	ctx, end := context.WithCancelCause(s.ctx)
	s.enter(t.ID, end)
	s.tasks.Go(func() {
		defer end(nil)
		s.run(ctx, t)
	})
}

func (s *server) enter(id uint64, end context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[id] = end
}

func (s *server) cancel(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.running[id]; end != nil {
		end(errCanceled)
	}
}

// farewell is how long the end of a command by SIGTERM isn't reported. A node that ends the executor's container sends that signal to each of its
// processes, to the executor maybe last. It is a variable for tests.
var farewell = 250 * time.Millisecond

// largest is the most that one message of output carries.
const largest = 64 << 10

func (s *server) run(ctx context.Context, t *wire.Task) {
	e := &wire.Ended{ID: t.ID, Why: wire.Canceled}
	select {
	case s.slots <- struct{}{}:
		e = s.engine.Run(ctx, t, func(stream int, b []byte) error {
			for len(b) > 0 {
				n := min(len(b), largest)
				if err := s.conn.Send(&wire.Output{ID: t.ID, Stream: uint64(stream), Data: b[:n]}); err != nil {
					return err
				}
				b = b[n:]
			}
			return nil
		})
		<-s.slots
	case <-ctx.Done():
	}
	s.mu.Lock()
	delete(s.running, t.ID)
	s.mu.Unlock()
	if syscall.Signal(e.Signal) != syscall.SIGTERM {
		e.Began = s.succeed()
	} else {
		select {
		case <-s.ctx.Done():
		case <-time.After(farewell):
		}
	}
	if s.ctx.Err() != nil {
		return // the executor is ending, not the task: it runs again elsewhere
	}
	if err := s.conn.Send(e); errors.Is(err, wire.ErrTooLarge) {
		// The connection is good, and has room for the reason.
		_ = s.conn.Send(&wire.Ended{ID: t.ID, Why: wire.Faulty, Fault: "the result is too large: " + err.Error(), Began: e.Began})
	}
}
