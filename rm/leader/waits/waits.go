// Package waits notes what holds the requests of applications while they wait, for their receipts (rm/receipt). A leader has one Noter. Each second it
// asks the scheduler's explainer about the applications that wait, and enters into the ledger which limits have changed. It takes a two-hundredth of the
// loop's time at most: where very many wait, it asks less often.
package waits

import (
	"maps"
	"slices"
	"time"

	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/explain"
	"heddle/yarn/records"
)

// Scheduler says what waits, and why (eventlog.Recorder).
type Scheduler interface {
	Pending(h scheduler.AppHandle) int64
	ExplainAll(apps []scheduler.AppHandle, each func([]explain.Reason) bool)
}

// Apps are the live applications.
type Apps interface {
	App(id records.ApplicationID) (h scheduler.AppHandle, progress float32, ok bool)
}

// Config has the parts that a Noter works with.
type Config struct {
	Scheduler Scheduler
	Apps      Apps
	Off       bool                 // nothing is noted
	Elapsed   func() time.Duration // a clock to measure its own work with; nil: the machine's monotonic one
}

// Bounds of one tick, and of what is noted of one application.
const (
	maxExplained  = 256                   // applications
	maxTime       = 10 * time.Millisecond // after which the rest waits for the next tick
	rest          = 200                   // how often as long it rests after that
	maxPriorities = 8
	// perDoubling is after how many notes of an application the time doubles between two looks at it, so that limits that take turns for a day
	// leave less than course.MaxWaits notes.
	perDoubling = 10
)

// Noter notes the waits of a leadership. Its methods are for the loop's operations.
type Noter struct {
	cfg  Config
	loop loop.Operations
	work *ledger.State
	apps map[records.ApplicationID]*state
	list []records.ApplicationID // the keys of apps, in the order in which they are looked at, and some that have ended
	next int                     // of list
	due  time.Time
}

// state holds an application's limits.
type state struct {
	held map[int32]string // by priority, as noted last
	due  time.Time        // it isn't looked at before
}

// New makes the Noter of a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Noter {
	if cfg.Elapsed == nil {
		began := time.Now()
		cfg.Elapsed = func() time.Duration { return time.Since(began) }
	}
	return &Noter{cfg: cfg, loop: loop, work: work, apps: map[records.ApplicationID]*state{}}
}

// AppBegan records a live application; one that was taken over continues where the leader before left it.
func (n *Noter) AppBegan(app *ledger.Application) {
	if n.apps[app.ID] == nil {
		n.list = append(n.list, app.ID)
	}
	n.apps[app.ID] = &state{held: app.Course.Held()}
}

// AppEnded forgets an application.
func (n *Noter) AppEnded(id records.ApplicationID) { delete(n.apps, id) }

// Tick looks at applications that wait, if it is time.
func (n *Noter) Tick(now time.Time) {
	if n.cfg.Off || n.work.Version < ledger.CourseVersion || now.Before(n.due) {
		return
	}
	began := n.cfg.Elapsed()
	ids, handles, places := n.waiting(now)
	explained := 0
	n.cfg.Scheduler.ExplainAll(handles, func(reasons []explain.Reason) bool {
		n.note(ids[explained], limits(reasons), now)
		explained++
		return n.cfg.Elapsed()-began < maxTime
	})
	if explained < len(ids) {
		n.next = places[explained]
	}
	n.due = now.Add(rest * (n.cfg.Elapsed() - began))
}

// waiting returns the next applications that wait, with their places in the list. For those that don't wait any more it notes that.
func (n *Noter) waiting(now time.Time) (ids []records.ApplicationID, handles []scheduler.AppHandle, places []int) {
	for range len(n.list) {
		if len(ids) == maxExplained {
			break
		}
		if n.next >= len(n.list) {
			n.next = 0
		}
		at := n.next
		id := n.list[at]
		s := n.apps[id]
		h, _, live := n.cfg.Apps.App(id)
		if s == nil || !live {
			last := len(n.list) - 1
			n.list[at], n.list = n.list[last], n.list[:last]
			continue
		}
		n.next++
		switch {
		case now.Before(s.due):
		case n.cfg.Scheduler.Pending(h) > 0:
			ids, handles, places = append(ids, id), append(handles, h), append(places, at)
		case len(s.held) > 0:
			n.note(id, nil, now)
		}
	}
	return ids, handles, places
}

// limits returns the limit of the most urgent request of each priority.
func limits(reasons []explain.Reason) map[int32]string {
	out := map[int32]string{}
	for i := range reasons {
		p := reasons[i].Ask.Priority
		if _, known := out[p]; known || reasons[i].Limit == explain.NoLimit {
			continue
		}
		if len(out) == maxPriorities {
			break
		}
		out[p] = string(reasons[i].Limit)
	}
	return out
}

// note enters what has changed since the last look at an application.
func (n *Noter) note(id records.ApplicationID, now map[int32]string, at time.Time) {
	s := n.apps[id]
	c := &ledgerpb.CourseNoted{App: ledger.AppRef(id)}
	for _, p := range sorted(now) {
		if was, waited := s.held[p]; was != now[p] {
			c.Waits = append(c.Waits, &ledgerpb.CourseWait{Priority: p, Limit: now[p], Begins: !waited})
		}
	}
	for _, p := range sorted(s.held) {
		if _, waits := now[p]; !waits {
			c.Waits = append(c.Waits, &ledgerpb.CourseWait{Priority: p})
		}
	}
	s.held = now
	if app := n.work.Apps[id]; len(c.Waits) > 0 && app != nil {
		n.loop.Enter(&ledgerpb.Command{CourseNoted: c})
		if app.Course != nil {
			s.due = at.Add(time.Second<<min(len(app.Course.Waits)/perDoubling, 20) - time.Second)
		}
	}
}

func sorted(m map[int32]string) []int32 {
	return slices.Sorted(maps.Keys(m))
}
