package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	engine "heddle/am/executor"
	"heddle/internal/await"
	"heddle/yarn/wire"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// bench is a pool and what a test needs around it.
type bench struct {
	*Pool
	t      *testing.T
	secret []byte
}

func start(t *testing.T, o Options) *bench {
	t.Helper()
	o.Secret, o.Listen = wire.NewSecret(), "127.0.0.1:0"
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &bench{p, t, o.Secret}
}

// dial connects somebody who is to behave as an executor.
func (b *bench) dial(hello *wire.Hello) *wire.Conn {
	b.t.Helper()
	c, err := wire.Dial(b.t.Context(), fmt.Sprintf("127.0.0.1:%d", b.Port()), nil, b.secret)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	if err := c.Send(hello); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// executor runs a real one in this process.
func (b *bench) executor(name string, slots uint64) (kill func()) {
	c, err := wire.Dial(b.t.Context(), fmt.Sprintf("127.0.0.1:%d", b.Port()), nil, b.secret)
	if err != nil {
		b.t.Fatal(err)
	}
	e := engine.NewEngine(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = engine.Serve(context.Background(), c, wire.Hello{Container: name, Slots: slots}, e)
		e.Close()
		c.Close()
	}()
	kill = sync.OnceFunc(func() {
		c.Close()
		<-done
	})
	b.t.Cleanup(kill)
	return kill
}

// result is how a task has ended.
type result struct {
	wire.Ended
	err error
}

// run submits a task.
func (b *bench) run(t *Task) <-chan result {
	done := make(chan result, 2) // a second call would be seen
	t.Done = func(e wire.Ended, err error) { done <- result{e, err} }
	b.Submit(t)
	return done
}

func next[M wire.Message](b *bench, c *wire.Conn) M {
	b.t.Helper()
	m, err := c.Receive()
	if err != nil {
		b.t.Fatal(err)
	}
	got, ok := m.(M)
	if !ok {
		b.t.Fatalf("%T came", m)
	}
	return got
}

func TestTasksRun(t *testing.T) {
	b := start(t, Options{})
	var out strings.Builder
	early := b.run(&Task{
		Task:   wire.Task{Args: []string{"sh", "-c", "echo early; exit 3"}},
		Output: func(_ int, p []byte) { out.Write(p) },
	})
	b.executor("a", 2)
	b.executor("b", 2)
	if r := <-early; r.err != nil || r.Exit != 3 || out.String() != "early\n" {
		t.Errorf("%+v, %q", r, out.String())
	}
	var all []<-chan result
	for range 200 {
		all = append(all, b.run(&Task{Task: wire.Task{What: wire.Nothing}}))
	}
	for _, done := range all {
		if r := <-done; r.err != nil || r.Why != wire.Ran {
			t.Errorf("%+v", r)
		}
	}
	await.Until(t, "both executors are there, and nothing waits", func() bool { return b.State() == State{Executors: 2} })
}

// An executor gets a task when it has room, and in the order in which they came.
func TestExecutorsGetWhatTheyHaveRoomFor(t *testing.T) {
	b := start(t, Options{Prefetch: 1})
	for i := range 5 {
		b.run(&Task{Task: wire.Task{Dir: fmt.Sprint(i)}})
	}
	c := b.dial(&wire.Hello{Container: "c", Slots: 2})
	var ids []uint64
	for i := range 3 {
		m := next[*wire.Task](b, c)
		if m.Dir != fmt.Sprint(i) {
			t.Errorf("task %s instead of %d", m.Dir, i)
		}
		ids = append(ids, m.ID)
	}
	if s := b.State(); s.Waiting != 2 || s.Running != 3 {
		t.Errorf("%+v", s)
	}
	if err := c.Send(&wire.Ended{ID: ids[1]}); err != nil {
		t.Fatal(err)
	}
	if m := next[*wire.Task](b, c); m.Dir != "3" {
		t.Errorf("task %s instead of 3", m.Dir)
	}
}

// The tasks of an executor that is lost run on another one, before those that waited. What the first one said doesn't count.
func TestLostExecutors(t *testing.T) {
	b := start(t, Options{})
	restarts, out := 0, ""
	first := b.run(&Task{
		Task: wire.Task{Dir: "first"}, Restart: func() { restarts++; out = "" }, Output: func(_ int, p []byte) { out += string(p) },
	})
	a := b.dial(&wire.Hello{Container: "a", Slots: 1})
	m := next[*wire.Task](b, a)
	second := b.run(&Task{Task: wire.Task{Dir: "second"}})
	if err := a.Send(&wire.Output{ID: m.ID, Data: []byte("half")}); err != nil {
		t.Fatal(err)
	}
	a.Close()
	await.Until(t, "the loss of the executor", func() bool { return b.State().Executors == 0 })
	c := b.dial(&wire.Hello{Container: "c", Slots: 1})
	if m = next[*wire.Task](b, c); m.Dir != "first" {
		t.Fatalf("%s runs next", m.Dir)
	}
	for _, say := range []wire.Message{&wire.Output{ID: m.ID, Data: []byte("whole")}, &wire.Ended{ID: m.ID}, &wire.Ended{ID: m.ID, Exit: 1}, &wire.Ended{ID: 99}} {
		if err := c.Send(say); err != nil {
			t.Fatal(err)
		}
	}
	if r := <-first; r.err != nil || r.Exit != 0 || restarts != 1 || out != "whole" {
		t.Errorf("%+v, %d restarts, %q", r, restarts, out)
	}
	m = next[*wire.Task](b, c)
	if err := c.Send(&wire.Ended{ID: m.ID, Exit: 2}); err != nil {
		t.Fatal(err)
	}
	if r := <-second; r.err != nil || r.Exit != 2 {
		t.Errorf("%+v", r)
	}
	if len(first) > 0 {
		t.Error("a second result is delivered")
	}
}

// A task that kills executors is given up, and the error says what is known.
func TestATaskThatKillsExecutors(t *testing.T) {
	b := start(t, Options{Losses: 2})
	done := b.run(&Task{})
	for _, name := range []string{"a", "b"} {
		c := b.dial(&wire.Hello{Container: name, Host: "node7", Slots: 1})
		next[*wire.Task](b, c)
		b.Explain(name, "container "+name+" was out of memory")
		c.Close()
	}
	r := <-done
	if !errors.Is(r.err, ErrLost) || !strings.Contains(r.err.Error(), "2 executors have died while they ran it, the last one on node7: container b was out of memory") {
		t.Errorf("%v", r.err)
	}
}

func TestCancel(t *testing.T) {
	b := start(t, Options{})
	waits := &Task{}
	waited := b.run(waits)
	b.Cancel(waits)
	b.Cancel(waits)
	if r := <-waited; r.err != nil || r.Why != wire.Canceled {
		t.Errorf("one that waits: %+v", r)
	}
	runs := &Task{}
	ran := b.run(runs)
	c := b.dial(&wire.Hello{Slots: 1})
	m := next[*wire.Task](b, c)
	b.Cancel(runs)
	if got := next[*wire.Cancel](b, c); got.ID != m.ID {
		t.Errorf("%d is canceled instead of %d", got.ID, m.ID)
	}
	c.Close()
	if r := <-ran; r.err != nil || r.Why != wire.Canceled {
		t.Errorf("one whose executor is lost: %+v", r)
	}
	// On a real executor.
	b.executor("e", 1)
	began := make(chan struct{})
	runs = &Task{
		Task:   wire.Task{Args: []string{"sh", "-c", "echo; exec sleep 1000"}},
		Output: func(int, []byte) { close(began) },
	}
	ran = b.run(runs)
	<-began
	b.Cancel(runs)
	if r := <-ran; r.err != nil || r.Why != wire.Canceled || r.Signal == 0 {
		t.Errorf("one that runs: %+v", r)
	}
}

// Who has another secret, claims too much or to be a container that is there already, or says what an executor doesn't, gets no task
// and is gone.
func TestBadExecutors(t *testing.T) {
	b := start(t, Options{})
	raw, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", b.Port()))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if c, err := wire.Dial(t.Context(), raw.RemoteAddr().String(), nil, wire.NewSecret()); err == nil {
		c.Close()
		t.Error("a wrong secret is accepted")
	}
	good := b.dial(&wire.Hello{Container: "good", Slots: 1})
	await.Until(t, "the executor", func() bool { return b.State().Executors == 1 })
	for _, c := range []*wire.Conn{
		b.dial(&wire.Hello{Container: "good", Slots: 1}), b.dial(&wire.Hello{}), b.dial(&wire.Hello{Slots: 1 << 40}),
	} {
		if m, err := c.Receive(); err == nil {
			t.Errorf("it gets %v", m)
		}
	}
	talks := b.dial(&wire.Hello{Container: "talks", Slots: 1})
	if err := talks.Send(&wire.Cancel{}); err != nil {
		t.Fatal(err)
	}
	if m, err := talks.Receive(); err == nil {
		t.Errorf("it gets %v", m)
	}
	done := b.run(&Task{})
	m := next[*wire.Task](b, good)
	if err := good.Send(&wire.Ended{ID: m.ID}); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.err != nil {
		t.Error(r.err)
	}
}

func TestFail(t *testing.T) {
	b := start(t, Options{})
	running := b.run(&Task{})
	c := b.dial(&wire.Hello{Slots: 1})
	next[*wire.Task](b, c)
	waiting := b.run(&Task{})
	why := errors.New("no containers")
	b.Fail(why)
	later := b.run(&Task{})
	for _, done := range []<-chan result{running, waiting, later} {
		if r := <-done; !errors.Is(r.err, why) {
			t.Errorf("%+v", r)
		}
	}
}

func TestTooLargeTasksAreRefused(t *testing.T) {
	b := start(t, Options{})
	b.executor("e", 1)
	if r := <-b.run(&Task{Task: wire.Task{Payload: make([]byte, wire.MaxFrame)}}); !errors.Is(r.err, wire.ErrTooLarge) {
		t.Errorf("%v", r.err)
	}
	if r := <-b.run(&Task{Task: wire.Task{What: wire.Nothing}}); r.err != nil {
		t.Errorf("the executor isn't good any more: %v", r.err)
	}
}

// A task that can't be sent leaves its room to the next one, also where it would have followed another.
func TestATooLargeTaskLeavesItsRoom(t *testing.T) {
	b := start(t, Options{})
	b.run(&Task{Task: wire.Task{Dir: "first"}})
	large := b.run(&Task{Task: wire.Task{Payload: make([]byte, wire.MaxFrame)}})
	b.run(&Task{Task: wire.Task{Dir: "next"}})
	c := b.dial(&wire.Hello{Slots: 1})
	m := next[*wire.Task](b, c)
	if err := c.Send(&wire.Ended{ID: m.ID}); err != nil {
		t.Fatal(err)
	}
	if r := <-large; !errors.Is(r.err, wire.ErrTooLarge) {
		t.Errorf("%+v", r)
	}
	if m := next[*wire.Task](b, c); m.Dir != "next" {
		t.Errorf("%q runs", m.Dir)
	}
}

// A task that fails with its pool while it writes is done afterwards.
func TestFailWaitsForOutput(t *testing.T) {
	b := start(t, Options{})
	entered, leave, wrote := make(chan struct{}), make(chan struct{}), false
	done := make(chan bool, 1)
	b.Submit(&Task{
		Output: func(int, []byte) { close(entered); <-leave; wrote = true },
		Done:   func(wire.Ended, error) { done <- wrote },
	})
	c := b.dial(&wire.Hello{Slots: 1})
	m := next[*wire.Task](b, c)
	if err := c.Send(&wire.Output{ID: m.ID}); err != nil {
		t.Fatal(err)
	}
	<-entered
	go b.Fail(errors.New("no containers"))
	await.Until(t, "the failure", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.err != nil
	})
	close(leave)
	if !<-done {
		t.Error("it is done while it writes")
	}
}

// failing is a listener that has no descriptors for a while.
type failing struct {
	net.Listener
	times int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.times--; f.times < 0 {
		return nil, net.ErrClosed
	}
	return nil, syscall.EMFILE
}

// A pool without file descriptors leaves the processor to others.
func TestAcceptingRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logrus.New()
		l.SetOutput(io.Discard)
		p := &Pool{listener: &failing{times: 5}, log: logrus.NewEntry(l), ctx: t.Context()}
		began := time.Now()
		p.accept()
		if took := time.Since(began); took != 5*acceptPause {
			t.Errorf("5 attempts in %v", took)
		}
	})
}

func TestLeave(t *testing.T) {
	b := start(t, Options{})
	busy := b.dial(&wire.Hello{Container: "busy", Slots: 1})
	b.run(&Task{})
	m := next[*wire.Task](b, busy)
	b.dial(&wire.Hello{Container: "idle", Slots: 1})
	await.Until(t, "both", func() bool { return b.State().Executors == 2 })
	if got := b.Leave(2); len(got) != 1 || got[0] != "idle" {
		t.Errorf("%v leave", got)
	}
	b.run(&Task{Task: wire.Task{Dir: "more"}})
	if err := busy.Send(&wire.Ended{ID: m.ID}); err != nil {
		t.Fatal(err)
	}
	if m := next[*wire.Task](b, busy); m.Dir != "more" {
		t.Error(m)
	}
}

// Executors die all the time, and each task has one result.
func TestEachTaskHasOneResult(t *testing.T) {
	b := start(t, Options{Losses: 1000})
	const tasks = 300
	results := make(chan result, 2*tasks)
	for i := range tasks {
		b.Submit(&Task{
			Task: wire.Task{Args: []string{"sh", "-c", fmt.Sprintf("exit %d", i%50)}},
			Done: func(e wire.Ended, err error) {
				if e.Exit != uint64(i%50) {
					err = errors.Join(err, fmt.Errorf("task %d has exit code %d", i, e.Exit))
				}
				results <- result{e, err}
			},
		})
	}
	b.executor("stays", 2)
	for n := 0; len(results) < tasks; n++ {
		kill := b.executor(fmt.Sprint("dies ", n), 4)
		before := len(results)
		await.Until(t, "some results", func() bool { return len(results) >= min(before+20, tasks) })
		kill()
	}
	for range tasks {
		if r := <-results; r.err != nil {
			t.Error(r.err)
		}
	}
	if len(results) > 0 {
		t.Errorf("%d results more", len(results))
	}
}

func TestQueue(t *testing.T) {
	var q queue
	var want []*Task
	for round := range 200 {
		x := &Task{}
		switch {
		case round%7 == 3 && len(want) > 0:
			q.remove(want[len(want)/2])
			want = append(want[:len(want)/2:len(want)/2], want[len(want)/2+1:]...)
		case round%5 == 4:
			if got := q.pop(); got != want[0] {
				t.Fatalf("round %d: another task", round)
			}
			want = want[1:]
		case round%3 == 0:
			q.push1st(x)
			want = append([]*Task{x}, want...)
		default:
			q.push(x)
			want = append(want, x)
		}
	}
	for _, x := range want {
		if q.pop() != x {
			t.Fatal("another task")
		}
	}
	if q.pop() != nil || q.n != 0 {
		t.Error("more than there were")
	}
}

// Whoever cancels many tasks pays for each one alone: places are never searched, and gaps are given back.
func TestGapsAreGivenBack(t *testing.T) {
	var q queue
	last := &Task{}
	q.push(last)
	for range 100_000 {
		x := &Task{}
		q.push(x)
		q.remove(x)
		q.remove(x) // which isn't there any more
	}
	if q.n != 1 || len(q.ring) > 64 {
		t.Errorf("%d tasks wait in a ring of %d", q.n, len(q.ring))
	}
	if q.pop() != last || q.pop() != nil {
		t.Error("the one that waits is lost")
	}
}

func BenchmarkCancel(b *testing.B) {
	var q queue
	all := make([]Task, 100_000)
	for b.Loop() {
		for i := range all {
			q.push(&all[i])
		}
		for i := range all {
			q.remove(&all[i])
		}
	}
}
