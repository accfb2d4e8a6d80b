package stages_test

import (
	"testing"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/eventlog/eventlogtest"
	"heddle/rm/scheduler/policy/stages"
)

// A job has one slot beside another job's long maps, and its shuffle takes so long that its reduces begin while maps are pending. Hadoop's
// ApplicationMaster ends a reduce when maps are pending, none runs and nothing is free. If reduces took each slot that a map gives back, one would start
// for each map, in vain.
func TestNoReduceBeginsInVain(t *testing.T) {
	tree, _, err := source("fair", "omo").Tree()
	if err != nil {
		t.Fatal(err)
	}
	d, err := eventlog.New(scheduler.Config{Tree: tree, Minimum: gb(1)}, nil, nil, eventlog.Header{})
	if err != nil {
		t.Fatal(err)
	}
	eventlogtest.AddNode(d, scheduler.NodeSpec{Host: "n", Rack: "/r", Capability: gb(4)})
	ask := func(a scheduler.AppHandle, priority, count int32) {
		d.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: a, Asks: []scheduler.Ask{{Priority: priority, Name: scheduler.Any, Capability: gb(1), Count: count, RelaxLocality: true}}})
	}
	add := func(seq int64) scheduler.AppHandle {
		return eventlogtest.AddApp(d, drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: seq, Queue: "root.a", User: "u", Type: stages.Type}})
	}
	long := add(1)
	ask(long, 20, 3)
	d.Step(1)
	job := add(2)
	running := map[int32][]scheduler.ContainerHandle{}
	pending := map[int32]int32{20: 6, 10: 2}
	ended, done := 0, 0
	ask(job, 20, pending[20])
	for now := int64(1000); done < 6 && now < 60_000; now += 1000 {
		for _, c := range running[20] {
			d.Apply(&eventlog.Event{Op: eventlog.Free, Container: c})
			done++
			d.Apply(&eventlog.Event{Op: eventlog.NoteOutputs, App: job, Maps: int64(done), Bytes: int64(done) << 30})
		}
		running[20] = nil
		if done > 0 {
			ask(job, 10, pending[10])
		}
		for _, x := range d.Step(now) {
			if x.Kind == drive.Allocate {
				running[x.Priority] = append(running[x.Priority], x.Container)
				pending[x.Priority]--
			}
		}
		if n := len(running[10]); n > 0 && pending[20] > 0 && len(running[20]) == 0 {
			d.Apply(&eventlog.Event{Op: eventlog.Free, Container: running[10][n-1], Failed: true})
			running[10] = running[10][:n-1]
			ended++
			pending[10]++
			ask(job, 10, 0)
		}
	}
	if ended > 0 || done < 6 {
		t.Errorf("%d reduces were ended to make room for maps, of which %d are done", ended, done)
	}
}
