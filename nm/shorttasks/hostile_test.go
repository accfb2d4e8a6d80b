package shorttasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/nm/probe"
	"heddle/yarn/wire"
)

// Who isn't let in hears why, and leaves nothing.
func TestWhoIsNotLetIn(t *testing.T) {
	for name, test := range map[string]struct {
		id          string
		with        func(*lab)
		why         string
		credentials string
	}{
		"a second of its id":          {"one", func(l *lab) { l.scheduler("one") }, "each needs an id of its own", ""},
		"an id that is a book":        {strings.Repeat("x", 1<<20), func(*lab) {}, "an id of 1048576 bytes", ""},
		"an application that is over": {"one", func(l *lab) { l.EndApplication(attempt.App) }, "is over", ""},
		"a node whose disk is full":   {"one", func(l *lab) { l.admit = errors.New("no space") }, "can't store the", ""},
		"tokens without number":       {"one", func(*lab) {}, "credentials of 10000000 bytes", strings.Repeat("x", 10_000_000)},
		"tokens that are none":        {"one", func(*lab) {}, "credentials are damaged", "HDTS\x00\x8f\xff\xff\xff\xff\xff\xff\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			test.with(l)
			c := l.dial("anna")
			say(t, c, &wire.Greeting{Scheduler: test.id, Credentials: []byte(test.credentials)})
			if got := hear[*wire.Refusal](t, c); !strings.Contains(got.Reason, test.why) {
				t.Errorf("%.300s", got.Reason)
			}
		})
	}
}

// A job may have any number of tasks. Probes beyond what the queue takes are sent back, and the connection stays.
func TestAJobOfAMillionTasks(t *testing.T) {
	l := newLab(t, 1)
	c := l.scheduler("one")
	say(t, c, of(1, 2_000_000, 1_000_000))
	v := hear[*wire.Verdict](t, c)
	if v.Accepted != maxOfUser || v.Accepted+v.Rejected != 2_000_000 || !strings.Contains(v.Reason, "full") {
		t.Errorf("%+v", v)
	}
	ask := hear[*wire.Ask](t, c)
	say(t, c, &wire.NoTask{ID: ask.ID}, &wire.Drop{Job: 1})
	await.Until(t, "all probes are gone", func() bool { _, _, waiting := l.Use(); return waiting == 0 })
	say(t, c, of(2, 1, 1)) // the node is as good as before
	for ask = hear[*wire.Ask](t, c); ask.Job != 2; ask = hear[*wire.Ask](t, c) {
		say(t, c, &wire.NoTask{ID: ask.ID})
	}
	c.Close()
	l.empty()
}

// A scheduler whose task floods it with output, and that doesn't read, is sent away when it leaves an ask unanswered. Its room is others' then.
func TestASchedulerThatDoesNotRead(t *testing.T) {
	l := newLab(t, 2)
	flooded := make(chan struct{})
	l.run = func(ctx context.Context, c *wire.Conn) {
		defer context.AfterFunc(ctx, c.Close)()
		m, err := c.Receive()
		task, ok := m.(*wire.Task)
		if err != nil || !ok {
			return
		}
		for i := 0; c.Send(&wire.Output{ID: task.ID, Data: bytes.Repeat([]byte("flood"), 10000)}) == nil; i++ {
			if i == 500 { // 25 MB
				close(flooded)
			}
		}
	}
	l.freeze() // the flood may take longer than an answer, on a busy machine
	c := l.scheduler("one")
	say(t, c, of(1, 2, 2))
	first := hear[*wire.Ask](t, c)
	hear[*wire.Ask](t, c) // is never answered
	say(t, c, &wire.Task{ID: first.ID, What: wire.Command, Left: 1})
	for flooding := true; flooding; {
		select {
		case <-flooded: // more than buffers hold
			flooding = false
		default:
			hear[*wire.Output](t, c)
		}
	}
	other := l.scheduler("other")
	say(t, other, of(7, 1, 1))
	l.later(answerLimit + time.Second)
	await.Until(t, "it is sent away", func() bool {
		l.Node.mu.Lock()
		defer l.Node.mu.Unlock()
		for _, s := range l.schedulers {
			if s.id.name == "one" {
				return s.last
			}
		}
		return true // and it has gone
	})
	l.later(partingLimit + time.Second)
	if ask := hear[*wire.Ask](t, other); ask.Job != 7 {
		t.Errorf("%+v", ask)
	}
	other.Close()
	l.empty()
}

// What an executor says of tasks that aren't its own changes nothing; when it hangs up, its tasks are given back.
func TestAnExecutorThatLies(t *testing.T) {
	l := newLab(t, 2)
	l.run = func(_ context.Context, c *wire.Conn) {
		m, err := c.Receive()
		task, ok := m.(*wire.Task)
		if err != nil || !ok {
			return
		}
		for _, lie := range []wire.Message{
			&wire.Ended{ID: task.ID + 1}, &wire.Ended{ID: 1 << 40}, &wire.Output{ID: 99, Stream: 7}, &wire.Refusal{Reason: "mine"}, &wire.Lent{}, &wire.Drop{Job: 1},
		} {
			_ = c.Send(lie)
		}
	}
	c := l.scheduler("one")
	say(t, c, of(1, 2, 2))
	first, second := hear[*wire.Ask](t, c).ID, hear[*wire.Ask](t, c).ID
	say(t, c, &wire.Task{ID: first, Left: 1})
	if e := hear[*wire.Ended](t, c); e.ID != first || e.Why != wire.Gone {
		t.Errorf("%+v", e)
	}
	say(t, c, &wire.NoTask{ID: second}, &wire.NoTask{ID: second}, &wire.Task{ID: second}, &wire.Cancel{ID: 5}) // nobody waits for them
	c.Close()
	l.empty()
}

// An executor that can't say its own name, or comes twice, gets nothing.
func TestAStrangerWithAnExecutorsSecret(t *testing.T) {
	l := newLab(t, 1)
	c := l.scheduler("one")
	say(t, c, of(1, 1, 1))
	ask := hear[*wire.Ask](t, c)
	x := await.Value(t, "an executor", func() (Executor, bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.started) == 0 {
			return Executor{}, false
		}
		return l.started[0], true
	})
	await.Until(t, "it has come", func() bool {
		l.Node.mu.Lock()
		defer l.Node.mu.Unlock()
		return l.executors[x.ID.String()].came
	})
	for _, name := range []string{x.ID.String(), "another"} {
		again, err := wire.Dial(t.Context(), fmt.Sprintf("127.0.0.1:%d", l.Port()), []byte(x.ID.String()), x.Secret)
		if err != nil {
			t.Fatal(err)
		}
		say(t, again, &wire.Hello{Container: name})
		if m, err := again.Receive(); err == nil {
			t.Errorf("%q gets %T", name, m)
		}
		again.Close()
	}
	say(t, c, &wire.Task{ID: ask.ID})
	await.Until(t, "the task runs", func() bool { _, used, _ := l.Use(); return used.VCores == 1 })
	l.EndApplication(attempt.App)
	if r := hear[*wire.Refusal](t, c); !strings.Contains(r.Reason, "over") {
		t.Errorf("%+v", r)
	}
	l.empty()
}

// Nothing depends on what time others think it is: a node whose clock is an hour off runs tasks.
func TestAClockThatIsAnHourOff(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		l := newLab(t, 1)
		l.later(off)
		l.run = runAll
		c := l.scheduler("one")
		say(t, c, of(1, 1, 1))
		ask := hear[*wire.Ask](t, c)
		say(t, c, &wire.Task{ID: ask.ID})
		if e := hear[*wire.Ended](t, c); e.ID != ask.ID || e.Why != wire.Ran {
			t.Errorf("%v: %+v", off, e)
		}
		c.Close()
		l.empty()
	}
}

// Users who fill the queue together don't keep another one out: he gets his share of the slots.
func TestAFullQueueHasRoomForOthers(t *testing.T) {
	l := newLab(t, 1)
	l.run = runAll
	var rich []*wire.Conn
	for _, user := range []string{"anna", "bob"} {
		c := l.schedulerOf(user, user)
		say(t, c, of(1, maxOfUser, maxOfUser))
		rich = append(rich, c)
		if v := hear[*wire.Verdict](t, c); v.Accepted != maxOfUser {
			t.Fatalf("%+v", v)
		}
	}
	poor := l.schedulerOf("carl", "carl")
	say(t, poor, of(1, 2*reserved, 1))
	if v := hear[*wire.Verdict](t, poor); v.Accepted != reserved || v.Reason != probe.Full.String() {
		t.Errorf("%+v", v)
	}
	ask := hear[*wire.Ask](t, rich[0]) // it came when there was nobody else
	say(t, rich[0], &wire.Task{ID: ask.ID, Left: maxOfUser - 1})
	go func() { // others take all that they get
		for m, err := rich[1].Receive(); err == nil; m, err = rich[1].Receive() {
			if a, ok := m.(*wire.Ask); ok {
				_ = rich[1].Send(&wire.Task{ID: a.ID, Left: maxOfUser - 1}) // if it fails, Receive does
			}
		}
	}()
	hear[*wire.Ask](t, poor)
	rich[0].Close()
	rich[1].Close()
	poor.Close()
	l.empty()
}

// One user's schedulers don't keep those of others out, nor do those of a few users.
func TestSchedulersOfOneUserLeaveRoomForOthers(t *testing.T) {
	l := newLab(t, 1)
	connect := func(user string, n int) {
		l.Node.mu.Lock()
		defer l.Node.mu.Unlock()
		for range n {
			id := identity{attempt, fmt.Sprint(len(l.schedulers))}
			l.schedulers[id] = &scheduler{n: l.Node, id: id, user: user}
		}
	}
	refused := func(user string) string {
		c := l.dial(user)
		say(t, c, &wire.Greeting{Scheduler: user})
		return hear[*wire.Refusal](t, c).Reason
	}
	connect("anna", maxSchedulersOfUser)
	if why := refused("anna"); !strings.Contains(why, "user anna has reached the limit of 500") {
		t.Errorf("%s", why)
	}
	connect("bob", maxSchedulersOfUser)
	connect("carl", reservedSchedulers-1)
	l.schedulerOf("carl", "the last")
	if why := refused("carl"); !strings.Contains(why, "connected schedulers: 1010 are") {
		t.Errorf("%s", why)
	}
}

// Who floods the node with probes learns why he is sent away, also while he goes on, and what he says takes no memory.
func TestAFloodOfProbesIsRefused(t *testing.T) {
	large := string(make([]byte, 2*wire.SmallFrame))
	for name, test := range map[string]struct {
		flood func(i uint64) *wire.Probe
		why   string
	}{
		"jobs":       {func(i uint64) *wire.Probe { return of(i, 1, 1) }, "limit of 10000 jobs"},
		"mad probes": {func(uint64) *wire.Probe { return of(1, 0, 1) }, "0 probes of job 1"},
		"large ones": {func(uint64) *wire.Probe {
			p := of(1, 1, 1)
			p.Inputs = []string{large}
			return p
		}, "where no task was asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			l.freeze() // no time passes until it hangs up
			c := l.scheduler("one")
			var flood sync.WaitGroup
			flood.Go(func() {
				for i := uint64(0); c.Send(test.flood(i)) == nil; i++ {
				}
			})
			other := l.schedulerOf("bob", "other")
			if got := hear[*wire.Refusal](t, c); !strings.Contains(got.Reason, test.why) {
				t.Errorf("%s", got.Reason)
			}
			say(t, other, of(1, 1, 1))
			hear[*wire.Ask](t, other) // the room is others' at once
			other.Close()
			c.Close()
			flood.Wait()
			l.empty()
		})
	}
}

// Large tasks that wait for their executor don't fill the node's memory: those beyond a bound are given back. Small ones are taken.
func TestLargeTasksAreGivenBack(t *testing.T) {
	l := newLab(t, 1)
	l.run = runAll
	l.freeze()
	c := l.scheduler("one")
	run := func(bytes int) *wire.Ended {
		say(t, c, of(1, 1, 1))
		say(t, c, &wire.Task{ID: hear[*wire.Ask](t, c).ID, What: wire.Call, Payload: make([]byte, bytes), Left: 1})
		return hear[*wire.Ended](t, c)
	}
	held := func(add int) (now int) {
		l.Node.mu.Lock()
		defer l.Node.mu.Unlock()
		for _, x := range l.executors {
			x.bytes += add
			now = x.bytes
		}
		return now
	}
	if e := run(8 << 20); e.Why != wire.Ran {
		t.Errorf("%+v", e)
	}
	await.Until(t, "what was sent isn't held", func() bool { return held(0) == 0 })
	held(maxHeldOfUser - 8<<20 + 1)
	if e := run(8 << 20); e.Why != wire.Canceled {
		t.Errorf("%+v", e)
	}
	for _, bytes := range []int{small, 7 << 20} {
		if e := run(bytes); e.Why != wire.Ran {
			t.Errorf("%d bytes: %+v", bytes, e)
		}
	}
	c.Close()
	l.empty()
}
