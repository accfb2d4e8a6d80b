package eventlog_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/eventlog/eventlogtest"
	"heddle/yarn/records"
)

// session runs applications of which each has containers for some steps, and returns the files of the record, by name.
func session(t *testing.T, o eventlog.DirOptions, apps int) (names []string) {
	t.Helper()
	log, err := eventlog.OpenDir(o)
	if err != nil {
		t.Fatal(err)
	}
	slot := records.NewResource(1024, 1)
	d, err := eventlog.New(scheduler.Config{Minimum: slot}, log, nil, eventlog.Header{Heddle: "test", Time: 1000})
	if err != nil {
		t.Fatal(err)
	}
	n := eventlogtest.AddNode(d, scheduler.NodeSpec{Host: "h1", Rack: "/r", Capability: slot.Times(64), Label: ""})
	d.Apply(&eventlog.Event{Op: eventlog.SetAbility, Node: n, Ability: &drive.Ability{Suspend: true}})
	d.Apply(&eventlog.Event{Op: eventlog.SetAttributes, Host: "h1", Attributes: map[string]string{"rm.yarn.io/gpu": "a100"}})
	d.Apply(&eventlog.Event{Op: eventlog.SetAttributes, Host: "h2", Attributes: map[string]string{"rm.yarn.io/gpu": "a100"}})
	d.Apply(&eventlog.Event{Op: eventlog.SetAttributes, Host: "h2"})
	var running []scheduler.ContainerHandle
	for i := range apps {
		now := int64(1000 + 500*i)
		id := records.ApplicationID{ClusterTimestamp: 5, ID: int32(i) + 1}
		a := eventlogtest.AddApp(d, drive.AppSpec{AppSpec: scheduler.AppSpec{Queue: "root.default", User: "ann", Seq: int64(i)}, ID: id})
		ask := scheduler.Ask{Name: scheduler.Any, Capability: slot, Count: 3, RelaxLocality: true}
		if i%5 == 0 {
			d.Apply(&eventlog.Event{Op: eventlog.NameApp, App: a, Name: id.String()})
			ask.Scheduling = &scheduler.SchedulingRequest{Tags: []string{"zk"}}
		}
		d.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: a, Asks: []scheduler.Ask{ask}})
		var granted []scheduler.ContainerHandle
		for _, x := range d.Step(now) {
			if x.Kind == drive.Allocate {
				granted = append(granted, x.Container)
			}
		}
		d.Apply(&eventlog.Event{Op: eventlog.Identify, Attempt: 1, First: 1, Containers: granted})
		running = append(running, granted...)
		if len(running) > 30 {
			d.Apply(&eventlog.Event{Op: eventlog.Free, Container: running[0]})
			running = running[1:]
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(o.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	slices.Sort(names)
	return names
}

// A record continues in another file when one is full, and each file can be read alone: it begins with what there is.
func TestRecordsGoOnInOtherFiles(t *testing.T) {
	o := eventlog.DirOptions{Dir: t.TempDir(), Name: "rm1", MaxFile: 20_000}
	names := session(t, o, 300)
	if len(names) < 4 {
		t.Fatalf("there are only %d files", len(names))
	}
	for i, name := range names {
		text, err := os.ReadFile(filepath.Join(o.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(text, []byte("\n"))
		goesOn := bytes.Contains(lines[0], []byte(`"continues":true`))
		if goesOn != (i > 0) || len(text) > 60_000 || i < len(names)-1 && len(text) < 20_000 {
			t.Errorf("%s has %d bytes, and goes on: %v", name, len(text), goesOn)
		}
		if restored := bytes.Count(text, []byte(`"op":"restore"`)); i > 0 && restored < 20 {
			t.Errorf("%s begins with %d containers", name, restored)
		}
		if !bytes.Contains(text, []byte(`"op":"addNode"`)) || !bytes.Contains(text, []byte(`"op":"setAbility"`)) {
			t.Errorf("%s doesn't say what nodes there are", name)
		}
		if bytes.Count(text, []byte(`"op":"nameApp"`)) < 3 || i > 0 && bytes.Count(text, []byte(`"op":"setTags"`)) < 3 || bytes.Count(text, []byte(`"op":"setAttributes"`)) != 1+2*(1-min(i, 1)) {
			t.Errorf("%s doesn't say what constraints hang on", name)
		}
		_, err = eventlog.NewReplay(bytes.NewReader(text)).Step()
		if (err != nil) != goesOn || goesOn && !strings.Contains(err.Error(), "what-if") {
			t.Errorf("replaying %s: %v", name, err)
		}
	}
}

// Old files are removed by size and by age, and no one else's.
func TestRecordsAreBounded(t *testing.T) {
	dir := t.TempDir()
	for _, other := range []string{"events-rm2-20200101T000000.000.log", "notes"} {
		if err := os.WriteFile(filepath.Join(dir, other), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := eventlog.DirOptions{Dir: dir, Name: "rm1", MaxFile: 20_000, MaxTotal: 90_000, Now: func() time.Time { return now }}
	names := session(t, o, 600)
	total := int64(0) // the newest file is as large as the buffer at least
	for _, n := range names {
		info, err := os.Stat(filepath.Join(dir, n))
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if len(names) > 7 || total > 180_000 || !slices.Contains(names, "notes") || !slices.Contains(names, "events-rm2-20200101T000000.000.log") {
		t.Errorf("%d bytes are left: %v", total, names)
	}
	o.MaxTotal, o.MaxAge = 0, time.Hour
	now = time.Now().Add(2 * time.Hour)
	if left := session(t, o, 1); len(left) != 3 {
		t.Errorf("of files that are two hours old these are left: %v", left)
	}
}

// A folder that can't be written to ends the record, not the cluster.
func TestAFolderThatFailsEndsTheRecordAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records")
	log, err := eventlog.OpenDir(eventlog.DirOptions{Dir: dir, Name: "rm1", MaxFile: 1000})
	if err != nil {
		t.Fatal(err)
	}
	d, err := eventlog.New(scheduler.Config{}, log, nil, eventlog.Header{Time: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		eventlogtest.AddNode(d, scheduler.NodeSpec{Host: fmt.Sprint("h", i), Rack: "/r", Capability: records.NewResource(1024, 1)})
		d.Step(int64(2000 * i))
	}
	if log.Err() == nil {
		t.Error("nobody is told that the record has ended")
	}
	if d.OpenNodes() != 100 {
		t.Errorf("%d nodes", d.OpenNodes())
	}
}
