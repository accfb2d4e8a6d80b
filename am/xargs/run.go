package xargs

import (
	"bufio"
	"cmp"
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
	"heddle/am/process"
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
	exitPipe     = 141 // the output is no longer read, likewise
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

	taken int64         // bytes of the input up to here
	over  chan struct{} // closed when its end has been judged; nil: it isn't waited for
}

// Outcome is how a command has ended.
type Outcome struct {
	Exit     int
	Signal   syscall.Signal // that has ended it; 0 if none has
	TimedOut bool
	// Err says that the command was not run, or that its end is unknown. If it wraps fs.ErrNotExist or fs.ErrPermission, the
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
	Answers  io.Reader  // with -p: a line for each command
	Procs    <-chan int // by how many more or fewer commands than so far may run at a time from now on; nil: -P stays
}

// ErrLost is wrapped by the Err of a command with an unknown outcome, which may have been run.
var ErrLost = pool.ErrLost

// ErrNowhere is wrapped by the Err of a command when there is nothing left that could run any: the cluster gives no containers.
var ErrNowhere = errors.New("commands can't be run any more")

// Run reads the input, runs its commands, and returns the exit code. Messages go to s.Err. If ctx ends, all commands are ended.
func Run(ctx context.Context, o Options, r Runner, s Streams) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &run{o: o, runner: r, cancel: cancel, bar: newBar(o.Bar, s), procs: o.Procs, made: -1, read: make(chan struct{})}
	if o.Ask {
		x.answers = bufio.NewReader(s.Answers)
	}
	if o.Ask && o.Procs > 0 {
		x.asked = make(chan struct{}, o.Procs)
	}
	x.printer = newPrinter(&o, s.Out, s.Err, x.bar)
	defer x.printer.store.close()
	for _, w := range o.Warnings {
		x.say("warning: %s", w)
	}
	if l, ok := r.(*Local); ok {
		o.kernelChars = l.kernelChars()
	}
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
	from, seekable := offset(s.In)
	x.leaves = seekable && x.answers == nil
	x.work(ctx, b, s.Procs)
	x.bar.end()
	if seekable {
		if err := x.giveBack(s.In, from); err != nil {
			x.say("%v", err)
			return exitFault
		}
	}
	return x.exit(ctx)
}

// offset returns how far an input has been read. Pipes and terminals can't tell.
func offset(in io.Reader) (at int64, ok bool) {
	f, ok := in.(io.Seeker)
	if !ok {
		return 0, false
	}
	at, err := f.Seek(0, io.SeekCurrent)
	return at, err == nil
}

// giveBack leaves a file as if only what was needed of it had been read: later readers want the part that was read ahead.
func (x *run) giveBack(in io.Reader, from int64) error {
	if x.answers == nil {
		<-x.read // soon, as files don't wait
	}
	select {
	case <-x.read:
		_, err := in.(io.Seeker).Seek(from+x.taken, io.SeekStart)
		return err
	default:
		return nil // a question is still open
	}
}

type run struct {
	o       Options
	runner  Runner
	printer *printer
	bar     *bar
	cancel  context.CancelCauseFunc
	halt    context.CancelFunc // no further command begins
	answers *bufio.Reader      // to -p; nil: commands run without questions
	leaves  bool               // the input is a file, whose rest others may read on

	read  chan struct{}  // closed when nothing is read any more
	begun sync.WaitGroup // commands that were handed to a worker, until they have begun
	asked chan struct{}  // with -p: has as much as commands that run or are asked for; nil: -P has no limit

	mu                sync.Mutex
	fault             error  // of the input, after its last command
	slots             []bool // in use
	procs             int    // so many commands may run at a time, 0: any number
	workers           int
	taken             int64 // bytes of the input that commands needed which have begun, and the next one; or all
	stopped           bool  // a message has said why no further command begins
	code              int   // of the first failure of a command
	final             int   // the code of a command that has exited with 255, or by a signal; 0: none has
	made, ran         int   // commands: of all the input (−1: it hasn't been read to its end), and those that have begun
	failed, succeeded int   // commands

	faulty bool // the input, or what is to run commands: that counts if no command has failed
}

// ahead is how many commands are made before they can run, so that the progress bar knows how many there will be. As many
// may run and end before one whose output is to be printed earlier.
const ahead = 10000

// work runs all commands.
func (x *run) work(ctx context.Context, b *batcher, procs <-chan int) {
	going, halt := context.WithCancel(ctx)
	defer halt()
	x.halt = halt
	defer context.AfterFunc(going, x.printer.halt)()
	tasks, hand := make(chan *Task, ahead), make(chan *Task)
	making, enough := going, halt
	if x.leaves {
		making, enough = context.WithCancel(ctx) // until the command after the last one is made
	}
	defer enough()
	go x.makeTasks(making, b, tasks) // ends when the input does, which can't be hastened
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(hand)
	for {
		var t *Task
		select {
		case t = <-tasks:
		case <-going.Done():
		}
		if going.Err() != nil {
			x.leaveOff(ctx, b, t, tasks)
			return
		}
		if t == nil {
			x.took(b.items.taken)
			x.complain()
			return
		}
		x.took(t.taken)
		if x.o.Verbose {
			x.begun.Wait() // so that -t shows commands in their order
		}
		x.begun.Add(1)
		if l, ok := x.runner.(*Local); ok && l.lacks(t.Args[0]) {
			t.over = make(chan struct{})
		}
		if !x.hand(t, hand, going.Done(), procs, func() { workers.Go(func() { x.serve(ctx, going, hand) }) }) {
			return
		}
		if t.over != nil { // GNU xargs knows at once that a program is missing, and needs no more of the input
			select {
			case <-t.over:
			case <-going.Done():
			}
		}
	}
}

// hand gives a command to a worker, and begins another worker where one more may run. It returns false if the run is over before.
func (x *run) hand(t *Task, to chan<- *Task, over <-chan struct{}, procs <-chan int, begin func()) bool {
	for {
		select {
		case to <- t:
			return true
		default:
		}
		if x.another() {
			begin()
		}
		select {
		case to <- t:
			return true
		case n := <-procs:
			x.change(n)
		case <-over:
			return false
		}
	}
}

// leaveOff counts the input of the command that would have begun next (nil: it isn't known yet), where one has ended all others by its exit code or by a signal: GNU
// xargs makes the next command before it waits for those that run, so the rest of a file begins after that.
func (x *run) leaveOff(ctx context.Context, b *batcher, t *Task, tasks <-chan *Task) {
	x.mu.Lock()
	ended := x.final != 0
	x.mu.Unlock()
	if !x.leaves || !ended {
		return
	}
	if t == nil {
		select {
		case t = <-tasks:
		case <-ctx.Done():
			return
		}
	}
	if t == nil { // the input is at its end
		x.took(b.items.taken)
		return
	}
	x.took(t.taken)
}

// serve runs the commands that are handed to it.
func (x *run) serve(ctx, going context.Context, hand <-chan *Task) {
	for t := range hand {
		if x.printer.await(t.Number, ahead); going.Err() == nil {
			x.do(ctx, t)
		} else {
			x.begun.Done()
		}
		if t.over != nil {
			close(t.over)
		}
		if x.surplus() {
			return
		}
	}
}

// another counts one more worker, if there may be one.
func (x *run) another() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.procs > 0 && x.workers >= x.procs {
		return false
	}
	x.workers++
	return true
}

// surplus counts one worker less, if there are too many.
func (x *run) surplus() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.procs == 0 || x.workers <= x.procs {
		return false
	}
	x.workers--
	return true
}

// change lets more or fewer commands run at a time, one at least.
func (x *run) change(n int) {
	x.mu.Lock()
	if x.procs > 0 {
		x.procs = max(x.procs+n, 1)
	}
	several := x.procs > 1
	x.mu.Unlock()
	if several {
		x.printer.several()
	}
}

// took notes that so much of the input was needed.
func (x *run) took(bytes int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.taken = max(x.taken, bytes)
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

// makeTasks makes commands of the input.
func (x *run) makeTasks(ctx context.Context, b *batcher, tasks chan<- *Task) {
	defer close(x.read)
	defer close(tasks)
	for number := 0; ; {
		args, err := b.command()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				x.mu.Lock()
				x.fault = err // tasks is closed after that
				x.mu.Unlock()
			}
			x.mu.Lock()
			x.made = number
			x.mu.Unlock()
			x.bar.count(number, true)
			if p := x.o.Progress; p != nil {
				p.all.Store(int64(number))
			}
			return
		}
		if !x.wanted(ctx, args) {
			continue
		}
		select {
		case tasks <- &Task{Number: number, Args: args, SlotVar: x.o.SlotVar, Timeout: x.o.Timeout, taken: b.items.taken}:
			number++
			x.bar.count(number, false)
		case <-ctx.Done():
			return
		}
	}
}

// wanted asks whether a command is to run, if -p says so: when it could run.
func (x *run) wanted(ctx context.Context, args []string) (yes bool) {
	if x.answers == nil {
		return true
	}
	if x.asked != nil {
		select {
		case x.asked <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		defer func() {
			if !yes {
				<-x.asked
			}
		}()
	}
	x.printer.message([]byte(Quote(args) + "?..."))
	answer, _ := x.answers.ReadString('\n') // at its end there is no yes
	return strings.HasPrefix(strings.ToLower(answer), "y")
}

// do runs a command until it has succeeded, or has had all its tries.
func (x *run) do(ctx context.Context, t *Task) {
	if x.asked != nil {
		defer func() { <-x.asked }()
	}
	x.mu.Lock()
	x.ran++
	x.mu.Unlock()
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
		x.count(got.succeeded())
	}
	x.bar.done(!got.succeeded())
	if p := x.o.Progress; p != nil {
		p.ended.Add(1)
	}
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
		x.nowhere()
	case errors.Is(got.Err, syscall.E2BIG):
		x.stop(exitFault, "can't call exec() due to argument size restrictions")
		x.halt()
	case errors.Is(got.Err, fs.ErrNotExist):
		x.stop(exitNotFound, "%s: No such file or directory", name)
	case errors.Is(got.Err, fs.ErrPermission):
		x.stop(exitNoExec, "%s: Permission denied", name)
	case got.Err != nil:
		x.stop(exitNoExec, "%s: %s", name, process.Reason(got.Err))
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

// errHalted is the cause of the end of commands by --halt.
var errHalted = errors.New("halted")

// count counts a command that has ended, for --halt.
func (x *run) count(succeeded bool) {
	x.mu.Lock()
	if succeeded {
		x.succeeded++
	} else {
		x.failed++
	}
	h := x.o.Halt
	reached := func(n, limit int) bool { return limit > 0 && n >= limit }
	over := reached(x.failed, h.Failed) || reached(x.succeeded, h.Succeeded) || reached(x.failed+x.succeeded, h.Done)
	x.mu.Unlock()
	switch {
	case over && h.Now:
		x.cancel(errHalted)
	case over:
		x.halt()
	}
}

// fail notes that a command has failed. As with GNU xargs the first failure, of whatever kind, chooses the exit code.
func (x *run) fail() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.code = cmp.Or(x.code, exitFailed)
}

// nowhere gives up, whatever commands have done so far.
func (x *run) nowhere() {
	x.mu.Lock()
	x.code = exitFault
	x.mu.Unlock()
	x.halt()
}

// stop lets no further command begin, and says why if that wasn't said.
func (x *run) stop(code int, format string, args ...any) {
	x.mu.Lock()
	if code == exitFault {
		x.faulty = true
	} else {
		x.code = cmp.Or(x.code, code)
		if code == exitStopped || code == exitSignaled {
			x.final = cmp.Or(x.final, code)
		}
	}
	first := !x.stopped
	x.stopped = true
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
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errHalted):
		return ended(ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.final != 0 && x.code == exitFailed && x.allHaveRun() {
		return x.final
	}
	if x.code == 0 && (x.faulty || x.printer.unsaid()) {
		return exitFault // as in GNU xargs: the message for standard error was lost
	}
	return x.code
}

// allHaveRun reports whether all commands of the input have begun. GNU xargs waits for the last ones when it exits already: then 255 and signals choose the exit code,
// although a command has failed before. The lock is held.
func (x *run) allHaveRun() bool {
	if x.made < 0 {
		x.mu.Unlock()
		select {
		case <-x.read:
		case <-time.After(endOfInput):
		}
		x.mu.Lock()
	}
	return x.made == x.ran
}

// endOfInput is how long it may take to notice that an input has ended which has no more for commands.
const endOfInput = 100 * time.Millisecond

// ended returns the exit code of a run that a signal has ended, as a shell has it.
func ended(ctx context.Context) int {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if strings.Contains(context.Cause(ctx).Error(), s.String()) { // signal.NotifyContext says so
			return 128 + int(s)
		}
	}
	return exitBreak
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
