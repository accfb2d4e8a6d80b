// Package process runs commands, each as a tree of processes that ends as a whole: with its first process, with its context, or at its
// timeout. Processes that a command has left in the background are killed then, daemons too (on Linux). heddle xargs and executors use it.
//
// A Runner makes its process the adopter of orphans ("child subreaper"). It spares children that others have started,
// if they are in the process group of their parent.
package process

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"heddle/internal/awake"
)

// Variable is the name of the variable in a command's environment by which its processes are known to be its own. Values
// differ for all commands of all Runners.
const Variable = "HEDDLE_TASK_ID"

// Patience is how long a command has to end by itself after SIGTERM, before it is killed.
const Patience = 250 * time.Millisecond

// Command describes a command.
type Command struct {
	Args    []string // the program, looked up in PATH of Env, and its arguments
	Env     []string // NAME=VALUE; nil: this process's
	Dir     string   // "": this process's
	Stdin   *os.File // nil: /dev/null
	Stdout  io.Writer
	Stderr  io.Writer     // files are handed over as they are; the same as Stdout gets both in their order
	Files   []*os.File    // its descriptors from 3 on
	Timeout time.Duration // 0: none. Time in which this process stands still doesn't count
	// Attached lets the command stay in this process's group, as one that reads from the terminal must.
	Attached bool
}

// Result says how a command has ended.
type Result struct {
	Exit     int            // exit status, if no signal has ended it
	Signal   syscall.Signal // that has ended it, 0 if none has
	TimedOut bool
	Took     time.Duration
}

// Runner runs commands. Its methods may be called from any goroutine.
type Runner struct {
	prefix string

	mu      sync.Mutex
	last    uint64
	running map[uint64]bool
	strays  strays
}

// first are the first processes of the commands of all Runners. Others' children can't be told from strays while they are started and when
// they have ended, so that starting is held from a start up to the entry here, and by who looks for strays.
var (
	starting sync.RWMutex
	firstMu  sync.Mutex
	first    = map[int]bool{}
)

// begin starts a command and enters its process.
func begin(x *exec.Cmd) error {
	starting.RLock()
	defer starting.RUnlock()
	if err := start(x); err != nil {
		return err
	}
	firstMu.Lock()
	defer firstMu.Unlock()
	first[x.Process.Pid] = true
	return nil
}

// reaped removes the process of a command, whose number may be given to another one now.
func reaped(x *exec.Cmd) {
	firstMu.Lock()
	defer firstMu.Unlock()
	delete(first, x.Process.Pid)
}

// New makes a Runner.
func New() *Runner {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	r := &Runner{prefix: hex.EncodeToString(b) + "-", running: map[uint64]bool{}}
	r.strays.begin()
	return r
}

// Close kills what commands have left behind. No command may run any more.
func (r *Runner) Close() { r.closeStrays() }

// Run runs a command until all its processes have ended. The error is that of the start, or the cause of ctx's end. An error of Stdout
// or Stderr is theirs to remember: the command sees a closed pipe.
func (r *Runner) Run(ctx context.Context, c Command) (Result, error) {
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	r.mu.Lock()
	r.last++
	id := r.last
	r.running[id] = true
	r.mu.Unlock()
	defer r.leave(id)
	x, err := command(c, Variable+"="+r.prefix+strconv.FormatUint(id, 10))
	if err != nil {
		return Result{}, err
	}
	var pipes [2]*pipe
	if x.Stdout, pipes[0], err = outlet(c.Stdout); err != nil {
		return Result{}, err
	}
	if same(c.Stdout, c.Stderr) {
		x.Stderr = x.Stdout
	} else if x.Stderr, pipes[1], err = outlet(c.Stderr); err != nil {
		pipes[0].abandon()
		return Result{}, err
	}
	began := time.Now()
	if err := begin(x); err != nil {
		pipes[0].abandon()
		pipes[1].abandon()
		return Result{}, err
	}
	pipes[0].begin()
	pipes[1].begin()
	result, err := wait(ctx, x, c)
	reaped(x)
	result.Took = time.Since(began)
	if !c.Attached {
		// What is left of the group has no reason to run on. It is an error if nothing is left.
		_ = syscall.Kill(-x.Process.Pid, syscall.SIGKILL)
	}
	if !pipes[0].drained(briefly) || !pipes[1].drained(briefly) {
		r.leave(id) // so that what has left the group is a stray now
		r.sweep()
		pipes[0].drained(escaped)
		pipes[1].drained(escaped)
	}
	pipes[0].close()
	pipes[1].close()
	return result, err
}

// leave notes that a command has ended.
func (r *Runner) leave(id uint64) {
	r.mu.Lock()
	delete(r.running, id)
	r.mu.Unlock()
	r.sweepSoon()
}

// command looks the program up.
func command(c Command, mark string) (*exec.Cmd, error) {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	if len(c.Args) == 0 {
		return nil, &exec.Error{Name: "", Err: syscall.ENOENT}
	}
	path, err := look(c.Args[0], c.Dir, env)
	if err != nil {
		return nil, &exec.Error{Name: c.Args[0], Err: err}
	}
	x := &exec.Cmd{
		Path: path, Args: c.Args, Env: append(env[:len(env):len(env)], mark), Dir: c.Dir,
		SysProcAttr: attributes(!c.Attached), ExtraFiles: c.Files,
	}
	if c.Stdin != nil {
		x.Stdin = c.Stdin
	}
	return x, nil
}

// start starts a command. A script without "#!" is run by the shell, as execvp does.
func start(x *exec.Cmd) error {
	err := x.Start()
	if !errors.Is(err, syscall.ENOEXEC) {
		return err
	}
	y := &exec.Cmd{
		Path: "/bin/sh", Args: append([]string{"sh", x.Path}, x.Args[1:]...), Env: x.Env, Dir: x.Dir, SysProcAttr: x.SysProcAttr,
		Stdin: x.Stdin, Stdout: x.Stdout, Stderr: x.Stderr, ExtraFiles: x.ExtraFiles,
	}
	*x = *y //nolint:govet // x was never started
	return x.Start()
}

// wait waits for the first process, and ends it if ctx or the timeout says so.
func wait(ctx context.Context, x *exec.Cmd, c Command) (Result, error) {
	e := &ending{pid: x.Process.Pid}
	if !c.Attached {
		e.pid = -e.pid
	}
	defer e.over()
	defer context.AfterFunc(ctx, func() { e.begin(false) })()
	if c.Timeout > 0 {
		defer awake.AfterFunc(c.Timeout, func() { e.begin(true) }).Stop()
	}
	err := x.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Result{}, fmt.Errorf("waiting for process %d: %w", x.Process.Pid, err)
	}
	r := Result{TimedOut: e.timedOut()}
	if status, ok := x.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal = status.Signal()
	} else {
		r.Exit = x.ProcessState.ExitCode()
	}
	return r, context.Cause(ctx)
}

// ending ends processes: first with SIGTERM, then with SIGKILL.
type ending struct {
	pid int // negative for a group

	mu    sync.Mutex
	done  bool
	begun bool
	late  bool
	kill  *time.Timer
}

func (e *ending) begin(late bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done || e.begun {
		return
	}
	e.begun, e.late = true, late
	e.signal(syscall.SIGTERM)
	e.kill = time.AfterFunc(Patience, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.signal(syscall.SIGKILL)
	})
}

func (e *ending) signal(s syscall.Signal) {
	if !e.done {
		_ = syscall.Kill(e.pid, s) // it may have ended by itself
	}
}

func (e *ending) timedOut() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.late
}

// over stops the ladder: from now on the process id may be somebody else's.
func (e *ending) over() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = true
	if e.kill != nil {
		e.kill.Stop()
	}
}
