package probes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/am/pool"
	"heddle/internal/await"
	"heddle/yarn/wire"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// fake is a node that the test plays.
type fake struct {
	Target
	t     *testing.T
	conns chan *wire.Conn // of schedulers that have come
}

func newFake(t *testing.T, name string) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, conns: make(chan *wire.Conn, 10), Target: Target{Node: name, Address: l.Addr().String(), Name: []byte("a token"), Secret: wire.NewSecret()}}
	accepter := wire.NewNamedAccepter(func(name []byte) ([]byte, error) {
		if string(name) != "a token" {
			return nil, errors.New("a stranger")
		}
		return f.Secret, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			if c, _, err := accepter.Accept(ctx, raw); err == nil {
				f.conns <- c
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		l.Close()
		serving.Wait()
		for len(f.conns) > 0 {
			(<-f.conns).Close()
		}
	})
	return f
}

// take returns the next connection of a scheduler, which is let in.
func (f *fake) take() *wire.Conn {
	f.t.Helper()
	c := <-f.conns
	f.t.Cleanup(c.Close)
	hear[*wire.Greeting](f.t, c)
	say(f.t, c, &wire.Lent{MemoryMB: 1 << 20, VCores: 100})
	return c
}

func say(t *testing.T, c *wire.Conn, all ...wire.Message) {
	t.Helper()
	for _, m := range all {
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
	}
}

// hear returns the next message, which is of a kind.
func hear[M wire.Message](t *testing.T, c *wire.Conn) M {
	t.Helper()
	m, err := c.Receive()
	if err != nil {
		t.Fatalf("%v instead of %T", err, *new(M))
	}
	got, ok := m.(M)
	if !ok {
		t.Fatalf("%T %+v instead of %T", m, m, *new(M))
	}
	return got
}

func newScheduler(t *testing.T, o Options, on ...*fake) *Scheduler {
	t.Helper()
	s := New(o)
	t.Cleanup(s.Close)
	for _, f := range on {
		s.Offer(f.Target)
	}
	return s
}

// end is how a task has ended.
type end struct {
	wire.Ended
	err error
}

// task is one whose ends can be counted.
func task(t wire.Task) (*pool.Task, <-chan end) {
	ends := make(chan end, 2)
	return &pool.Task{Task: t, Done: func(e wire.Ended, err error) { ends <- end{e, err} }}, ends
}

// What a node says that can't be, or that isn't its business, changes nothing. If it asks twice with one number, it is left, and what it was
// given runs elsewhere. Each task ends once.
func TestANodeThatLies(t *testing.T) {
	f := newFake(t, "liar")
	s := newScheduler(t, Options{}, f)
	c := f.take()
	await.Until(t, "the node is up", func() bool { return s.State().Nodes == 1 })
	one, ends := task(wire.Task{What: wire.Nothing})
	s.Submit(one)
	p := hear[*wire.Probe](t, c)
	for _, lie := range []wire.Message{
		&wire.Verdict{Job: 1 << 50, Accepted: 1 << 60, Rejected: 1 << 60, GaveBack: 1 << 60}, &wire.Verdict{Job: p.Job, Accepted: 1 << 62, P50US: 1 << 63},
		&wire.Ended{ID: 77}, &wire.Output{ID: 77, Data: []byte("x")}, &wire.Ask{ID: 1, Job: 1 << 40, Others: 1 << 63},
	} {
		say(t, c, lie)
	}
	if m := hear[*wire.NoTask](t, c); m.ID != 1 {
		t.Errorf("%+v", m)
	}
	say(t, c, &wire.Ask{ID: 2, Job: p.Job})
	if m := hear[*wire.Task](t, c); m.ID != 2 || m.Left != 0 {
		t.Errorf("%+v", m)
	}
	hear[*wire.Drop](t, c)
	say(t, c, &wire.Output{ID: 2, Stream: 9, Data: []byte("x")}, &wire.Ask{ID: 2, Job: p.Job})
	if m, err := c.Receive(); err == nil {
		t.Errorf("it is told %T", m)
	}
	c = f.take() // again
	p = hear[*wire.Probe](t, c)
	say(t, c, &wire.Verdict{Job: p.Job, Accepted: p.Count}, &wire.Ask{ID: 1, Job: p.Job})
	m := hear[*wire.Task](t, c)
	say(t, c, &wire.Ended{ID: m.ID}, &wire.Ended{ID: m.ID, Exit: 3})
	if e := <-ends; e.err != nil || e.Why != wire.Ran || e.Exit != 0 {
		t.Errorf("%+v", e)
	}
	hear[*wire.Drop](t, c)
	say(t, c, &wire.Probe{Job: 1})
	if m, err := c.Receive(); err == nil {
		t.Errorf("who says what only schedulers say is told %T", m)
	}
	if len(ends) > 0 {
		t.Error("the task has ended twice")
	}
}

// A node for which a scheduler has no good token stays out, and so does one that refuses; both are tried again until Close.
func TestNodesThatDontLetUsIn(t *testing.T) {
	f, refusing := newFake(t, "strange"), newFake(t, "full")
	wrong := *f
	wrong.Target.Secret = wire.NewSecret()
	s := newScheduler(t, Options{ID: "mine"}, &wrong, refusing)
	for range 2 {
		c := <-refusing.conns
		if g := hear[*wire.Greeting](t, c); g.Scheduler != "mine" {
			t.Errorf("%+v", g)
		}
		say(t, c, &wire.Refusal{Reason: "we are full"})
		c.Close()
	}
	await.Until(t, "the reason is known", func() bool { return strings.Contains(s.State().Refused, "node full: we are full") })
	x, ends := task(wire.Task{})
	s.Submit(x)
	if st := s.State(); st.Nodes != 0 || st.Tasks != 1 {
		t.Errorf("%+v", st)
	}
	s.Close()
	if e := <-ends; !errors.Is(e.err, pool.ErrClosed) {
		t.Errorf("%+v", e)
	}
	late, ends := task(wire.Task{})
	s.Submit(late)
	if e := <-ends; !errors.Is(e.err, pool.ErrClosed) {
		t.Errorf("after Close: %+v", e)
	}
}

// A job of no task is nothing. One of half a million is probed by messages that every node takes.
func TestJobsOfAnySize(t *testing.T) {
	f := newFake(t, "one")
	s := newScheduler(t, Options{Ratio: 2}, f)
	c := f.take()
	await.Until(t, "the node is up", func() bool { return s.State().Nodes == 1 })
	s.Submit()
	s.Job().Submit()
	if st := s.State(); st.Tasks != 0 {
		t.Errorf("%+v", st)
	}
	const n = 500_000
	tasks := make([]*pool.Task, n)
	var ended sync.WaitGroup
	ended.Add(n)
	for i := range tasks {
		tasks[i] = &pool.Task{Done: func(wire.Ended, error) { ended.Done() }}
	}
	s.Submit(tasks...)
	sum := uint64(0)
	for sum < 2*n {
		p := hear[*wire.Probe](t, c)
		if p.Count > maxAtOnce || p.Left != n {
			t.Fatalf("%+v", p)
		}
		sum += p.Count
		say(t, c, &wire.Verdict{Job: p.Job, Accepted: 1, Rejected: p.Count - 1, Reason: "the queue is full"})
	}
	s.Close()
	ended.Wait()
}

// Probes that would wait for long go elsewhere.
func TestLongQuotesAreDeclined(t *testing.T) {
	slow, fast := newFake(t, "slow"), newFake(t, "fast")
	s := newScheduler(t, Options{Decline: time.Second, Ratio: 2, Nice: 4}, slow, fast)
	a, b := slow.take(), fast.take()
	await.Until(t, "both are up", func() bool { return s.State().Nodes == 2 })
	x, ends := task(wire.Task{What: wire.Nothing})
	s.Submit(x)
	p := hear[*wire.Probe](t, b)
	if p.Nice != 4 {
		t.Errorf("%+v", p)
	}
	say(t, b, &wire.Verdict{Job: p.Job, Accepted: 1})
	await.Until(t, "it is known that a node has a probe", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.of["fast"].unanswered) == 0
	})
	hear[*wire.Probe](t, a)
	say(t, a, &wire.Verdict{Job: p.Job, Accepted: 1, P50US: 5_000_000, P95US: 9_000_000})
	if d := hear[*wire.Drop](t, a); d.Job != p.Job {
		t.Errorf("%+v", d)
	}
	p = hear[*wire.Probe](t, b)
	say(t, b, &wire.Verdict{Job: p.Job, Accepted: 1}, &wire.Ask{ID: 1, Job: p.Job}, &wire.Ended{ID: 1})
	if e := <-ends; e.err != nil || e.Why != wire.Ran {
		t.Errorf("%+v", e)
	}
}

// When all tasks of a job were given out, its probes are removed: of a node that hasn't said yet how many it took, when it has. A task that fails is probed for again.
func TestProbesWithoutTasksAreRemoved(t *testing.T) {
	f, g := newFake(t, "one"), newFake(t, "two")
	s := newScheduler(t, Options{}, f, g)
	a, b := f.take(), g.take()
	await.Until(t, "both are up", func() bool { return s.State().Nodes == 2 })
	x, ends := task(wire.Task{})
	s.Submit(x)
	p := hear[*wire.Probe](t, a)
	hear[*wire.Probe](t, b)
	say(t, a, &wire.Verdict{Job: p.Job, Accepted: 1}, &wire.Ask{ID: 1, Job: p.Job})
	hear[*wire.Task](t, a)
	if m := hear[*wire.Drop](t, a); m.Job != p.Job {
		t.Errorf("%+v", m)
	}
	say(t, b, &wire.Verdict{Job: p.Job, Accepted: 1})
	if m := hear[*wire.Drop](t, b); m.Job != p.Job {
		t.Errorf("%+v", m)
	}
	say(t, a, &wire.Ended{ID: 1, Why: wire.Gone})
	for _, c := range []*wire.Conn{a, b} {
		hear[*wire.Probe](t, c)
		say(t, c, &wire.Verdict{Job: p.Job, Rejected: 1, Reason: "the queue is full"})
	}
	hear[*wire.Probe](t, b) // again, as no probe is out
	say(t, b, &wire.Verdict{Job: p.Job, Accepted: 1}, &wire.Ask{ID: 1, Job: p.Job}, &wire.Ended{ID: 1})
	if e := <-ends; e.err != nil || e.Why != wire.Ran {
		t.Errorf("%+v", e)
	}
}

// A node that comes when all probes of a job wait at others gets some, too.
func TestANewNodeGetsProbesOfWaitingTasks(t *testing.T) {
	f, g := newFake(t, "one"), newFake(t, "two")
	s := newScheduler(t, Options{}, f, g)
	a := f.take()
	await.Until(t, "one is up", func() bool { return s.State().Nodes == 1 })
	x, ends := task(wire.Task{})
	s.Submit(x)
	p := hear[*wire.Probe](t, a)
	say(t, a, &wire.Verdict{Job: p.Job, Accepted: uint64(p.Count)})
	b := g.take()
	hear[*wire.Probe](t, b)
	say(t, b, &wire.Verdict{Job: p.Job, Accepted: 1}, &wire.Ask{ID: 1, Job: p.Job})
	hear[*wire.Task](t, b)
	say(t, b, &wire.Ended{ID: 1})
	if e := <-ends; e.err != nil || e.Why != wire.Ran {
		t.Errorf("%+v", e)
	}
}

// Where clones may run, a task that floods is told apart by its first megabyte: its copy is ended, and no other one begins.
func TestAFloodIsNotKept(t *testing.T) {
	f, g := newFake(t, "one"), newFake(t, "two")
	s := newScheduler(t, Options{CloneBelow: time.Minute}, f, g)
	a, b := f.take(), g.take()
	await.Until(t, "both are up", func() bool { return s.State().Nodes == 2 })
	x, ends := task(wire.Task{})
	got := make(chan int, 100)
	x.Output = func(_ int, p []byte) { got <- len(p) }
	s.Submit(x)
	p := hear[*wire.Probe](t, a)
	hear[*wire.Probe](t, b)
	say(t, a, &wire.Verdict{Job: p.Job, Accepted: 1}, &wire.Ask{ID: 1, Job: p.Job})
	if m := hear[*wire.Task](t, a); m.Clone {
		t.Errorf("%+v", m)
	}
	say(t, b, &wire.Verdict{Job: p.Job, Accepted: 1}, &wire.Ask{ID: 1, Job: p.Job})
	if m := hear[*wire.Task](t, b); !m.Clone {
		t.Errorf("%+v", m)
	}
	say(t, a, &wire.Output{ID: 1, Data: []byte("the first one is lost")})
	say(t, b, &wire.Output{ID: 1, Data: make([]byte, 1000)}, &wire.Output{ID: 1, Data: make([]byte, maxKept)})
	if one, two := <-got, <-got; one != 1000 || two != maxKept {
		t.Errorf("%d and %d bytes", one, two)
	}
	if m := hear[*wire.Cancel](t, a); m.ID != 1 {
		t.Errorf("%+v", m)
	}
	say(t, a, &wire.Ended{ID: 1, Why: wire.Canceled}, &wire.Ask{ID: 2, Job: p.Job})
	if m := hear[*wire.NoTask](t, a); m.ID != 2 {
		t.Errorf("%+v", m)
	}
	say(t, b, &wire.Output{ID: 1, Data: []byte("more")}, &wire.Ended{ID: 1, Exit: 2})
	if e := <-ends; e.err != nil || e.Exit != 2 {
		t.Errorf("%+v", e)
	}
	if n := <-got; n != 4 || len(got) > 0 {
		t.Errorf("%d bytes, and %d times more", n, len(got))
	}
}

// Each probe names inputs that the node doesn't know yet. One that is connected anew knows none.
func TestProbesNameWhatANodeDoesNotKnow(t *testing.T) {
	f := newFake(t, "a")
	s := newScheduler(t, Options{}, f)
	c := f.take()
	await.Until(t, "it is connected", func() bool { return s.State().Nodes == 1 })
	for i := range 4 {
		file := fmt.Sprintf("/%d", i)
		x, _ := task(wire.Task{What: wire.Nothing, Input: file})
		s.Submit(x)
		p := hear[*wire.Probe](t, c)
		if !slices.Equal(p.Inputs, []string{file}) {
			t.Errorf("probe %d names %q", i, p.Inputs)
		}
		say(t, c, &wire.Verdict{Job: p.Job, Accepted: p.Count})
	}
	c.Close()
	if p := hear[*wire.Probe](t, f.take()); len(p.Inputs) == 0 {
		t.Error("after a new connection it is told of none")
	}
}

// Answers to asks tell a node which of its copies nobody waits for any more, and what to stage at once for the task that comes next.
func TestAnswersSayWhatToStage(t *testing.T) {
	f := newFake(t, "a")
	s := New(Options{})
	t.Cleanup(s.Close)
	s.Offer(f.Target)
	c := f.take()
	var tasks []*pool.Task
	for _, file := range []string{"/a", "/b", "/b", "/c"} {
		tasks = append(tasks, &pool.Task{Task: wire.Task{What: wire.Nothing, Input: file}, Done: func(wire.Ended, error) {}})
	}
	await.Until(t, "it is connected", func() bool { return s.State().Nodes == 1 })
	s.Submit(tasks...)
	p := hear[*wire.Probe](t, c)
	say(t, c, &wire.Verdict{Job: p.Job, Accepted: p.Count})
	ask := func(id uint64, staged ...string) *wire.Task {
		say(t, c, &wire.Ask{ID: id, Job: p.Job, Staged: staged})
		return hear[*wire.Task](t, c)
	}
	waiting := map[string]int{"/a": 1, "/b": 2, "/c": 1}
	for i, staged := range [][]string{{"/a", "/c"}, {"/b"}, {"/a", "/b"}, {}} {
		m := ask(uint64(i+1), staged...)
		waiting[m.Input]--
		var gone []string
		for _, file := range staged {
			if waiting[file] == 0 {
				gone = append(gone, file)
			}
		}
		next := ""
		for file, n := range waiting {
			if n > 0 && !slices.Contains(staged, file) && (next == "" || file == m.Next) {
				next = file
			}
		}
		if m.Next != next || !slices.Equal(m.Gone, gone) {
			t.Errorf("answer %d: %q, %+v, while %v wait", i+1, m.Input, m.Preloads, waiting)
		}
	}
}
