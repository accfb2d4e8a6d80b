package loop

import "time"

// alarm is a timer that goes off at a date of the leadership.
type alarm struct {
	*time.Timer
	due int64 // in ms since 1970; 0: it doesn't go off
}

func newAlarm() *alarm {
	t := time.NewTimer(0)
	t.Stop()
	return &alarm{Timer: t}
}

// set changes the date, 0 to none. It asks the clock only if the date is another one than before.
func (a *alarm) set(due int64, c *clock) {
	if due == a.due {
		return
	}
	if a.due = due; due > 0 {
		a.Reset(time.UnixMilli(due).Sub(c.Now()))
	} else {
		a.Stop()
	}
}
