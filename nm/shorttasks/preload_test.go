package shorttasks

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/yarn/wire"
)

// memory is a Stager that has all files but one.
type memory struct {
	l      *lab
	here   []string
	by     []Reader        // that had files staged
	lost   map[string]bool // paths
	room   int64           // 0: 100 files
	tried  int
	answer chan struct{} // nil: Current answers at once
	asked  int           // Current
	silent error         // of Current, if there is one
}

func (m *memory) Capacity() int64 { return cmp.Or(m.room, 100) }

// Look says that all files have one byte.
func (m *memory) Look(_ context.Context, _ Reader, file string) (int64, error) {
	if file == "/missing" {
		return 0, fs.ErrNotExist
	}
	return 1, nil
}

func (m *memory) Preload(_ context.Context, who Reader, file string, _ int64) (string, func(), error) {
	if file == "/unreadable" {
		m.l.mu.Lock()
		defer m.l.mu.Unlock()
		m.tried++
		return "", nil, fs.ErrPermission
	}
	m.l.mu.Lock()
	defer m.l.mu.Unlock()
	m.here, m.by = append(m.here, who.User+file), append(m.by, who)
	return "/memory" + file, func() {
		m.l.mu.Lock()
		defer m.l.mu.Unlock()
		m.here = slices.DeleteFunc(m.here, func(x string) bool { return x == who.User+file })
	}, nil
}

// Current says that a file is still what it was, unless a test has taken it away. It answers when the test lets it.
func (m *memory) Current(ctx context.Context, _ Reader, _, path string) error {
	if m.answer != nil {
		select {
		case <-m.answer:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.l.mu.Lock()
	defer m.l.mu.Unlock()
	if m.asked++; m.silent != nil {
		return m.silent
	}
	if m.lost[path] {
		return fs.ErrNotExist
	}
	return nil
}

func (m *memory) lose(path string) {
	m.l.mu.Lock()
	defer m.l.mu.Unlock()
	m.lost = map[string]bool{path: true}
}

func (m *memory) has() int {
	m.l.mu.Lock()
	defer m.l.mu.Unlock()
	return len(m.here)
}

// Inputs of tasks are staged while these wait. An ask names them, the task that gets one learns where it is, and all of them go.
func TestInputsAreStagedWhileTasksWait(t *testing.T) {
	l := newLab(t, 1)
	m := &memory{l: l}
	l.stageBy(m)
	got := make(chan []string, 3)
	l.endEach(func(task *wire.Task) { got <- task.Env })
	l.freeze() // so that no task is asked for ahead: its ask would name what the task before it takes away
	c := l.scheduler("one")
	probe := of(1, 3, 3)
	probe.Inputs = []string{"/a", "/b", "/missing", "/a", ""}
	say(t, c, probe)
	first := hear[*wire.Ask](t, c)
	await.Until(t, "two files are staged", func() bool { return m.has() == 2 })
	say(t, c, &wire.Task{ID: first.ID, Left: 2, Input: "/missing"})
	if env := <-got; len(env) > 0 {
		t.Errorf("%q", env)
	}
	second := hear[*wire.Ask](t, c)
	if !slices.Equal(second.Staged, []string{"/a", "/b"}) {
		t.Errorf("%q", second.Staged)
	}
	say(t, c, &wire.Task{ID: second.ID, Left: 1, Input: "/b", Env: []string{"A=b"}})
	if env := <-got; !slices.Equal(env, []string{"A=b", wire.InputVariable + "=/memory/b"}) {
		t.Errorf("%q", env)
	}
	third := hear[*wire.Ask](t, c)
	if !slices.Equal(third.Staged, []string{"/a"}) {
		t.Errorf("%q", third.Staged)
	}
	if n := l.Counts(); n.Hits != 1 || n.Misses != 1 {
		t.Errorf("%+v", n)
	}
	say(t, c, &wire.NoTask{ID: third.ID}, &wire.Drop{Job: 1})
	await.Until(t, "nothing is staged", func() bool { return m.has() == 0 })
	again := of(2, 1, 1)
	again.Inputs = []string{"/c"}
	say(t, c, again)
	for ask := hear[*wire.Ask](t, c); ask.Job != 2; ask = hear[*wire.Ask](t, c) {
		say(t, c, &wire.NoTask{ID: ask.ID})
	}
	await.Until(t, "it is staged", func() bool { return m.has() == 1 })
	c.Close()
	l.empty()
	await.Until(t, "nothing is left", func() bool { return m.has() == 0 })
}

// A copy that is lost while its task waits isn't named to the task, and is done with: the next task that reads the file isn't told either.
func TestALostCopyIsNotNamed(t *testing.T) {
	l := newLab(t, 1)
	m := &memory{l: l}
	l.stageBy(m)
	got := make(chan []string, 1)
	l.endEach(func(task *wire.Task) { got <- task.Env })
	c := l.scheduler("one")
	probe := of(1, 2, 2)
	probe.Inputs = []string{"/a"}
	say(t, c, probe)
	first := hear[*wire.Ask](t, c)
	await.Until(t, "the file is staged", func() bool { return m.has() == 1 })
	m.lose("/memory/a")
	say(t, c, &wire.Task{ID: first.ID, Left: 1, Input: "/a"})
	if env := <-got; len(env) > 0 {
		t.Errorf("%q", env)
	}
	second := hear[*wire.Ask](t, c)
	if len(second.Staged) > 0 || m.has() != 0 {
		t.Errorf("%q is named, %d copies are left", second.Staged, m.has())
	}
	say(t, c, &wire.NoTask{ID: second.ID}, &wire.Drop{Job: 1})
	if n := l.Counts(); n.Hits != 0 || n.Misses != 1 {
		t.Errorf("%+v", n)
	}
}

// Nothing begins before it is known whether its input may be read. Meanwhile its room is taken, it can be canceled, and its scheduler may leave.
func TestATaskWaitsUntilItsInputIsKnownToBeCurrent(t *testing.T) {
	l := newLab(t, 1)
	m := &memory{l: l, answer: make(chan struct{})}
	l.stageBy(m)
	got := make(chan []string, 4)
	l.endEach(func(task *wire.Task) { got <- task.Env })
	l.freeze()
	c := l.scheduler("one")
	probe := of(1, 3, 3)
	probe.Inputs = []string{"/a", "/b", "/c"}
	say(t, c, probe)
	first := hear[*wire.Ask](t, c)
	await.Until(t, "all are staged", func() bool { return m.has() == 3 })
	say(t, c, &wire.Task{ID: first.ID, Left: 2, Input: "/a"}, &wire.Cancel{ID: first.ID})
	if e := hear[*wire.Ended](t, c); e.ID != first.ID || e.Why != wire.Canceled {
		t.Errorf("%+v", e)
	}
	second := hear[*wire.Ask](t, c)
	if !slices.Equal(second.Staged, []string{"/b", "/c"}) {
		t.Errorf("%q", second.Staged)
	}
	say(t, c, &wire.Task{ID: second.ID, Left: 1, Input: "/b"})
	m.answer <- struct{}{} // of the task that was canceled
	m.answer <- struct{}{}
	if env := <-got; !slices.Equal(env, []string{wire.InputVariable + "=/memory/b"}) {
		t.Errorf("%q", env)
	}
	third := hear[*wire.Ask](t, c)
	say(t, c, &wire.Task{ID: third.ID, Input: "/c"}, &wire.Drop{Job: 1})
	await.Until(t, "the copy is about to be read", func() bool {
		l.Node.mu.Lock()
		defer l.Node.mu.Unlock()
		return slices.ContainsFunc(l.Node.runs, func(r *run) bool { return r != nil && r.due })
	})
	c.Close()
	l.empty()
	await.Until(t, "nothing is staged", func() bool { return m.has() == 0 })
	m.answer <- struct{}{}
	l.Node.Close()
	if n := l.Counts(); len(got) > 0 || n.Hits != 1 || n.Started != 1 {
		t.Errorf("%d tasks more, %+v", len(got), n)
	}
}

// While the NameNode doesn't answer, one task waits for it at a time of some seconds, and the others read the files themselves at once.
func TestANameNodeThatHangsDoesNotDelayEachTask(t *testing.T) {
	l := newLab(t, 1)
	m := &memory{l: l, silent: fmt.Errorf("no answer: %w", context.DeadlineExceeded)}
	l.stageBy(m)
	got := make(chan []string, 1)
	l.endEach(func(task *wire.Task) { got <- task.Env })
	l.freeze()
	c := l.scheduler("one")
	probe := of(1, 4, 4)
	probe.Inputs = []string{"/a", "/b", "/c", "/d"}
	say(t, c, probe)
	ask := hear[*wire.Ask](t, c)
	await.Until(t, "all are staged", func() bool { return m.has() == 4 })
	for i, x := range []struct {
		later  time.Duration
		silent error
		asked  int
		staged bool
	}{
		{0, m.silent, 1, false}, {0, nil, 1, false}, {checkPause, nil, 2, true}, {0, nil, 3, true},
	} {
		l.later(x.later)
		l.mu.Lock()
		m.silent = x.silent
		l.mu.Unlock()
		say(t, c, &wire.Task{ID: ask.ID, Left: uint64(3 - i), Input: probe.Inputs[i]})
		env := <-got
		l.mu.Lock()
		asked := m.asked
		l.mu.Unlock()
		if asked != x.asked || len(env) > 0 != x.staged {
			t.Errorf("task %d: asked %d times, its environment is %q", i, asked, env)
		}
		if i < 3 {
			ask = hear[*wire.Ask](t, c)
		}
	}
	if n := l.Counts(); n.Hits != 2 || n.Misses != 2 {
		t.Errorf("%+v", n)
	}
}

// stageBy gives a node its Stager, before it has any job.
func (l *lab) stageBy(m *memory) { l.Node.o.Stager, l.Node.staged = m, newStaged(m) }

// The RAM disk is full of what waits, so that nothing more is staged. What no task waits for any more makes room for the task that is about to begin.
func TestWhatStartedElsewhereMakesRoom(t *testing.T) {
	l := newLab(t, 1)
	m := &memory{l: l, room: 2}
	l.stageBy(m)
	l.endEach(func(task *wire.Task) {
		if len(task.Gone)+len(task.Next) > 0 {
			t.Errorf("an executor gets %+v", task.Preloads)
		}
	})
	l.freeze()
	c := l.scheduler("one")
	probe := of(1, 3, 3)
	probe.Inputs = []string{"/a", "/b"}
	say(t, c, probe)
	first := hear[*wire.Ask](t, c)
	await.Until(t, "two files are staged", func() bool { return m.has() == 2 })
	say(t, c, &wire.Task{ID: first.ID, Left: 2, Input: "/unknown", Preloads: wire.Preloads{Next: "/c"}})
	second := hear[*wire.Ask](t, c)
	if !slices.Equal(second.Staged, []string{"/a", "/b"}) {
		t.Errorf("%q", second.Staged)
	}
	say(t, c, &wire.Task{ID: second.ID, Left: 1, Preloads: wire.Preloads{Gone: []string{"/a", "/never"}, Next: "/d"}})
	await.Until(t, "the next one is staged in place of what nobody waits for", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.Equal(m.here, []string{"anna/b", "anna/d"})
	})
	third := hear[*wire.Ask](t, c)
	say(t, c, &wire.NoTask{ID: third.ID, Preloads: wire.Preloads{Gone: []string{"/b", "/d"}}}, &wire.Drop{Job: 1})
	await.Until(t, "nothing is staged", func() bool { return m.has() == 0 })
	l.Node.mu.Lock()
	defer l.Node.mu.Unlock()
	if n := len(l.Node.staged.inputs); n != 0 || l.Node.staged.rules.Used() != 0 {
		t.Errorf("%d inputs of %d bytes are known after their job", n, l.Node.staged.rules.Used())
	}
}

// A copy that fails isn't tried again, its task runs without it, and nothing is left of it.
func TestACopyThatFailsIsNotTriedAgain(t *testing.T) {
	l := newLab(t, 1)
	m := &memory{l: l}
	l.stageBy(m)
	got := make(chan []string, 2)
	l.endEach(func(task *wire.Task) { got <- task.Env })
	l.freeze()
	c := l.scheduler("one")
	probe := of(1, 2, 2)
	probe.Inputs = []string{"/unreadable"}
	say(t, c, probe)
	first := hear[*wire.Ask](t, c)
	await.Until(t, "it was tried", func() bool { return m.tries() == 1 })
	say(t, c, &wire.Task{ID: first.ID, Left: 1, Preloads: wire.Preloads{Next: "/unreadable"}})
	<-got
	second := hear[*wire.Ask](t, c)
	say(t, c, &wire.Task{ID: second.ID, Input: "/unreadable"})
	if env := <-got; len(env) > 0 || m.tries() != 1 {
		t.Errorf("%q after %d tries", env, m.tries())
	}
	say(t, c, &wire.Drop{Job: 1})
	await.Until(t, "nothing is known of it", func() bool {
		l.Node.mu.Lock()
		defer l.Node.mu.Unlock()
		return len(l.Node.staged.inputs) == 0 && l.Node.staged.rules.Used() == 0
	})
}

// tries is how often a copy of a file was tried that can't be read.
func (m *memory) tries() int {
	m.l.mu.Lock()
	defer m.l.mu.Unlock()
	return m.tried
}

// endEach has executors show tasks to a test and end them.
func (l *lab) endEach(see func(*wire.Task)) {
	l.run = func(ctx context.Context, c *wire.Conn) {
		defer context.AfterFunc(ctx, c.Close)()
		for {
			m, err := c.Receive()
			if err != nil {
				return
			}
			if task, ok := m.(*wire.Task); ok {
				see(task)
				_ = c.Send(&wire.Ended{ID: task.ID})
			}
		}
	}
}

// A quote says whether an input will be in memory when the probe has its turn, and the node counts whether that came true.
func TestQuotesPromiseInputs(t *testing.T) {
	l := newLab(t, 1)
	m := &memory{l: l}
	l.stageBy(m)
	l.freeze()
	c := l.scheduler("one")
	reading := func(job uint64, files ...string) *wire.Probe {
		p := of(job, 1, 1)
		p.Inputs = files
		return p
	}
	promised := func(p *wire.Probe, want bool) {
		t.Helper()
		if say(t, c, p); hear[*wire.Verdict](t, c).Memory != want {
			t.Errorf("job %d is promised %q in memory: %t", p.Job, p.Inputs, !want)
		}
	}
	promised(reading(1, "/a"), false) // at once, and nothing is known of copies
	first := hear[*wire.Ask](t, c)
	await.Until(t, "it is staged", func() bool { return m.has() == 1 })
	promised(reading(2, "/b"), true)       // behind one of a millisecond, while copies take no time
	promised(reading(3, "/missing"), true) // nobody knows yet that it is
	promised(reading(4), false)
	await.Until(t, "the other is staged", func() bool { return m.has() == 2 })
	l.later(time.Second)
	for k, ask := 0, first; k < 4; k++ {
		if say(t, c, &wire.NoTask{ID: ask.ID}, &wire.Drop{Job: ask.Job}); k < 3 {
			ask = hear[*wire.Ask](t, c)
		}
	}
	if got := l.Counts(); got.Promises != 2 || got.Unkept != 1 {
		t.Errorf("%+v", got)
	}
}

// A task that reads its own input takes the place of one copy, and of no more: the source may have several disks.
func TestATaskThatReadsItselfTakesOnePlace(t *testing.T) {
	l := newLab(t, 1)
	m := &memory{l: l}
	l.stageBy(m)
	l.freeze()
	l.Node.mu.Lock()
	st := l.Node.staged
	for now := time.Second; st.source.Copies() < 2; now += time.Second { // as many bytes come with each copy more
		st.source.Began(now)
		st.source.Copied(now+time.Millisecond, 1<<20, copiesAtATime)
	}
	st.each, st.reading = time.Hour, 1
	l.Node.giveWay()
	l.Node.giveWay()
	if st.reading != 2 {
		t.Errorf("%d places of 2 are taken", st.reading)
	}
	st.reading = 1
	l.Node.mu.Unlock()
	c := l.scheduler("one")
	probe := of(1, 2, 2)
	probe.Inputs = []string{"/a"}
	say(t, c, probe)
	await.Until(t, "the file is staged beside a task that reads", func() bool { return m.has() == 1 })
}

// While a task reads its own input, no copy begins: both would wait for the same disk. Afterwards copies go on.
func TestCopiesGiveWayToATaskThatReadsItself(t *testing.T) {
	l := newLab(t, 1)
	m := &memory{l: l}
	l.stageBy(m)
	l.endEach(func(*wire.Task) {})
	l.freeze()
	c := l.scheduler("one")
	probe := of(1, 2, 2)
	probe.Inputs = []string{"/a"}
	say(t, c, probe)
	ask := hear[*wire.Ask](t, c)
	await.Until(t, "the file is staged", func() bool { return m.has() == 1 })
	l.Node.mu.Lock()
	l.Node.staged.each = time.Millisecond
	l.Node.mu.Unlock()
	say(t, c, &wire.Task{ID: ask.ID, Left: 1, Input: "/unknown", Preloads: wire.Preloads{Next: "/b"}})
	await.Until(t, "the next one is staged a millisecond later", func() bool { return m.has() == 2 })

	l.Node.mu.Lock()
	st := l.Node.staged
	st.reading = 1 // as if the task went on reading
	l.Node.mu.Unlock()
	ask = hear[*wire.Ask](t, c)
	say(t, c, &wire.NoTask{ID: ask.ID, Preloads: wire.Preloads{Next: "/c"}})
	again := of(2, 1, 1)
	again.Inputs = []string{"/d"}
	say(t, c, again)
	await.Until(t, "the size of the file is known", func() bool {
		l.Node.mu.Lock()
		defer l.Node.mu.Unlock()
		for _, in := range st.inputs {
			if in.file == "/d" && in.size > 0 {
				return true
			}
		}
		return false
	})
	l.Node.mu.Lock()
	if slices.ContainsFunc(slices.Collect(maps.Values(st.inputs)), func(in *input) bool { return in.file == "/d" && (in.cancel != nil || in.path != "") }) {
		t.Error("a copy has begun")
	}
	st.reading, st.each = 0, time.Millisecond
	l.Node.giveWay()
	if st.reading != 1 {
		t.Error("copies should give way to a task without a copy")
	}
	l.Node.mu.Unlock()
	await.Until(t, "the copy is made afterwards", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.Contains(m.here, "anna/d")
	})
}
