package waits

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/ledger"
	"heddle/rm/ledger/course"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/explain"
	"heddle/yarn/records"
)

// cluster is what the scheduler says: why each application waits, by its number.
type cluster struct {
	reasons map[int32][]explain.Reason
	ended   map[int32]bool
	asked   int
	costs   func()
}

func id(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }

func (c *cluster) Pending(h scheduler.AppHandle) int64 { return int64(len(c.reasons[int32(h)])) }

func (c *cluster) ExplainAll(apps []scheduler.AppHandle, each func([]explain.Reason) bool) {
	for _, h := range apps {
		c.asked++
		c.costs()
		if !each(c.reasons[int32(h)]) {
			return
		}
	}
}

func (c *cluster) App(id records.ApplicationID) (scheduler.AppHandle, float32, bool) {
	return scheduler.AppHandle(id.ID), 0, !c.ended[id.ID]
}

func held(priority int32, limit explain.Limit) explain.Reason {
	r := explain.Reason{Limit: limit}
	r.Ask.Priority = priority
	return r
}

type world struct {
	*cluster
	*Noter
	loop *looptest.Loop
	used time.Duration // of the clock that it measures itself with
}

func newWorld(t *testing.T, apps int32) *world {
	w := &world{cluster: &cluster{reasons: map[int32][]explain.Reason{}, ended: map[int32]bool{}, costs: func() {}}, loop: looptest.New(t)}
	w.loop.State.Version = ledger.CourseVersion
	w.lead()
	for n := range apps {
		w.loop.State.Apps[id(n)] = &ledger.Application{ID: id(n)}
		w.AppBegan(w.loop.State.Apps[id(n)])
	}
	return w
}

// lead has another leader begin.
func (w *world) lead() {
	w.Noter = New(w.loop, w.loop.State, Config{Scheduler: w.cluster, Apps: w.cluster, Elapsed: func() time.Duration { return w.used }})
	for _, a := range w.loop.State.Apps {
		w.AppBegan(a)
	}
}

func (w *world) tick(n int) {
	for range n {
		_ = w.loop.Do(func() error { w.Tick(time.Now()); return nil })
		time.Sleep(time.Second)
	}
}

// A leader whose receipts are off notes nothing, and asks the scheduler nothing.
func TestNothingIsNotedWhereReceiptsAreOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.cfg.Off = true
		w.reasons[0] = []explain.Reason{held(1, explain.QueueMasters)}
		if w.tick(3); w.asked > 0 || w.loop.State.Apps[id(0)].Course != nil {
			t.Errorf("asked %d times: %+v", w.asked, w.loop.State.Apps[id(0)].Course)
		}
	})
}

// Each change of a limit is noted once, by priority, also by the next leader.
func TestChangesAreNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		began := time.Now().UnixMilli()
		for _, reasons := range [][]explain.Reason{
			{held(1, explain.QueueMasters)},
			{},
			{held(20, explain.UserLimit), held(20, explain.ClusterFull), held(10, explain.ClusterFull)},
			{held(20, explain.UserLimit), held(10, explain.BehindOwn)},
			{held(10, explain.NoLimit)},
		} {
			w.reasons[1] = reasons
			w.tick(3)
			w.lead()
		}
		var got []string
		for _, x := range w.loop.State.Apps[id(1)].Course.Waits {
			got = append(got, fmt.Sprintf("%d %d %s %v", (x.At-began)/1000, x.Priority, x.Limit, x.Begins))
		}
		if want := "[0 1 am-queue true 3 1  false 6 10 free true 6 20 user-limit true 9 10 priority false 12 10  false 12 20  false]"; fmt.Sprint(got) != want {
			t.Errorf("%v, and not %s", got, want)
		}
		if c := w.loop.State.Apps[id(0)].Course; c != nil {
			t.Errorf("of one that never waited: %+v", c)
		}
	})
}

// Limits that take turns all day leave a bounded number of notes, ever fewer as time goes on.
func TestLimitsThatTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		for i := range 20_000 {
			w.reasons[0] = []explain.Reason{held(1, []explain.Limit{explain.ClusterFull, explain.OthersFirst}[i%2])}
			w.tick(1)
		}
		c := w.loop.State.Apps[id(0)].Course
		if len(c.Waits) > course.MaxWaits || w.asked > 2*course.MaxWaits {
			t.Errorf("%d notes after %d looks", len(c.Waits), w.asked)
		}
	})
}

// It rests two hundred times as long as it has worked, looks at a few at a time, and at all in the end; those that have ended are forgotten.
func TestTimeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const apps = 3 * maxExplained
		w := newWorld(t, apps)
		for n := range int32(apps) {
			w.reasons[n] = []explain.Reason{held(1, explain.ClusterFull)}
		}
		w.costs = func() { w.used += 100 * time.Microsecond }
		w.tick(1)
		if w.asked > 100 {
			t.Errorf("%d were looked at in a tick", w.asked)
		}
		w.tick(1000)
		if w.used > 1001*time.Second/100 {
			t.Errorf("it has worked for %v of 1001 s", w.used)
		}
		for n := range int32(apps) {
			if w.loop.State.Apps[id(n)].Course == nil {
				t.Fatalf("application %d was never looked at", n)
			}
			w.ended[n] = true
			w.AppEnded(id(n))
		}
		w.tick(5)
		if len(w.list)+len(w.apps) != 0 {
			t.Errorf("%d and %d are remembered", len(w.list), len(w.apps))
		}
	})
}

// Nothing is written that another member can't read.
func TestNotesNeedTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.loop.State.Version = ledger.CourseVersion - 1
		w.reasons[0] = []explain.Reason{held(1, explain.ClusterFull)}
		w.tick(2)
		if w.loop.State.Apps[id(0)].Course != nil {
			t.Error("it was")
		}
	})
}
