// Package process runs commands, each as a tree of processes that ends as a whole: with its first process, with its context, or at its
// timeout. Processes that a command has left in the background are killed then, daemons too (on Linux). heddle xargs and executors use it.
//
// A Runner makes its process the adopter of orphans ("child subreaper"). It spares children that others have started,
// if they are in the process group of their parent.
package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
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
	Args   []string // the program, looked up in PATH of Env, and its arguments
	Env    []string // NAME=VALUE; nil: this process's
	Dir    string   // "": this process's
	Stdin  *os.File // nil: /dev/null
	Stdout io.Writer
	Stderr io.Writer  // files are handed over as they are; the same as Stdout gets both in their order
	Files  []*os.File // its descriptors from 3 on
	// Started is called when the command's process is there, which has Files then; nil: it isn't reported. A script without "#!" is started twice, within milliseconds.
	Started func()
	Timeout time.Duration // 0: none. Time in which this process is suspended doesn't count
	// Attached lets the command stay in this process's group, as one that uses the terminal must: others are stopped there, or hang. A Ctrl-C
	// then reaches it as well. See OwnAll.
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
	prefix   string
	programs programs
	watch    watch
	fault    error // why nothing can be watched

	mu      sync.Mutex
	last    uint64
	running map[uint64]bool
	live    int           // commands that have begun
	end     chan struct{} // closed when the next of them has ended, if that is waited for
	strays  strays
}

// first are the first processes of the commands of all Runners. Others' children can't be told from strays while they are started and when
// they have ended, so that starting is held from a start up to the entry here, and by the search for strays.
var (
	starting sync.RWMutex
	firstMu  sync.Mutex
	first    = map[int]bool{}
)

// child is the first process of a command.
type child struct {
	pid    int
	pidfd  int     // -1: this kernel has none
	launch *launch // nil: it has executed its program
}

// forkExec makes the process by package syscall, which waits until the program is executed.
func forkExec(path string, args []string, c Command, env []string, files []uintptr) (child, error) {
	x := child{pidfd: -1}
	var err error
	x.pid, err = syscall.ForkExec(path, args, &syscall.ProcAttr{Dir: c.Dir, Env: env, Files: files, Sys: attributes(!c.Attached, &x.pidfd)})
	runtime.KeepAlive(c)
	return x, err
}

// begin starts a command and enters its process. Descriptors from 3 on are the command's files.
func (r *Runner) begin(path string, args []string, c Command, env []string, streams [3]uintptr) (child, error) {
	files := streams[:]
	for _, f := range c.Files {
		files = append(files, f.Fd())
	}
	starting.RLock()
	defer starting.RUnlock()
	x, err := begin(path, args, c, env, files)
	if err != nil {
		return child{}, err
	}
	firstMu.Lock()
	defer firstMu.Unlock()
	first[x.pid] = true
	return x, nil
}

// reaped removes the process of a command, whose number may be given to another one now.
func (x child) reaped() {
	firstMu.Lock()
	defer firstMu.Unlock()
	delete(first, x.pid)
}

// New makes a Runner.
func New() *Runner {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	r := &Runner{prefix: hex.EncodeToString(b) + "-", running: map[uint64]bool{}}
	r.fault = r.watch.begin()
	r.strays.begin()
	return r
}

// Close kills what commands have left behind. No command may run any more.
func (r *Runner) Close() {
	r.closeStrays()
	r.watch.close()
}

// Run runs a command until all its processes have ended. The error is that of the start, or the cause of ctx's end. An error of Stdout
// or Stderr is theirs to remember: the command sees a closed pipe.
func (r *Runner) Run(ctx context.Context, c Command) (Result, error) {
	if err := cmp.Or(context.Cause(ctx), r.fault); err != nil {
		return Result{}, err
	}
	r.mu.Lock()
	r.last++
	id := r.last
	r.running[id] = true
	r.mu.Unlock()
	defer r.leave(id)
	if len(c.Args) == 0 {
		return Result{}, &exec.Error{Name: "", Err: syscall.ENOENT}
	}
	env := environ(c.Env, Variable+"="+r.prefix+strconv.FormatUint(id, 10))
	for {
		path, earlier, err := r.programs.of(c.Args[0], c.Dir, env)
		if err != nil {
			return Result{}, &exec.Error{Name: c.Args[0], Err: err}
		}
		result, ran, err := r.once(ctx, id, path, c.Args, c, env)
		if !ran && errors.Is(err, syscall.ENOEXEC) {
			// A script without "#!" is run by the shell, as execvp does.
			args := append([]string{"sh", path}, c.Args[1:]...)
			path = "/bin/sh"
			result, ran, err = r.once(ctx, id, path, args, c, env)
		}
		if ran {
			return result, err
		}
		if scarce(err) && r.another(ctx) {
			continue
		}
		if cause := context.Cause(ctx); cause != nil {
			return Result{}, cause
		}
		if !earlier || scarce(err) {
			return Result{}, &fs.PathError{Op: "fork/exec", Path: path, Err: err}
		}
		r.programs.forget() // it may be gone, and another one be there
	}
}

// scarce reports whether a command may be able to start when another one has ended.
func scarce(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EAGAIN)
}

// another waits until a command that runs has ended. It returns false if none does.
func (r *Runner) another(ctx context.Context) bool {
	r.mu.Lock()
	if r.end == nil {
		r.end = make(chan struct{})
	}
	live, end := r.live, r.end
	r.mu.Unlock()
	if live == 0 {
		return false
	}
	select {
	case <-end:
		return true
	case <-ctx.Done():
		return false
	}
}

// lives counts a command that has begun, or one that has ended and given back what it had.
func (r *Runner) lives(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live += n; n < 0 && r.end != nil {
		close(r.end)
		r.end = nil
	}
}

// Reason says why a command couldn't be run, as other programs do.
func Reason(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err.Error()
	}
	text := errno.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// once runs a command, unless its program can't be executed. The error says why.
func (r *Runner) once(ctx context.Context, id uint64, path string, args []string, c Command, env []string) (result Result, ran bool, err error) {
	stdin := c.Stdin
	if stdin == nil {
		if stdin, err = nothing(); err != nil {
			return Result{}, false, err
		}
	}
	streams := [3]uintptr{stdin.Fd()}
	var pipes [2]*pipe
	if streams[1], pipes[0], err = r.outlet(c.Stdout); err != nil {
		return Result{}, false, err
	}
	if same(c.Stdout, c.Stderr) {
		streams[2] = streams[1]
	} else if streams[2], pipes[1], err = r.outlet(c.Stderr); err != nil {
		pipes[0].abandon()
		return Result{}, false, err
	}
	began := time.Now()
	x, err := r.begin(path, args, c, env, streams)
	if err != nil {
		pipes[0].abandon()
		pipes[1].abandon()
		return Result{}, false, err
	}
	if c.Started != nil {
		c.Started()
	}
	r.lives(1)
	defer r.lives(-1)
	pipes[0].begin()
	pipes[1].begin()
	result, err = r.wait(ctx, x, c)
	x.reaped()
	result.Took = time.Since(began)
	if failed := x.launch.failed(); failed != nil {
		pipes[0].close()
		pipes[1].close()
		return Result{}, false, failed
	}
	if !c.Attached {
		// The rest of the group has no reason to run on. It is an error if nothing is left.
		_ = syscall.Kill(-x.pid, syscall.SIGKILL)
	}
	if !pipes[0].drained(briefly) || !pipes[1].drained(briefly) {
		r.leave(id) // so that what has left the group is a stray now
		r.sweep()
		pipes[0].drained(escaped)
		pipes[1].drained(escaped)
	}
	pipes[0].close()
	pipes[1].close()
	return result, true, err
}

// leave notes that a command has ended.
func (r *Runner) leave(id uint64) {
	r.mu.Lock()
	delete(r.running, id)
	r.mu.Unlock()
	r.sweepSoon()
}

// environ adds a variable, and leaves of those of one name the last one.
func environ(env []string, mark string) []string {
	if env == nil {
		env = os.Environ()
	}
	all := make([]string, 0, len(env)+1)
	at := make(map[string]int, len(env)+1)
	for i := range len(env) + 1 {
		v := mark
		if i < len(env) {
			v = env[i]
		}
		name, _, ok := strings.Cut(v, "=")
		if k, twice := at[name]; ok && twice {
			all[k] = v
			continue
		}
		if ok {
			at[name] = len(all)
		}
		all = append(all, v)
	}
	return all
}

// wait waits for the first process, and ends it if ctx or the timeout says so.
func (r *Runner) wait(ctx context.Context, x child, c Command) (Result, error) {
	e := &ending{pid: x.pid}
	if !c.Attached {
		e.pid = -e.pid
	}
	defer e.over()
	defer context.AfterFunc(ctx, func() { e.begin(false) })()
	if c.Timeout > 0 {
		defer awake.AfterFunc(c.Timeout, func() { e.begin(true) }).Stop()
	}
	r.watch.await(x.pidfd)
	status, err := reap(x.pid)
	if err != nil {
		return Result{}, fmt.Errorf("waiting for process %d: %w", x.pid, err)
	}
	result := Result{TimedOut: e.timedOut()}
	if status.Signaled() {
		result.Signal = status.Signal()
	} else {
		result.Exit = status.ExitStatus()
	}
	return result, context.Cause(ctx)
}

// reap waits for a process, and asks for its status.
func reap(pid int) (status syscall.WaitStatus, err error) {
	if reapEnded(pid, &status) {
		return status, nil
	}
	for {
		if _, err = syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR { //nolint:errorlint // it is the kernel's
			return status, err
		}
	}
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

// over stops the ladder: from now on the process id may be another's.
func (e *ending) over() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = true
	if e.kill != nil {
		e.kill.Stop()
	}
}
