package executor

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"heddle/am/process"
	"heddle/internal/awake"
	"heddle/yarn/wire"
)

// An interpreter is a process that takes one call after the other, so that it imports and connects once. It reads calls from descriptor 3 and writes
// answers to descriptor 4: a length of four bytes, big-endian, and so many bytes. Output of it and its children before the answer belongs to the
// call.
type interpreter struct {
	calls   *os.File
	answers *bufio.Reader
	raw     *os.File
	taps    [2]*tap
	kill    context.CancelCauseFunc
	over    chan struct{} // closed when the process has ended
	result  process.Result
	err     error
	bored   *time.Timer // ends it if no call comes
}

// keepIdle is how long an interpreter waits for the next call before it is ended. Its imports then cost again, but its memory is free.
const keepIdle = time.Minute

// startTime is more than it takes to find out that a program can't be executed.
const startTime = time.Second

// endTime is how long an interpreter that gives no answer any more may take to end.
const endTime = time.Second

// interpreters keeps those that wait for a call, by their command lines.
type interpreters struct {
	engine *Engine
	keep   time.Duration // keepIdle, apart from tests

	mu     sync.Mutex
	idle   map[string][]*interpreter
	closed bool
}

// call hands a call to an interpreter, and starts one if none is free.
func (p *interpreters) call(ctx context.Context, t *wire.Task, output func(int, []byte) error) *wire.Ended {
	if err := context.Cause(ctx); err != nil {
		return ended(t.ID, process.Result{}, err)
	}
	key := strings.Join(t.Args, "\x00") + "\x00\x00" + strings.Join(t.Env, "\x00") + "\x00\x00" + t.Dir
	i, err := p.take(key, t)
	if err != nil {
		return ended(t.ID, process.Result{}, err)
	}
	var late *awake.Timer
	if t.TimeoutMS > 0 {
		late = awake.AfterFunc(time.Duration(t.TimeoutMS)*time.Millisecond, func() { i.kill(errLate) })
		defer late.Stop()
	}
	stop := context.AfterFunc(ctx, func() { i.kill(context.Cause(ctx)) })
	result, err := i.call(t.Payload, output)
	if stop() && err == nil && (late == nil || late.Stop()) && i.endOutput() == nil {
		p.put(key, i)
		return &wire.Ended{ID: t.ID, Result: result}
	}
	// Either it has failed, or it was ended just now. One that ends by itself says why.
	if err != nil {
		select {
		case <-i.over:
		case <-time.After(endTime):
		}
	}
	i.kill(errBroken)
	<-i.over
	lost := i.endOutput()
	i.close()
	switch {
	case err == nil && lost != nil:
		return ended(t.ID, process.Result{}, lost)
	case err == nil:
		return &wire.Ended{ID: t.ID, Result: result}
	case context.Cause(ctx) != nil:
		return ended(t.ID, process.Result{}, context.Cause(ctx))
	case errors.Is(i.err, errLate):
		return &wire.Ended{ID: t.ID, TimedOut: true}
	case i.err != nil && !errors.Is(i.err, errBroken):
		return ended(t.ID, process.Result{}, i.err)
	}
	how := fmt.Sprintf("exit code %d", i.result.Exit)
	if i.result.Signal != 0 {
		how = fmt.Sprintf("signal %d (%v)", i.result.Signal, i.result.Signal)
	}
	return &wire.Ended{
		ID: t.ID, Exit: uint64(i.result.Exit), Signal: uint64(i.result.Signal), Why: wire.Faulty,
		Fault: fmt.Sprintf("the interpreter %s has ended during the call: %s (%v)", t.Args[0], how, err),
	}
}

var (
	errLate   = errors.New("the call has taken too long")
	errBroken = errors.New("the interpreter is of no use any more")
)

func (p *interpreters) take(key string, t *wire.Task) (*interpreter, error) {
	p.mu.Lock()
	for list := p.idle[key]; len(list) > 0; list = p.idle[key] {
		i := list[len(list)-1]
		p.drop(key, i)
		select {
		case <-i.over: // it has ended by itself
			i.close()
		default:
			p.mu.Unlock()
			return i, nil
		}
	}
	p.mu.Unlock()
	return p.start(t)
}

// drop takes an interpreter from those that wait. It returns false if it is none of them any more. The lock is held.
func (p *interpreters) drop(key string, i *interpreter) bool {
	list := p.idle[key]
	at := slices.Index(list, i)
	if at < 0 {
		return false
	}
	if list = slices.Delete(list, at, at+1); len(list) == 0 {
		delete(p.idle, key)
	} else {
		p.idle[key] = list
	}
	i.bored.Stop()
	return true
}

// expire ends an interpreter that has waited for too long.
func (p *interpreters) expire(key string, i *interpreter) {
	p.mu.Lock()
	idle := p.drop(key, i)
	p.mu.Unlock()
	if idle {
		i.end()
	}
}

// end ends an unused interpreter.
func (i *interpreter) end() {
	i.kill(errBroken)
	<-i.over
	i.close()
}

func (p *interpreters) start(t *wire.Task) (*interpreter, error) {
	callsTheirs, callsOurs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answersOurs, answersTheirs, err := os.Pipe()
	if err != nil {
		callsTheirs.Close()
		callsOurs.Close()
		return nil, err
	}
	taps, err := newTaps()
	if err != nil {
		for _, f := range []*os.File{callsTheirs, callsOurs, answersTheirs, answersOurs} {
			f.Close()
		}
		return nil, err
	}
	ctx, kill := context.WithCancelCause(context.Background())
	i := &interpreter{
		calls: callsOurs, raw: answersOurs, answers: bufio.NewReaderSize(answersOurs, 64<<10), taps: taps,
		kill: kill, over: make(chan struct{}),
	}
	// Only the interpreter is to have the far ends: if it closes them and lives on, there will be no answer. They are needed once more if it is a script without "#!".
	letGo := time.AfterFunc(startTime, func() {
		callsTheirs.Close()
		answersTheirs.Close()
	})
	letGo.Stop()
	go func() {
		i.result, i.err = p.engine.processes.Run(ctx, process.Command{
			Args: t.Args, Env: p.engine.environ(t.Env), Dir: folder(t.Dir), Files: []*os.File{callsTheirs, answersTheirs},
			Stdout: taps[0].far, Stderr: taps[1].far, Started: func() { letGo.Reset(startTime) },
		})
		letGo.Stop()
		callsTheirs.Close()
		answersTheirs.Close()
		kill(nil)
		close(i.over)
	}()
	return i, nil
}

func (p *interpreters) put(key string, i *interpreter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		go i.end()
		return
	}
	if p.idle == nil {
		p.idle = map[string][]*interpreter{}
	}
	i.bored = time.AfterFunc(p.keep, func() { p.expire(key, i) })
	p.idle[key] = append(p.idle[key], i)
}

func (p *interpreters) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, list := range idle {
		for _, i := range list {
			i.bored.Stop()
			i.end()
		}
	}
}

func newTaps() (taps [2]*tap, err error) {
	if taps[0], err = newTap(); err != nil {
		return taps, err
	}
	if taps[1], err = newTap(); err != nil {
		taps[0].close()
	}
	return taps, err
}

// close closes the pipes of an interpreter that has ended.
func (i *interpreter) close() {
	i.calls.Close()
	i.raw.Close()
	for _, t := range i.taps {
		t.close()
	}
}

// endOutput passes on what is left of a call's output.
func (i *interpreter) endOutput() error { return errors.Join(i.taps[0].end(), i.taps[1].end()) }

// call sends a call and returns its answer. The payload is read by the interpreter as it likes; it may have to write first.
func (i *interpreter) call(payload []byte, output func(int, []byte) error) ([]byte, error) {
	for stream, t := range i.taps {
		if err := t.begin(func(b []byte) error { return output(stream, b) }); err != nil {
			return nil, err
		}
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
	go func() {
		// Errors show in the answer: there is none.
		if _, err := i.calls.Write(head); err == nil {
			_, _ = i.calls.Write(payload)
		}
	}()
	return readAnswer(i.answers)
}

func readAnswer(in *bufio.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, fmt.Errorf("it has given no answer: %w", err)
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n > wire.MaxFrame {
		return nil, fmt.Errorf("its answer has a length of %d bytes, %d are allowed", n, wire.MaxFrame)
	}
	body, err := wire.ReadBytes(in, n)
	if err != nil {
		return nil, fmt.Errorf("its answer breaks off: %w", err)
	}
	return body, nil
}
