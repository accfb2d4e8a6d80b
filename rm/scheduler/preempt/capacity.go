package preempt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"heddle/yarn/records"
)

// CapacitySettings are the keys yarn.resourcemanager.monitor.capacity.preemption.*.
type CapacitySettings struct {
	Interval     time.Duration // monitoring_interval: between rounds
	Wait         time.Duration // max_wait_before_kill: from telling an ApplicationMaster to killing its container
	PerRound     float64       // total_preemption_per_round: part of the cluster, with all partitions, that one round takes at most
	IgnoredOver  float64       // max_ignored_over_capacity: part of its guarantee by which a queue may be over it unpunished
	Termination  float64       // natural_termination_factor: part of what is due that a round takes, as containers end anyway
	ObserveOnly  bool          // observe_only: decide, and do nothing
	Balance      bool          // preemption-to-balance-queue-after-satisfied.enabled: also between queues over their guarantees
	BalanceWait  time.Duration // …max-wait-before-kill, for victims of that
	ForReserved  bool          // select_based_on_reserved_containers: first where it lets reservations be filled
	AddReserved  bool          // additional_res_balance_based_on_reserved_containers: reserved resources count as wanted elsewhere, too
	Underused    UnderusedSettings
	Intra        IntraSettings
	Conservative bool // conservative-drf: stop as soon as any type of resource is covered
}

// DefaultCapacity are YARN's defaults.
func DefaultCapacity() CapacitySettings {
	return CapacitySettings{
		Interval: 3 * time.Second, Wait: 15 * time.Second, PerRound: 0.1, IgnoredOver: 0.1, Termination: 0.2,
		BalanceWait: 5 * time.Minute, Underused: UnderusedSettings{Delay: time.Minute},
		Intra: IntraSettings{MostOfQueue: 0.2, Threshold: 0.5, Conservative: true},
	}
}

// Capacity takes from queues that use more than they are guaranteed, for those that have less and wait (Hadoop:
// ProportionalCapacityPreemptionPolicy with its selectors of candidates).
type Capacity struct {
	Settings CapacitySettings
	marked   marks
}

// Round decides at a time (ms). The result's lists are in the order of queues, and in the order of choice within.
func (c *Capacity) Round(now int64, s *Snapshot) Round {
	r := c.choose(now, s)
	if c.Settings.ObserveOnly {
		return Round{}
	}
	out := c.marked.round(now, r.victims, func(v *Victim) int64 {
		if r.balanced[v.ID] {
			return c.Settings.BalanceWait.Milliseconds()
		}
		return c.Settings.Wait.Milliseconds()
	})
	out.Move = r.moves
	for i := range r.victims {
		out.Chosen = out.Chosen.Add(r.victims[i].Resource)
	}
	return out
}

// Marks is how many containers rounds have marked that haven't been killed, or forgotten, since.
func (c *Capacity) Marks() int { return len(c.marked.since) }

// Choose returns the victims of one round at a time (ms), without regard to earlier marks.
func (c *Capacity) Choose(now int64, s *Snapshot) []Victim { return c.choose(now, s).victims }

// choose has each way to choose add to what those before it chose.
func (c *Capacity) choose(now int64, s *Snapshot) *selection {
	if c.Settings.Underused.Enabled || c.Settings.ForReserved || c.Settings.Intra.Enabled {
		s.Complete()
	}
	r := newSelection(now, s, &c.Settings)
	if c.Settings.Underused.Enabled {
		r.byPriority()
	}
	if c.Settings.ForReserved {
		r.forReservations()
	}
	r.between(idealOf(s, r.measure, wish{reserved: c.Settings.AddReserved}, r.allowed))
	if c.Settings.Balance {
		plain := len(r.victims)
		r.between(idealOf(s, r.measure, wish{balance: true}, r.allowed))
		for _, v := range r.victims[plain:] {
			r.balanced[v.ID] = true
		}
	}
	if c.Settings.Intra.Enabled {
		r.within()
	}
	return r
}

// selection is the work of one round.
type selection struct {
	*Snapshot
	measure
	now      int64 // ms
	settings *CapacitySettings
	allowed  records.Resource // what may still be taken in this round
	appsOf   [][]*App         // by queue
	places   map[*App]int     // in Apps; nil until it is needed
	taken    map[records.ContainerID]bool
	balanced map[records.ContainerID]bool // of taken: between queues over their guarantees
	victims  []Victim
	moves    []Move
}

func newSelection(now int64, s *Snapshot, settings *CapacitySettings) *selection {
	r := &selection{
		Snapshot: s, measure: measure{dominant: s.Dominant, cluster: s.Cluster}, now: now, settings: settings,
		allowed: atLeast0(scaled(s.Cluster.Add(s.Others), settings.PerRound).Sub(s.Chosen)), appsOf: make([][]*App, len(s.Queues)),
		taken: map[records.ContainerID]bool{}, balanced: map[records.ContainerID]bool{},
	}
	for i := range s.Apps {
		a := &s.Apps[i]
		r.appsOf[a.Queue] = append(r.appsOf[a.Queue], a)
	}
	return r
}

// between chooses containers for other queues.
func (r *selection) between(ideal *ideal) {
	for i := range r.Queues {
		if ideal.leaf(i) && !r.Queues[i].Disabled {
			r.fromQueue(i, ideal)
		}
	}
}

// due returns what a leaf must give in this round.
func (r *selection) due(i int, ideal *ideal) records.Resource {
	q := &r.Queues[i]
	if q.Disabled || !r.more(q.Used, scaled(q.Guaranteed, 1+r.settings.IgnoredOver)) {
		return records.Resource{}
	}
	return scaledUp(ideal.surplus[i], r.settings.Termination)
}

// fromQueue takes what a leaf has too much: reservations and containers of the latest applications first, of each the least
// important and latest first; ApplicationMasters last, and only those that are more than the queue's limit for them.
func (r *selection) fromQueue(i int, ideal *ideal) {
	q := &r.Queues[i]
	due := r.due(i, ideal)
	for _, v := range r.victims { // of an earlier selection
		if v.Queue == q.Path {
			due = atLeast0(due.Sub(v.Resource))
		}
	}
	if !r.positive(due) {
		return
	}
	reason := fmt.Sprintf("queue %s uses %v, is guaranteed %v and should have %v; other queues wait for what they are guaranteed",
		q.Path, q.Used, q.Guaranteed, ideal.assigned[i])
	take := taking{selection: r, due: due, reason: reason, conservative: r.settings.Conservative}
	var masters []*Container
	var ofMasters records.Resource
	for _, a := range latestFirst(r.appsOf[i]) {
		if !r.positive(take.due) {
			break // nothing more is taken, not even reservations
		}
		r.complete(a)
		for _, c := range leastImportantFirst(a) {
			switch {
			case c.Killable:
			case c.Reserved:
				take.undo(a, c)
			case c.AM:
				masters = append(masters, c)
				ofMasters = ofMasters.Add(c.Resource)
			default:
				take.try(a, c)
			}
		}
	}
	for _, c := range masters {
		if !r.more(ofMasters, q.MaxAM) {
			break
		}
		if a := r.owner(i, c); take.try(a, c) {
			ofMasters = ofMasters.Sub(c.Resource)
		}
	}
}

// complete adds the containers of an application, if the snapshot lacks them.
func (r *selection) complete(a *App) {
	if r.Fill == nil || a.Containers != nil {
		return
	}
	if r.places == nil {
		r.places = map[*App]int{}
		for i := range r.Apps {
			r.places[&r.Apps[i]] = i
		}
	}
	r.Fill(r.places[a])
}

func (r *selection) owner(queue int, c *Container) *App {
	for _, a := range r.appsOf[queue] {
		if a.ID == c.ID.Attempt.App {
			return a
		}
	}
	return nil
}

// taking chooses containers until an amount is reached.
type taking struct {
	*selection
	due          records.Resource
	reason       string
	conservative bool
}

// try takes a container if that brings down what is due, and the round may take so much.
func (t *taking) try(a *App, c *Container) bool {
	if a == nil || c.Spared || c.Killable || t.taken[c.ID] || !t.positive(t.due) || !c.Resource.FitsIn(t.allowed) {
		return false
	}
	if t.conservative {
		for i, v := range t.due {
			if v <= 0 && t.measured(i) && c.Resource[i] > 0 {
				return false
			}
		}
	} else if after := t.due.Sub(c.Resource); !t.less(atLeast0(after), atLeast0(t.due)) {
		return false
	}
	t.due, t.allowed = t.due.Sub(c.Resource), t.allowed.Sub(c.Resource)
	t.pick(a, c, t.reason)
	return true
}

// undo takes a reservation: also one that is more than what is due, or than the round may take, as no work is lost with it.
func (t *taking) undo(a *App, c *Container) {
	if !t.try(a, c) && !t.taken[c.ID] && t.positive(t.due) {
		t.pick(a, c, t.reason)
	}
}

// pick makes a container a victim.
func (r *selection) pick(a *App, c *Container, reason string) {
	r.taken[c.ID] = true
	r.victims = append(r.victims, Victim{
		App: a.ID, ID: c.ID, Queue: r.Queues[a.Queue].Path, Resource: c.Resource, AM: c.AM, Reserved: c.Reserved, Handle: c.Handle,
		Reason: reason,
	})
}

// latestFirst are applications in the order in which they lose containers: least priority, and then latest, first.
func latestFirst(apps []*App) []*App {
	apps = slices.Clone(apps)
	slices.SortFunc(apps, func(a, b *App) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Seq, a.Seq))
	})
	return apps
}

// leastImportantFirst returns an application's reservations, then its containers in the order in which it loses them.
func leastImportantFirst(a *App) []*Container {
	all := make([]*Container, len(a.Containers))
	for i := range a.Containers {
		all[i] = &a.Containers[i]
	}
	slices.SortStableFunc(all, func(x, y *Container) int {
		if x.Reserved != y.Reserved {
			if x.Reserved {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), y.ID.Compare(x.ID))
	})
	return all
}

// marks remember since when containers are marked.
type marks struct {
	since map[records.ContainerID]mark
	last  int64 // ms: the last round
}

type mark struct {
	at     int64 // ms
	wait   int64 // ms until the container is killed
	chosen int64 // ms: the last round that chose it
	reason string
}

// round sorts victims into those to be told and those whose time is up. A mark is forgotten when its container wasn't chosen
// for twice the time after which it would have been killed.
func (m *marks) round(now int64, victims []Victim, wait func(*Victim) int64) (r Round) {
	if m.since == nil {
		m.since = map[records.ContainerID]mark{}
	}
	m.last = now
	for i := range victims {
		v := &victims[i]
		k, marked := m.since[v.ID]
		switch {
		case v.Reserved:
			r.Undo = append(r.Undo, *v)
			continue
		case !marked:
			k = mark{at: now, wait: wait(v)}
			r.Tell = append(r.Tell, *v)
		case k.at+k.wait <= now:
			delete(m.since, v.ID)
			r.Kill = append(r.Kill, *v)
			continue
		}
		k.chosen, k.reason = now, v.Reason
		m.since[v.ID] = k
	}
	for id, k := range m.since {
		if k.at+2*k.wait < now {
			delete(m.since, id)
		}
	}
	return r
}

// Marked says of a container that the last round chose when its time is up (ms), and why it was chosen.
func (c *Capacity) Marked(id records.ContainerID) (until int64, reason string, ok bool) {
	k, ok := c.marked.since[id]
	return k.at + k.wait, k.reason, ok && k.chosen == c.marked.last
}
