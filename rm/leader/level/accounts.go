package level

import (
	"slices"
	"sync"
	"time"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Account is one decision of preemption to take resources from a container, with its estimated and its real cost.
type Account struct {
	Time      int64 // of the decision, in ms since 1970
	Container records.ContainerID
	Node      records.NodeID
	Queue     string                // for which resources are taken
	App       records.ApplicationID // there
	Held      records.Resource      // what the container is left
	Reason    string
	Quote     preempt.Quote
	// Its real cost. Out is how many ms it took until the resources were there, Moved how many bytes were paged out; Lasted is for
	// how long it lasted, Back how many ms it took to come back. Less than 0: not known yet.
	Out, Moved, Lasted, Back int64
	Refused                  bool // by the node

	version int32 // of the order that is measured
}

// maxAccounts is how many decisions are remembered.
const maxAccounts = 256

// Totals are sums over the decisions of a leadership.
type Totals struct {
	Suspensions, Resumes       int64         // by preemption
	Lasted                     time.Duration // of those that have resumed
	Quoted, Took               time.Duration // until the resources of suspended containers were there, of those of which both are known
	QuotedBytes, PagedOutBytes int64         // of the same
}

// books keep the accounts of a leadership. Only the loop changes them.
type books struct {
	mu       sync.RWMutex
	accounts []*Account // the last ones
	totals   Totals
}

// Accounts returns the last decisions of preemption, the latest first. Some may not be committed yet. It is safe for concurrent use, and
// doesn't wait for the loop.
func (b *books) Accounts() []Account {
	b.mu.RLock()
	defer b.mu.RUnlock()
	list := make([]Account, 0, len(b.accounts))
	for _, a := range slices.Backward(b.accounts) {
		list = append(list, *a)
	}
	return list
}

// Totals returns the sums over the decisions of this leadership. It is safe for concurrent use, and doesn't wait for the loop.
func (b *books) Totals() Totals {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.totals
}

// open begins the account of a decision.
func (b *books) open(d *drive.Decision, id records.ContainerID, node records.NodeID, version int32, now time.Time) {
	if d.Quote == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.Kind == drive.Suspend {
		b.totals.Suspensions++
	}
	if len(b.accounts) >= maxAccounts {
		b.accounts = slices.Delete(b.accounts, 0, 1)
	}
	b.accounts = append(b.accounts, &Account{
		Time: now.UnixMilli(), Container: id, Node: node, Queue: d.For, App: d.ForApp, Held: d.Resource, Reason: d.Reason, Quote: *d.Quote,
		Out: -1, Moved: -1, Lasted: -1, Back: -1, version: version,
	})
}

// account returns the last one of a container.
func (b *books) account(id records.ContainerID) *Account {
	for _, a := range slices.Backward(b.accounts) {
		if a.Container == id {
			return a
		}
	}
	return nil
}

// goesOn notes that a container was told to resume, or resumes without that.
func (b *books) goesOn(id records.ContainerID, version int32, now time.Time) {
	a := b.account(id)
	if a == nil || a.Lasted >= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a.Lasted, a.version = now.UnixMilli()-a.Time, version
	b.totals.Resumes++
	b.totals.Lasted += time.Duration(a.Lasted) * time.Millisecond
}

// refused notes that a container's node does not suspend it.
func (b *books) refused(id records.ContainerID) {
	a := b.account(id)
	if a == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a.Refused, a.Lasted = true, 0
}

// out notes what a suspension has taken. counts says whether it is part of the sums.
func (b *books) out(a *Account, r *Report, counts bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.Out, a.Moved = r.Took, r.Swapped
	if !counts {
		return
	}
	b.totals.Quoted += time.Duration(a.Quote.Suspend.Room * float64(time.Second))
	b.totals.Took += time.Duration(a.Out) * time.Millisecond
	b.totals.QuotedBytes += a.Quote.Suspend.Moved
	b.totals.PagedOutBytes += a.Moved
}

// back notes how long a resume has taken.
func (b *books) back(a *Account, r *Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.Back = r.Took
}

// Heard takes what nodes say of containers that there were orders for. Only what is new needs to be passed on.
func (l *Levels) Heard(reports []Report) {
	for i := range reports {
		r := &reports[i]
		if l.isBehind(r) {
			l.again(l.work.Container(r.Container)).again = l.loop.Now()
			continue
		}
		l.charge(r)
		a := l.account(r.Container)
		if a == nil || r.Version < a.version || r.Level != r.Wanted || r.Reason != "" {
			continue
		}
		log := l.Log.WithField("container", r.Container).WithField("node", a.Node)
		switch {
		case a.Lasted < 0 && a.Out < 0 && r.Level != pb.ContainerLevel_LEVEL_RUNNING:
			l.measured(a, r)
			log.Infof("resources freed in %d ms (estimated %.0f ms); paged out %d of %d MB",
				a.Out, 1000*a.Quote.Suspend.Room, a.Moved>>20, a.Quote.Suspend.Moved>>20)
		case a.Lasted >= 0 && a.Back < 0 && r.Level == pb.ContainerLevel_LEVEL_RUNNING:
			l.back(a, r)
			log.Infof("container resumed in %d ms (estimated %.0f ms) after %d s", a.Back, 1000*a.Quote.Suspend.Back, a.Lasted/1000)
		}
	}
}

// measured notes what a suspension has taken, and tells the driver: its next quotes take that into account.
func (l *Levels) measured(a *Account, r *Report) {
	c := l.work.Container(r.Container)
	suspended := c != nil && c.Suspended()
	l.out(a, r, suspended)
	if !suspended {
		return
	}
	if h, ok := l.HandleOf(c); ok {
		l.Scheduler.Apply(&eventlog.Event{Op: eventlog.Took, Container: h, Total: a.Out})
	}
}

// isBehind reports whether a node leaves a container more than is on record, by an older order: the leader of the newer one died before the node
// heard of it. The rest counts as free meanwhile.
func (l *Levels) isBehind(r *Report) bool {
	c := l.work.Container(r.Container)
	if c == nil || !c.Live() || c.Level == ledgerpb.Level_RUNNING || r.Version >= c.LevelVersion || r.Reason != "" || r.Held.FitsIn(c.Held()) {
		return false
	}
	_, ordered := l.latest[c.ID] // by this leadership: the node has answered, or will
	return !ordered && l.byContainer[c.ID] == nil
}

// charge has a container charged what its node says that it holds, if that is more memory than it is to hold: the node could not take it, and
// no other gets it before that. When it has let go, it is charged what it is to hold.
func (l *Levels) charge(r *Report) {
	c := l.work.Container(r.Container)
	if c == nil || !c.Live() || c.Level == ledgerpb.Level_RUNNING || l.byContainer[c.ID] != nil {
		return
	}
	h, ok := l.HandleOf(c)
	if !ok {
		return
	}
	held := c.Held()
	wanted, unreclaimed := l.unreclaimable[c.ID]
	switch mb := r.Held.MemoryMB(); {
	case r.Reason != "" && mb > held.MemoryMB() && mb <= c.Resource.MemoryMB():
		if !unreclaimed {
			l.unreclaimable[c.ID] = held
		}
		held[records.Memory] = mb
		l.Log.WithField("container", c.ID).WithField("node", c.Node).Warn("its memory can't be taken, and counts as held: " + r.Reason)
	case unreclaimed && r.Reason == "" && mb <= wanted.MemoryMB():
		delete(l.unreclaimable, c.ID)
		held[records.Memory] = min(held[records.Memory], wanted[records.Memory])
	default:
		return
	}
	if held == c.Resource { // one that holds its claim doesn't count as suspended
		held[records.Memory]--
	}
	if held != c.Held() && l.Scheduler.Apply(&eventlog.Event{Op: eventlog.NoteHeld, Container: h, Resource: eventlog.Amounts(held)}) {
		l.record(c, c.Level, held, c.Suspension().Cause)
	}
}
