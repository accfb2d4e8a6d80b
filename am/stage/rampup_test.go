package stage_test

import (
	"testing"
	"time"

	"heddle/am/slowstart"
	. "heddle/am/stage"
)

// Reduces that may begin while maps wait take the part of the slots that the rule leaves them, and no more are asked for, whether slots are for
// one task or for all of a job. As soon as no map waits, all of them begin.
func TestReducesRampUp(t *testing.T) {
	for _, perTask := range []bool{false, true} {
		const maps, reduces, slots = 400, 250, 40
		m := New(Job{Maps: maps, Reduces: reduces, Tries: [2]int{4, 4}, NodeFailures: 3, PerTask: perTask, NodesServe: perTask, Starter: slowstart.Ramp{Fraction: 0.05}})
		asked, running := [2]map[RequestID]bool{{}, {}}, [2]map[SlotID]AttemptID{{}, {}}
		next, most, held := SlotID(0), 0, 0
		var freed []SlotID
		step := func(now time.Duration, e Event) {
			for _, a := range append([]Action(nil), m.Step(now, e)...) {
				switch a := a.(type) {
				case Want:
					asked[a.Task.Stage][a.Request] = true
				case Withdraw:
					delete(asked[Map], a.Request)
					delete(asked[Reduce], a.Request)
				case Start:
					held++
					freed = append(freed, a.Slot)
				case GiveBack:
					held--
				case Launch:
					running[a.Attempt.Stage][a.Slot] = a.Attempt
				}
			}
		}
		for now := time.Second; now < 200*time.Second; now += time.Second {
			step(now, Tick{})
			for _, stage := range []Stage{Reduce, Map} { // reduces are more urgent
				for id := range asked[stage] {
					if held == slots {
						break
					}
					delete(asked[stage], id)
					step(now, Granted{Request: id, Slot: next, Host: "a", Memory: 1})
					next++
				}
			}
			for len(freed) > 0 {
				id := freed[0]
				freed = freed[1:]
				step(now, Ready{id})
			}
			f := *m.Facts()
			if f.Maps.Waiting == 0 {
				break
			}
			if n := f.Reduces.Running; n > most {
				if most = n; n > max(1, int(0.5*slots), f.Slots-f.Maps.Waiting-f.Maps.Running) || n > max(1, slots*f.Maps.Done/maps) {
					t.Fatalf("per task %v: %d reduces run when %d of %d maps are done, and %d wait", perTask, n, f.Maps.Done, maps, f.Maps.Waiting)
				}
			}
			if n := len(asked[Reduce]) + f.Reduces.Running; n > slots/2 {
				t.Fatalf("per task %v: %d reduces run or are asked for", perTask, n)
			}
			for id, a := range running[Map] {
				if (int(id)+int(now/time.Second))%4 != 0 {
					continue // so that some always run
				}
				delete(running[Map], id)
				step(now, Finished{Slot: id, Attempt: a})
				if m.Attempts(a.TaskID)[a.Number].State == Succeeded {
					freed = append(freed, id)
				}
			}
		}
		f := m.Facts()
		if most < slots/4 || f.Maps.Waiting > 0 {
			t.Errorf("per task %v: %d reduces have run at most while maps waited, and %d still do", perTask, most, f.Maps.Waiting)
		}
		if n := len(asked[Reduce]) + f.Reduces.Running; n < reduces-slots {
			t.Errorf("per task %v: %d of %d reduces run or are asked for when no map waits", perTask, n, reduces)
		}
	}
}
