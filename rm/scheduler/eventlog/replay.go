package eventlog

import (
	"errors"
	"fmt"
	"io"
	"time"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

// Replay plays a log event by event, through the same door as a leader (apply).
type Replay struct {
	log       *Reader
	Header    *Header       // of the session that is played
	Driver    *drive.Driver // in the state that the events so far have led to
	Time      int64         // of the last call to Step, in ms since 1970
	Line      int           // of the last event
	Sessions  int
	Events    int
	Decisions int64

	nodes      live[scheduler.NodeHandle]
	apps       live[scheduler.AppHandle]
	containers live[scheduler.ContainerHandle]
	owner      map[scheduler.ContainerHandle]holder
	onNode     map[scheduler.NodeHandle]int // containers
	ofApp      map[scheduler.AppHandle]int
	names      map[scheduler.AppHandle]string
}

type holder struct {
	app  scheduler.AppHandle
	node scheduler.NodeHandle
}

// live knows which handles name something.
type live[H ~int32] map[H]bool

func (l live[H]) enter(what string, want, got H) error {
	if want != got {
		return &Difference{What: fmt.Sprintf("%s %d of the log is %s %d now", what, want, what, got)}
	}
	l[got] = true
	return nil
}

// Difference is a decision that isn't the one of the log.
type Difference struct {
	Line int
	Time int64 // ms since 1970
	What string
}

func (d *Difference) Error() string {
	return fmt.Sprintf("line %d, %s: %s", d.Line, clock(d.Time), d.What)
}

// NewReplay plays a log from its beginning.
func NewReplay(log io.Reader) *Replay { return &Replay{log: NewReader(log)} }

// Torn reports whether the log ended within a line.
func (p *Replay) Torn() bool { return p.log.Torn() }

// Step plays the next entry and returns it. It returns io.EOF at the end, a *Difference where the scheduler decides otherwise
// than the log says, and other errors where the log can't be played.
func (p *Replay) Step() (Entry, error) {
	e, err := p.log.Next()
	if err != nil {
		return e, err
	}
	p.Line = e.Line
	if e.Header != nil {
		err = p.begin(e.Header)
	} else {
		p.Events++
		err = p.guarded(e.Event)
	}
	var differs *Difference
	if errors.As(err, &differs) {
		differs.Line, differs.Time = e.Line, p.Time
		return e, differs
	}
	if err != nil {
		return e, fmt.Errorf("line %d: %w", e.Line, err)
	}
	return e, nil
}

// begin throws away what was, as a new leader does.
func (p *Replay) begin(h *Header) error {
	if h.Continues {
		return errors.New("this file goes on with a session that began in another one, without all of the scheduler's state: heddle what-if reads it, a replay can't")
	}
	tree, types, err := h.Queues.Tree()
	if err != nil {
		return fmt.Errorf("the session's queues: %w", err)
	}
	if h.Heartbeat < 0 || h.Heartbeat > time.Hour.Milliseconds() {
		return fmt.Errorf("the session's heartbeat is %d ms", h.Heartbeat)
	}
	p.Header, p.Time = h, h.Time
	p.Sessions++
	p.Driver = drive.New(scheduler.Config{Tree: tree, Types: types, Minimum: records.Resource(h.Minimum), Heartbeat: time.Duration(h.Heartbeat) * time.Millisecond})
	p.nodes, p.apps, p.containers = live[scheduler.NodeHandle]{}, live[scheduler.AppHandle]{}, live[scheduler.ContainerHandle]{}
	p.owner, p.names = map[scheduler.ContainerHandle]holder{}, map[scheduler.AppHandle]string{}
	p.onNode, p.ofApp = map[scheduler.NodeHandle]int{}, map[scheduler.AppHandle]int{}
	return nil
}

// guarded plays an event, and takes a panic of the scheduler for what the log leads to.
func (p *Replay) guarded(e *Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s makes the scheduler panic: %v", e.Op, v)
		}
	}()
	switch e.Op {
	case Step, Schedule:
		return p.step(e)
	case Unreserve, MoveReservation, MakeKillable, PreemptFor, SpareKillable:
		err = p.first(e)
	default:
		err = p.play(e)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.Op, err)
	}
	return nil
}

// play applies an event if it can be one, and compares the results.
func (p *Replay) play(e *Event) error {
	if err := p.check(e); err != nil {
		return err
	}
	now := *e
	if e.Op == SetTree {
		var err error
		if now.Tree, _, err = e.Queues.Tree(); err != nil {
			return err
		}
	}
	apply(p.Driver, &now)
	if now.Open != e.Open {
		return p.otherwise(e, &now)
	}
	switch e.Op {
	case AddNode:
		return p.nodes.enter("node", e.Node, now.Node)
	case AddApp:
		if now.Err != nil {
			return now.Err
		}
		p.names[e.App] = e.Name
		return p.apps.enter("application", e.App, now.App)
	case Restore:
		p.hold(now.Container, e.App, e.Node)
		return p.containers.enter("container", e.Container, now.Container)
	case Name:
		p.names[e.App] = e.Name
	}
	return nil
}

// subjects says what an event is about: what must be there. Those that aren't listed are none that can be applied.
var subjects = map[Op]struct{ node, app, container bool }{
	AddNode: {}, AddApp: {}, SetExclusive: {}, SetAttributes: {}, NoteBandwidth: {}, NoteSpeed: {}, SetTree: {}, Identify: {},
	RemoveNode: {node: true}, SetLabel: {node: true}, SetCapability: {node: true}, SetOpen: {node: true}, SetAbility: {node: true},
	RemoveApp: {app: true}, MoveApp: {app: true}, SetPriority: {app: true}, UpdateAsks: {app: true}, ClearAsks: {app: true},
	UpdateBlacklist: {app: true}, SetProgress: {app: true}, NoteOutputs: {app: true}, NoteTasks: {app: true}, Name: {app: true}, NameApp: {app: true},
	NoteStaged: {app: true, node: true}, Restore: {app: true, node: true},
	Free: {container: true}, Resize: {container: true}, Grow: {container: true}, SetHeld: {container: true}, NoteHeld: {container: true},
	WasSuspended: {container: true}, SetPast: {container: true}, SetStopped: {container: true}, SetMemory: {container: true}, Took: {container: true},
	Return: {container: true}, Refused: {container: true}, NotBegun: {container: true}, Swap: {container: true}, Unswap: {container: true},
	SetTags: {container: true},
}

// check refuses what a scheduler wouldn't survive: events of what isn't there, or with values that can't be. It takes out of the books what goes.
func (p *Replay) check(e *Event) error {
	needs, known := subjects[e.Op]
	if !known {
		return errors.New("this program has no such event")
	}
	var missing []error
	if needs.app && !p.apps[e.App] {
		missing = append(missing, fmt.Errorf("there is no application %d", e.App))
	}
	if needs.node && !p.nodes[e.Node] {
		missing = append(missing, fmt.Errorf("there is no node %d", e.Node))
	}
	if needs.container && !p.containers[e.Container] {
		missing = append(missing, fmt.Errorf("there is no container %d", e.Container))
	}
	if err := errors.Join(missing...); err != nil {
		return err
	}
	switch e.Op {
	case Identify:
		for _, h := range e.Containers {
			if !p.containers[h] {
				return fmt.Errorf("there is no container %d", h)
			}
		}
	case RemoveNode:
		if n := p.onNode[e.Node]; n > 0 {
			return fmt.Errorf("node %d still has %d containers", e.Node, n)
		}
		delete(p.nodes, e.Node)
	case RemoveApp:
		if n := p.ofApp[e.App]; n > 0 {
			return fmt.Errorf("application %d still has %d containers", e.App, n)
		}
		delete(p.apps, e.App)
		delete(p.names, e.App)
	case Free:
		delete(p.containers, e.Container)
		p.onNode[p.owner[e.Container].node]--
		p.ofApp[p.owner[e.Container].app]--
		delete(p.owner, e.Container)
	}
	return e.sane()
}

// sane refuses values that no caller of Recorder.Apply has.
func (e *Event) sane() error {
	switch e.Op {
	case SetAbility:
		if e.Ability == nil {
			return errors.New("the log doesn't say what the node can do")
		}
	case NoteOutputs:
		if e.Maps < 0 || e.Bytes < 0 {
			return fmt.Errorf("%d maps have outputs of %d bytes", e.Maps, e.Bytes)
		}
	case NoteStaged:
		if e.Maps < 0 {
			return fmt.Errorf("the input of %d maps is in memory", e.Maps)
		}
	case NoteTasks:
		if !e.Tasks.sane() {
			return fmt.Errorf("%+v can't be what an ApplicationMaster tells of its tasks", e.Tasks)
		}
	case NoteBandwidth:
		if !(e.Part >= 0) {
			return fmt.Errorf("outputs are fetched at %v bytes per second", e.Part)
		}
	case NoteSpeed:
		if !(e.Part >= 0) || e.Task >= survey.Tasks {
			return fmt.Errorf("tasks of type %d are %v times as fast on host %q", e.Task, e.Part, e.Host)
		}
	case SetTree:
		if e.Queues == nil {
			return errors.New("the log doesn't say what the new queues are")
		}
	}
	return nil
}

// could says what a container could do, or not, for people.
var could = map[Op]string{
	Resize: "be resized to", Grow: "wait for room to grow to", SetHeld: "take", NoteHeld: "be said to take",
	WasSuspended: "have been suspended with", Return: "take its claim again, forced or not:", Swap: "stand still for its application, holding",
}

// otherwise is the difference of an event that had an effect then, and none now, or the other way round.
func (p *Replay) otherwise(e, now *Event) error {
	if e.Op == SetTree {
		return &Difference{What: fmt.Sprintf("the new queues were taken: %v; now: %v", e.Open, now.Err)}
	}
	return &Difference{What: fmt.Sprintf("container %d could %s %v: %v; now: %v", e.Container, could[e.Op], records.Resource(e.Resource), e.Open, now.Open)}
}

// first plays an event of the first format, in which what rounds of preemption did stands as events.
func (p *Replay) first(e *Event) error {
	s := p.Driver.Scheduler
	switch e.Op {
	case Unreserve:
		if ok := s.Of(e.Container).Unreserve(e.Container); ok != e.Open {
			return &Difference{What: fmt.Sprintf("container %d was reserved: %v; now: %v", e.Container, e.Open, ok)}
		}
	case MoveReservation:
		if ok := s.Of(e.Container).MoveReservation(e.Container, e.Node); ok != e.Open {
			return &Difference{What: fmt.Sprintf("reservation %d could be moved to node %d: %v; now: %v", e.Container, e.Node, e.Open, ok)}
		}
	case MakeKillable:
		if ok := s.MakeKillable(e.Container); ok != e.Open {
			return &Difference{What: fmt.Sprintf("container %d became killable: %v; now: %v", e.Container, e.Open, ok)}
		}
	case PreemptFor:
		if !p.containers[e.Container] {
			return fmt.Errorf("there is no container %d", e.Container)
		}
		if p.apps[e.App] { // else nothing was set aside
			s.PreemptFor(e.Container, e.App)
		}
	case SpareKillable:
		s.SpareKillable()
	}
	return nil
}

func (p *Replay) hold(h scheduler.ContainerHandle, a scheduler.AppHandle, n scheduler.NodeHandle) {
	p.containers[h] = true
	p.owner[h] = holder{app: a, node: n}
	p.onNode[n]++
	p.ofApp[a]++
}

// step runs the Driver, and compares. In a log of the first format the scheduler alone decides: what rounds did stands there
// as events.
func (p *Replay) step(r *Event) error {
	p.Time = r.Time
	var now []drive.Decision
	if r.Op == Step {
		now = p.Driver.Step(r.Time)
	} else {
		now = p.Driver.Place(r.Time)
	}
	for i := range now {
		if d := &now[i]; d.Kind == drive.Allocate {
			p.hold(d.Container, d.App, d.Node)
		}
	}
	p.Decisions += int64(len(now))
	got := decisionsOf(now)
	for i := range max(len(got), len(r.Decisions)) {
		switch {
		case i >= len(got):
			return p.differs("now nothing more is decided", i, &r.Decisions[i], nil)
		case i >= len(r.Decisions):
			return p.differs("the log has no more decisions", i, nil, &got[i])
		case !got[i].equal(&r.Decisions[i]):
			return p.differs("another decision", i, &r.Decisions[i], &got[i])
		}
	}
	return nil
}

func (p *Replay) differs(how string, i int, then, now *Decision) error {
	what := fmt.Sprintf("decision %d: %s", i+1, how)
	if then != nil {
		what += "\n  then: " + p.describe(then)
	}
	if now != nil {
		what += "\n  now:  " + p.describe(now)
	}
	return &Difference{What: what}
}

func (d *Decision) equal(o *Decision) bool {
	a, b := *d, *o
	a.Reason, a.For = b.Reason, b.For
	return a == b
}

func (p *Replay) describe(d *Decision) string {
	return fmt.Sprintf("%s %v to %s as container %d on node %d (priority %d, request %d, locality %d)",
		d.Kind, records.Resource(d.Resource), p.NameOf(d.App), d.Container, d.Node, d.Priority, d.ID, d.Locality)
}

// NameOf returns what people call an application.
func (p *Replay) NameOf(h scheduler.AppHandle) string {
	if name := p.names[h]; name != "" {
		return name
	}
	return fmt.Sprintf("application %d", h)
}

// Find returns the application of a name.
func (p *Replay) Find(name string) (scheduler.AppHandle, bool) {
	for h := range p.apps {
		if p.NameOf(h) == name {
			return h, true
		}
	}
	return 0, false
}
