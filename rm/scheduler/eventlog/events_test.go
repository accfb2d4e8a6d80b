package eventlog_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/eventlog/eventlogtest"
	"heddle/yarn/records"
)

// Each event stands in the log with all that it says, in the order in which the driver was told, and leads to the same state when it is
// replayed.
func TestEveryEventIsRecorded(t *testing.T) {
	var log bytes.Buffer
	s := begin(t, &log)
	var n scheduler.NodeHandle
	var a scheduler.AppHandle
	var c, d scheduler.ContainerHandle
	var want []string
	for _, step := range []struct {
		tell func()
		want string
	}{
		// The first of all have handle 0, which looks like none.
		{func() { eventlogtest.AddNode(s, scheduler.NodeSpec{Host: "h0", Rack: "/r", Capability: slot}) }, `{"op":"addNode","host":"h0","rack":"/r","resource":[1024,1]}`},
		{func() {
			eventlogtest.AddApp(s, drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 1, Queue: "root.b", User: "w", Type: "SPARK"}})
		}, `{"op":"addApp","queue":"root.b","user":"w","type":"SPARK","seq":1}`},
		{func() { eventlogtest.Restore(s, 0, 0, slot, drive.Container{Attempt: 1, ID: 1}) }, `{"op":"restore","attempt":1,"first":1,"resource":[1024,1]}`},
		{func() {
			n = eventlogtest.AddNode(s, scheduler.NodeSpec{Host: "h1", Rack: "/r", Capability: slot.Times(8)})
		}, `{"op":"addNode","node":1,"host":"h1","rack":"/r","resource":[8192,8]}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.SetCapability, Node: n, Resource: eventlog.Amounts(slot.Times(9))})
		}, `{"op":"setCapability","node":1,"resource":[9216,9]}`},
		{func() { eventlogtest.Open(s, n, scheduler.NoWork) }, `{"op":"setOpen","node":1}`},
		{func() { eventlogtest.Open(s, n, 4) }, `{"op":"setOpen","node":1,"open":true,"work":4}`},
		{func() { eventlogtest.Open(s, n, scheduler.AllWork) }, `{"op":"setOpen","node":1,"open":true}`},
		{func() {
			a = eventlogtest.AddApp(s, drive.AppSpec{
				AppSpec: scheduler.AppSpec{Seq: 3, Priority: 2, Queue: "root.a", User: "u", AM: slot}, SpareMaster: true,
				ID: records.ApplicationID{ClusterTimestamp: 1, ID: 1},
			})
		}, `{"op":"addApp","app":1,"name":"application_1_0001","queue":"root.a","user":"u","priority":2,"seq":3,"am":true,"resource":[1024,1]}`},
		{func() {
			eventlogtest.AddApp(s, drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 4, Queue: "root.a", User: "v"}, NeverSuspend: true})
		}, `{"op":"addApp","app":2,"queue":"root.a","user":"v","seq":4,"never":true}`},
		{func() { s.Step(1) }, `{"op":"step","t":1,"decisions":[["activate",1,0,0,0,0,0,0]]}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.Name, App: a, Name: "the first"}) }, `{"op":"name","app":1,"name":"the first"}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.SetPriority, App: a, Priority: 5}) }, `{"op":"setPriority","app":1,"priority":5}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.MoveApp, App: a, Queue: "root.b"}) }, `{"op":"moveApp","app":1,"queue":"root.b"}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.UpdateBlacklist, App: a, Add: []string{"h7", "h8"}, Remove: []string{"h9"}})
		}, `{"op":"updateBlacklist","app":1,"add":["h7","h8"],"remove":["h9"]}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.SetProgress, App: a, Part: 0.25}) }, `{"op":"setProgress","app":1,"part":0.25}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.NoteOutputs, App: a, Maps: 3, Bytes: 7000}) }, `{"op":"noteOutputs","app":1,"maps":3,"bytes":7000}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.NoteStaged, App: a, Node: n, Maps: 4}) }, `{"op":"noteStaged","node":1,"app":1,"maps":4}`},
		{
			func() {
				s.Apply(&eventlog.Event{Op: eventlog.NoteTasks, App: a, Tasks: &eventlog.Tasks{Left: 9, Copies: true, Young: 2, Detection: 3000, ToRead: 5, ToMake: 6, Ended: 50, Beta: 1.5}})
			},
			`{"op":"noteTasks","app":1,"tasks":{"left":9,"copies":true,"young":2,"detection":3000,"toRead":5,"toMake":6,"ended":50,"beta":1.5}}`,
		},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.NoteTasks, App: a, Tasks: &eventlog.Tasks{}}) }, `{"op":"noteTasks","app":1,"tasks":{}}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.NoteBandwidth, Part: 1.5e8}) }, `{"op":"noteBandwidth","part":150000000}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.SetAbility, Node: n, Ability: &drive.Ability{Suspend: true}})
		}, `{"op":"setAbility","node":1,"ability":{"Suspend":true,"Shrink":false,"Reclaim":false,"Out":0,"In":0}}`},
		{func() {
			c = eventlogtest.Restore(s, a, n, slot.Times(2), drive.Container{Attempt: 1, ID: 7, Priority: 3, AM: true, Since: 99})
		}, `{"op":"restore","node":1,"app":1,"container":1,"priority":3,"am":true,"attempt":1,"first":7,"since":99,"resource":[2048,2]}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.Identify, Attempt: 2, First: 8, AM: true, Containers: []scheduler.ContainerHandle{c}})
		}, `{"op":"identify","am":true,"attempt":2,"first":8,"containers":[1]}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.SetPast, Container: c, Times: 3, Total: 4000}) }, `{"op":"setPast","container":1,"times":3,"total":4000}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.SetStopped, Container: c, Open: true}) }, `{"op":"setStopped","container":1,"open":true}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.SetStopped, Container: c, Open: false}) }, `{"op":"setStopped","container":1}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.SetMemory, Container: c, Total: 1 << 20}) }, `{"op":"setMemory","container":1,"total":1048576}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.Took, Container: c, Total: 250}) }, `{"op":"took","container":1,"total":250}`},
		{func() { d = eventlogtest.Restore(s, a, n, slot, drive.Container{Attempt: 1, ID: 9}) }, `{"op":"restore","node":1,"app":1,"container":2,"attempt":1,"first":9,"resource":[1024,1]}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.Free, Container: d, Failed: true}) }, `{"op":"free","container":2,"failed":true}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.Resize, Container: c, Resource: eventlog.Amounts(slot.Times(3))})
		}, `{"op":"resize","container":1,"open":true,"resource":[3072,3]}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.Resize, Container: c, Resource: eventlog.Amounts(slot.Times(30))})
		}, `{"op":"resize","container":1,"resource":[30720,30]}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.SetHeld, Container: c, Resource: eventlog.Amounts(slot)}) }, `{"op":"setHeld","container":1,"open":true,"resource":[1024,1]}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.SetHeld, Container: c, Resource: eventlog.Amounts(slot.Times(30))})
		}, `{"op":"setHeld","container":1,"resource":[30720,30]}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.NoteHeld, Container: c, Resource: eventlog.Amounts(slot.Times(2))})
		}, `{"op":"noteHeld","container":1,"open":true,"resource":[2048,2]}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.NoteHeld, Container: c, Resource: eventlog.Amounts(slot.Times(30))})
		}, `{"op":"noteHeld","container":1,"resource":[30720,30]}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.WasSuspended, Container: c, Resource: eventlog.Amounts(slot), Since: 77, Queue: "root.a"})
		}, `{"op":"wasSuspended","container":1,"queue":"root.a","open":true,"since":77,"resource":[1024,1]}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.Return, Container: c, Forced: true}) }, `{"op":"return","container":1,"open":true,"forced":true}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.Refused, Container: c}) }, `{"op":"refused","container":1}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.NotBegun, Container: c}) }, `{"op":"notBegun","container":1}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.Grow, Container: c, Resource: eventlog.Amounts(slot.Times(4))})
		}, `{"op":"grow","container":1,"open":true,"resource":[4096,4]}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: a, Asks: []scheduler.Ask{{Priority: 4, AllocationRequestID: 6, Name: "h1", Capability: slot, Count: 2, RelaxLocality: true}}})
		}, `{"op":"updateAsks","app":1,"asks":[{"priority":4,"id":6,"name":"h1","resource":[1024,1],"count":2,"relax":true}]}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.ClearAsks, App: a}) }, `{"op":"clearAsks","app":1}`},
		{func() { s.Step(5000) }, `{"op":"step","t":5000,"decisions":[["grow",1,1,0,3,0,0,0,4096,4],["activate",2,0,0,0,0,0,0]]}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.SetExclusive, Label: "x", Open: false}) }, `{"op":"setExclusive","label":"x"}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.SetExclusive, Label: "y", Open: true}) }, `{"op":"setExclusive","label":"y","open":true}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.SetLabel, Node: n, Label: "x"}) }, `{"op":"setLabel","node":1,"label":"x"}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: a, Asks: []scheduler.Ask{{Name: scheduler.Any, Capability: slot, Count: 1, Label: "x"}, {Priority: 1, Name: scheduler.Any, Capability: slot, Count: 2, Stays: true}}})
		}, `{"op":"updateAsks","app":1,"asks":[{"name":"*","resource":[1024,1],"count":1,"label":"x"},{"priority":1,"name":"*","resource":[1024,1],"count":2,"stays":true}]}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.ClearAsks, App: a}) }, `{"op":"clearAsks","app":1}`},
		{func() {
			eventlogtest.AddNode(s, scheduler.NodeSpec{Host: "h2", Rack: "/r", Capability: slot, Label: "y"})
		}, `{"op":"addNode","node":2,"host":"h2","rack":"/r","label":"y","resource":[1024,1]}`},
		{func() {
			eventlogtest.AddApp(s, drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 5, Queue: "root.a", User: "v", Label: "y"}})
		}, `{"op":"addApp","app":3,"queue":"root.a","user":"v","label":"y","seq":5}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.SetAttributes, Host: "h1", Attributes: map[string]string{"rm.yarn.io/a": "1"}})
		}, `{"op":"setAttributes","host":"h1","attributes":{"rm.yarn.io/a":"1"}}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.NameApp, App: a, Name: "application_1_0001", Add: []string{"x"}})
		}, `{"op":"nameApp","app":1,"name":"application_1_0001","add":["x"]}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.SetTags, Container: c, Add: []string{"zk"}}) }, `{"op":"setTags","container":1,"add":["zk"]}`},
		{func() {
			s.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: a, Asks: []scheduler.Ask{{Name: scheduler.Any, Capability: slot, Count: 1, Scheduling: &scheduler.SchedulingRequest{
				Tags: []string{"zk"}, Constraint: &constraint.Constraint{Op: constraint.Count, Scope: constraint.Node, Space: constraint.Self, Tags: []string{"zk"}, Max: 2},
			}}}})
		}, `{"op":"updateAsks","app":1,"asks":[{"name":"*","resource":[1024,1],"count":1,"placement":{"tags":["zk"],"constraint":{"op":"count","scope":"node","tags":["zk"],"space":"self","max":2}}}]}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.ClearAsks, App: a}) }, `{"op":"clearAsks","app":1}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.Free, Container: c}) }, `{"op":"free","container":1}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.RemoveApp, App: a}) }, `{"op":"removeApp","app":1}`},
		{func() { s.Apply(&eventlog.Event{Op: eventlog.RemoveNode, Node: n}) }, `{"op":"removeNode","node":1}`},
	} {
		step.tell()
		want = append(want, step.want)
		if err := s.Close(); err != nil { // no file is closed, so it goes on
			t.Fatal(err)
		}
		p, err := play(log.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", step.want, err)
		}
		if diff := stateDiff(s.Facts.(*drive.Driver), p.Driver); diff != "" {
			t.Fatalf("%s leads to another state when it is replayed: %s", step.want, diff)
		}
		if p.Events != len(want) || p.Line != len(want)+1 {
			t.Errorf("%s is event %d in line %d", step.want, p.Events, p.Line)
		}
	}
	_, events, _ := strings.Cut(strings.TrimSpace(log.String()), "\n") // behind the header
	if diff := cmp.Diff(want, strings.Split(events, "\n")); diff != "" {
		t.Error(diff)
	}
}
