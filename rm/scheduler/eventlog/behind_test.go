package eventlog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// gated is a disk that hangs until it is opened.
type gated struct {
	open chan struct{}
	mu   sync.Mutex
	got  bytes.Buffer
}

func (g *gated) Write(b []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.got.Write(b)
}

// busy grants and frees one container in each of n steps, a second after each other.
func busy(t *testing.T, d *Recorder, n int) {
	t.Helper()
	slot := records.NewResource(1024, 1)
	submitted := Submitted(drive.AppSpec{AppSpec: scheduler.AppSpec{Queue: "root.default", User: "u"}, ID: records.ApplicationID{ClusterTimestamp: 5, ID: 1}})
	d.Apply(&submitted)
	a := submitted.App
	for i := range n {
		d.Apply(&Event{Op: UpdateAsks, App: a, Asks: []scheduler.Ask{{Priority: 20, Name: scheduler.Any, Capability: slot, Count: 1, RelaxLocality: true}}})
		for _, x := range d.Step(int64(i+1) * 1000) {
			if x.Kind == drive.Allocate {
				d.Apply(&Event{Op: Identify, Attempt: 1, First: int64(i) + 1, Containers: []scheduler.ContainerHandle{x.Container}})
				d.Apply(&Event{Op: Free, Container: x.Container})
			}
		}
	}
}

func newRecorder(t *testing.T, w *Writer) *Recorder {
	t.Helper()
	slot := records.NewResource(1024, 1)
	d, err := New(scheduler.Config{Minimum: slot}, w, nil, Header{Time: 1})
	if err != nil {
		t.Fatal(err)
	}
	added := Added(scheduler.NodeSpec{Host: "h", Rack: "/r", Capability: slot.Times(4)})
	d.Apply(&added)
	return d
}

// The scheduler doesn't wait for a disk that hangs. The record then has a gap, which the next session's header names, and which begins with what there is.
func TestASlowDiskMakesAGap(t *testing.T) {
	disk := &gated{open: make(chan struct{})}
	w := NewWriter(disk)
	told := make(chan error, 10)
	w.Behind(BehindOptions{Limit: 4 << 10, Retry: time.Nanosecond, Changed: func(err error) { told <- err }})
	d := newRecorder(t, w)
	busy(t, d, 200)
	s := w.Status()
	if s.Err == nil || !strings.Contains(s.Err.Error(), "too slow") || s.Gaps != 1 || s.Events == 0 || s.Queued > 5<<10 {
		t.Fatalf("%+v", s)
	}
	close(disk.open)
	if err := <-told; err == nil {
		t.Error("nothing is said of the gap")
	}
	for deadline := time.Now().Add(10 * time.Second); !w.resumes(); {
		if time.Now().After(deadline) {
			t.Fatal("the record doesn't continue")
		}
	}
	d.Step(500_000)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if s := w.Status(); s.Err != nil || s.Gaps != 1 {
		t.Errorf("%+v", s)
	}
	var headers []*Header
	events, again := int64(0), ""
	r := NewReader(&disk.got)
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		if e.Header != nil {
			headers = append(headers, e.Header)
		} else if events++; len(headers) == 2 {
			again += string(e.Event.Op) + " "
		}
	}
	if again != "addNode addApp step " {
		t.Errorf("the second session begins with %s", again)
	}
	if len(headers) != 2 || headers[1].Gap == nil || headers[1].Gap.Events != s.Events || headers[1].Time != 500_000 || !headers[1].Continues || r.Torn() {
		t.Fatalf("%+v", headers)
	}
	if events < 10 {
		t.Errorf("only %d events are on record", events)
	}
}

// A folder on a full disk gets a new file once there is room. What the error has torn is left out.
func TestAFullDiskMakesAGap(t *testing.T) {
	dir := t.TempDir()
	w, err := OpenDir(DirOptions{Dir: filepath.Join(dir, "records"), Name: "rm1"})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	w.Behind(BehindOptions{Retry: time.Nanosecond, Changed: func(err error) {
		select { // the first one is waited for; each try that fails tells another
		case told <- err:
		default:
		}
	}})
	if err := os.Remove(w.dir.Dir); err != nil { // the folder is gone: no file can be made
		t.Fatal(err)
	}
	d := newRecorder(t, w)
	if err := <-told; err == nil {
		t.Fatal("no error is told")
	}
	busy(t, d, 20) // each of these tries again, and fails
	if err := w.Err(); err == nil {
		t.Fatal("Err has none")
	}
	if err := os.Mkdir(w.dir.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := int64(0); w.Err() != nil; i++ {
		d.Step(100_000 + i)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(w.dir.Dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	slices.Sort(files)
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	h, err := ReadHeader(text[:bytes.IndexByte(text, '\n')])
	if err != nil || h.Gap == nil || h.Gap.Events == 0 || !strings.Contains(h.Gap.Why, "no such file") {
		t.Fatalf("%v, %+v", err, h)
	}
}

// A write that fails in the middle of a line is followed by another file, and the torn line is the last of its own.
func TestWritesThatFailInAFolder(t *testing.T) {
	w, err := OpenDir(DirOptions{Dir: t.TempDir(), Name: "rm1"})
	if err != nil {
		t.Fatal(err)
	}
	w.to = &tearing{w: w, at: 2}
	w.Behind(BehindOptions{Retry: time.Nanosecond})
	d := newRecorder(t, w)
	d.Step(1000)
	for i := int64(0); w.Status().Gaps == 0; i++ {
		d.Step(2000 + 1000*i)
	}
	for i := int64(0); w.Err() != nil; i++ {
		d.Step(100_000 + i)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(w.dir.Dir, "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(bytes.NewReader(text))
		for err == nil {
			_, err = r.Next()
		}
		if torn := i == 0; fmt.Sprint(err) != "EOF" || r.Torn() != torn {
			t.Errorf("%s: %v, torn: %t\n%s", f, err, r.Torn(), text)
		}
	}
}

// tearing writes half of what it gets at one of its writes, and then says that the disk is full.
type tearing struct {
	w     *Writer
	at, n int
}

func (x *tearing) Write(b []byte) (int, error) {
	if x.n++; x.n == x.at {
		n, _ := x.w.file.Write(b[:len(b)/2])
		return n, syscall.ENOSPC
	}
	return x.w.file.Write(b)
}
