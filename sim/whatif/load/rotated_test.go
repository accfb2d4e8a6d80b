package load_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/sim/whatif/load"
	"heddle/yarn/records"
)

// record simulates jobs with a recorder.
func record(t *testing.T, log *eventlog.Writer) {
	t.Helper()
	slot := records.NewResource(1024, 1)
	source := &eventlog.Source{Keys: map[string]string{"yarn.resourcemanager.scheduler.class": "fifo"}}
	tree, types, err := source.Tree()
	if err != nil {
		t.Fatal(err)
	}
	d, err := eventlog.New(scheduler.Config{Tree: tree, Types: types, Minimum: slot}, log, source, eventlog.Header{})
	if err != nil {
		t.Fatal(err)
	}
	jobs := sim.Generate(sim.Workload{Tasks: 1000, PerJob: 20, Mean: 20e9, Load: 1, Slots: 40, Resource: slot, Queues: []string{"root.default"}, Users: 3}, 7)
	for i := range jobs {
		jobs[i].AM, jobs[i].AMStart = slot, 3e9
	}
	c, err := sim.NewCluster(d, sim.Nodes{Count: 10, Capacity: slot.Times(4)}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// A record in many files is the same load as one in a single file. Without its first files it is the load of the rest.
func TestRecordsInManyFiles(t *testing.T) {
	one := filepath.Join(t.TempDir(), "events.log")
	log, err := eventlog.Create(one)
	if err != nil {
		t.Fatal(err)
	}
	record(t, log)
	want, err := load.Open(one, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if log, err = eventlog.OpenDir(eventlog.DirOptions{Dir: dir, Name: "rm1", MaxFile: 30_000}); err != nil {
		t.Fatal(err)
	}
	record(t, log)
	got, err := load.Open(dir, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Sessions < 4 || len(got.Apps) != len(want.Apps) || len(got.Events) != len(want.Events) {
		t.Fatalf("%d sessions, %d applications, %d events; want %d, %d", got.Sessions, len(got.Apps), len(got.Events), len(want.Apps), len(want.Events))
	}
	for i := range want.Apps {
		g, w := got.Apps[i], want.Apps[i]
		g.Line = w.Line
		if !reflect.DeepEqual(g, w) {
			t.Fatalf("application %d\n in many files: %+v\n in one:        %+v", i, g, w)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files[:2] {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	rest, err := load.Open(dir, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for i := range rest.Apps {
		if rest.Apps[i].Before {
			before++
		}
	}
	if before == 0 || len(rest.Apps) >= len(want.Apps) || rest.Nodes != 10 {
		t.Errorf("%d of %d applications ran before, on %d nodes", before, len(rest.Apps), rest.Nodes)
	}
}
