package tries

import (
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/ledger"
	"heddle/rm/ledger/course"
	"heddle/yarn/records"
)

var attempt = records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 2}, Attempt: 3}

// What an ApplicationMaster tells is moved into its attempt's life, and bounded in number.
func TestTriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := looptest.New(t)
		loop.State.Version = ledger.CourseVersion
		app := &ledger.Application{ID: attempt.App}
		loop.State.Apps[app.ID] = app
		began := time.Now().UnixMilli()
		a := &ledger.Attempt{ID: attempt, StartTime: began}
		kept := false
		tell := func(told ...Told) {
			_ = loop.Do(func() error { Enter(loop, loop.State, a, told, kept); return nil })
		}
		if tell(Told{course.Task{From: 3000, To: 1000}}); app.Course != nil {
			t.Error("it was noted though receipts are off")
		}
		kept = true
		time.Sleep(10 * time.Second)
		tell(Told{course.Task{From: 3000, To: 1000, Fetched: Never}}, Told{course.Task{From: 1 << 62, To: -5, Fetched: 2000}}, Told{course.Task{From: -1 << 63, To: 4000, Fetched: 9000}})
		for i, want := range [][3]int64{{7000, 9000, -began}, {0, 10_000, 8000}, {6000, 6000, 6000}} {
			x := app.Course.Tasks[i]
			if got := [3]int64{x.From - began, x.To - began, x.Fetched - began}; got != want || x.Attempt != 3 {
				t.Errorf("%d: %v, and not %v", i, got, want)
			}
		}
		for range 20 {
			tell(make([]Told, MaxPerCall)...)
		}
		if n := app.Course.TasksLost + int64(len(app.Course.Tasks)); n > 2*MaxPerCall+10*perSecond || len(app.Course.Tasks) != course.MaxTasks {
			t.Errorf("%d are known of", n)
		}
		loop.State.Version--
		before := app.Course
		time.Sleep(time.Hour)
		if tell(Told{course.Task{From: 3000, To: 1000}}); app.Course != before {
			t.Error("it was written where another member can't read it")
		}
	})
}
