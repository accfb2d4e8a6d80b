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

// Replay plays a log event by event.
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

func (l live[H]) check(what string, h H) error {
	if !l[h] {
		return fmt.Errorf("there is no %s %d", what, h)
	}
	return nil
}

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
		err = p.guarded(e.Record)
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
	least, err := h.Minimum.resource()
	if err != nil {
		return fmt.Errorf("the session's smallest container: %w", err)
	}
	if h.Heartbeat < 0 || h.Heartbeat > time.Hour.Milliseconds() {
		return fmt.Errorf("the session's heartbeat is %d ms", h.Heartbeat)
	}
	p.Header, p.Time = h, h.Time
	p.Sessions++
	p.Driver = drive.New(scheduler.Config{Tree: tree, Types: types, Minimum: least, Heartbeat: time.Duration(h.Heartbeat) * time.Millisecond})
	p.nodes, p.apps, p.containers = live[scheduler.NodeHandle]{}, live[scheduler.AppHandle]{}, live[scheduler.ContainerHandle]{}
	p.owner, p.names = map[scheduler.ContainerHandle]holder{}, map[scheduler.AppHandle]string{}
	p.onNode, p.ofApp = map[scheduler.NodeHandle]int{}, map[scheduler.AppHandle]int{}
	return nil
}

// guarded plays an event, and takes a panic of the scheduler for what the log leads to.
func (p *Replay) guarded(r *Record) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s makes the scheduler panic: %v", r.Op, v)
		}
	}()
	return p.play(r)
}

func (p *Replay) play(r *Record) error {
	size, err := r.Resource.resource()
	if err != nil {
		return fmt.Errorf("%s: %w", r.Op, err)
	}
	switch r.Op {
	case AddNode, RemoveNode, SetLabel, SetCapability, SetOpen, SetAbility:
		err = p.node(r, size)
	case SetExclusive:
		p.Driver.SetExclusive(r.Label, r.Open)
	case SetAttributes:
		p.Driver.SetAttributes(r.Host, r.Attributes)
	case AddApp, RemoveApp, MoveApp, SetPriority, UpdateAsks, ClearAsks, UpdateBlacklist, SetProgress, NoteOutputs, NoteStaged, NoteTasks, Name, NameApp:
		err = p.app(r, size)
	case Identify:
		err = p.identify(r)
	case Restore, Free, Resize, Grow, SetHeld, NoteHeld, WasSuspended, SetPast, SetStopped, SetMemory, Took, Return, Refused, NotBegun, Swap, Unswap, SetTags:
		err = p.container(r, size)
	case Unreserve:
		if ok := p.Driver.Scheduler.Unreserve(r.Container); ok != r.Open {
			return &Difference{What: fmt.Sprintf("container %d was reserved: %v; now: %v", r.Container, r.Open, ok)}
		}
	case MoveReservation:
		if ok := p.Driver.Scheduler.MoveReservation(r.Container, r.Node); ok != r.Open {
			return &Difference{What: fmt.Sprintf("reservation %d could be moved to node %d: %v; now: %v", r.Container, r.Node, r.Open, ok)}
		}
	case MakeKillable:
		if ok := p.Driver.Scheduler.MakeKillable(r.Container); ok != r.Open {
			return &Difference{What: fmt.Sprintf("container %d became killable: %v; now: %v", r.Container, r.Open, ok)}
		}
	case PreemptFor:
		if err = p.containers.check("container", r.Container); err == nil && p.apps[r.App] { // else nothing was set aside
			p.Driver.Scheduler.PreemptFor(r.Container, r.App)
		}
	case NoteBandwidth:
		if !(r.Part >= 0) {
			err = fmt.Errorf("outputs are fetched at %v bytes per second", r.Part)
			break
		}
		p.Driver.NoteBandwidth(r.Part)
	case NoteSpeed:
		if !(r.Part >= 0) || r.Task >= survey.Tasks {
			err = fmt.Errorf("tasks of type %d are %v times as fast on host %q", r.Task, r.Part, r.Host)
			break
		}
		p.Driver.NoteSpeed(r.Host, r.Task, r.Part)
	case SpareKillable:
		p.Driver.Scheduler.SpareKillable()
	case Step, Schedule:
		return p.step(r)
	case SetTree:
		err = p.setTree(r)
	default:
		err = errors.New("this program has no such event")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.Op, err)
	}
	return nil
}

func (p *Replay) node(r *Record, size records.Resource) error {
	if r.Op == AddNode {
		return p.nodes.enter("node", r.Node, p.Driver.AddNode(scheduler.NodeSpec{Host: r.Host, Rack: r.Rack, Capability: size, Label: r.Label}))
	}
	if err := p.nodes.check("node", r.Node); err != nil {
		return err
	}
	switch r.Op {
	case RemoveNode:
		if n := p.onNode[r.Node]; n > 0 {
			return fmt.Errorf("node %d still has %d containers", r.Node, n)
		}
		delete(p.nodes, r.Node)
		p.Driver.RemoveNode(r.Node)
	case SetLabel:
		p.Driver.SetLabel(r.Node, r.Label)
	case SetCapability:
		p.Driver.SetCapability(r.Node, size)
	case SetOpen:
		to := scheduler.OpenIf(r.Open)
		if r.Work != scheduler.NoWork {
			to = r.Work
		}
		p.Driver.SetOpen(r.Node, to)
	case SetAbility:
		if r.Ability == nil {
			return errors.New("the log doesn't say what the node can do")
		}
		p.Driver.SetAbility(r.Node, *r.Ability)
	}
	return nil
}

func (p *Replay) app(r *Record, size records.Resource) error {
	if r.Op == AddApp {
		return p.addApp(r, size)
	}
	if err := p.apps.check("application", r.App); err != nil {
		return err
	}
	switch r.Op {
	case Name:
		p.names[r.App] = r.Name
	case NameApp:
		p.Driver.NameApp(r.App, r.Name, r.Add)
	case SetProgress:
		p.Driver.SetProgress(r.App, r.Part)
	case NoteOutputs:
		if r.Maps < 0 || r.Bytes < 0 {
			return fmt.Errorf("%d maps have outputs of %d bytes", r.Maps, r.Bytes)
		}
		p.Driver.NoteOutputs(r.App, r.Maps, r.Bytes)
	case NoteStaged:
		if r.Maps < 0 {
			return fmt.Errorf("the input of %d maps is in memory", r.Maps)
		}
		if err := p.nodes.check("node", r.Node); err != nil {
			return err
		}
		p.Driver.NoteStaged(r.App, r.Node, r.Maps)
	case NoteTasks:
		report, err := r.Tasks.decode()
		if err != nil {
			return err
		}
		p.Driver.NoteTasks(r.App, report)
	case RemoveApp:
		if n := p.ofApp[r.App]; n > 0 {
			return fmt.Errorf("application %d still has %d containers", r.App, n)
		}
		delete(p.apps, r.App)
		delete(p.names, r.App)
		p.Driver.RemoveApp(r.App)
	case MoveApp:
		p.Driver.MoveApp(r.App, r.Queue)
	case SetPriority:
		p.Driver.SetPriority(r.App, r.Priority)
	case UpdateAsks:
		asks := make([]scheduler.Ask, len(r.Asks))
		for i := range r.Asks {
			var err error
			if asks[i], err = r.Asks[i].decode(); err != nil {
				return err
			}
		}
		p.Driver.UpdateAsks(r.App, asks)
	case ClearAsks:
		p.Driver.ClearAsks(r.App)
	case UpdateBlacklist:
		p.Driver.UpdateBlacklist(r.App, r.Add, r.Remove)
	}
	return nil
}

func (p *Replay) addApp(r *Record, size records.Resource) (err error) {
	spec := drive.AppSpec{
		AppSpec:     scheduler.AppSpec{Priority: r.Priority, Seq: r.Seq, Queue: r.Queue, User: r.User, Type: r.Type, AM: size, Label: r.Label},
		SpareMaster: r.AM, NeverSuspend: r.Never,
	}
	if r.Name != "" {
		if spec.ID, err = records.ParseApplicationID(r.Name); err != nil {
			return err
		}
		p.names[r.App] = r.Name
	}
	return p.apps.enter("application", r.App, p.Driver.AddApp(spec))
}

// identify names containers.
func (p *Replay) identify(r *Record) error {
	for _, h := range r.Containers {
		if err := p.containers.check("container", h); err != nil {
			return err
		}
	}
	p.Driver.Identify(r.Attempt, r.First, r.AM, r.Containers...)
	return nil
}

func (p *Replay) container(r *Record, size records.Resource) error {
	if r.Op == Restore {
		if err := errors.Join(p.apps.check("application", r.App), p.nodes.check("node", r.Node)); err != nil {
			return err
		}
		h := p.Driver.Restore(r.App, r.Node, size, drive.Container{
			Attempt: r.Attempt, ID: r.First, Priority: r.Priority, AM: r.AM, Since: r.Since,
		})
		p.hold(h, r.App, r.Node)
		return p.containers.enter("container", r.Container, h)
	}
	if err := p.containers.check("container", r.Container); err != nil {
		return err
	}
	switch r.Op {
	case Resize:
		return p.same(r, "be resized to", p.Driver.ResizeContainer(r.Container, size))
	case Grow:
		return p.same(r, "wait for room to grow to", p.Driver.Grow(r.Container, size))
	case SetHeld:
		return p.same(r, "take", p.Driver.SetHeld(r.Container, size))
	case NoteHeld:
		return p.same(r, "be said to take", p.Driver.NoteHeld(r.Container, size))
	case WasSuspended:
		return p.same(r, "have been suspended with", p.Driver.WasSuspended(r.Container, size, r.Since, r.Queue))
	case Return:
		return p.same(r, "take its claim again, forced or not:", p.Driver.Return(r.Container, r.Forced))
	case Swap:
		return p.same(r, "stand still for its application, holding", p.Driver.Swap(r.Container, r.Priority, r.Request) == nil)
	case Unswap:
		p.Driver.Unswap(r.Container)
		return nil
	case SetTags:
		p.Driver.SetTags(r.Container, r.Add)
		return nil
	case SetMemory:
		p.Driver.SetMemory(r.Container, r.Total)
		return nil
	case Took:
		p.Driver.Took(r.Container, r.Total)
		return nil
	case SetPast:
		p.Driver.SetPast(r.Container, r.Times, r.Total)
		return nil
	case SetStopped:
		p.Driver.SetStopped(r.Container, r.Open)
		return nil
	case Refused, NotBegun:
		p.Driver.Refused(r.Container, r.Op == Refused)
		return nil
	}
	delete(p.containers, r.Container)
	p.onNode[p.owner[r.Container].node]--
	p.ofApp[p.owner[r.Container].app]--
	delete(p.owner, r.Container)
	if r.Failed {
		p.Driver.Fail(r.Container)
	} else {
		p.Driver.Free(r.Container)
	}
	return nil
}

// same compares what became of a container with what the log says.
func (p *Replay) same(r *Record, what string, ok bool) error {
	if ok != r.Open {
		return &Difference{What: fmt.Sprintf("container %d could %s %v: %v; now: %v", r.Container, what, r.Resource, r.Open, ok)}
	}
	return nil
}

func (p *Replay) hold(h scheduler.ContainerHandle, a scheduler.AppHandle, n scheduler.NodeHandle) {
	p.containers[h] = true
	p.owner[h] = holder{app: a, node: n}
	p.onNode[n]++
	p.ofApp[a]++
}

// setTree replaces the queues.
func (p *Replay) setTree(r *Record) error {
	if r.Queues == nil {
		return errors.New("the log doesn't say what the new queues are")
	}
	tree, _, err := r.Queues.Tree()
	if err != nil {
		return err
	}
	if err := p.Driver.SetTree(tree); (err == nil) != r.Open {
		return &Difference{What: fmt.Sprintf("the new queues were taken: %v; now: %v", r.Open, err)}
	}
	return nil
}

// step runs the Driver, and compares. In a log of the first format the scheduler alone decides: what rounds did stands there
// as events.
func (p *Replay) step(r *Record) error {
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
	a, errA := d.Resource.resource()
	b, errB := o.Resource.resource()
	return errA == nil && errB == nil && a == b && d.Kind == o.Kind && d.App == o.App && d.Container == o.Container && d.Node == o.Node &&
		d.Priority == o.Priority && d.ID == o.ID && d.Execution == o.Execution && d.Locality == o.Locality
}

func (p *Replay) describe(d *Decision) string {
	r, _ := d.Resource.resource()
	return fmt.Sprintf("%s %v to %s as container %d on node %d (priority %d, request %d, locality %d)",
		d.Kind, r, p.NameOf(d.App), d.Container, d.Node, d.Priority, d.ID, d.Locality)
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
