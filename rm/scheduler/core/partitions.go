package core

import (
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// A core is the nodes of one partition with what they run, and with the queues as they are there: it needs to know nothing of others. The
// scheduler has one for each label that nodes have, and one for the nodes without a label, which is home to all applications. The
// requests and containers of an application elsewhere are a part of it in the core there.
//
// Cores share their handles, so that nodes, applications and containers are called the same everywhere. Three things pass between them: an
// application becomes active in all of them at once; nodes change their partition with what runs on them; and a partition that isn't exclusive
// shares its nodes with asks of home, which are guests there.
//
// Guests reserve nothing and come last, without maxima and user-limit-factor, as in YARN. Home decides how many
// applications run, the ApplicationMaster's core when each becomes active. A map by label in each amount, as in Hadoop,
// would cost clusters without labels.

// others holds the relations of a core with those of other partitions.
type others struct {
	partial  bool         // it is the core of a label
	at       int          // its index in Kin
	home     *Core        // of one that shares its nodes; nil: it doesn't
	sharers  []*Core      // of home: those that share
	nodes    bool         // others have nodes
	Kin      *[]*Core     // those of all partitions, home first; nil: this is the only one
	Stirred  bool         // something has changed elsewhere, so that this one is to be asked for decisions
	Admitted []handle.App // of home: that no limit on how many run at once holds any more, and whose ApplicationMasters count elsewhere
}

// OfLabel makes a core that of the nodes with a label, which is to be at an index of Kin.
func (s *Core) OfLabel(at int) { s.partial, s.at = true, at }

// SetWhole says what all partitions have together, and whether any has nodes. It reports whether that is new.
func (s *Core) SetWhole(all records.Resource, nodes bool) bool {
	changed := s.Calc.SetWhole(all) || s.nodes != nodes
	s.nodes, s.stale = nodes, s.stale || changed
	return changed
}

// NoNodes reports whether the cluster has no nodes at all, so that nothing can be said of shares of it.
func (s *Core) NoNodes() bool { return !s.nodes && s.Calc.Cluster.IsZero() }

// Has reports whether an application has a part in this partition.
func (s *Core) Has(h handle.App) bool { return int(h) < len(s.Apps) && s.Apps[h].Live }

// AddPart prepares for the requests here of an application that home has. It has no containers until Start.
func (s *Core) AddPart(h handle.App, spec AppSpec) {
	spec.Elsewhere = true
	s.enterApp(h, spec)
	s.Admitted = s.Admitted[:0] // no request here waits for that
}

// Await has an application become active once its ApplicationMaster, which counts here, is within the limits; or not, while home holds it back.
func (s *Core) Await(h handle.App, on bool) {
	a := &s.Apps[h]
	if a.Active || a.Spec.Elsewhere != on {
		return
	}
	if a.Spec.Elsewhere = !on; on {
		a.Am = s.Policy.Master(a.Spec.AM)
	}
	s.dismiss(h)
	s.admit(h)
	s.Admitted = s.Admitted[:0]
}

// CountMaster has the ApplicationMaster of an application count in this partition, or no more.
func (s *Core) CountMaster(h handle.App, here bool) {
	a := &s.Apps[h]
	if a.Spec.Elsewhere != here {
		return
	}
	before := a.Am
	a.Spec.Elsewhere, a.Am = !here, records.Resource{}
	if here {
		a.Am = s.Policy.Master(a.Spec.AM)
	}
	if a.Active {
		q, u := &s.Queues[a.Leaf], &s.Users[a.User]
		q.AmUsed, u.AmUsed = q.AmUsed.Sub(before).Add(a.Am), u.AmUsed.Sub(before).Add(a.Am)
	}
	s.retryActivation(a.Leaf)
}

// Start makes an application active, as its ApplicationMaster is within limits elsewhere.
func (s *Core) Start(h handle.App) {
	s.start(h)
	s.settle(h)
}

// Leaving is a node that changes its partition, with the containers on it.
type Leaving struct {
	nodeset.Spec
	open       nodeset.Works
	Containers []Moving
}

// Moving is a container on such a node.
type Moving struct {
	handle.Container
	App         handle.App
	claim, held records.Resource
}

// Detach takes a node out that another core gets, with what runs on it. Nothing ends.
func (s *Core) Detach(h handle.Node) Leaving {
	n := &s.Nodes.At[h]
	if n.Reserved != handle.NoContainer {
		s.Withdraw(n.Reserved)
	}
	l := Leaving{Spec: nodeset.Spec{Host: s.Nodes.Name(n.Host), Rack: s.Nodes.Name(n.Rack), Capability: *s.Nodes.Capability(n)}, open: n.Open}
	for i := range s.Containers {
		if c := &s.Containers[i]; c.Live() && c.Node == h {
			l.Containers = append(l.Containers, Moving{handle.Container(i), c.App, *s.Holds(c), s.Held(handle.Container(i))})
		}
	}
	for i := range l.Containers {
		m := &l.Containers[i]
		s.Policy.ContainerEnded(m.Container)
		s.withhold(m.Container, m.claim)
		s.leaveContainer(m.Container)
		claim, held := m.claim.Times(-1), m.held.Times(-1)
		s.Nodes.Charge(n, &held, -1)
		s.chargeApp(m.App, &claim, &held, -1)
		if s.Apps[m.App].guided { // it learns nothing from an end that is none
			guides{s}.toldEnded(m.App, h, leaf.Outcome{Container: m.Container, Resource: m.claim, Failed: true})
		}
		s.settle(m.App)
	}
	s.forgetNode(h)
	s.Nodes.Leave(h)
	s.unparkLimited()
	return l
}

// Attach enters a node that another core had. The applications whose containers it has must have parts here.
func (s *Core) Attach(h handle.Node, l *Leaving) {
	s.Nodes.Enter(h, l.Spec)
	for i := range l.Containers {
		m := &l.Containers[i]
		s.start(m.App)
		s.Containers = handle.Fit(s.Containers, m.Container, noContainer)
		s.Containers[m.Container] = Container{App: m.App, Node: h, size: s.sizes.Hold(&m.claim), Reservation: ranking.Nothing}
		s.Nodes.Charge(&s.Nodes.At[h], &m.held, 1)
		s.chargeApp(m.App, &m.claim, &m.held, 1)
		s.withhold(m.Container, m.held)
		if s.Apps[m.App].guided {
			guides{s}.toldRestored(m.App, m.Container, leaf.Unknown, s.Now)
		}
		s.settle(m.App)
	}
	s.Recheck = true
	s.entered(h)
	s.SetOpen(h, l.open)
}

// ShareNodes makes this partition share its nodes with unlabelled requests of home's applications. The caller enters their present requests.
func (s *Core) ShareNodes(home *Core) {
	s.home = home
	home.sharers = append(home.sharers, s)
}

// SharesNodes reports whether this partition shares its nodes.
func (s *Core) SharesNodes() bool { return s.home != nil }

// HasNews reports whether there are decisions that the next call of Schedule returns.
func (s *Core) HasNews() bool { return len(s.undone) > 0 }

// Keep stops lending by this partition; containers on loan stay.
func (s *Core) Keep() {
	if s.home == nil {
		return
	}
	sharers := s.home.sharers
	for i, l := range sharers {
		if l == s {
			s.home.sharers = append(sharers[:i:i], sharers[i+1:]...)
		}
	}
	s.home = nil
	for h := range s.Apps {
		if a := &s.Apps[h]; a.Live {
			s.dropGuests(a)
			s.settle(handle.App(h))
		}
	}
}

func (s *Core) dropGuests(a *App) {
	var gone []*Demand
	for d := range s.Demands(a) {
		if d.Guest {
			gone = append(gone, d)
		}
	}
	for _, d := range gone {
		a.askAsGuest(int64(-d.Pending))
		s.dropDemand(a, d)
	}
}

// UpdateGuests enters rows of requests without a label, as UpdateAsks does at home. They count for nothing here until they are granted.
func (s *Core) UpdateGuests(h handle.App, asks []Ask) {
	a := &s.Apps[h]
	for i := range asks {
		if ask := &asks[i]; !ask.Stays {
			s.updateGuest(h, a, ask)
		}
	}
	s.unblock(a)
	s.settle(h)
}

// grantedTo takes a container on a node off what an application asks for, where the request is one of home's or of a guest: the other cores
// that know it are told.
func (s *Core) grantedTo(h handle.App, d *Demand, n *nodeset.Node, locality Locality) {
	home := s
	if d.Guest {
		home = s.home
	}
	at := place{s.Nodes.Name(n.Host), s.Nodes.Name(n.Rack), locality}
	if home != s {
		home.servedElsewhere(h, d.Priority, d.RequestID, at)
	}
	for _, l := range home.sharers {
		if l != s && l.Has(h) {
			l.servedElsewhere(h, d.Priority, d.RequestID, at)
		}
	}
}

// place is where a container was granted.
type place struct {
	host, rack string
	locality   Locality
}

// servedElsewhere takes a container off a request that a node of another partition has.
func (s *Core) servedElsewhere(h handle.App, priority int32, id int64, at place) {
	a := &s.Apps[h]
	d := s.Demanded.Find(&a.Set, priority, id)
	if d == nil || d.Pending == 0 {
		return
	}
	var n nodeset.Node
	n.Host, n.Rack = s.known(at.host), s.known(at.rack)
	d.Served(&n, at.locality)
	s.countServed(a, d)
	s.served(a, d)
	s.settle(h)
}

// known returns the number of a name, or one that no name has.
func (s *Core) known(name string) int32 {
	if id, ok := s.Nodes.Names.Find(name); ok {
		return id
	}
	return -1
}

// countServed takes one container off the sums of what an application and its queues wait for. Guests aren't in these.
func (s *Core) countServed(a *App, d *Demand) {
	if d.Guest {
		a.askAsGuest(-1)
		return
	}
	a.askFor(-1)
	back := s.Calc.Negative(&d.Capability)
	s.Calc.Add(&a.PendingSum, &back)
	s.askedFor(a, &back)
}

// served looks what is left of a request from which a container was taken.
func (s *Core) served(a *App, d *Demand) {
	s.trim(d, d.Pending)
	if d.Pending > 0 {
		return
	}
	s.Demanded.Show(d)
	s.unblock(a)
	if d.Idle() {
		s.dropDemand(a, d)
	}
}

// updateGuest enters a row of a guest.
func (s *Core) updateGuest(h handle.App, a *App, ask *Ask) {
	d := s.Demanded.Find(&a.Set, ask.Priority, ask.AllocationRequestID)
	if d == nil {
		if ask.Count == 0 {
			return
		}
		d = s.Demanded.Add(h, &a.Set, ask.Priority, ask.AllocationRequestID)
		d.Guest = true
	}
	if !d.Guest {
		return // the same request has a label here; home knows of it no more
	}
	if ask.Count > 0 {
		d.Resize(ask.Capability, s.Calc.Measure(ask.Capability), &s.Classes)
		d.Execution, d.Work = ask.ExecutionType, nodeset.WorkOf(ask.Work)
	}
	if ask.Name == Any {
		a.askAsGuest(int64(ask.Count - d.Pending))
		d.Pending, d.RelaxAny = ask.Count, ask.RelaxLocality
		d.Constrain(ask.Scheduling, s.Placing)
	} else {
		s.updatePlace(d, ask)
	}
	d.TryAnew()
	s.setWhy(d, demand.Untried)
	s.Demanded.Show(d)
	if d.Idle() {
		s.dropDemand(a, d)
	}
}
