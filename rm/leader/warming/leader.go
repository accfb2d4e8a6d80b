package warming

import (
	"sync"

	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Input is what a job will read, as the node of its ApplicationMaster says.
type Input struct {
	App    records.ApplicationID
	Splits []Split
}

// Staged is for how many of a job's maps that wait the input is in memory, as a node says.
type Staged struct {
	App  records.ApplicationID
	Host string // "": on the node that says it. Another one: by the NameNode's cache
	Maps int
}

// News is what a node tells of input with a heartbeat.
type News struct {
	Inputs []Input
	Staged []Staged // what has changed
}

// Any reports whether there is anything.
func (n *News) Any() bool { return len(n.Inputs)+len(n.Staged) > 0 }

// Config is what Warming works with. All must be set.
type Config struct {
	// Deliver puts an order into a node's next heartbeat.
	Deliver func(records.NodeID, Order)
	// Staged hears for how many waiting maps of an application a node has the input in memory.
	Staged func(records.ApplicationID, records.NodeID, int)
}

// Warming is the leader's part: it knows which nodes there are, and delivers orders. The methods are for the loop's operations.
type Warming struct {
	Config
	loop loop.Operations
	work *ledger.State
	jobs Jobs

	mu     sync.Mutex
	staged map[records.ApplicationID]map[records.NodeID]int // maps that wait whose input is in memory
}

// New returns the part of a leader whose working copy is work.
func New(loop loop.Operations, work *ledger.State, c Config) *Warming {
	return &Warming{Config: c, loop: loop, work: work, staged: map[records.ApplicationID]map[records.NodeID]int{}}
}

// Hear records a node's report.
func (w *Warming) Hear(from records.NodeID, news News) {
	for _, in := range news.Inputs {
		if w.master(in.App, from) {
			on := w.byHost()
			w.send(w.jobs.Learn(in.App, w.work.Apps[in.App].User, from, in.Splits, func(host string) (records.NodeID, bool) {
				node, found := on[host]
				return node, found
			}))
		}
	}
	for _, s := range news.Staged[:min(len(news.Staged), maxStaged)] {
		host := s.Host
		if host == "" {
			host = from.Host
		} else if !w.master(s.App, from) {
			continue
		}
		if node, maps, found := w.jobs.InMemory(s.App, host, s.Host != "", s.Maps); found {
			w.note(s.App, node, maps)
			w.Config.Staged(s.App, node, maps)
		}
	}
}

// master reports whether the ApplicationMaster of a live application runs on a node.
func (w *Warming) master(id records.ApplicationID, node records.NodeID) bool {
	app := w.work.Apps[id]
	if app == nil || app.State.Ended() || app.Current() == nil {
		return false
	}
	am := w.work.Container(app.Current().AMContainer)
	return am != nil && am.Live() && am.Node == node
}

// byHost has the first running node of each host.
func (w *Warming) byHost() map[string]records.NodeID {
	out := make(map[string]records.NodeID, len(w.work.Nodes))
	for id, n := range w.work.Nodes {
		if other, found := out[id.Host]; n.State == pb.NodeState_NS_RUNNING && (!found || id.Port < other.Port) {
			out[id.Host] = id
		}
	}
	return out
}

// Asked tells nodes how many of a job's maps still wait for them, as its ApplicationMaster asks.
func (w *Warming) Asked(app records.ApplicationID, asks []*pb.ResourceRequest) {
	if !w.jobs.Knows(app) {
		return
	}
	for _, a := range asks {
		if a.GetPriority().GetPriority() != MapPriority {
			continue
		}
		if order, tell := w.jobs.Waiting(app, a.GetResourceName(), int(a.GetNumContainers())); tell {
			w.send([]Sent{order})
		}
	}
}

// AppEnded ends what nodes do for an application that has ended.
func (w *Warming) AppEnded(app records.ApplicationID) {
	w.mu.Lock()
	delete(w.staged, app)
	w.mu.Unlock()
	w.send(w.jobs.End(app))
}

func (w *Warming) note(app records.ApplicationID, node records.NodeID, maps int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.staged[app]
	switch {
	case maps > 0 && of == nil:
		w.staged[app] = map[records.NodeID]int{node: maps}
	case maps > 0:
		of[node] = maps
	default:
		delete(of, node)
	}
}

// InMemory returns for how many maps that wait each node has the input in memory. It may be called by any goroutine.
func (w *Warming) InMemory() map[records.NodeID]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[records.NodeID]int{}
	for _, nodes := range w.staged {
		for node, maps := range nodes {
			out[node] += maps
		}
	}
	return out
}

// send delivers orders once everything is committed.
func (w *Warming) send(orders []Sent) {
	if len(orders) == 0 {
		return
	}
	w.loop.AfterCommit(func() {
		for _, s := range orders {
			w.Deliver(s.Node, s.Order)
		}
	})
}
