package ledger

import (
	"slices"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

// CauseVersion is the first version of the ledger that records the beneficiary of suspensions, and their duration.
const CauseVersion = 4

// maxSpans is how many suspensions of a container are remembered one by one.
const maxSpans = 16

// Cause is the beneficiary of a container's suspension or shrinking. The zero value means that its ApplicationMaster did it.
type Cause struct {
	Queue string                // path of the leaf whose application gets its resources; "": preemption hasn't chosen it
	App   records.ApplicationID // that application
	User  string                // who asked for it, of a container that preemption hasn't chosen
	// BreathEvery is the time in ms between two moments in which it runs; 0: as nodes are told in general, less: it never does.
	BreathEvery int64
}

// ForShortTasks is the User of suspensions for short tasks that wait on the container's node (rm/leader/opportunity). No user has such a name.
const ForShortTasks = "(short tasks)"

// Suspension is how a container was suspended or shrunk so far. The zero value is of one that never was.
type Suspension struct {
	Cause       // the present one's, or the last one's
	Since int64 // when the present one began, in ms since 1970; 0: it has what it claims
	Times int32
	Total int64  // ms, without the present one
	Spans []Span // the first ones that are over
}

// Span is a time in which a container was suspended or shrunk, in ms since 1970.
type Span struct {
	From, To int64
	Cause    Cause
}

// For returns how long a container was suspended or shrunk until now, in ms, the present suspension included.
func (s *Suspension) For(now int64) int64 {
	if s.Since == 0 {
		return s.Total
	}
	return s.Total + max(now-s.Since, 0)
}

// Suspension returns how the container was suspended or shrunk so far.
func (c *Container) Suspension() Suspension {
	if s := c.extra().suspension; s != nil {
		return *s
	}
	return Suspension{}
}

func (c *Container) setSuspension(s *Suspension) {
	e := c.extra()
	e.suspension = s
	c.setExtras(e)
}

// beSuspended records that a container is below its claim from now on, or is so for another beneficiary.
func (c *Container) beSuspended(now int64, cause Cause) {
	s := c.Suspension()
	s.Cause = cause
	if s.Since == 0 {
		s.Since = now
		s.Times++
	}
	c.setSuspension(&s)
}

// endSuspension records that a container has its claim again, or has ended.
func (c *Container) endSuspension(now int64) {
	if was := c.extra().suspension; was == nil || was.Since == 0 {
		return
	}
	s := c.Suspension()
	s.Total = s.For(now)
	if len(s.Spans) < maxSpans {
		s.Spans = append(slices.Clip(s.Spans), Span{From: s.Since, To: max(now, s.Since), Cause: s.Cause})
	}
	s.Since = 0
	c.setSuspension(&s)
}

func (c Cause) record() *ledgerpb.SuspensionCause {
	r := &ledgerpb.SuspensionCause{Queue: c.Queue, User: c.User, BreathEveryMs: c.BreathEvery}
	if c.App != (records.ApplicationID{}) {
		r.App = AppRef(c.App)
	}
	return r
}

func causeOf(r *ledgerpb.SuspensionCause) Cause {
	c := Cause{Queue: r.GetQueue(), User: r.GetUser(), BreathEvery: r.GetBreathEveryMs()}
	if r.GetApp() != nil {
		c.App = appID(r.GetApp())
	}
	return c
}

func (s *Suspension) record() *ledgerpb.Suspension {
	if s == nil {
		return nil
	}
	r := &ledgerpb.Suspension{Cause: s.Cause.record(), Since: s.Since, Times: s.Times, Total: s.Total}
	for _, span := range s.Spans {
		r.Spans = append(r.Spans, &ledgerpb.SuspendedSpan{From: span.From, To: span.To, Cause: span.Cause.record()})
	}
	return r
}

func readSuspension(r *ledgerpb.Suspension) *Suspension {
	if r == nil {
		return nil
	}
	s := &Suspension{Cause: causeOf(r.GetCause()), Since: r.GetSince(), Times: r.GetTimes(), Total: r.GetTotal()}
	for _, span := range r.GetSpans() {
		s.Spans = append(s.Spans, Span{From: span.GetFrom(), To: span.GetTo(), Cause: causeOf(span.GetCause())})
	}
	return s
}
