// Package tries takes what ApplicationMasters of Heddle's library tell of tries of tasks that are over, and enters it into the ledger, for receipts.
package tries

import (
	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/rm/ledger/course"
	"heddle/rm/ledger/ledgerpb"
)

// Bounds of what an ApplicationMaster may tell: so many in a call, and so many a second of its life on average. Others are counted as no longer known.
const (
	MaxPerCall = 256
	perSecond  = 64
)

// Never is Told.Fetched of a try that never had its input.
const Never = -1

// Told is a try as an ApplicationMaster tells of it: From, To and Fetched of the task are in ms before the call.
type Told struct{ course.Task }

// Enter enters tries of an attempt that runs, if they are kept. Call it in a loop's operation. Times outside of the attempt's life are moved into it.
func Enter(l loop.Operations, work *ledger.State, attempt *ledger.Attempt, told []Told, kept bool) {
	app := work.Apps[attempt.ID.App]
	if !kept || len(told) == 0 || app == nil || work.Version < ledger.CourseVersion {
		return
	}
	now := l.Time()
	may := MaxPerCall + perSecond*max(now-attempt.StartTime, 0)/1000
	if app.Course != nil {
		may -= int64(len(app.Course.Tasks)) + app.Course.TasksLost
	}
	c := &ledgerpb.CourseNoted{App: ledger.AppRef(attempt.ID.App)}
	keep := min(int64(len(told)), max(may, 0), MaxPerCall)
	all := make([]ledgerpb.CourseTask, keep) // one allocation
	c.Tasks = make([]*ledgerpb.CourseTask, keep)
	for i, t := range told[int64(len(told))-keep:] {
		t.Attempt = attempt.ID.Attempt
		at := func(ago int64) int64 { return min(max(now-max(ago, 0), attempt.StartTime), now) }
		if t.From, t.To = at(t.From), at(t.To); t.From > t.To {
			t.From = t.To
		}
		if t.Fetched == Never {
			t.Fetched = 0
		} else {
			t.Fetched = min(max(at(t.Fetched), t.From), t.To)
		}
		t.Fill(&all[i])
		c.Tasks[i] = &all[i]
	}
	if c.TasksLost = int64(len(told)) - keep; keep > 0 || app.Course == nil || c.TasksLost > 0 && app.Course.TasksLost == 0 {
		l.Enter(&ledgerpb.Command{CourseNoted: c})
	}
}
