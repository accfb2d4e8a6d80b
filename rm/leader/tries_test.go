package leader

import (
	"testing"
	"time"

	"heddle/rm/leader/tries"
	"heddle/rm/ledger/course"
)

// What an ApplicationMaster has told of tries of its tasks outlives the leader that it told, once each, and the next leader adds what it hears.
func TestToldTriesSurviveAChangeOfLeaders(t *testing.T) {
	runWorld(t, nil, func(w *world) {
		w.newest()
		w.node(1)
		am := w.am(nil)
		time.Sleep(10 * time.Second)
		told := func(index int32) []tries.Told {
			return []tries.Told{{Task: course.Task{Container: 2, Index: index, From: 3000, To: 1000, Fetched: tries.Never}}}
		}
		am.allocate(AllocateCall{Tries: told(1)})
		am.allocate(AllocateCall{Tries: told(2)})
		has := func(when string, want ...int32) {
			t.Helper()
			c := w.state().Apps[am.attempt.App].Course
			if c == nil || len(c.Tasks) != len(want) {
				t.Fatalf("%s: on record is %+v, want %v", when, c, want)
			}
			for i, x := range c.Tasks {
				if x.Index != want[i] || x.Attempt != am.attempt.Attempt || x.To-x.From != 2000 {
					t.Errorf("%s: %+v, want the task %d", when, x, want[i])
				}
			}
		}
		has("with the first leader", 1, 2)
		w.depose()
		w.lead()
		has("with the next one", 1, 2)
		must[Registration](t)(w.Register(am.attempt, "host", 4711, "http://host:1/")) // it is told to register again
		am.response = 0
		am.allocate(AllocateCall{Tries: told(3)})
		has("as the next one has heard more", 1, 2, 3)
	})
}
