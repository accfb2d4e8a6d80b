package ipc

import (
	"sync/atomic"
	"time"
)

// Activity is what a server has done since it was made.
type Activity struct {
	Connections int   // that are open
	Running     int64 // calls in their handlers
	Answered    int64
	Failed      int64         // of Answered
	Took        time.Duration // from the handlers' begin to their end, of all answered calls together
}

// activity counts calls.
type activity struct{ running, answered, failed, took atomic.Int64 }

// begin counts a call that begins, and returns when.
func (a *activity) begin() time.Time {
	a.running.Add(1)
	return time.Now()
}

// end counts the end of a call.
func (a *activity) end(began time.Time, err error) {
	a.took.Add(int64(time.Since(began)))
	if err != nil {
		a.failed.Add(1)
	}
	a.answered.Add(1)
	a.running.Add(-1)
}

// Activity returns what the server has done.
func (s *Server) Activity() Activity {
	a := &s.activity
	return Activity{
		Connections: s.Connections(), Running: a.running.Load(),
		Answered: a.answered.Load(), Failed: a.failed.Load(), Took: time.Duration(a.took.Load()),
	}
}
