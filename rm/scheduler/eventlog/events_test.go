package eventlog_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// Each event stands in the log with all that it says, in the order in which the driver was told, and leads to the same state when it is
// replayed.
func TestEveryEventIsRecorded(t *testing.T) {
	var log bytes.Buffer
	s := begin(t, &log)
	var n scheduler.NodeHandle
	var a scheduler.AppHandle
	var c scheduler.ContainerHandle
	var want []string
	for _, step := range []struct {
		tell func()
		want string
	}{
		{func() { n = s.AddNode(scheduler.NodeSpec{Host: "h1", Rack: "/r", Capability: slot.Times(8)}) }, `{"op":"addNode","host":"h1","rack":"/r","resource":[8192,8]}`},
		{func() { s.SetCapability(n, slot.Times(9)) }, `{"op":"setCapability","resource":[9216,9]}`},
		{func() { s.SetOpen(n, scheduler.NoWork) }, `{"op":"setOpen"}`},
		{func() { s.SetOpen(n, 4) }, `{"op":"setOpen","open":true,"work":4}`},
		{func() { s.SetOpen(n, scheduler.AllWork) }, `{"op":"setOpen","open":true}`},
		{func() {
			a = s.AddApp(drive.AppSpec{
				AppSpec: scheduler.AppSpec{Seq: 3, Priority: 2, Queue: "root.a", User: "u", AM: slot}, SpareMaster: true,
				ID: records.ApplicationID{ClusterTimestamp: 1, ID: 1},
			})
		}, `{"op":"addApp","name":"application_1_0001","queue":"root.a","user":"u","priority":2,"seq":3,"am":true,"resource":[1024,1]}`},
		{func() { s.AddApp(drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: 4, Queue: "root.a", User: "v"}}) }, `{"op":"addApp","app":1,"queue":"root.a","user":"v","seq":4}`},
		{func() { s.Step(1) }, `{"op":"step","t":1,"decisions":[{"kind":"activate"}]}`},
		{func() { s.Name(a, "the first") }, `{"op":"name","name":"the first"}`},
		{func() { s.SetPriority(a, 5) }, `{"op":"setPriority","priority":5}`},
		{func() { s.MoveApp(a, "root.b") }, `{"op":"moveApp","queue":"root.b"}`},
		{func() { s.UpdateBlacklist(a, []string{"h7", "h8"}, []string{"h9"}) }, `{"op":"updateBlacklist","add":["h7","h8"],"remove":["h9"]}`},
		{func() { s.SetProgress(a, 0.25) }, `{"op":"setProgress","part":0.25}`},
		{func() { s.SetAbility(n, drive.Ability{Suspend: true}) }, `{"op":"setAbility","ability":{"Suspend":true,"Shrink":false,"Reclaim":false,"Out":0,"In":0}}`},
		{func() {
			c = s.Restore(a, n, slot.Times(2), drive.Container{Attempt: 1, ID: 7, Priority: 3, AM: true, Since: 99})
		}, `{"op":"restore","priority":3,"am":true,"attempt":1,"first":7,"since":99,"resource":[2048,2]}`},
		{func() { s.Identify(2, 8, true, c) }, `{"op":"identify","am":true,"attempt":2,"first":8,"containers":[0]}`},
		{func() { s.SetPast(c, 3, 4000) }, `{"op":"setPast","times":3,"total":4000}`},
		{func() { s.ResizeContainer(c, slot.Times(3)) }, `{"op":"resize","open":true,"resource":[3072,3]}`},
		{func() { s.ResizeContainer(c, slot.Times(30)) }, `{"op":"resize","resource":[30720,30]}`},
		{func() { s.SetHeld(c, slot) }, `{"op":"setHeld","open":true,"resource":[1024,1]}`},
		{func() { s.SetHeld(c, slot.Times(30)) }, `{"op":"setHeld","resource":[30720,30]}`},
		{func() { s.NoteHeld(c, slot.Times(2)) }, `{"op":"noteHeld","open":true,"resource":[2048,2]}`},
		{func() { s.NoteHeld(c, slot.Times(30)) }, `{"op":"noteHeld","resource":[30720,30]}`},
		{func() { s.WasSuspended(c, slot, 77, "root.a") }, `{"op":"wasSuspended","queue":"root.a","open":true,"since":77,"resource":[1024,1]}`},
		{func() { s.Return(c, true) }, `{"op":"return","open":true,"forced":true}`},
		{func() { s.Refused(c) }, `{"op":"refused"}`},
		{func() { s.Grow(c, slot.Times(4)) }, `{"op":"grow","open":true,"resource":[4096,4]}`},
		{func() {
			s.UpdateAsks(a, []scheduler.Ask{{Priority: 4, AllocationRequestID: 6, Name: "h1", Capability: slot, Count: 2, RelaxLocality: true}})
		}, `{"op":"updateAsks","asks":[{"priority":4,"id":6,"name":"h1","resource":[1024,1],"count":2,"relax":true}]}`},
		{func() { s.ClearAsks(a) }, `{"op":"clearAsks"}`},
		{func() { s.Step(5000) }, `{"op":"step","t":5000,"decisions":[{"kind":"grow","resource":[4096,4],"priority":3},{"kind":"activate","app":1}]}`},
		{func() { s.Free(c) }, `{"op":"free"}`},
		{func() { s.RemoveApp(a) }, `{"op":"removeApp"}`},
		{func() { s.RemoveNode(n) }, `{"op":"removeNode"}`},
	} {
		step.tell()
		want = append(want, step.want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, events, _ := strings.Cut(strings.TrimSpace(log.String()), "\n") // behind the header
	if diff := cmp.Diff(want, strings.Split(events, "\n")); diff != "" {
		t.Error(diff)
	}
	if _, err := play(log.Bytes()); err != nil {
		t.Error(err)
	}
}
