package drive

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"heddle/rm/queue"
	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/records"
)

// Ability lists a node's means to reduce what containers hold.
type Ability struct {
	Suspend bool // it suspends containers
	Shrink  bool // it can run containers with less than they claim
	Reclaim bool // it pages out what a suspended container doesn't hold of its memory; else that stays held
	// Bytes a second at which memory is paged out and in; 0: not measured.
	Out, In int64
	// Pressure is the percentage of time in which its processes wait for memory.
	Pressure float64 `json:",omitempty"`
}

// footprintMB is the memory in MB that a suspended container is left (BIG-C).
const footprintMB = 64

// demandPause is the time in ms between two rounds that are run because requests find no room. Where there are very many containers,
// it is longer: a ms for each containersPerMs of them.
const (
	demandPause     = 50
	containersPerMs = 200
	// mostFruitless bounds how often that time is doubled. Only a round knows what Fair queues are due, so rounds that find nothing get rarer.
	mostFruitless = 4
)

// suspended is the Driver's record of a container that was suspended, or shrunk, so that queues get their shares.
type suspended struct {
	container scheduler.ContainerHandle
	since     int64            // ms
	tries     int              // how many times in a row there was room for its return
	aside     bool             // room waits for its return
	exceeds   bool             // its return brings its node or queue above what they have
	footprint records.Resource // that it holds on its node then
	by        beneficiary
	node      scheduler.NodeHandle
	quoted    float64 // seconds until its room is there, by the node's rates alone; 0: no longer of interest
	back      bool    // its application, for which it was suspended, wants it to resume
}

// beneficiary is the queue, by its path, and the application there that a container was suspended for. Of one that an earlier release
// has suspended nothing is known.
type beneficiary struct {
	queue string
	app   records.ApplicationID
}

// past is how often and for how long a container was suspended, and whether its node has refused to.
type past struct {
	times   int
	total   int64 // ms, without the present time
	refused bool
	later   int64 // ms: it isn't chosen before
	back    int64 // ms: when it last resumed; 0: never
}

// barred reports whether the container must not be suspended now.
func (p *past) barred(now int64) bool { return p.refused || now < p.later }

// suspender decides who is suspended and who resumes, for its Driver.
type suspender struct {
	d *Driver

	of    []suspended // longest suspended first
	past  map[records.ContainerID]past
	nodes map[scheduler.NodeHandle]Ability
	vain  vain
	slow  map[scheduler.NodeHandle]float64    // what suspensions came to, as a multiple of what was quoted
	used  map[scheduler.ContainerHandle]int64 // bytes that containers use
	nears map[scheduler.AppHandle]float64     // part of an application that is done
	begun map[scheduler.AppHandle]int64       // ms: when that was told first

	stopped map[scheduler.ContainerHandle]bool // containers that ApplicationMasters or people have suspended (SetStopped)

	enabled bool // some queue suspends

	nextTry    int64 // ms
	firstDue   int64 // ms: when the first one has been suspended for as long as may be
	nextDemand int64 // ms; 0: no request waits
	lastDemand int64 // ms
	fruitless  int   // rounds on demand for Fair queues in a row that had no effect, at most mostFruitless
	changes    int64 // of the scheduler, when a round on demand had no effect
	looked     int64 // the same, when room for returns was looked for
}

func newSuspender(d *Driver) suspender {
	return suspender{
		d: d, enabled: d.tree.Suspends(), past: map[records.ContainerID]past{},
		nodes: map[scheduler.NodeHandle]Ability{}, slow: map[scheduler.NodeHandle]float64{}, vain: vain{}, used: map[scheduler.ContainerHandle]int64{},
		nears: map[scheduler.AppHandle]float64{}, begun: map[scheduler.AppHandle]int64{}, stopped: map[scheduler.ContainerHandle]bool{},
	}
}

// SetAbility says what a node can do. Of a node of which nothing was said, it can do nothing.
func (d *Driver) SetAbility(n scheduler.NodeHandle, a Ability) {
	if a == (Ability{}) {
		delete(d.sus.nodes, n)
		return
	}
	d.sus.nodes[n] = a
	d.sus.changes = -1
}

// RemoveNode takes a node out. Its containers must have been freed.
func (d *Driver) RemoveNode(n scheduler.NodeHandle) {
	delete(d.sus.nodes, n)
	delete(d.sus.slow, n)
	delete(d.sus.vain, n)
	d.At(n).RemoveNode(n)
}

// SetMemory says how many bytes a container uses. Of one of which nothing is said, it is what it holds.
func (d *Driver) SetMemory(h scheduler.ContainerHandle, bytes int64) {
	d.sus.used[h] = bytes
}

// Took says how many ms it took until a container that was suspended had let go of what it doesn't hold. The node's later quotes take
// that into account.
func (d *Driver) Took(h scheduler.ContainerHandle, ms int64) {
	i := d.sus.index(h)
	if i < 0 || d.sus.of[i].quoted == 0 {
		return
	}
	s := &d.sus.of[i]
	d.sus.slow[s.node] = preempt.Learn(d.sus.slow[s.node], s.quoted, float64(ms)/1000)
	s.quoted = 0
}

// SetProgress says how much of an application is done, 0 to 1. Those that need longest are suspended first.
func (d *Driver) SetProgress(a scheduler.AppHandle, part float64) {
	if _, known := d.sus.begun[a]; !known {
		d.sus.begun[a] = d.now
	}
	d.sus.nears[a] = part
}

// Suspends reports whether containers are suspended by the settings of any queue.
func (d *Driver) Suspends() bool {
	if !d.sus.enabled {
		return false
	}
	s := &d.tree.Settings
	if d.tree.Kind == queue.Fair {
		return s.Fair.Preemption
	}
	return s.Preemption.Enabled && !s.Preemption.ObserveOnly
}

// WasSuspended enters that an earlier leader has suspended or shrunk a container for a queue, and that it holds so much since. It resumes
// as one that was suspended by this Driver does. This suspension is counted here: the container's past (SetPast), given before, is without
// it.
func (d *Driver) WasSuspended(h scheduler.ContainerHandle, held records.Resource, since int64, queue string) bool {
	if !d.containers[h].known || d.sus.index(h) >= 0 || held == d.Claim(h) || !d.Of(h).NoteHeld(h, held) {
		return false
	}
	d.sus.enterSuspended(h, since, beneficiary{queue: queue})
	return true
}

// SetPast says how often, and for how long in all (ms), a container was suspended before: under other leaders, or by people. The bounds
// count that as well.
func (d *Driver) SetPast(h scheduler.ContainerHandle, times int, total int64) {
	if !d.containers[h].known {
		return
	}
	p := d.sus.past[d.ContainerID(h)]
	p.times, p.total = times, total
	d.sus.past[d.ContainerID(h)] = p
	d.sus.findFirstDue()
}

// SetStopped says that a container's ApplicationMaster, or people, suspend or resume it; they need no reason. As long as it is
// suspended it isn't chosen: it would resume by itself then, against their wish.
func (d *Driver) SetStopped(h scheduler.ContainerHandle, stopped bool) {
	if stopped {
		d.sus.stopped[h] = true
	} else {
		delete(d.sus.stopped, h)
	}
}

// Suspended says since when a container is suspended or shrunk so that queues get their shares (ms), and for which queue.
func (d *Driver) Suspended(h scheduler.ContainerHandle) (since int64, by string, ok bool) {
	if i := d.sus.index(h); i >= 0 {
		return d.sus.of[i].since, d.sus.of[i].by.queue, true
	}
	return 0, "", false
}

// Return gives a suspended container its claim again, as its ApplicationMaster or people want that. It is refused where its node or
// a queue hasn't room for it, and others may make some; forced, it isn't, as the container runs already.
func (d *Driver) Return(h scheduler.ContainerHandle, forced bool) bool {
	if forced && !d.Of(h).NoteHeld(h, d.Claim(h)) || !forced && !d.sus.regain(h) {
		return false
	}
	d.sus.leaveSuspended(h)
	return true
}

// unbegunPause is how long, in ms, a container isn't chosen that its ApplicationMaster had not started when it was to be suspended.
const unbegunPause = 5000

// Refused says that a node can't suspend a container that it was to. The container takes its claim again. One that runs isn't chosen again. One that
// its ApplicationMaster has not started yet may be chosen later: it may begin in a breath of its ApplicationMaster.
func (d *Driver) Refused(h scheduler.ContainerHandle, begun bool) {
	if !d.containers[h].known {
		return
	}
	d.Return(h, true)
	p := d.sus.past[d.ContainerID(h)]
	if begun {
		p.refused = true
	} else {
		p.times, p.later = max(p.times-1, 0), d.now+unbegunPause
	}
	d.sus.past[d.ContainerID(h)] = p
}

func (x *suspender) index(h scheduler.ContainerHandle) int {
	if !x.d.containers[h].suspended {
		return -1
	}
	return slices.IndexFunc(x.of, func(s suspended) bool { return s.container == h })
}

func (x *suspender) enterSuspended(h scheduler.ContainerHandle, since int64, by beneficiary) {
	at, _ := slices.BinarySearchFunc(x.of, since, func(s suspended, t int64) int {
		return cmp.Or(cmp.Compare(s.since, t), -1) // behind those of the same time
	})
	x.of = slices.Insert(x.of, at, suspended{container: h, since: since, by: by})
	x.d.containers[h].suspended = true
	if len(x.of) == 1 {
		x.nextTry = x.d.now + x.tryEvery()
	}
	id := x.d.ContainerID(h)
	p := x.past[id]
	p.times++
	x.past[id] = p
	x.findFirstDue()
}

// leaveSuspended forgets that a container is suspended, if it is.
func (x *suspender) leaveSuspended(h scheduler.ContainerHandle) {
	i := x.index(h)
	if i < 0 {
		return
	}
	id := x.d.ContainerID(h)
	p := x.past[id]
	p.total += max(x.d.now-x.of[i].since, 0)
	p.back = x.d.now
	x.past[id] = p
	x.of = slices.Delete(x.of, i, i+1)
	x.d.containers[h].suspended = false
}

// tryEvery returns the time between two tries to resume, in ms.
func (x *suspender) tryEvery() int64 {
	if x.d.cfg.Heartbeat <= 0 {
		return time.Second.Milliseconds()
	}
	return x.d.cfg.Heartbeat.Milliseconds()
}

// exhausted reports whether a container was suspended as often, or for as long, as may be.
func (x *suspender) exhausted(h scheduler.ContainerHandle) bool {
	if i := x.index(h); i >= 0 {
		return x.d.now >= x.due(&x.of[i])
	}
	p := x.past[x.d.ContainerID(h)]
	s := &x.d.tree.Settings.Suspension
	return p.barred(x.d.now) || s.Most > 0 && p.times >= s.Most || s.Longest > 0 && p.total >= s.Longest.Milliseconds()
}

// due returns when a suspended container has been so for as long as may be, and gets its claim back before others get anything on its node.
func (x *suspender) due(s *suspended) int64 {
	if x.d.tree.Settings.Suspension.Longest <= 0 {
		return math.MaxInt64
	}
	return s.since + max(x.d.tree.Settings.Suspension.Longest.Milliseconds()-x.past[x.d.ContainerID(s.container)].total, 0)
}

func (x *suspender) findFirstDue() {
	x.firstDue = math.MaxInt64
	for i := range x.of {
		x.firstDue = min(x.firstDue, x.due(&x.of[i]))
	}
}

// resumeFirst resumes the containers that go before newcomers: those at their longest suspension, which take what room there is, and all
// where nothing delays them.
func (x *suspender) resumeFirst() {
	atOnce := x.d.tree.Settings.Suspension.Tries == 0
	if !atOnce && x.d.now < x.firstDue && !x.wantedBack() {
		return
	}
	for i := 0; i < len(x.of); i++ {
		s := &x.of[i]
		h := s.container
		switch {
		case x.d.now >= x.due(s):
			if x.giveDue(s) {
				i--
			}
		case s.back && x.d.Of(h).SetHeld(h, x.d.Claim(h)):
			x.resumed(*s, "its application wants it to resume")
			i--
		case atOnce && x.d.Of(h).SetHeld(h, x.d.Claim(h)):
			x.resumed(*s, "its node has room for it")
			i--
		}
	}
}

// giveDue gives a container that was suspended for as long as may be what room there is, and reports whether it resumes. While room waits on its
// node for the return of another one it takes all of its claim or nothing: a part would be what the other one still lacks (waiting), and neither
// would return.
func (x *suspender) giveDue(s *suspended) (resumes bool) {
	h, by := s.container, s.by
	held := x.d.Held(h)
	if x.awaited(s) {
		resumes = x.d.Of(h).SetHeld(h, x.d.Claim(h))
	} else {
		resumes = x.d.Of(h).Regain(h)
	}
	if resumes {
		x.resumed(*s, "it was suspended for as long as may be")
	} else if now := x.d.Held(h); now != held {
		x.change(Shrink, h, now, "it gets back what room there is, as it was suspended for as long as may be", by)
	}
	return resumes
}

// awaited reports whether room waits for the return of another container on the node of one.
func (x *suspender) awaited(of *suspended) bool {
	node := x.d.NodeOf(of.container)
	for i := range x.of {
		if s := &x.of[i]; s != of && s.aside && x.d.NodeOf(s.container) == node && x.returns(s) {
			return true
		}
	}
	return false
}

// setAside keeps room for the return of suspended containers. Newcomers get none of it; requests of queues below their guarantee do, as the
// container holds no more on its node than before (suspend).
func (x *suspender) setAside() {
	if x.d.Changes() == x.looked && x.d.now < x.nextTry {
		return
	}
	for i := range x.of {
		s := &x.of[i]
		if !s.aside && x.d.Of(s.container).CanHold(s.container, x.d.Claim(s.container)) {
			x.wait(s, "there is room for its return")
		}
	}
	x.setAsideStuck()
	x.looked = x.d.Changes()
}

// wait keeps room for the return of a container.
func (x *suspender) wait(s *suspended, why string) {
	held, charged := x.d.Held(s.container), waiting(x.d.Claim(s.container))
	x.d.Of(s.container).NoteHeld(s.container, charged)
	if s.aside, s.tries, s.footprint = true, 0, held; charged != held {
		x.change(Charge, s.container, charged, why, s.by)
	}
}

// waiting returns what is charged for a container for whose return room waits: all of its claim but a MB, or a vcore where it claims no memory. By
// that a new leader distinguishes a container that is to return from one that was frozen by people or its ApplicationMaster.
func waiting(claim records.Resource) records.Resource {
	for i, n := range claim {
		if n > 0 {
			claim[i]--
			break
		}
	}
	return claim
}

// try counts the suspended containers for which there is room now, and resumes those for which there was room often enough in a row.
func (x *suspender) try() {
	if x.d.now < x.nextTry {
		return
	}
	x.nextTry = x.d.now + x.tryEvery()
	for i := 0; i < len(x.of); i++ {
		s := &x.of[i]
		h := s.container
		if !x.returns(s) {
			s.tries = 0
			continue
		}
		if s.tries++; s.tries >= x.d.tree.Settings.Suspension.Tries && x.d.Of(h).NoteHeld(h, x.d.Claim(h)) {
			x.resumed(*s, s.why())
			i--
		}
	}
	if x.d.now >= x.firstDue {
		x.exchange()
	}
}

// why says why a container resumes for which room has waited.
func (s *suspended) why() string {
	if s.exceeds {
		return "nothing else runs where it lacks room"
	}
	return fmt.Sprintf("its node had room for it %d times in a row", s.tries)
}

func (x *suspender) resumed(s suspended, reason string) {
	x.leaveSuspended(s.container)
	x.change(Resume, s.container, x.d.Claim(s.container), reason, s.by)
}

// change decides that a container holds another amount.
func (x *suspender) change(k Kind, h scheduler.ContainerHandle, held records.Resource, reason string, by beneficiary) {
	c := &x.d.containers[h]
	x.d.out = append(x.d.out, Decision{Kind: k, Container: h, App: c.app, Resource: held, Priority: c.priority, Reason: reason, For: by.queue, ForApp: by.app})
}

// demanded reports whether a round of suspension is due because requests have found no room, and notes when one will be.
func (x *suspender) demanded() bool {
	if !x.d.Suspends() || x.d.tree.Settings.Suspension.Periodic || len(x.nodes) == 0 || x.d.Changes() == x.changes || !x.d.Starving() {
		return false
	}
	if next := x.lastDemand + (demandPause+int64(len(x.d.containers)/containersPerMs))<<x.fruitless; x.d.now < next {
		x.nextDemand = next
		return false
	}
	return true
}

// suspend takes resources from containers, for requests that wait. It reports whether it took any.
func (x *suspender) suspend(s *preempt.Snapshot) bool {
	x.lastDemand = x.d.now
	set := &x.d.tree.Settings
	policy := preempt.Suspension{
		Ranking: set.Suspension.Ranking, Step: set.Suspension.Step, MinimumAge: set.Suspension.MinimumAge.Milliseconds(),
		PerRound: set.Preemption.PerRound, Ignored: set.Preemption.Ignored, Fair: x.d.tree.Kind == queue.Fair,
	}
	if policy.Fair {
		policy.PerRound = 1
	}
	made := policy.Round(x.d.now, s)
	done := len(made.Undo) > 0
	for _, c := range made.Cuts {
		h := scheduler.ContainerHandle(c.Handle)
		if !x.d.Of(h).SetHeld(h, c.To) {
			continue
		}
		done = true
		x.tookFor(scheduler.NodeHandle(c.Node), c.ByApp)
		kind := Shrink
		if c.All {
			kind = Suspend
		}
		by := beneficiary{c.By, c.ByApp}
		i := x.index(h)
		if i < 0 {
			x.enterSuspended(h, x.d.now, by)
		} else {
			s := &x.of[i]
			if s.aside {
				kind = Charge
			}
			s.tries, s.aside, s.exceeds, s.back, s.by = 0, false, false, false, by
		}
		x.change(kind, h, c.To, c.Reason, by)
		if kind != Charge {
			x.d.out[len(x.d.out)-1].Quote = &c.Quote
		}
		if kind == Suspend {
			s := &x.of[x.index(h)]
			s.node = scheduler.NodeHandle(c.Node)
			s.quoted = c.Quote.Suspend.Room / cmp.Or(x.slow[s.node], 1)
		}
	}
	x.d.reserve(made.Undo, nil)
	for _, r := range made.Room {
		x.d.Offer(x.d.byID[r.For], scheduler.NodeHandle(r.Node), r.Size)
	}
	x.changes = x.d.Changes()
	return done
}

// onDemand runs a round because requests have found no room. It reports whether resources were taken from containers.
func (x *suspender) onDemand() bool {
	done := false
	for _, snap := range x.snapshots() {
		done = x.suspend(snap) || done
	}
	if x.fruitless = min(x.fruitless+1, mostFruitless); done || x.d.tree.Kind != queue.Fair {
		x.fruitless = 0
	}
	return done
}

// prepare completes a snapshot by the resources that may be taken from each container: the Driver knows the abilities of nodes, and the progress of applications.
func (x *suspender) prepare(s *preempt.Snapshot) *preempt.Snapshot {
	for i := range s.Apps {
		a := &s.Apps[i]
		q := &s.Queues[a.Queue]
		if q.Means == suspension.Kill {
			continue
		}
		a.Remaining = x.remaining(x.d.byID[a.ID])
		for k := range a.Containers {
			if c := &a.Containers[k]; !c.Reserved {
				x.prepareContainer(q, c, s.Nodes[c.Node].Handle, a.Remaining)
			}
		}
	}
	return s
}

func (x *suspender) prepareContainer(q *preempt.Queue, c *preempt.Container, node int32, remaining float64) {
	able := x.nodes[scheduler.NodeHandle(node)]
	spared := c.Spared
	c.Spared = spared || !q.Means.Suspends() || q.Unable != suspension.Kill || able.Suspend
	if spared || !q.Means.Suspends() || !able.Suspend || x.d.apps[x.d.containers[c.Handle].app].neverSuspend ||
		x.exhausted(scheduler.ContainerHandle(c.Handle)) || x.vain.closed(scheduler.NodeHandle(node), x.d.now) {
		return
	}
	i := x.index(scheduler.ContainerHandle(c.Handle))
	switch {
	case i < 0 && (c.Held != c.Resource || x.stopped[scheduler.ContainerHandle(c.Handle)]):
		return // people or its ApplicationMaster suspended it, so it doesn't resume by itself
	case i >= 0 && x.of[i].aside:
		c.Footprint, c.Idle, c.Whole = x.of[i].footprint, true, true
		return
	}
	c.Footprint, c.Whole = footprint(c.Held, able), !able.Shrink
	c.Quote = x.quote(c, node, able, remaining)
}

// quote prices a container. Memory that it holds but doesn't use needn't be moved.
func (x *suspender) quote(c *preempt.Container, node int32, able Ability, remaining float64) preempt.Quote {
	f := preempt.Facts{
		Memory: c.Held[records.Memory] << 20, Footprint: c.Footprint[records.Memory] << 20, Out: able.Out, In: able.In, Pressure: able.Pressure,
		Past: x.slow[scheduler.NodeHandle(node)], Age: float64(x.d.now-c.Since) / 1000, Remaining: remaining,
	}
	if used, known := x.used[scheduler.ContainerHandle(c.Handle)]; known {
		f.Memory = min(f.Memory, used)
	}
	return f.Quote()
}

// remaining returns how many seconds an application needs until it ends, if it resumes as it did so far; +Inf: it doesn't tell.
func (x *suspender) remaining(h scheduler.AppHandle) float64 {
	done, known := x.nears[h]
	if !known || done <= 0 {
		return math.Inf(1)
	}
	return float64(x.d.now-x.begun[h]) / 1000 * (1 - min(done, 1)) / done
}
