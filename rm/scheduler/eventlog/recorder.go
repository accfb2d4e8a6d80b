package eventlog

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Scheduler is a scheduler whose events are written to a log. Without a writer it is the scheduler alone. Questions go to
// the scheduler; whatever changes it must go through here.
type Scheduler struct {
	*scheduler.Scheduler
	log     *Writer
	flushed int64 // ms: when the log was flushed last
}

// flushEvery is how many ms of events a crash may cost.
const flushEvery = 1000

// New makes a scheduler, and begins a session in the log if there is one. queues is what cfg.Tree is made from.
func New(cfg scheduler.Config, log *Writer, queues *Source, h Header) (*Scheduler, error) {
	s := &Scheduler{Scheduler: scheduler.New(cfg), log: log}
	if log == nil {
		return s, nil
	}
	h.Queues, h.Minimum, h.Heartbeat = queues, amountsOf(cfg.Minimum), cfg.Heartbeat.Milliseconds()
	return s, log.Begin(h)
}

func (s *Scheduler) note(r Record) {
	if s.log != nil {
		kept := r // only this one outlives the call, and costs an allocation
		s.log.Append(&kept)
	}
}

// Name notes what people call an application.
func (s *Scheduler) Name(h scheduler.AppHandle, name string) {
	s.note(Record{Op: Name, App: h, Name: name})
}

// AddNode is scheduler.Scheduler's, recorded, as are the following.
func (s *Scheduler) AddNode(spec scheduler.NodeSpec) scheduler.NodeHandle {
	h := s.Scheduler.AddNode(spec)
	s.note(Record{Op: AddNode, Node: h, Host: spec.Host, Rack: spec.Rack, Resource: amountsOf(spec.Capability)})
	return h
}

// RemoveNode takes a node out.
func (s *Scheduler) RemoveNode(h scheduler.NodeHandle) {
	s.note(Record{Op: RemoveNode, Node: h})
	s.Scheduler.RemoveNode(h)
}

// SetCapability changes what a node has.
func (s *Scheduler) SetCapability(h scheduler.NodeHandle, capability records.Resource) {
	s.note(Record{Op: SetCapability, Node: h, Resource: amountsOf(capability)})
	s.Scheduler.SetCapability(h, capability)
}

// SetOpen says whether a node takes new containers.
func (s *Scheduler) SetOpen(h scheduler.NodeHandle, open bool) {
	s.note(Record{Op: SetOpen, Node: h, Open: open})
	s.Scheduler.SetOpen(h, open)
}

// AddApp enters an application.
func (s *Scheduler) AddApp(spec scheduler.AppSpec) scheduler.AppHandle {
	h := s.Scheduler.AddApp(spec)
	s.note(Record{
		Op: AddApp, App: h, Priority: spec.Priority, Seq: spec.Seq, Queue: spec.Queue, User: spec.User, Resource: amountsOf(spec.AM),
	})
	return h
}

// RemoveApp takes an application out.
func (s *Scheduler) RemoveApp(h scheduler.AppHandle) {
	s.note(Record{Op: RemoveApp, App: h})
	s.Scheduler.RemoveApp(h)
}

// MoveApp puts an application into another leaf.
func (s *Scheduler) MoveApp(h scheduler.AppHandle, path string) {
	s.note(Record{Op: MoveApp, App: h, Queue: path})
	s.Scheduler.MoveApp(h, path)
}

// SetPriority moves an application in the order of service.
func (s *Scheduler) SetPriority(h scheduler.AppHandle, priority int32) {
	s.note(Record{Op: SetPriority, App: h, Priority: priority})
	s.Scheduler.SetPriority(h, priority)
}

// UpdateAsks enters rows of requests.
func (s *Scheduler) UpdateAsks(h scheduler.AppHandle, asks []scheduler.Ask) {
	if s.log != nil {
		s.note(Record{Op: UpdateAsks, App: h, Asks: asksOf(asks)})
	}
	s.Scheduler.UpdateAsks(h, asks)
}

// ClearAsks withdraws everything that an application asks for.
func (s *Scheduler) ClearAsks(h scheduler.AppHandle) {
	s.note(Record{Op: ClearAsks, App: h})
	s.Scheduler.ClearAsks(h)
}

// UpdateBlacklist changes where an application wants no containers.
func (s *Scheduler) UpdateBlacklist(h scheduler.AppHandle, add, remove []string) {
	s.note(Record{Op: UpdateBlacklist, App: h, Add: add, Remove: remove})
	s.Scheduler.UpdateBlacklist(h, add, remove)
}

// Restore enters a container that was granted earlier.
func (s *Scheduler) Restore(a scheduler.AppHandle, n scheduler.NodeHandle, r records.Resource) scheduler.ContainerHandle {
	h := s.Scheduler.Restore(a, n, r)
	s.note(Record{Op: Restore, Container: h, App: a, Node: n, Resource: amountsOf(r)})
	return h
}

// Free gives back what a container holds.
func (s *Scheduler) Free(h scheduler.ContainerHandle) {
	s.note(Record{Op: Free, Container: h})
	s.Scheduler.Free(h)
}

// ResizeContainer changes what a container holds.
func (s *Scheduler) ResizeContainer(h scheduler.ContainerHandle, to records.Resource) bool {
	ok := s.Scheduler.ResizeContainer(h, to)
	s.note(Record{Op: Resize, Container: h, Resource: amountsOf(to), Open: ok})
	return ok
}

// Unreserve undoes a reservation.
func (s *Scheduler) Unreserve(h scheduler.ContainerHandle) bool {
	ok := s.Scheduler.Unreserve(h)
	s.note(Record{Op: Unreserve, Container: h, Open: ok})
	return ok
}

// MoveReservation keeps another node for what a node is kept for.
func (s *Scheduler) MoveReservation(h scheduler.ContainerHandle, to scheduler.NodeHandle) bool {
	ok := s.Scheduler.MoveReservation(h, to)
	s.note(Record{Op: MoveReservation, Container: h, Node: to, Open: ok})
	return ok
}

// MakeKillable has a container end when its room is needed.
func (s *Scheduler) MakeKillable(h scheduler.ContainerHandle) bool {
	ok := s.Scheduler.MakeKillable(h)
	s.note(Record{Op: MakeKillable, Container: h, Open: ok})
	return ok
}

// Promise has the room of a container go to an application.
func (s *Scheduler) Promise(h scheduler.ContainerHandle, to scheduler.AppHandle) {
	s.note(Record{Op: Promise, Container: h, App: to})
	s.Scheduler.Promise(h, to)
}

// SpareKillable has no container be killable any more.
func (s *Scheduler) SpareKillable() {
	s.note(Record{Op: SpareKillable})
	s.Scheduler.SpareKillable()
}

// SetTree replaces the queues. source is what they are made from.
func (s *Scheduler) SetTree(t *queue.Tree, source *Source) error {
	err := s.Scheduler.SetTree(t)
	s.note(Record{Op: SetTree, Queues: source, Open: err == nil})
	return err
}

// Schedule decides. A call without decisions is recorded too, as it may have let time pass.
func (s *Scheduler) Schedule(now int64) []scheduler.Decision {
	decisions := s.Scheduler.Schedule(now)
	if s.log != nil {
		s.log.Append(&Record{Op: Schedule, Time: now, Decisions: decisionsOf(decisions)})
		if now-s.flushed >= flushEvery || now < s.flushed {
			s.flushed = now
			_ = s.log.Flush() // Err tells of it
		}
	}
	return decisions
}

// Close flushes and closes the log, if there is one.
func (s *Scheduler) Close() error {
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}
