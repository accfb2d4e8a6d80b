package eventlog

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

// Driver is a drive.Driver whose events are written to a log. Without a writer it is the Driver alone. It passes on questions (drive.View), and the
// changes that have a method here.
type Driver struct {
	drive.View
	driver *drive.Driver
	labels
	log     *Writer
	now     *state // nil: the log continues in no other file
	flushed int64  // ms: when the log was flushed last
	noted   Record // the last event, for its memory
}

// labels records what becomes of the labels and attributes of nodes, and of allocation tags.
type labels struct{ s *Driver }

// SetLabel changes the label of a node.
func (l labels) SetLabel(h scheduler.NodeHandle, label string) {
	l.s.note(Record{Op: SetLabel, Node: h, Label: label})
	l.s.driver.SetLabel(h, label)
}

// SetExclusive says of a label whether only asks that name it may go to its nodes.
func (l labels) SetExclusive(label string, exclusive bool) {
	l.s.note(Record{Op: SetExclusive, Label: label, Open: exclusive})
	l.s.driver.SetExclusive(label, exclusive)
}

// SetAttributes says which attributes a host has.
func (l labels) SetAttributes(host string, to map[string]string) {
	l.s.note(Record{Op: SetAttributes, Host: host, Attributes: to})
	l.s.driver.SetAttributes(host, to)
}

// NameApp says how constraints of others name an application.
func (l labels) NameApp(h scheduler.AppHandle, id string, tags []string) {
	l.s.note(Record{Op: NameApp, App: h, Name: id, Add: tags})
	l.s.driver.NameApp(h, id, tags)
}

// SetTags says which allocation tags a restored container has.
func (l labels) SetTags(h scheduler.ContainerHandle, tags []string) {
	l.s.note(Record{Op: SetTags, Container: h, Add: tags})
	l.s.driver.SetTags(h, tags)
}

// flushEvery is how many ms of events a crash may cost.
const flushEvery = 1000

// New makes a Driver, and begins a session in the log if there is one. queues holds what cfg.Tree is made from.
func New(cfg scheduler.Config, log *Writer, queues *Source, h Header) (*Driver, error) {
	d := drive.New(cfg)
	s := &Driver{View: d, driver: d, log: log}
	s.labels.s = s
	if log == nil {
		return s, nil
	}
	h.Queues, h.Minimum, h.Heartbeat = queues, amountsOf(cfg.Minimum), cfg.Heartbeat.Milliseconds()
	if log.dir != nil || log.behind != nil {
		s.now = newState(h)
	}
	err := log.Begin(h)
	log.opened()
	return s, err
}

func (s *Driver) note(r Record) {
	if s.log != nil {
		s.noted = r // no one keeps it
		put(s, &s.noted)
	}
}

func put(s *Driver, r *Record) {
	s.log.Append(r)
	if s.now != nil {
		s.now.follow(r)
	}
}

// goOn has the session go on in another file if this one is full, or after a gap. All containers have names now.
func goOn(s *Driver, now int64) {
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

// Name notes what people call an application.
func (s *Driver) Name(h scheduler.AppHandle, name string) {
	s.note(Record{Op: Name, App: h, Name: name})
}

// AddNode is drive.Driver's, recorded, as are the following.
func (s *Driver) AddNode(spec scheduler.NodeSpec) scheduler.NodeHandle {
	h := s.driver.AddNode(spec)
	s.note(Record{Op: AddNode, Node: h, Host: spec.Host, Rack: spec.Rack, Resource: amountsOf(spec.Capability), Label: spec.Label})
	return h
}

// RemoveNode takes a node out.
func (s *Driver) RemoveNode(h scheduler.NodeHandle) {
	s.note(Record{Op: RemoveNode, Node: h})
	s.driver.RemoveNode(h)
}

// SetCapability changes what a node has.
func (s *Driver) SetCapability(h scheduler.NodeHandle, capability records.Resource) {
	s.note(Record{Op: SetCapability, Node: h, Resource: amountsOf(capability)})
	s.driver.SetCapability(h, capability)
}

// SetOpen says for which kinds of work a node takes new containers.
func (s *Driver) SetOpen(h scheduler.NodeHandle, to scheduler.Works) {
	r := Record{Op: SetOpen, Node: h, Open: to != scheduler.NoWork}
	if r.Open && to != scheduler.AllWork {
		r.Work = to
	}
	s.note(r)
	s.driver.SetOpen(h, to)
}

// AddApp enters an application.
func (s *Driver) AddApp(spec drive.AppSpec) scheduler.AppHandle {
	h := s.driver.AddApp(spec)
	if s.log != nil {
		r := Record{
			Op: AddApp, App: h, Priority: spec.Priority, Seq: spec.Seq, Queue: spec.Queue, User: spec.User, Type: spec.Type, Resource: amountsOf(spec.AM),
			AM: spec.SpareMaster, Never: spec.NeverSuspend, Label: spec.Label,
		}
		if spec.ID != (records.ApplicationID{}) {
			r.Name = spec.ID.String()
		}
		put(s, &r)
	}
	return h
}

// RemoveApp takes an application out.
func (s *Driver) RemoveApp(h scheduler.AppHandle) {
	s.note(Record{Op: RemoveApp, App: h})
	s.driver.RemoveApp(h)
}

// MoveApp puts an application into another leaf.
func (s *Driver) MoveApp(h scheduler.AppHandle, path string) {
	s.note(Record{Op: MoveApp, App: h, Queue: path})
	s.driver.MoveApp(h, path)
}

// SetPriority moves an application in the order of service.
func (s *Driver) SetPriority(h scheduler.AppHandle, priority int32) {
	s.note(Record{Op: SetPriority, App: h, Priority: priority})
	s.driver.SetPriority(h, priority)
}

// UpdateAsks enters rows of requests.
func (s *Driver) UpdateAsks(h scheduler.AppHandle, asks []scheduler.Ask) {
	if s.log != nil {
		s.log.update(h, asks)
	}
	s.driver.UpdateAsks(h, asks)
}

// ClearAsks withdraws everything that an application asks for.
func (s *Driver) ClearAsks(h scheduler.AppHandle) {
	s.note(Record{Op: ClearAsks, App: h})
	s.driver.ClearAsks(h)
}

// UpdateBlacklist changes where an application wants no containers.
func (s *Driver) UpdateBlacklist(h scheduler.AppHandle, add, remove []string) {
	s.note(Record{Op: UpdateBlacklist, App: h, Add: add, Remove: remove})
	s.driver.UpdateBlacklist(h, add, remove)
}

// Restore enters a container that was granted earlier.
func (s *Driver) Restore(a scheduler.AppHandle, n scheduler.NodeHandle, r records.Resource, c drive.Container) scheduler.ContainerHandle {
	h := s.driver.Restore(a, n, r, c)
	s.note(Record{
		Op: Restore, Container: h, App: a, Node: n, Resource: amountsOf(r),
		Attempt: c.Attempt, First: c.ID, Priority: c.Priority, AM: c.AM, Since: c.Since,
	})
	return h
}

// Identify says what containers are called.
func (s *Driver) Identify(attempt int32, first int64, am bool, containers ...scheduler.ContainerHandle) {
	if s.log != nil {
		s.log.identify(attempt, first, am, containers)
		if s.now != nil {
			s.now.identify(attempt, first, am, containers)
		}
	}
	s.driver.Identify(attempt, first, am, containers...)
}

// Free gives back what a container holds.
func (s *Driver) Free(h scheduler.ContainerHandle) {
	noteFree(s, h, false)
	s.driver.Free(h)
}

func noteFree(s *Driver, h scheduler.ContainerHandle, failed bool) {
	if s.log == nil {
		return
	}
	s.log.free(h, failed)
	if s.now != nil {
		s.now.containers[h] = containerNow{}
	}
}

// Fail gives back what a container holds that ended before its work was done.
func (s *Driver) Fail(h scheduler.ContainerHandle) {
	noteFree(s, h, true)
	s.driver.Fail(h)
}

// ResizeContainer changes what a container holds.
func (s *Driver) ResizeContainer(h scheduler.ContainerHandle, to records.Resource) bool {
	ok := s.driver.ResizeContainer(h, to)
	s.note(Record{Op: Resize, Container: h, Resource: amountsOf(to), Open: ok})
	return ok
}

// Grow lets a container grow when there is room.
func (s *Driver) Grow(h scheduler.ContainerHandle, to records.Resource) bool {
	ok := s.driver.Grow(h, to)
	s.note(Record{Op: Grow, Container: h, Resource: amountsOf(to), Open: ok})
	return ok
}

// SetHeld changes what a container takes on its node.
func (s *Driver) SetHeld(h scheduler.ContainerHandle, to records.Resource) bool {
	ok := s.driver.SetHeld(h, to)
	s.note(Record{Op: SetHeld, Container: h, Resource: amountsOf(to), Open: ok})
	return ok
}

// NoteHeld takes over what a node says that a container takes.
func (s *Driver) NoteHeld(h scheduler.ContainerHandle, to records.Resource) bool {
	ok := s.driver.NoteHeld(h, to)
	s.note(Record{Op: NoteHeld, Container: h, Resource: amountsOf(to), Open: ok})
	return ok
}

// SetAbility says what a node can do.
func (s *Driver) SetAbility(n scheduler.NodeHandle, a drive.Ability) {
	s.driver.SetAbility(n, a)
	if s.log != nil {
		s.note(Record{Op: SetAbility, Node: n, Ability: &a})
	}
}

// SetMemory says how much memory a container uses.
func (s *Driver) SetMemory(h scheduler.ContainerHandle, bytes int64) {
	s.driver.SetMemory(h, bytes)
	s.note(Record{Op: SetMemory, Container: h, Total: bytes})
}

// Took says how long it took until a container was suspended.
func (s *Driver) Took(h scheduler.ContainerHandle, ms int64) {
	s.driver.Took(h, ms)
	s.note(Record{Op: Took, Container: h, Total: ms})
}

// SetProgress says how much of an application is done.
func (s *Driver) SetProgress(a scheduler.AppHandle, part float64) {
	s.driver.SetProgress(a, part)
	s.note(Record{Op: SetProgress, App: a, Part: part})
}

// NoteOutputs says how many maps of an application have outputs, and how large these are together.
func (s *Driver) NoteOutputs(a scheduler.AppHandle, maps, bytes int64) {
	s.note(Record{Op: NoteOutputs, App: a, Maps: maps, Bytes: bytes})
	s.driver.NoteOutputs(a, maps, bytes)
}

// NoteTasks says what an ApplicationMaster tells of its tasks.
func (s *Driver) NoteTasks(a scheduler.AppHandle, r scheduler.TaskReport) {
	t := tasks(r)
	s.note(Record{Op: NoteTasks, App: a, Tasks: &t})
	s.driver.NoteTasks(a, r)
}

// NoteSpeed says how fast the nodes of a host run tasks of a type.
func (s *Driver) NoteSpeed(host string, t survey.Task, speed float64) {
	s.note(Record{Op: NoteSpeed, Host: host, Task: t, Part: speed})
	s.driver.NoteSpeed(host, t, speed)
}

// NoteBandwidth says how fast outputs of maps are fetched, in bytes per second.
func (s *Driver) NoteBandwidth(rate float64) {
	s.note(Record{Op: NoteBandwidth, Part: rate})
	s.driver.NoteBandwidth(rate)
}

// NoteStaged says for how many waiting maps of an application a node has the input in memory.
func (s *Driver) NoteStaged(a scheduler.AppHandle, n scheduler.NodeHandle, maps int64) {
	s.note(Record{Op: NoteStaged, App: a, Node: n, Maps: maps})
	s.driver.NoteStaged(a, n, maps)
}

// WasSuspended enters a container that an earlier leader has suspended.
func (s *Driver) WasSuspended(h scheduler.ContainerHandle, held records.Resource, since int64, queue string) bool {
	ok := s.driver.WasSuspended(h, held, since, queue)
	s.note(Record{Op: WasSuspended, Container: h, Resource: amountsOf(held), Since: since, Queue: queue, Open: ok})
	return ok
}

// SetPast says how often and for how long a container was suspended before.
func (s *Driver) SetPast(h scheduler.ContainerHandle, times int, total int64) {
	s.driver.SetPast(h, times, total)
	s.note(Record{Op: SetPast, Container: h, Times: times, Total: total})
}

// SetStopped says that people or an ApplicationMaster suspend a container, or resume it.
func (s *Driver) SetStopped(h scheduler.ContainerHandle, stopped bool) {
	s.driver.SetStopped(h, stopped)
	s.note(Record{Op: SetStopped, Container: h, Open: stopped})
}

// Return gives a suspended container its claim again.
func (s *Driver) Return(h scheduler.ContainerHandle, forced bool) bool {
	ok := s.driver.Return(h, forced)
	s.note(Record{Op: Return, Container: h, Forced: forced, Open: ok})
	return ok
}

// Refused says that a node can't suspend a container, and whether that had begun.
func (s *Driver) Refused(h scheduler.ContainerHandle, begun bool) {
	op := Refused
	if !begun {
		op = NotBegun
	}
	s.note(Record{Op: op, Container: h})
	s.driver.Refused(h, begun)
}

// Swap suspends a container for a request of its application.
func (s *Driver) Swap(h scheduler.ContainerHandle, priority int32, request int64) error {
	err := s.driver.Swap(h, priority, request)
	s.note(Record{Op: Swap, Container: h, Priority: priority, Request: request, Open: err == nil})
	return err
}

// Unswap resumes it.
func (s *Driver) Unswap(h scheduler.ContainerHandle) {
	s.note(Record{Op: Unswap, Container: h})
	s.driver.Unswap(h)
}

// SetTree replaces the queues. source holds what they are made from.
func (s *Driver) SetTree(t *queue.Tree, source *Source) error {
	err := s.driver.SetTree(t)
	s.note(Record{Op: SetTree, Queues: source, Open: err == nil})
	return err
}

// Step decides. A call without decisions is recorded too, as it may have let time pass.
func (s *Driver) Step(now int64) []drive.Decision {
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

// Close flushes and closes the log, if there is one.
func (s *Driver) Close() error {
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}
