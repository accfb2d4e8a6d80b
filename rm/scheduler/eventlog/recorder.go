package eventlog

import (
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
)

// Recorder is the door to a drive.Driver, whose events are written to a log. Without a writer nothing is written. Apply and Step are the only ways to change it, so that
// nothing happens beside the record; it answers the scheduler's questions and those of the drive.Driver.
type Recorder struct {
	scheduler.View
	drive.Facts
	driver  *drive.Driver
	log     *Writer
	now     *state // nil: the log continues in no other file
	flushed int64  // ms: when the log was flushed last
}

// flushEvery is how many ms of events a crash may cost.
const flushEvery = 1000

// Unrecorded makes a Recorder without a log.
func Unrecorded(cfg scheduler.Config) *Recorder {
	d := drive.New(cfg)
	return &Recorder{View: d.View, Facts: d, driver: d}
}

// New makes a Recorder, and begins a session in the log if there is one. queues holds what cfg.Tree is made from.
func New(cfg scheduler.Config, log *Writer, queues *Source, h Header) (*Recorder, error) {
	s := Unrecorded(cfg)
	if s.log = log; log == nil {
		return s, nil
	}
	h.Queues, h.Minimum, h.Heartbeat = queues, Amounts(cfg.Minimum), cfg.Heartbeat.Milliseconds()
	if log.dir != nil || log.behind != nil {
		s.now = newState(h)
	}
	err := log.Begin(h)
	log.opened()
	return s, err
}

// Apply carries out an event, and records it. It enters the results in the event: Node of an AddNode, App of an AddApp, Container of a Restore, and Open
// of those that may have no effect, which it reports, too. The event, its asks and its containers may be used again afterwards; what else it refers
// to must not change.
func (s *Recorder) Apply(e *Event) bool {
	ok := apply(s.driver, e)
	if s.log != nil {
		s.log.Append(e)
		if s.now != nil {
			s.now.follow(e)
		}
	}
	return ok
}

// goOn has the session go on in another file if this one is full, or after a gap. All containers have names now.
func goOn(s *Recorder, now int64) {
	if s.now == nil || !s.log.full() && !s.log.resumes() {
		return
	}
	h := s.now.header
	h.Time, h.Continues = now, true
	if s.log.Begin(h) == nil { // Err tells of it
		s.now.tell(s.log.Append, s.driver)
	}
	s.log.opened()
}

// Step decides. A call without decisions is recorded too, as it may have let time pass.
func (s *Recorder) Step(now int64) []drive.Decision {
	goOn(s, now)
	decisions := s.driver.Step(now)
	if s.log != nil {
		s.log.step(now, decisions)
		if s.now != nil {
			s.now.decided(now, decisions)
		}
		if now-s.flushed >= flushEvery || now < s.flushed {
			s.flushed = now
			_ = s.log.Flush() // Err tells of it
		}
	}
	return decisions
}

// Fetch has memory come of containers that will be freed soon. It changes nothing.
func (s *Recorder) Fetch(containers []scheduler.ContainerHandle) { s.driver.Fetch(containers) }

// Close flushes and closes the log, if there is one.
func (s *Recorder) Close() error {
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}
