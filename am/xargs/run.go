package xargs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"heddle/am/pool"
)

// Exit codes of xargs.
const (
	exitFault    = 1   // of xargs itself, and of the input
	exitFailed   = 123 // some command has failed
	exitStopped  = 124 // a command has exited with 255, which stops everything
	exitSignaled = 125 // a signal has ended a command
	exitNoExec   = 126 // a command can't be run
	exitNotFound = 127
	exitBreak    = 130 // interrupted, as a shell has it
	exitPipe     = 141 // nobody reads the output any more, likewise
	exitEnded    = 143 // by SIGTERM, likewise
)

// stopAll is the exit status by which a command asks that no further ones begin.
const stopAll = 255

// Task is a command to run.
type Task struct {
	Number  int // in the order of the input, from 0
	Args    []string
	Slot    int // different for all tasks that run at a time, below their number
	SlotVar string
	Timeout time.Duration
}

// Outcome is how a command has ended.
type Outcome struct {
	Exit     int
	Signal   syscall.Signal // that has ended it; 0 if none has
	TimedOut bool
	// Err says that the command was not run, or that nobody knows how it ended. If it wraps fs.ErrNotExist or fs.ErrPermission, the
	// program is missing or can't be executed.
	Err error
}

func (o Outcome) succeeded() bool { return o == Outcome{} }

// Runner runs a command somewhere, and writes its outputs. It returns early if ctx ends, when the command has ended.
type Runner interface {
	Run(ctx context.Context, t *Task, stdout, stderr io.Writer) Outcome
}

// Streams are where xargs reads and writes. Files are handed to commands where their outputs can't mix.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Answers  io.Reader // with -p: a line for each command
}

// ErrLost is wrapped by the Err of a command whose outcome nobody knows, although it may have been run.
var ErrLost = pool.ErrLost

// ErrNowhere is wrapped by the Err of a command when there is nothing left that could run any: the cluster gives no containers.
var ErrNowhere = errors.New("commands can't be run any more")

// Run reads the input, runs its commands, and returns the exit code. Messages go to s.Err. If ctx ends, all commands are ended.
func Run(ctx context.Context, o Options, r Runner, s Streams) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &run{o: o, runner: r, cancel: cancel, bar: newBar(o.Bar, s)}
	if o.Ask {
		x.answers = bufio.NewReader(s.Answers)
	}
	x.printer = newPrinter(&o, s.Out, s.Err, x.bar)
	defer x.printer.store.close()
	b, err := newBatcher(&o, s.In, func(text string) { x.say("%s", text) })
	if err == nil && o.Results != "" {
		err = os.MkdirAll(o.Results, 0o777)
	}
	if err != nil {
		x.say("%v", err)
		return exitFault
	}
	if o.Limits {
		x.printer.message([]byte(limits(&o)))
	}
	x.bar.begin(&x.printer.mu)
	x.work(ctx, b)
	x.bar.end()
	return x.exit(ctx)
}

type run struct {
	o       Options
	runner  Runner
	printer *printer
	bar     *bar
	cancel  context.CancelCauseFunc
	halt    context.CancelFunc // no further command begins
	answers *bufio.Reader      // to -p; nil: commands run without questions

	begun sync.WaitGroup // commands that were handed to a worker, until they have begun

	mu     sync.Mutex
	fault  error  // of the input, after its last command
	slots  []bool // in use
	failed bool
	code   int // the first reason to stop
}

// ahead is how many commands are made before they can run, so that the progress bar knows how many there will be. As many
// may run and end before one whose output is to be printed earlier.
const ahead = 10000

// work runs all commands.
func (x *run) work(ctx context.Context, b *batcher) {
	going, halt := context.WithCancel(ctx)
	defer halt()
	x.halt = halt
	defer context.AfterFunc(going, x.printer.halt)()
	tasks, hand := make(chan *Task, ahead), make(chan *Task)
	go x.read(going, b, tasks) // ends when the input does, which nobody can hasten
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(hand)
	for running := 0; ; {
		var t *Task
		select {
		case t = <-tasks:
		case <-going.Done():
		}
		if going.Err() != nil {
			return
		}
		if t == nil {
			x.complain()
			return
		}
		if x.o.Verbose {
			x.begun.Wait() // so that -t shows commands in their order
		}
		x.begun.Add(1)
		select {
		case hand <- t:
			continue
		default:
		}
		if x.o.Procs == 0 || running < x.o.Procs {
			running++
			workers.Go(func() {
				for t := range hand {
					if x.printer.await(t.Number, ahead); going.Err() == nil {
						x.do(ctx, t)
					} else {
						x.begun.Done()
					}
				}
			})
		}
		select {
		case hand <- t:
		case <-going.Done():
			return
		}
	}
}

// complain tells of a fault of the input: when the commands before it have begun, so that it comes after what -t shows of them.
func (x *run) complain() {
	x.mu.Lock()
	err := x.fault
	x.mu.Unlock()
	if err != nil {
		x.begun.Wait()
		x.stop(exitFault, "%v", err)
	}
}

// read makes commands of the input.
func (x *run) read(ctx context.Context, b *batcher, tasks chan<- *Task) {
	defer close(tasks)
	for number := 0; ; {
		args, err := b.command()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				x.mu.Lock()
				x.fault = err // tasks is closed after that
				x.mu.Unlock()
			}
			x.bar.count(number, true)
			return
		}
		if !x.wanted(args) {
			continue
		}
		select {
		case tasks <- &Task{Number: number, Args: args, SlotVar: x.o.SlotVar, Timeout: x.o.Timeout}:
			number++
			x.bar.count(number, false)
		case <-ctx.Done():
			return
		}
	}
}

// wanted asks whether a command is to run, if -p says so.
func (x *run) wanted(args []string) bool {
	if x.answers == nil {
		return true
	}
	x.printer.message([]byte(Quote(args) + "?..."))
	answer, _ := x.answers.ReadString('\n') // at its end nobody says yes
	return strings.HasPrefix(strings.ToLower(answer), "y")
}

// do runs a command until it has succeeded, or has had all its tries.
func (x *run) do(ctx context.Context, t *Task) {
	t.Slot = x.take()
	defer x.release(t.Slot)
	if x.o.Verbose && x.answers == nil { // else the question was the same
		x.printer.message([]byte(Quote(t.Args) + "\n"))
	}
	x.begun.Done()
	out := x.printer.output(t.Number)
	var got Outcome
	for try := 1; ; try++ {
		var err error
		if got, err = x.try(ctx, t, out); err != nil {
			x.printer.fail(err)
		}
		if try >= x.o.Tries || got.succeeded() || ctx.Err() != nil || hopeless(got.Err) || x.printer.broken() != nil {
			break
		}
		out.restart()
	}
	if err := out.end(); err != nil {
		x.cancel(err)
	}
	if ctx.Err() == nil {
		x.judge(t, got)
	}
	x.bar.done(!got.succeeded())
}

func (x *run) try(ctx context.Context, t *Task, out *output) (Outcome, error) {
	if x.o.Results == "" {
		return x.runner.Run(ctx, t, out.writer(stdout), out.writer(stderr)), nil
	}
	f, err := openResults(x.o.Results, t)
	if err != nil {
		return Outcome{}, err
	}
	out.keep([2]io.Writer{f.stdout, f.stderr})
	got := x.runner.Run(ctx, t, out.writer(stdout), out.writer(stderr))
	out.keep([2]io.Writer{}) // the next try has files of its own
	return got, f.close(got)
}

// hopeless reports whether a further try would fail as well.
func hopeless(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, ErrNowhere)
}

// judge draws the conclusions of GNU xargs from how a command has ended.
func (x *run) judge(t *Task, got Outcome) {
	name := t.Args[0]
	switch {
	case errors.Is(got.Err, ErrLost):
		x.say("%s: %v", name, got.Err)
		x.fail()
	case errors.Is(got.Err, ErrNowhere):
		x.stop(exitFault, "%v", got.Err)
		x.halt()
	case errors.Is(got.Err, syscall.E2BIG):
		x.stop(exitFault, "can't call exec() due to argument size restrictions")
		x.halt()
	case errors.Is(got.Err, fs.ErrNotExist):
		x.stop(exitNotFound, "%s: No such file or directory", name)
	case errors.Is(got.Err, fs.ErrPermission):
		x.stop(exitNoExec, "%s: Permission denied", name)
	case got.Err != nil:
		x.stop(exitNoExec, "%s: %v", name, got.Err)
	case got.TimedOut:
		x.say("%s: ended after %v", name, t.Timeout)
		x.fail()
	case got.Signal != 0:
		x.stop(exitSignaled, "%s: terminated by signal %d", name, got.Signal)
	case got.Exit == stopAll:
		x.stop(exitStopped, "%s: exited with status 255; aborting", name)
	case got.Exit != 0:
		x.fail()
	}
}

func (x *run) fail() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failed = true
}

// stop lets no further command begin. The first code is the exit code.
func (x *run) stop(code int, format string, args ...any) {
	x.mu.Lock()
	first := x.code == 0
	if first {
		x.code = code
	}
	x.mu.Unlock()
	if first {
		x.say(format, args...)
	}
	if code != exitFault { // what was read before a fault of the input still runs
		x.halt()
	}
}

func (x *run) say(format string, args ...any) {
	x.printer.message(fmt.Appendf(nil, "xargs: "+format+"\n", args...))
}

// exit returns the exit code.
func (x *run) exit(ctx context.Context) int {
	switch err := x.printer.broken(); {
	case errors.Is(err, syscall.EPIPE):
		return exitPipe
	case err != nil:
		x.say("%v", err)
		return exitFault
	case ctx.Err() != nil && strings.Contains(context.Cause(ctx).Error(), syscall.SIGTERM.String()): // signal.NotifyContext says so
		return exitEnded
	case ctx.Err() != nil:
		return exitBreak
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.code == 0 && x.failed:
		return exitFailed
	case x.code == 0 && x.printer.unsaid():
		return exitFault // as GNU xargs has it: somebody lacks what standard error should have told
	}
	return x.code
}

// take returns the lowest slot that is free.
func (x *run) take() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.o.SlotVar == "" {
		return 0
	}
	i := slices.Index(x.slots, false)
	if i < 0 {
		i, x.slots = len(x.slots), append(x.slots, false)
	}
	x.slots[i] = true
	return i
}

func (x *run) release(slot int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if slot < len(x.slots) {
		x.slots[slot] = false
	}
}
