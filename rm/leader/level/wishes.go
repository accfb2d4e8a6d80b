package level

import (
	"context"
	"fmt"
	"strings"
	"time"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// Wish tells how a container is to be suspended. The zero value is what preemption would do: as far down as the node can, breathing.
type Wish struct {
	Level ledgerpb.Level // RUNNING: as far down as the node can
	// Held is what the container keeps of its node: nil is the least that its level leaves, and of a shrunk container a step less than now. One
	// that is suspended keeps no vcores.
	Held *records.Resource
	// Breathe is the time between two moments in which it runs; 0: as preemption would do, less: it never does.
	Breathe time.Duration
	User    string // the caller
}

// breathEvery returns the time between two breaths in ms, as it is recorded.
func (w *Wish) breathEvery() int64 {
	if w.Breathe < 0 {
		return -1
	}
	return w.Breathe.Milliseconds()
}

// ShortestBreath is the shortest time between two moments in which a container runs that is suspended.
const ShortestBreath = 5 * time.Second

// footprint is the least memory in MB that nodes leave to a container.
const footprint = 64

// names are the levels that people may ask for.
var names = map[string]ledgerpb.Level{
	"shrunk": ledgerpb.Level_SHRUNK, "frozen": ledgerpb.Level_FROZEN, "reclaimed": ledgerpb.Level_RECLAIMED,
}

// ParseLevel reads the name of a level that people may ask for; "" is as far down as the node can. An error names the levels.
func ParseLevel(name string) (ledgerpb.Level, error) {
	if name == "" {
		return ledgerpb.Level_RUNNING, nil
	}
	l, known := names[strings.ToLower(name)]
	if !known {
		return l, fmt.Errorf("level %q is not one of shrunk, frozen, reclaimed", name)
	}
	return l, nil
}

// ParseBreathe reads the time between two breaths: a duration, never, or "" for what preemption would do.
func ParseBreathe(text string) (time.Duration, error) {
	switch text {
	case "":
		return 0, nil
	case "never":
		return -1, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < ShortestBreath || d > 24*time.Hour {
		return 0, fmt.Errorf("breathe %q is neither never nor a duration from %v to 24h, such as 45s", text, ShortestBreath)
	}
	return d, nil
}

// Suspend suspends or shrinks a running container. It returns when the node has taken its CPU. If the node doesn't answer, what is on record
// still holds: the order is sent again, and the error is an *Unconfirmed. A caller that asks for the same again waits for that order.
func (l *Levels) Suspend(ctx context.Context, id records.ContainerID, wish Wish) error {
	return l.ask(ctx, id, "suspend it when it runs", func(c *ledger.Container) (*order, error) {
		record := l.orderOf(c, c.Level, c.Held(), c.Suspension().Cause)
		switch o := l.byContainer[id]; {
		case o != nil && o.isWished(c, wish):
			return o, nil
		case o == nil && l.underWay[id].Inherited && record.isWished(c, wish):
			return l.again(c), nil
		}
		return l.suspend(c, wish)
	})
}

// suspend records that a container is suspended by a wish, or says why that can't be.
func (l *Levels) suspend(c *ledger.Container, wish Wish) (*order, error) {
	level, held, err := l.wanted(c, wish)
	if err != nil {
		return nil, err
	}
	if h, ok := l.HandleOf(c); ok && held != l.Scheduler.Held(h) && !l.Scheduler.Apply(&eventlog.Event{Op: eventlog.SetHeld, Container: h, Resource: eventlog.Amounts(held)}) {
		return nil, refusal.New(refusal.Refused, "container %v can't hold %s: it claims %s, ask for less", c.ID, l.Types.Format(held), l.Types.Format(c.Resource))
	}
	return l.want(c, level, held, ledger.Cause{User: wish.User, BreathEvery: wish.breathEvery()}), nil
}

// Resume resumes a suspended or shrunk container with all that it claims, whatever suspended it. It is refused where its node or a queue hasn't room
// for that. Of a container that runs with its claim, nothing changes. If the node doesn't answer, the error is an *Unconfirmed.
func (l *Levels) Resume(ctx context.Context, id records.ContainerID) error {
	return l.ask(ctx, id, "there is nothing to resume", func(c *ledger.Container) (*order, error) {
		if o := l.byContainer[id]; o != nil && o.Level == ledgerpb.Level_RUNNING && c.Level == o.Level {
			o.all = true
			return o, nil
		}
		if _, free := c.Room(); c.Level != ledgerpb.Level_RUNNING && c.Suspension().User == ledger.ForShortTasks && !c.Resource.Sub(c.Held()).FitsIn(free) {
			return nil, refusal.New(refusal.Refused, "container %v can't resume: it is %s%s", id, strings.ToLower(c.Level.String()), l.sinceAndFor(c))
		}
		if h, ok := l.HandleOf(c); ok && (l.Scheduler.Held(h) != c.Resource || l.chosen(h)) && !giveBack(l.Scheduler, h, false) {
			return nil, l.noRoom(c, l.Scheduler.Held(h))
		}
		o := l.resume(c)
		o.all = true
		l.goesOn(id, c.LevelVersion, l.loop.Now())
		return o, nil
	})
}

// resume records that a container resumes, for which there is room.
func (l *Levels) resume(c *ledger.Container) *order {
	l.countPast(c)
	delete(l.unreclaimable, c.ID)
	return l.want(c, ledgerpb.Level_RUNNING, c.Resource, ledger.Cause{})
}

// chosen reports whether the driver has suspended a container.
func (l *Levels) chosen(h scheduler.ContainerHandle) bool {
	_, _, ok := l.Scheduler.Suspended(h)
	return ok
}

// noRoom returns the refusal of a container's return.
func (l *Levels) noRoom(c *ledger.Container, held records.Resource) error {
	free := records.Resource{}
	if n := l.work.Nodes[c.Node]; n != nil {
		free = n.Capability.Sub(n.Used).Max(free)
	}
	return refusal.New(refusal.Refused, "container %v can't resume: it holds %s of %s, and node %v has %s free. There is no room for the rest, or a queue is at its maximum: try again when others have ended, or suspend one of them",
		c.ID, l.Types.Format(held), l.Types.Format(c.Resource), c.Node, l.Types.Format(free))
}

// ask sends a wish to the node of a container, and returns when it has answered. mend is what to do about one that has not begun.
func (l *Levels) ask(ctx context.Context, id records.ContainerID, mend string, decide func(*ledger.Container) (*order, error)) error {
	var node records.NodeID
	var o *order
	var sent order
	err := l.loop.Do(func() error {
		c, err := l.running(id, mend)
		if err != nil {
			return err
		}
		if o, err = decide(c); err != nil {
			return err
		}
		o.asking = true
		node, sent = c.Node, *o
		return nil
	})
	if err != nil {
		return err
	}
	err = l.carry(ctx, node, &sent)
	over := l.loop.Do(func() error {
		l.settle(o, err)
		if err != nil && l.byContainer[id] == o {
			err = &Unconfirmed{Container: id, UnderWay: l.underWay[id], Now: l.loop.Now().UnixMilli(), Err: err}
		}
		return nil
	})
	if err == nil {
		err = over
	}
	return err
}

// wanted returns the level wished for a container, and what it holds there, or why that can't be.
func (l *Levels) wanted(c *ledger.Container, wish Wish) (ledgerpb.Level, records.Resource, error) {
	refuse := func(format string, args ...any) (ledgerpb.Level, records.Resource, error) {
		return 0, records.Resource{}, refusal.New(refusal.Refused, "container %v "+format, append([]any{c.ID}, args...)...)
	}
	if c.AM {
		return refuse("runs the ApplicationMaster of %v, which would count as dead while it is suspended: suspend the application's other containers",
			c.ID.Attempt.App)
	}
	if c.Suspended() || c.Suspension().Queue != "" && c.Level != ledgerpb.Level_RUNNING {
		return refuse("is %s already%s: resume it first", strings.ToLower(c.Level.String()), l.sinceAndFor(c))
	}
	n := l.work.Nodes[c.Node]
	able := l.ability(c.Node, l.nodes[c.Node].memoryOf())
	level := wish.Level
	if level == ledgerpb.Level_RUNNING {
		if level = ledgerpb.Level_FROZEN; able.Reclaim {
			level = ledgerpb.Level_RECLAIMED
		}
	}
	now := c.Held()
	switch {
	case level == ledgerpb.Level_SHRUNK && !able.Shrink:
		return refuse("can't be shrunk: node %v doesn't limit what containers have%s", c.Node, lacks(n))
	case level == ledgerpb.Level_RECLAIMED && !able.Reclaim:
		return refuse("can't be reclaimed: node %v pages no memory out%s", c.Node, lacks(n))
	case !able.Shrink && wish.Held != nil && *wish.Held != now:
		return refuse("can't hold %s: node %v doesn't limit what containers have%s", l.Types.Format(*wish.Held), c.Node, lacks(n))
	case !able.Shrink:
		return level, now, nil // the node knows no levels
	}
	held := heldAt(level, now, wish.Held, func() records.Resource { return l.stepDown(now, able.Reclaim) })
	for i := records.VCores + 1; i < l.Types.Len(); i++ {
		if held[i] != now[i] {
			return refuse("can't hold %d of its %d %s: only memory and vcores can be taken from a container", held[i], now[i], l.Types.At(i).Name)
		}
	}
	switch mb := held.MemoryMB(); {
	case !held.FitsIn(now) || held != held.Max(records.Resource{}):
		return refuse("can't hold %s: it holds %s now, leave it less", l.Types.Format(held), l.Types.Format(now))
	case mb < min(now.MemoryMB(), footprint):
		return refuse("can't hold %d MB: %d MB are the least that a container is left", mb, footprint)
	case held == now && level == ledgerpb.Level_SHRUNK:
		return refuse("can't be shrunk by nothing: it holds %s now, say how much it is to keep", l.Types.Format(now))
	case mb < now.MemoryMB() && level == ledgerpb.Level_FROZEN:
		return refuse("can't hold %d of its %d MB: a frozen container keeps its memory, a reclaimed one doesn't", mb, now.MemoryMB())
	case mb < now.MemoryMB() && !able.Reclaim:
		return refuse("can't hold %d of its %d MB: node %v pages no memory out%s", mb, now.MemoryMB(), c.Node, lacks(n))
	}
	return level, held, nil
}

// heldAt returns what a container holds at a level: what was wished, or what the level leaves it of what it holds now. No processor is left
// but to one that is shrunk.
func heldAt(level ledgerpb.Level, now records.Resource, wish *records.Resource, step func() records.Resource) records.Resource {
	held := now
	switch {
	case wish != nil:
		held = *wish
	case level == ledgerpb.Level_SHRUNK:
		held = step()
	case level == ledgerpb.Level_RECLAIMED:
		held[records.Memory] = min(held[records.Memory], footprint)
	}
	if level != ledgerpb.Level_SHRUNK {
		held[records.VCores] = 0
	}
	return held
}

// stepDown returns what a container holds that is shrunk by a step. It keeps a core, and its memory where that can't be taken.
func (l *Levels) stepDown(held records.Resource, reclaim bool) records.Resource {
	step := records.Resource{}
	if l.Step != nil {
		step = l.Step()
	}
	to := held.Sub(step).Max(records.Resource{})
	to[records.Memory] = max(to[records.Memory], min(held[records.Memory], footprint))
	if !reclaim {
		to[records.Memory] = held[records.Memory]
	}
	to[records.VCores] = max(to[records.VCores], min(held[records.VCores], 1))
	return to
}

// unable says why a node can't suspend containers, and what to do about it.
func unable(n *ledger.Node) string {
	if n != nil && len(n.Features) == 0 {
		return "it is a NodeManager of Hadoop's. Run one of Heddle's there (heddle nm), or end the container"
	}
	return "its machine lacks a cgroup freezer" + lacks(n) + ". Mount cgroups there, or end the container"
}

// lacks returns what a node says that it can't do, as the end of a sentence.
func lacks(n *ledger.Node) string {
	if n == nil || len(n.Missing) == 0 {
		return ""
	}
	return " (" + strings.Join(n.Missing, "; ") + ")"
}

// sinceAndFor returns the time since when a container is suspended, and the beneficiary.
func (l *Levels) sinceAndFor(c *ledger.Container) string {
	s := c.Suspension()
	text := ""
	if s.Since > 0 {
		text = fmt.Sprintf(" for %d s", max(l.loop.Date().UnixMilli()-s.Since, 0)/1000)
	}
	switch {
	case s.Queue != "":
		text += ", for queue " + s.Queue + ", and resumes by itself when its node has room"
	case s.User == ledger.ForShortTasks:
		text += ", for short tasks that wait on its node, and resumes by itself soon"
	case s.User != "":
		text += ", by user " + s.User
	}
	if u, ok := l.underWay[c.ID]; ok {
		text += " (" + u.Unreported() + ")"
	}
	return text
}

// countPast tells the driver of suspensions that it hasn't decided on.
func (l *Levels) countPast(c *ledger.Container) {
	s := c.Suspension()
	if h, ok := l.HandleOf(c); ok && s.Queue == "" && s.Since > 0 {
		l.Scheduler.Apply(&eventlog.Event{Op: eventlog.SetPast, Container: h, Times: int(s.Times), Total: s.For(l.loop.Date().UnixMilli())})
	}
}

func (l *Levels) running(id records.ContainerID, mend string) (*ledger.Container, error) {
	c := l.work.Container(id)
	if c == nil || !c.Live() {
		return nil, refusal.New(refusal.NoSuchContainer, "Container %v doesn't exist, or has ended", id)
	}
	if !l.suspends(c.Node) {
		return nil, refusal.New(refusal.Refused, "node %v of container %v can't suspend containers, nor resume them: %s", c.Node, id, unable(l.work.Nodes[c.Node]))
	}
	if c.State == ledger.ContainerAllocated && !c.AM {
		return nil, refusal.New(refusal.Refused, "Container %v has not been started by its ApplicationMaster yet: %s", id, mend)
	}
	return c, nil
}

// Room takes room from containers in the loop, and gives it back. It doesn't wait for nodes.
type Room struct{ *Levels }

// Take suspends a container as far down as its node can, like Suspend.
func (l Room) Take(c *ledger.Container, by string) error {
	if _, err := l.running(c.ID, "suspend it when it runs"); err != nil {
		return err
	}
	if _, err := l.suspend(c, Wish{User: by}); err != nil {
		return err
	}
	l.loop.AfterCommit(func() { l.send(c.ID) })
	return nil
}

// Give resumes a container that was taken, if its node has room for all that it claims; a queue may be above its maximum for that.
func (l Room) Give(c *ledger.Container) error {
	h, ok := l.HandleOf(c)
	if _, free := c.Room(); !c.Resource.Sub(c.Held()).FitsIn(free) || ok && !giveBack(l.Scheduler, h, true) {
		return l.noRoom(c, c.Held())
	}
	l.resume(c)
	l.loop.AfterCommit(func() { l.send(c.ID) })
	return nil
}
