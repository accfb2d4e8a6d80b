package play

import (
	"math"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim/whatif/load"
	"heddle/yarn/records"
)

// phase of an application.
type phase uint8

const (
	later   phase = iota // not submitted yet
	waiting              // for its ApplicationMaster's container
	working
	over
)

// state is an application.
type state struct {
	spec       *load.App
	handle     scheduler.AppHandle
	phase      phase
	index      int           // of the attempt
	at         *load.Attempt // nil: the record had none
	generation int32         // of attempts
	ending     bool          // the attempt's end is entered
	asking     bool          // the next ask is entered
	next       int           // ask
	ended      int32
	changed    int // Changes that were carried out
	kinds      []kind
	master     scheduler.ContainerHandle
	begun      int64 // when it was asked for
	asks       load.Demands
	running    []scheduler.ContainerHandle
	again      []load.Row // requests for what was lost, until its ApplicationMaster asks for them

	maps    int // completions
	reduces []scheduler.ContainerHandle

	// Those that are held share work.
	work           int64 // container · ms done
	since          int64
	workers        int64
	workGeneration int32
	finished       int64 // ms of container time that completed, for progress
	restarted      bool
}

// kind is containers of one priority and size of the current attempt.
type kind struct {
	next  int
	again []load.Life
	waits load.Waits
}

// noContainer stands for an application whose ApplicationMaster has none.
const noContainer scheduler.ContainerHandle = -1

// key packs an application and a generation of it.
func key(app int32, generation int32) int64 { return int64(generation)<<32 | int64(uint32(app)) }

func unkey(k int64) (app int32, generation int32) { return int32(uint32(k)), int32(k >> 32) }

// arrival submits an application, and enters the next one's arrival.
type arrival struct{ *player }

func (p arrival) Handle(app int64) {
	if next := int(app) + 1; next < len(p.load.Apps) {
		p.at(p.load.Apps[next].Submit, p, int64(next))
	}
	s := &p.apps[app]
	a := s.spec
	p.submitted++
	s.handle = p.driver.AddApp(drive.AppSpec{
		AppSpec: scheduler.AppSpec{Priority: a.Priority, Seq: p.submitted, Queue: p.queueOf(a.Queue), User: a.User, Type: a.Type, AM: a.Master, Label: a.Label},
		ID:      idOf(p.player, int(app)), SpareMaster: a.Spare, NeverSuspend: a.Keep,
	})
	if a.ID != "" {
		p.driver.NameApp(s.handle, a.ID, a.Tags)
	}
	for len(p.byHandle) <= int(s.handle) {
		p.byHandle = append(p.byHandle, 0)
	}
	p.byHandle[s.handle] = int32(app)
	if len(a.Changes) > 0 {
		p.at(a.Submit+a.Changes[0].After, alteration(p), app)
	}
	if a.Withdrawn > 0 {
		p.at(a.Submit+a.Withdrawn, withdrawal(p), app)
	}
	p.beginAttempt(int32(app), 0)
}

// idOf is the id of an application. Those of the record keep theirs, unless two have the same.
func idOf(p *player, app int) records.ApplicationID {
	if app < len(p.load.Apps) {
		if id, err := records.ParseApplicationID(p.load.Apps[app].ID); err == nil {
			return id
		}
	}
	return records.ApplicationID{ClusterTimestamp: math.MaxInt64 - 1, ID: int32(app)}
}

// alteration carries out what befell an application from outside.
type alteration struct{ *player }

func (p alteration) Handle(app int64) {
	s := &p.apps[app]
	if s.phase == over {
		return
	}
	c := &s.spec.Changes[s.changed]
	s.changed++
	switch c.Op {
	case eventlog.MoveApp:
		p.driver.MoveApp(s.handle, p.queueOf(c.Queue))
	case eventlog.SetPriority:
		p.driver.SetPriority(s.handle, c.Priority)
	case eventlog.UpdateBlacklist:
		p.driver.UpdateBlacklist(s.handle, c.Add, c.Remove)
	}
	if s.changed < len(s.spec.Changes) {
		p.at(s.spec.Submit+s.spec.Changes[s.changed].After, p, app)
	}
}

// withdrawal ends an application that was withdrawn.
type withdrawal struct{ *player }

func (p withdrawal) Handle(app int64) {
	if p.apps[app].phase != over {
		p.end(int32(app))
	}
}

// beginAttempt begins the attempt of an index, or ends the application if there is none.
func (p *player) beginAttempt(app int32, index int) {
	s := &p.apps[app]
	if index > 0 && index >= len(s.spec.Attempts) {
		p.end(app)
		return
	}
	s.index, s.at = index, &load.Attempt{Fixed: -1}
	if index < len(s.spec.Attempts) {
		s.at = &s.spec.Attempts[index]
	}
	s.generation++
	s.next, s.ended, s.ending, s.asking, s.maps, s.reduces = 0, 0, false, false, 0, nil
	s.work, s.workers, s.since = 0, 0, p.now()
	s.kinds = make([]kind, len(s.at.Kinds))
	s.master, s.begun, s.again = noContainer, p.now(), nil
	s.phase = waiting
	switch {
	case s.at.Master.Is && !s.restarted:
		p.goOn(app)
	case s.spec.Master.IsZero():
		p.restore(app)
		p.ready(app)
	default:
		p.askMaster(app)
	}
}

// askMaster asks for the ApplicationMaster's container.
func (p *player) askMaster(app int32) {
	s := &p.apps[app]
	p.enter(app, []load.Row{{Ask: scheduler.Ask{Priority: 0, Name: scheduler.Any, Capability: s.spec.Master, Count: 1, RelaxLocality: true, Label: s.spec.Label}}})
}

// enter has an application ask for more, or less.
func (p *player) enter(app int32, rows []load.Row) {
	s := &p.apps[app]
	asks := make([]scheduler.Ask, len(rows))
	now := p.now()
	for i := range rows {
		asks[i] = rows[i].Ask
		if asks[i].Name == scheduler.Any && s.phase == working {
			if k := s.kindOf(asks[i].Priority, &asks[i].Capability); k >= 0 {
				s.kinds[k].waits.Ask(now, int64(asks[i].Count))
			}
		}
		asks[i].Count = s.asks.Add(&rows[i].Ask)
	}
	p.driver.UpdateAsks(s.handle, asks)
}

func (s *state) kindOf(priority int32, size *records.Resource) int {
	for i := range s.at.Kinds {
		if k := &s.at.Kinds[i]; k.Priority == priority && k.Size == *size {
			return i
		}
	}
	return -1
}

// ready has an ApplicationMaster work that has its container, or needs none.
func (p *player) ready(app int32) {
	s := &p.apps[app]
	s.phase = working
	if s.at.Fixed >= 0 {
		p.endAfter(app, p.faster(s.at.Fixed))
		s.ending = false // others' ends may come before
	}
	p.advance(app)
}

// faster is how long what took some ms takes on nodes of the speed.
func (p *player) faster(ms int64) int64 {
	if p.opt.Speed != 1 {
		ms = int64(math.Ceil(float64(ms) / p.opt.Speed))
	}
	return p.about(ms)
}

// How far times are off with jitter: a part of them, and some ms, as calls and heartbeats take longer or shorter.
const (
	jitterPart = 0.02
	jitterMS   = 50.0
)

// about is a time in ms with its jitter.
func (p *player) about(ms int64) int64 {
	if p.random == nil || ms <= 0 {
		return ms
	}
	return max(ms+int64((2*p.random.Float64()-1)*(jitterPart*float64(ms)+jitterMS)), 1)
}

// advance enters the next ask or the attempt's end, if what it follows has happened.
func (p *player) advance(app int32) {
	s := &p.apps[app]
	if s.phase != working || s.ending || s.asking {
		return
	}
	stuck := len(s.running) == 0 && s.asks.Open() == 0 && len(s.again) == 0 || len(s.running) == 1 && s.running[0] == s.master && s.asks.Open() == 0 && len(s.again) == 0
	if s.next < len(s.at.Asks) {
		if a := &s.at.Asks[s.next]; s.ended >= a.Ended || stuck {
			s.asking = true
			p.at(p.now()+p.about(a.Delay), asking{p}, key(app, s.generation))
		}
		return
	}
	if s.at.Fixed >= 0 {
		return
	}
	if s.at.Held == 0 && s.ended >= s.at.Ends || stuck {
		s.ending = true
		p.endAfter(app, s.at.Tail)
	}
}

// asking makes the next request of an application.
type asking struct{ *player }

func (p asking) Handle(k int64) {
	app, generation := unkey(k)
	s := &p.apps[app]
	if s.generation != generation || s.phase != working {
		return
	}
	s.asking = false
	rows := s.at.Asks[s.next].Rows
	s.next++
	p.enter(app, rows)
	p.advance(app)
}

// reask asks for what was lost.
type reask struct{ *player }

func (p reask) Handle(k int64) {
	app, generation := unkey(k)
	s := &p.apps[app]
	if s.generation != generation || s.phase != working || len(s.again) == 0 {
		return
	}
	rows := s.again
	s.again = nil
	p.enter(app, rows)
}

func (p *player) endAfter(app int32, ms int64) {
	p.at(p.now()+ms, ending{p}, key(app, p.apps[app].generation))
}

// ending ends an attempt.
type ending struct{ *player }

func (p ending) Handle(k int64) {
	app, generation := unkey(k)
	if s := &p.apps[app]; s.generation == generation && s.phase == working {
		p.endAttempt(app)
	}
}

// endAttempt ends an attempt with its containers, and begins the next one, or ends the application.
func (p *player) endAttempt(app int32) {
	p.clear(app)
	p.apps[app].restarted = false
	p.beginAttempt(app, p.apps[app].index+1)
}

// clear ends what an attempt has and asks for.
func (p *player) clear(app int32) {
	s := &p.apps[app]
	for len(s.running) > 0 {
		p.free(s.running[len(s.running)-1], false)
	}
	p.driver.ClearAsks(s.handle)
	s.asks.Clear()
	s.generation++
}

// end ends an application.
func (p *player) end(app int32) {
	s := &p.apps[app]
	p.clear(app)
	s.phase = over
	p.over++
	if int(app) >= len(p.load.Apps) {
		p.addedOver++
	}
	p.driver.RemoveApp(s.handle)
	p.result.Apps[app].End = p.now()
	s.kinds, s.reduces, s.again, s.running = nil, nil, nil, nil
}
