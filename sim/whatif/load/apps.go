package load

import (
	"fmt"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// app is an application while the record is read.
type app struct {
	App
	confirmed, gone bool
	leaf            string // where it is now
	rank            int32  // its priority now
	asks            Demands
	open            *open // attempt that continues; nil: none
	running         []*container
	shapes          map[place]scheduler.Ask // what rows ask for, of those that wait
}

// open is an attempt that continues.
type open struct {
	Attempt
	begin       int64
	cause       int64 // what the next ask follows
	granted     int64 // when the ApplicationMaster's container was; -1: not yet
	ended       int32 // containers
	failed      bool
	masterEnded bool
	drop        bool // its ApplicationMaster was preempted or lost
	last        int64
	waits       []Waits // by kind
	debts       []debt  // by kind
	master      Waits
}

// debt holds what a kind has lost to preemption, and to nodes that went.
type debt struct {
	lost []loss // whose requests will follow
	free []int  // lives, of containers that will be granted in their place: the requests were made
}

type loss struct {
	life int
	at   int64
}

// container is a container while the record is read.
type container struct {
	name      records.ContainerID
	app       *app
	of        *open
	kind      int // -1: the ApplicationMaster's
	life      int
	node      int
	begin     int64
	size      records.Resource
	stopped   int64 // since when it is suspended; -1: it runs
	suspended int64
	killed    bool
	gone      bool     // it has ended
	tags      []string // allocation tags
	part      *Outcome // of the label that its node had when it began
	confirmed bool
	place     int // in app.running
}

func (b *builder) addApp(r *eventlog.Event, line int) error {
	if known := b.byID[r.Name]; r.Name != "" && known != nil && !known.gone && !known.confirmed {
		known.confirmed = true
		b.apps[r.App] = known
		b.change(known, r.Queue != known.leaf, Change{Op: eventlog.MoveApp, Queue: r.Queue})
		b.change(known, r.Priority != known.rank, Change{Op: eventlog.SetPriority, Priority: r.Priority})
		return nil
	}
	a := &app{App: App{
		ID: r.Name, Name: r.Name, Queue: r.Queue, User: r.User, Type: r.Type, Label: r.Label, Priority: r.Priority, Master: records.Resource(r.Resource),
		Spare: r.AM, Keep: r.Never, Submit: b.now, Before: b.opening && b.restored(),
		Line: line, Then: Outcome{Granted: -1, End: -1},
	}, confirmed: true, leaf: r.Queue, rank: r.Priority}
	b.apps[r.App] = a
	b.list = append(b.list, a)
	if r.Name != "" {
		b.byID[r.Name] = a
	}
	return nil
}

// restored reports whether the session continues with containers that were there before.
func (b *builder) restored() bool {
	for i := range b.window {
		if b.window[i].Op == eventlog.Restore {
			return true
		}
	}
	return false
}

func (b *builder) change(a *app, differs bool, c Change) {
	if !differs {
		return
	}
	c.After = b.now - a.Submit
	switch c.Op {
	case eventlog.MoveApp:
		a.leaf = c.Queue
	case eventlog.SetPriority:
		a.rank = c.Priority
	}
	a.Changes = append(a.Changes, c)
}

func (b *builder) app(r *eventlog.Event) error {
	a := b.apps[r.App]
	if a == nil {
		return fmt.Errorf("there is no application %d", r.App)
	}
	switch r.Op {
	case eventlog.Name:
		a.Name = r.Name
	case eventlog.NameApp:
		a.Tags = r.Add
	case eventlog.RemoveApp:
		delete(b.apps, r.App)
		b.removeApp(a)
	case eventlog.ClearAsks: // its ApplicationMaster has unregistered, or its attempt ends
		a.asks.Clear()
		clear(a.shapes)
		if a.open != nil {
			clear(a.open.waits)
		}
	case eventlog.MoveApp:
		b.change(a, true, Change{Op: r.Op, Queue: r.Queue})
	case eventlog.SetPriority:
		b.change(a, true, Change{Op: r.Op, Priority: r.Priority})
	case eventlog.UpdateBlacklist:
		b.change(a, true, Change{Op: r.Op, Add: r.Add, Remove: r.Remove})
	case eventlog.UpdateAsks:
		b.ask(a, r.Asks)
	}
	return nil
}

func (b *builder) removeApp(a *app) {
	b.closeAttempt(a)
	a.gone = true
	a.Then.End = b.now
	if len(a.Attempts) == 0 || !a.Attempts[len(a.Attempts)-1].granted {
		a.Withdrawn = max(b.now-a.Submit, 1)
	}
}

// attempt is the one that continues; it begins if there is none.
func (b *builder) attempt(a *app) *open {
	if a.open == nil {
		a.open = &open{begin: b.now, cause: b.now, granted: -1, Attempt: Attempt{Fixed: -1, Master: Start{}}}
		if a.Master.IsZero() {
			a.open.granted = b.now
			a.open.Attempt.granted = true
		}
	}
	return a.open
}

// kind finds the containers of a priority and size, which are entered if they are new.
func (o *open) kind(priority int32, size records.Resource) int {
	for i := range o.Kinds {
		if k := &o.Kinds[i]; k.Priority == priority && k.Size == size {
			return i
		}
	}
	o.Kinds = append(o.Kinds, Kind{Priority: priority, Size: size})
	o.waits, o.debts = append(o.waits, Waits{}), append(o.debts, debt{})
	return len(o.Kinds) - 1
}

// ask enters what an ApplicationMaster, or the ResourceManager for it, asks for.
func (b *builder) ask(a *app, asks []scheduler.Ask) {
	o := b.attempt(a)
	own := o.granted >= 0
	var rows []Row
	served := map[[2]int64]bool{} // requests that follow preemption, by priority and id
	for i := range asks {
		more := a.asks.Set(&asks[i])
		a.remember(&asks[i])
		row := Row{asks[i]}
		row.Count = more
		if !own {
			if row.Name == scheduler.Any {
				o.master.Ask(b.now, int64(more))
			}
			continue
		}
		if row.Name == scheduler.Any && (more != 0 || asks[i].Count > 0) {
			k := o.kind(row.Priority, row.Capability)
			o.waits[k].Ask(b.now, int64(more))
			if again := b.again(o, k, more); again > 0 {
				row.Count -= again
				served[[2]int64{int64(row.Priority), row.AllocationRequestID}] = row.Count == 0
			}
		}
		if row.Count != 0 {
			rows = append(rows, row)
		}
	}
	if !own {
		return
	}
	kept := rows[:0]
	for _, row := range rows {
		if row.Count < 0 || row.Name == scheduler.Any || !served[[2]int64{int64(row.Priority), row.AllocationRequestID}] {
			kept = append(kept, row)
		}
	}
	if len(kept) == 0 {
		return
	}
	o.Asks = append(o.Asks, Ask{Ended: o.ended, Delay: max(b.now-o.cause, 0), Rows: kept})
	o.cause, o.last = b.now, b.now
}

// again is how many of some requests of a kind follow the preemption, or the loss, of containers of that size.
func (b *builder) again(o *open, kind int, more int32) (n int32) {
	for i := range o.Kinds {
		d := &o.debts[i]
		if len(d.lost) == 0 || o.Kinds[i].Size != o.Kinds[kind].Size {
			continue
		}
		part := min(int32(len(d.lost)), more-n)
		if part <= 0 {
			continue
		}
		for _, l := range d.lost[:part] {
			b.reasks = append(b.reasks, b.now-l.at)
			if i == kind {
				d.free = append(d.free, l.life)
			}
		}
		d.lost = d.lost[part:]
		n += part
	}
	return n
}

// decided takes a decision of the scheduler.
func (b *builder) decided(d *eventlog.Decision) error {
	b.load.Decisions++
	switch d.Kind {
	case "allocate":
		return b.grant(d)
	case "kill":
		if c := b.containers[d.Container]; c != nil {
			c.killed = true
		}
	case "suspend":
		if c := b.containers[d.Container]; c != nil && c.stopped < 0 {
			c.stopped = b.now
			c.app.Then.Suspended++
			c.part.Suspended++
		}
	case "resume":
		if c := b.containers[d.Container]; c != nil {
			c.goOn(b.now)
		}
	}
	return nil
}

func (c *container) goOn(now int64) {
	if c.stopped >= 0 {
		c.suspended += now - c.stopped
		c.stopped = -1
	}
}

func (b *builder) grant(d *eventlog.Decision) error {
	a := b.apps[d.App]
	if a == nil {
		return fmt.Errorf("there is no application %d", d.App)
	}
	n, ok := b.nodes[d.Node]
	if !ok {
		return fmt.Errorf("there is no node %d", d.Node)
	}
	if b.containers[d.Container] != nil {
		return fmt.Errorf("container %d is there already", d.Container)
	}
	if err := d.Resource.Check(); err != nil {
		return err
	}
	size := records.Resource(d.Resource)
	o := b.attempt(a)
	m := &b.known[n]
	a.asks.Served(d.Priority, d.ID, m.spec.Host, m.spec.Rack, scheduler.Locality(d.Locality))
	c := &container{app: a, of: o, kind: -1, node: n, begin: b.now, size: size, stopped: -1, confirmed: true}
	var asked int64
	if o.granted < 0 {
		asked = o.master.Grant(b.now)
		o.isGranted(b.now)
	} else {
		c.kind = o.kind(d.Priority, size)
		asked = o.waits[c.kind].Grant(b.now)
		c.life = o.life(c.kind, b.now)
	}
	wait := int32(min(b.now-asked, 1<<31-1))
	a.Then.Waits = append(a.Then.Waits, wait)
	c.tags = a.tagsOf(d)
	b.runs(c, d.Container)
	c.part.Waits = append(c.part.Waits, wait)
	return nil
}

// life is the place of a new container among those of its kind: its own, or that of one that was lost and is tried again.
func (o *open) life(kind int, now int64) (place int) {
	k, d := &o.Kinds[kind], &o.debts[kind]
	if len(d.free) > 0 {
		place, d.free = d.free[0], d.free[1:]
		k.Lives[place] = Life{Begin: now}
		return place
	}
	k.Lives = append(k.Lives, Life{Begin: now})
	return len(k.Lives) - 1
}

func (o *open) isGranted(now int64) {
	o.granted, o.cause, o.last = now, now, now
	o.Attempt.granted = true
}

func (b *builder) runs(c *container, h scheduler.ContainerHandle) {
	b.containers[h] = c
	a := c.app
	c.place = len(a.running)
	a.running = append(a.running, c)
	a.Then.Containers++
	c.part = b.part(c.node)
	c.part.Containers++
	if a.Then.Granted < 0 {
		a.Then.Granted = c.begin
	}
}

func (b *builder) identify(r *eventlog.Event) error {
	for i, h := range r.Containers {
		c := b.containers[h]
		if c == nil {
			return fmt.Errorf("there is no container %d", h)
		}
		if id, err := records.ParseApplicationID(c.app.ID); err == nil {
			c.name = records.ContainerID{Attempt: records.AttemptID{App: id, Attempt: r.Attempt}, ID: r.First + int64(i)}
			b.byName[c.name] = c
		}
	}
	return nil
}

// restore enters a container that a session before had, or that ran when the record began.
func (b *builder) restore(r *eventlog.Event) error {
	size := records.Resource(r.Resource)
	a := b.apps[r.App]
	if a == nil {
		return fmt.Errorf("there is no application %d", r.App)
	}
	n, ok := b.nodes[r.Node]
	if !ok {
		return fmt.Errorf("there is no node %d", r.Node)
	}
	id, err := records.ParseApplicationID(a.ID)
	name := records.ContainerID{Attempt: records.AttemptID{App: id, Attempt: r.Attempt}, ID: r.First}
	if c := b.byName[name]; err == nil && c != nil && !c.confirmed {
		c.confirmed = true
		b.containers[r.Container] = c
		return nil
	}
	o := b.attempt(a)
	c := &container{app: a, of: o, kind: -1, node: n, begin: b.now, size: size, stopped: -1, confirmed: true, name: name}
	s := Start{Node: n, Priority: r.Priority, Since: r.Since, Size: size, Is: true}
	if r.AM {
		o.isGranted(b.now)
		o.Master = s
	} else {
		s.Kind = o.kind(r.Priority, size)
		k := &o.Kinds[s.Kind]
		c.kind, c.life, s.Life = s.Kind, len(k.Lives), len(k.Lives)
		k.Lives = append(k.Lives, Life{Begin: b.now})
		o.Running = append(o.Running, s)
	}
	if err == nil {
		b.byName[name] = c
	}
	b.runs(c, r.Container)
	return nil
}

// free ends a container.
func (b *builder) free(c *container, failed bool) {
	a, o := c.app, c.of
	if c.gone {
		return
	}
	c.gone = true
	c.goOn(b.now)
	ran := max(b.now-c.begin-c.suspended, 0)
	for _, o := range []*Outcome{&a.Then, c.part} {
		o.SuspendMS += c.suspended
		o.MemoryMS += ran * c.size[records.Memory]
		o.WithinMS = o.MemoryMS
		o.CoreMS += ran * c.size[records.VCores]
	}
	last := a.running[len(a.running)-1]
	a.running[c.place], last.place = last, c.place
	a.running = a.running[:len(a.running)-1]
	delete(b.byName, c.name)
	lost := b.removed[c.node]
	if c.killed || lost {
		for _, o := range []*Outcome{&a.Then, c.part} {
			o.LostMS += ran
			if c.killed {
				o.Preempted++
			}
		}
	}
	if c.kind < 0 {
		o.masterEnded = true
		b.ended = append(b.ended, a)
		o.failed = o.failed || failed
		o.drop = o.drop || c.killed || lost
		return
	}
	l := &o.Kinds[c.kind].Lives[c.life]
	l.MS, l.End = ran, b.now
	switch {
	case c.killed || lost:
		l.Ends = undone
		o.debts[c.kind].lost = append(o.debts[c.kind].lost, loss{c.life, b.now})
		return
	case b.ending[a] && (o.masterEnded || a.Master.IsZero() && b.frees[a] > 1):
		l.Ends = WithIt
		return
	case failed:
		l.Ends = Failed
	}
	o.ended++
	o.cause, o.last = b.now, b.now
}

// closeAttempt ends the attempt that continues, if there is one.
func (b *builder) closeAttempt(a *app) {
	o := a.open
	if o == nil {
		return
	}
	a.open = nil
	for len(a.running) > 0 { // they go on under the next attempt, or after the record
		c := a.running[len(a.running)-1]
		b.free(c, false)
		if c.kind >= 0 {
			if l := &o.Kinds[c.kind].Lives[c.life]; l.Ends != undone {
				l.Ends = CutOff
			}
		}
	}
	if !a.Cut {
		a.asks.Clear()
	}
	if o.drop {
		return
	}
	o.finish(a, b.now)
	a.Attempts = append(a.Attempts, o.Attempt)
}
