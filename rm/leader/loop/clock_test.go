package loop

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"heddle/rm/ledger"
)

// watch is a loop of which only the clock is used, with the times that it is told.
type watch struct {
	*Loop
	wall    time.Time
	elapsed time.Duration
	log     *logtest.Hook
	begun   time.Time
}

func newWatch() *watch {
	log, hook := logtest.NewNullLogger()
	w := &watch{wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), elapsed: time.Hour, log: hook}
	w.begun = w.wall
	w.Loop = New(Config{
		State: ledger.New(), Log: logrus.NewEntry(log),
		Wall: func() time.Time { return w.wall }, Elapsed: func() time.Duration { return w.elapsed },
	})
	return w
}

// pass lets time pass, and the clock on the wall go as far as it is told, and returns how far the loop's clock has gone since it began.
func (w *watch) pass(elapsed, wall time.Duration) time.Duration {
	w.elapsed += elapsed
	w.wall = w.wall.Add(wall)
	return w.Now().Sub(w.begun)
}

// The clock goes with the time that passes, and a tenth faster or slower while the clock on the wall is elsewhere.
func TestClockApproachesTheWall(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for name, steps := range map[string][]struct{ elapsed, wall, want time.Duration }{
		"on time":                        {{0, 0, 0}, {s, s, s}, {s, s, 2 * s}, {ms, ms, 2*s + ms}},
		"the wall is an hour ahead":      {{s, time.Hour, 1100 * ms}, {s, s, 2200 * ms}, {5 * s, 5 * s, 7700 * ms}},
		"the wall was set back":          {{s, -time.Hour, 900 * ms}, {s, s, 1800 * ms}, {0, 0, 1800 * ms}},
		"the wall stands still":          {{s, 0, 900 * ms}, {s, 0, 1800 * ms}},
		"no further than the wall":       {{s, s + 40*ms, s + 40*ms}, {s, s, 2*s + 40*ms}},
		"no further back than the wall":  {{s, s - 40*ms, s - 40*ms}},
		"a step while no time passes":    {{0, time.Hour, 0}, {0, -2 * time.Hour, 0}},
		"elapsed time that goes back":    {{s, s, s}, {-s, 0, s}, {s, s, 2 * s}},
		"just not a pause":               {{5 * s, 5 * s, 5 * s}},
		"a pause":                        {{5*s + ms, time.Hour, 1100 * ms}, {s, s, 2200 * ms}},
		"a pause with the wall standing": {{time.Hour, 0, 900 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatch()
			for i, x := range steps {
				if got := w.pass(x.elapsed, x.wall); got != x.want {
					t.Errorf("step %d: the clock has gone %v, want %v", i, got, x.want)
				}
			}
		})
	}
}

// A pause of the process is on record with its length; other times aren't.
func TestPausesAreLogged(t *testing.T) {
	w := newWatch()
	w.pass(5*time.Second, time.Second)
	if e := w.log.LastEntry(); e != nil {
		t.Errorf("logged: %s", e.Message)
	}
	w.pass(time.Minute, 0)
	e := w.log.LastEntry()
	if e == nil || e.Level != logrus.WarnLevel || e.Data["pause"] != time.Minute || !strings.Contains(e.Message, "stood still") {
		t.Errorf("logged: %+v", e)
	}
}

// Without another source elapsed time is the machine's.
func TestClockOfTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := logtest.NewNullLogger()
		l := New(Config{State: ledger.New(), Log: logrus.NewEntry(log), Wall: time.Now})
		begun := time.Now()
		if got := l.Now(); !got.Equal(begun) {
			t.Errorf("begins at %v, not %v", got, begun)
		}
		time.Sleep(3 * time.Second)
		if got := l.Now().Sub(begun); got != 3*time.Second {
			t.Errorf("goes %v in 3 s", got)
		}
	})
}
