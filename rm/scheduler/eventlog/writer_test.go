package eventlog_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/eventlog/eventlogtest"
	"heddle/yarn/records"
)

const wholeLine = `{"op":"spareKillable"}` + "\n"

// A log goes on behind the last whole line of its file, however long the torn one is.
func TestTornLinesAreCutOff(t *testing.T) {
	const block = 1 << 16 // how much is looked at at once
	for name, test := range map[string]struct{ before, after string }{
		"no file":                       {"", ""},
		"a whole line":                  {wholeLine, wholeLine},
		"a torn line":                   {wholeLine + "torn", wholeLine},
		"nothing but a torn line":       {"torn", ""},
		"a long torn line":              {wholeLine + strings.Repeat("x", 3*block), wholeLine},
		"nothing but a long torn line":  {strings.Repeat("x", 3*block+5), ""},
		"the end of a block":            {strings.Repeat("x", block-1) + "\n" + strings.Repeat("y", block), strings.Repeat("x", block-1) + "\n"},
		"right behind the end of one":   {wholeLine + strings.Repeat("y", block-1), wholeLine},
		"several lines before the torn": {wholeLine + wholeLine + wholeLine + "torn", wholeLine + wholeLine + wholeLine},
	} {
		file := filepath.Join(t.TempDir(), "events")
		if test.before != "" {
			if err := os.WriteFile(file, []byte(test.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w, err := eventlog.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		w.Append(&eventlog.Event{Op: eventlog.SpareKillable})
		if err := w.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != test.after+wholeLine {
			t.Errorf("%s: %d bytes, not %d, %v", name, len(got), len(test.after)+len(wholeLine), err)
		}
		if err := w.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: the file was left open: %v", name, err)
		}
	}
}

func TestLogsThatCantBeCreated(t *testing.T) {
	if w, err := eventlog.Create(filepath.Join(t.TempDir(), "none", "events")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that isn't there: %v, %v", w, err)
	}
	if w, err := eventlog.Create("/dev/null/events"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v, %v", w, err)
	}
}

// failing fails at one of its writes, and counts them.
type failing struct {
	at, writes int
	bytes.Buffer
}

func (f *failing) Write(p []byte) (int, error) {
	if f.writes++; f.writes == f.at {
		return 0, io.ErrShortWrite
	}
	return f.Buffer.Write(p)
}

// After an error nothing more is written, as a log with a gap would replay to something else. The error stays.
func TestNothingIsWrittenAfterAnError(t *testing.T) {
	to := &failing{at: 2}
	w := eventlog.NewWriter(to)
	if err := errors.Join(w.Begin(eventlog.Header{}), w.Err()); err != nil {
		t.Fatal(err)
	}
	written := to.Len()
	for range 3 {
		w.Append(&eventlog.Event{Op: eventlog.SpareKillable})
		if err := w.Flush(); !errors.Is(err, io.ErrShortWrite) || !strings.Contains(err.Error(), "record the scheduler's events") {
			t.Errorf("flush: %v", err)
		}
	}
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) || !errors.Is(w.Err(), io.ErrShortWrite) {
		t.Errorf("close: %v; it was %v", err, w.Err())
	}
	if to.Len() != written || to.writes != 2 {
		t.Errorf("%d bytes more in %d writes", to.Len()-written, to.writes)
	}
	if _, err := eventlog.New(scheduler.Config{}, w, nil, eventlog.Header{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a driver that can't record says %v", err)
	}
	s := begin(t, &failing{at: 2})
	s.Apply(&eventlog.Event{Op: eventlog.Name, App: eventlogtest.AddApp(s, drive.AppSpec{AppSpec: scheduler.AppSpec{Queue: "root.a", User: "ann"}}), Name: "lost"})
	if err := s.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a driver whose last events aren't on record says %v", err)
	}
}

// Events are in the file no later than a second after they happened, or with the first one when the clock goes back.
func TestEventsAreFlushedOnceASecond(t *testing.T) {
	to := &failing{}
	s := begin(t, to)
	for _, step := range []struct {
		at      int64
		flushed bool
	}{{10_000, true}, {10_000, false}, {10_999, false}, {11_000, true}, {11_999, false}, {11_500, false}, {9_000, true}, {9_500, false}, {10_000, true}} {
		before := to.writes
		s.Step(step.at)
		if flushed := to.writes > before; flushed != step.flushed {
			t.Errorf("at %d ms: flushed: %t", step.at, flushed)
		}
	}
}

// People read logs: names stand there as they are.
func TestNamesAreNotEscaped(t *testing.T) {
	var log bytes.Buffer
	s := begin(t, &log)
	s.Apply(&eventlog.Event{Op: eventlog.Name, App: eventlogtest.AddApp(s, drive.AppSpec{AppSpec: scheduler.AppSpec{Queue: "root.a", User: "a&b"}}), Name: "x < y"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), `"user":"a&b"`) || !strings.Contains(log.String(), `"name":"x < y"`) {
		t.Error(log.String())
	}
}

// An error of the disk from which a log is read isn't its end.
func TestLogsThatCantBeRead(t *testing.T) {
	broken := errors.New("broken disk")
	header := recorded(t)[:bytes.IndexByte(recorded(t), '\n')+1]
	p := eventlog.NewReplay(io.MultiReader(bytes.NewReader(header), iotest.ErrReader(broken)))
	if e, err := p.Step(); err != nil || e.Line != 1 || e.Header == nil || e.Event != nil {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, err := p.Step(); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "line 2: ") || p.Torn() {
		t.Errorf("%v, torn: %t", err, p.Torn())
	}
}

// The answers of the driver come back through the recorder.
func TestAnswersComeBack(t *testing.T) {
	var log bytes.Buffer
	s := begin(t, &log)
	n := eventlogtest.AddNode(s, scheduler.NodeSpec{Host: "h", Rack: "/r", Capability: slot.Times(4)})
	if m := eventlogtest.AddNode(s, scheduler.NodeSpec{Host: "i", Rack: "/r", Capability: slot}); m == n {
		t.Errorf("both nodes are %d", n)
	}
	a := eventlogtest.AddApp(s, drive.AppSpec{AppSpec: scheduler.AppSpec{Queue: "root.a", User: "u"}})
	if b := eventlogtest.AddApp(s, drive.AppSpec{AppSpec: scheduler.AppSpec{Queue: "root.a", User: "u"}}); b == a {
		t.Errorf("both applications are %d", a)
	}
	c := eventlogtest.Restore(s, a, n, slot, drive.Container{Attempt: 1, ID: 1})
	if d := eventlogtest.Restore(s, a, n, slot, drive.Container{Attempt: 1, ID: 2}); d == c {
		t.Errorf("both containers are %d", c)
	}
	far := slot.Times(9)
	for name, answer := range map[string]func(records.Resource) bool{
		"resize": func(to records.Resource) bool {
			return s.Apply(&eventlog.Event{Op: eventlog.Resize, Container: c, Resource: eventlog.Amounts(to)})
		},
		"hold": func(to records.Resource) bool {
			return s.Apply(&eventlog.Event{Op: eventlog.SetHeld, Container: c, Resource: eventlog.Amounts(to)})
		},
		"be said to take": func(to records.Resource) bool {
			return s.Apply(&eventlog.Event{Op: eventlog.NoteHeld, Container: c, Resource: eventlog.Amounts(to)})
		},
	} {
		if !answer(slot) || answer(far) {
			t.Errorf("a container can %s what it has: %t, too much: %t", name, answer(slot), answer(far))
		}
	}
	if s.Apply(&eventlog.Event{Op: eventlog.WasSuspended, Container: c, Resource: eventlog.Amounts(far), Since: 1, Queue: "root.b"}) || !s.Apply(&eventlog.Event{Op: eventlog.WasSuspended, Container: c, Resource: eventlog.Amounts(records.NewResource(64, 0)), Since: 1, Queue: "root.b"}) || !s.Apply(&eventlog.Event{Op: eventlog.Return, Container: c, Forced: true}) {
		t.Error("a container was suspended with more than it has, or can't have been, or can't return by force")
	}
	s.Apply(&eventlog.Event{Op: eventlog.Identify, Attempt: 1, First: 1, Containers: []scheduler.ContainerHandle{c}})
	if !s.Apply(&eventlog.Event{Op: eventlog.Grow, Container: c, Resource: eventlog.Amounts(slot.Times(2))}) || s.Apply(&eventlog.Event{Op: eventlog.Grow, Container: c, Resource: eventlog.Amounts(slot.Times(3))}) {
		t.Error("a container can't wait for room to grow, or can twice")
	}
	if s.Apply(&eventlog.Event{Op: eventlog.SetTree, Tree: queue.Default(queue.FIFO)}) {
		t.Error("queues are taken away from under applications")
	}
}
