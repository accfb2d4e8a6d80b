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
	PerRound     float64       // total_preemption_per_round: part of the cluster that one round takes at most
	IgnoredOver  float64       // max_ignored_over_capacity: part of its guarantee by which a queue may be over it unpunished
	Termination  float64       // natural_termination_factor: part of what is due that a round takes, as containers end anyway
	ObserveOnly  bool          // observe_only: decide, and do nothing
	Balance      bool          // preemption-to-balance-queue-after-satisfied.enabled: also between queues over their guarantees
	BalanceWait  time.Duration // …max-wait-before-kill, for victims of that
	Intra        IntraSettings
	Conservative bool // conservative-drf: stop as soon as any type of resource is covered
}

// DefaultCapacity are YARN's defaults.
func DefaultCapacity() CapacitySettings {
	return CapacitySettings{
		Interval: 3 * time.Second, Wait: 15 * time.Second, PerRound: 0.1, IgnoredOver: 0.1, Termination: 0.2,
		BalanceWait: 5 * time.Minute,
		Intra:       IntraSettings{MostOfQueue: 0.2, Threshold: 0.5, Conservative: true},
	}
}

// Capacity takes from queues that use more than they are guaranteed, for those that have less and wait (Hadoop:
// ProportionalCapacityPreemptionPolicy with FifoCandidatesSelector and IntraQueueCandidatesSelector).
type Capacity struct {
	Settings CapacitySettings
	marked   marks
}

// Round decides at a time (ms). The result's lists are in the order of queues, and in the order of choice within.
func (c *Capacity) Round(now int64, s *Snapshot) Round {
	victims, wait := c.choose(s)
	if c.Settings.ObserveOnly {
		return Round{}
	}
	return c.marked.round(now, victims, wait)
}

// Choose returns the victims of one round, without regard to who was marked before.
func (c *Capacity) Choose(s *Snapshot) []Victim {
	victims, _ := c.choose(s)
	return victims
}

func (c *Capacity) choose(s *Snapshot) (victims []Victim, wait func(*Victim) int64) {
	r := selection{Snapshot: s, settings: &c.Settings, taken: map[records.ContainerID]bool{}}
	r.measure = measure{dominant: s.Dominant, cluster: s.Cluster}
	r.allowed = scaled(s.Cluster, c.Settings.PerRound)
	r.appsOf = make([][]*App, len(s.Queues))
	for i := range s.Apps {
		a := &s.Apps[i]
		r.appsOf[a.Queue] = append(r.appsOf[a.Queue], a)
	}
	r.between(false)
	plain := len(r.victims)
	if c.Settings.Balance {
		r.between(true)
	}
	balanced := map[records.ContainerID]bool{}
	for _, v := range r.victims[plain:] {
		balanced[v.ID] = true
	}
	if c.Settings.Intra.Enabled {
		r.within()
	}
	return r.victims, func(v *Victim) int64 {
		if balanced[v.ID] {
			return c.Settings.BalanceWait.Milliseconds()
		}
		return c.Settings.Wait.Milliseconds()
	}
}

// selection is the work of one round.
type selection struct {
	*Snapshot
	measure
	settings *CapacitySettings
	allowed  records.Resource // what may still be taken in this round
	appsOf   [][]*App         // by queue
	taken    map[records.ContainerID]bool
	victims  []Victim
}

// between chooses containers for other queues.
func (r *selection) between(balance bool) {
	ideal := idealOf(r.Snapshot, r.measure, balance, r.allowed)
	for i := range r.Queues {
		q := &r.Queues[i]
		if ideal.leaf(i) && !q.Disabled {
			r.fromQueue(i, ideal)
		}
	}
}

// fromQueue takes what a leaf has too much: reservations and containers of the latest applications first, of each the least
// important and latest first; ApplicationMasters last, and only those that are more than the queue's limit for them.
func (r *selection) fromQueue(i int, ideal *ideal) {
	q := &r.Queues[i]
	if !r.more(q.Used, scaled(q.Guaranteed, 1+r.settings.IgnoredOver)) {
		return
	}
	due := scaledUp(ideal.surplus[i], r.settings.Termination)
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
		for _, c := range leastImportantFirst(a) {
			switch {
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

func (r *selection) owner(queue int, c *Container) *App {
	for _, a := range r.appsOf[queue] {
		if a.ID == c.ID.Attempt.App {
			return a
		}
	}
	return nil
}

// taking is a hunt for an amount.
type taking struct {
	*selection
	due          records.Resource
	reason       string
	conservative bool
}

// try takes a container if that brings down what is due, and the round may take so much.
func (t *taking) try(a *App, c *Container) bool {
	if a == nil || c.Spared || t.taken[c.ID] || !t.positive(t.due) || !c.Resource.FitsIn(t.allowed) {
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
	t.choose(a, c)
	return true
}

// undo takes a reservation: also one that is more than what is due, or than the round may take, as no work is lost with it.
func (t *taking) undo(a *App, c *Container) {
	if !t.try(a, c) && !t.taken[c.ID] && t.positive(t.due) {
		t.choose(a, c)
	}
}

func (t *taking) choose(a *App, c *Container) {
	t.taken[c.ID] = true
	t.victims = append(t.victims, Victim{
		App: a.ID, ID: c.ID, Queue: t.Queues[a.Queue].Path, Resource: c.Resource, AM: c.AM, Reserved: c.Reserved, Handle: c.Handle,
		Reason: t.reason,
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

// leastImportantFirst are an application's reservations, then its containers in the order in which it loses them.
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
}

type mark struct {
	at   int64 // ms
	wait int64 // ms until the container is killed
}

// round sorts victims into those to be told and those whose time is up. A mark is forgotten when its container wasn't chosen
// for twice the time after which it would have been killed.
func (m *marks) round(now int64, victims []Victim, wait func(*Victim) int64) (r Round) {
	if m.since == nil {
		m.since = map[records.ContainerID]mark{}
	}
	for i := range victims {
		v := &victims[i]
		k, marked := m.since[v.ID]
		switch {
		case v.Reserved:
			r.Undo = append(r.Undo, *v)
		case !marked:
			m.since[v.ID] = mark{at: now, wait: wait(v)}
			r.Tell = append(r.Tell, *v)
		case k.at+k.wait <= now:
			delete(m.since, v.ID)
			r.Kill = append(r.Kill, *v)
		}
	}
	for id, k := range m.since {
		if k.at+2*k.wait < now {
			delete(m.since, id)
		}
	}
	return r
}
