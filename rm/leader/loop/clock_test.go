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

// After a standstill of a minute dates lagged for ten: they followed at a tenth of the speed.
func TestDatesJumpAfterAStandstill(t *testing.T) {
	const s = time.Second
	type step struct{ elapsed, wall, now, date time.Duration }
	for name, steps := range map[string][]step{
		"a standstill":               {{s, s, s, s}, {60 * s, 60 * s, 2 * s, 61 * s}, {s, s, 3 * s, 62 * s}, {60 * s, 60 * s, 4 * s, 122 * s}},
		"the wall was set meanwhile": {{60 * s, time.Hour, s + s/10, 60*s + s/10}, {s, s, 2*s + 2*s/10, 61*s + 2*s/10}},
		"set back meanwhile":         {{60 * s, -time.Hour, 9 * s / 10, 9 * s / 10}},
		"the wall stood still, too":  {{60 * s, s, s, s}, {s, 60 * s, 2*s + s/10, 2*s + s/10}},
		"half of it":                 {{60 * s, 31 * s, s, 31 * s}},
		"set, without a standstill":  {{s, time.Hour, 11 * s / 10, 11 * s / 10}},
		"set back after it":          {{60 * s, 60 * s, s, 60 * s}, {s, -30 * s, 19 * s / 10, 60*s + 9*s/10}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatch()
			for i, x := range steps {
				now := w.pass(x.elapsed, x.wall)
				if date := w.Date().Sub(w.begun); now != x.now || date != x.date {
					t.Errorf("step %d: it is %v, and the date %v; want %v and %v", i, now, date, x.now, x.date)
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
	if e == nil || e.Level != logrus.WarnLevel || e.Data["pause"] != time.Minute || !strings.Contains(e.Message, "was stopped") {
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

// The time of a leadership is known once it has gone with the member's own for a while, and not from what a member reads from its disk when it begins.
func TestChronicle(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	type seen struct{ elapsed, time time.Duration } // since the one before
	for name, x := range map[string]struct {
		notes []seen
		later time.Duration
		want  time.Duration // since the first note; 0: it isn't known
	}{
		"nothing":                       {},
		"one note":                      {[]seen{{s, s}}, time.Hour, 0},
		"steady":                        {[]seen{{s, 0}, {5 * s, 5 * s}, {5 * s, 5 * s}}, 3 * s, 13 * s},
		"nearly steady":                 {[]seen{{s, 0}, {5 * s, 5 * s}, {5*s - ms, 5*s - ms}}, 3 * s, 0},
		"a tenth faster":                {[]seen{{s, 0}, {100 * s, 110 * s}, {100 * s, 110 * s}}, s, 221 * s},
		"a tenth slower":                {[]seen{{s, 0}, {100 * s, 90 * s}, {100 * s, 90 * s}}, s, 181 * s},
		"read from the disk":            {[]seen{{s, 0}, {ms, s}, {ms, s}, {ms, s}, {ms, s}, {ms, s}, {20 * s, 0}}, time.Hour, 0},
		"another leader's":              {[]seen{{s, 0}, {20 * s, 20 * s}, {s, time.Hour}}, s, 0},
		"steady after another leader's": {[]seen{{s, 0}, {20 * s, 20 * s}, {s, time.Hour}, {11 * s, 11 * s}}, s, time.Hour + 32*s},
	} {
		t.Run(name, func(t *testing.T) {
			var elapsed, at time.Duration
			c := Chronicle{Elapsed: func() time.Duration { return elapsed }}
			for _, n := range x.notes {
				elapsed, at = elapsed+n.elapsed, at+n.time
				c.Note(1_000_000 + at.Milliseconds())
			}
			elapsed += x.later
			first := time.UnixMilli(1_000_000)
			if len(x.notes) > 0 {
				first = first.Add(x.notes[0].time)
			}
			if now, known := c.Now(); known != (x.want > 0) || known && now.Sub(first) != x.want {
				t.Errorf("%v after the first, known %v, want %v", now.Sub(first), known, x.want)
			}
		})
	}
}

// A leadership goes on from the time of the one before, wherever the clock on the wall is by then.
func TestClockGoesOnFromTheLastLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var past Chronicle
		log, _ := logtest.NewNullLogger()
		begun := time.Now()
		for range 12 {
			past.Note(time.Now().UnixMilli())
			time.Sleep(time.Second)
		}
		l := New(Config{State: ledger.New(), Log: logrus.NewEntry(log), Past: &past, Wall: func() time.Time { return time.Now().Add(time.Hour) }})
		if got := l.Now().Sub(begun); got.Round(time.Millisecond) != 12*time.Second {
			t.Errorf("it is %v later", got)
		}
	})
}
