package tries

import (
	"testing"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/ledger"
	"heddle/rm/ledger/course"
)

// What a leader spends on a second's tries of an ApplicationMaster that tells as many as it may, with their commitment: ns/op ÷ 10⁷ is the percentage of a processor.
func BenchmarkASecondOfTries(b *testing.B) {
	loop := looptest.New(b)
	loop.State.Version = ledger.CourseVersion
	app := &ledger.Application{ID: attempt.App}
	loop.State.Apps[app.ID] = app
	a := &ledger.Attempt{ID: attempt}
	told := make([]Told, perSecond)
	for i := range told {
		told[i].Task = course.Task{Container: int64(i), Index: int32(i), From: 3000, To: 1000, Fetched: Never}
	}
	b.ReportAllocs()
	for b.Loop() {
		app.Course = nil // its bound would refuse them
		_ = loop.Do(func() error { Enter(loop, loop.State, a, told, true); return nil })
	}
	if app.Course == nil || len(app.Course.Tasks) != perSecond {
		b.Fatalf("%+v is on record", app.Course)
	}
}
