// Package trial tries a configuration of queues on what runs now: a second scheduler gets the cluster's nodes, applications, containers and requests,
// and decides for a while under it. Nothing that it decides is carried out.
// Suspended containers stay so, and hold what they hold. Pure.
package trial

import (
	"slices"

	"heddle/rm/leader/pastapps"
	"heddle/rm/leader/request"
	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Facts hold what runs and what waits.
type Facts struct {
	Config     scheduler.Config // Tree is not used
	Now        int64            // ms since 1970
	nodes      []node
	apps       []app
	containers []container
	byNode     map[records.NodeID]int
}

type node struct {
	spec scheduler.NodeSpec
	open bool
}

type app struct {
	spec drive.AppSpec
	asks []scheduler.Ask
	last int64 // number of its newest container
	att  int32
}

type container struct {
	app, node int
	resource  records.Resource
	drive.Container
}

// Source is a leadership.
type Source struct {
	Now    func() int64 // ms since 1970
	Ledger *ledger.State
	Asks   interface {
		Asks(scheduler.AppHandle) []scheduler.Ask
	}
	Apps interface { // as the scheduler knows them
		App(records.ApplicationID) (h scheduler.AppHandle, progress float32, ok bool)
	}
	Label func(records.NodeID) string
}

// Of returns a function that copies what runs and waits in a leadership.
func Of(cfg scheduler.Config, from Source) func() *Facts {
	return func() *Facts {
		f := &Facts{Config: cfg, Now: from.Now(), byNode: map[records.NodeID]int{}}
		f.gather(&from)
		return f
	}
}

func (f *Facts) gather(from *Source) {
	for _, n := range from.Ledger.Nodes {
		if n.Usable() || len(n.Containers) > 0 {
			f.nodes = append(f.nodes, node{scheduler.NodeSpec{Host: n.ID.Host, Rack: n.Rack, Capability: n.Capability, Label: from.Label(n.ID)}, n.State == pb.NodeState_NS_RUNNING})
			f.byNode[n.ID] = len(f.nodes) - 1
		}
	}
	for _, a := range pastapps.Live(from.Ledger) {
		var asks []scheduler.Ask
		if h, _, ok := from.Apps.App(a.ID); ok {
			asks = from.Asks.Asks(h)
		}
		f.add(a, asks)
	}
}

func (f *Facts) add(a *ledger.Application, asks []scheduler.Ask) {
	x := app{asks: asks, spec: drive.AppSpec{ID: a.ID, SpareMaster: a.Context.GetUnmanagedAm(), AppSpec: scheduler.AppSpec{
		Priority: a.Priority, Seq: int64(len(f.apps) + 1), Queue: a.Queue, User: a.User, Type: a.Context.GetApplicationType(), Label: request.NotedLabel(a.Context),
	}}}
	if !a.Context.GetUnmanagedAm() {
		x.spec.AM = a.AMResource
	}
	for c := range a.Containers.All() {
		at, known := f.byNode[c.Node]
		if !c.Live() || !known {
			continue
		}
		x.last, x.att = max(x.last, c.ID.ID), max(x.att, c.ID.Attempt.Attempt)
		f.containers = append(f.containers, container{len(f.apps), at, c.Held(), drive.Container{
			Attempt: c.ID.Attempt.Attempt, ID: c.ID.ID, Priority: c.Priority, AM: c.AM, Since: c.Allocated,
		}})
	}
	f.apps = append(f.apps, x)
}

// Start counts the containers that an application would get.
type Start struct {
	App        records.ApplicationID
	User       string
	Queue      string
	Containers int // that would start under the tried configuration
	Before     int // that would start as things are
}

// Loss is a container that preemption would take.
type Loss struct {
	Container records.ContainerID
	Queue     string
	Resource  records.Resource
	How       string // killed, suspended or shrunk
	Reason    string
}

// Outcome holds the effects of a configuration within Span.
type Outcome struct {
	Starts []Start // applications for which it makes a difference
	Losses []Loss  // that there wouldn't be as things are
	More   bool    // there is more of both than is listed
}

// Bounds of a trial.
const (
	Span   = 60_000 // ms of the cluster's time
	rounds = 200
	most   = 200 // rows of a list
)

// Of tries a tree, and compares it with the one that holds.
func (f *Facts) Of(now, next *queue.Tree) Outcome {
	before, after := f.play(now), f.play(next)
	var out Outcome
	for i := range f.apps {
		if a, b := after.starts[i], before.starts[i]; a != b {
			spec := &f.apps[i].spec
			out.Starts = append(out.Starts, Start{spec.ID, spec.User, spec.Queue, a, b})
		}
	}
	for _, l := range after.losses {
		if !slices.ContainsFunc(before.losses, func(b Loss) bool { return b.Container == l.Container }) {
			out.Losses = append(out.Losses, l)
		}
	}
	out.More = len(out.Starts) > most || len(out.Losses) > most
	out.Starts, out.Losses = out.Starts[:min(len(out.Starts), most)], out.Losses[:min(len(out.Losses), most)]
	return out
}

// played holds what a scheduler has decided.
type played struct {
	starts []int // by application
	losses []Loss
}

// player is a scheduler that was filled.
type player struct {
	*drive.Driver
	f     *Facts
	apps  map[scheduler.AppHandle]int
	last  []int64
	lost  map[scheduler.ContainerHandle]bool
	size  map[scheduler.ContainerHandle]records.Resource // of those that run now
	out   played
	again bool
}

// play decides under a tree for Span.
func (f *Facts) play(tree *queue.Tree) played {
	cfg := f.Config
	cfg.Tree = tree
	p := &player{Driver: drive.New(cfg), f: f, apps: map[scheduler.AppHandle]int{}, lost: map[scheduler.ContainerHandle]bool{}, size: map[scheduler.ContainerHandle]records.Resource{}}
	p.out.starts = make([]int, len(f.apps))
	p.fill()
	at := f.Now
	for range rounds {
		p.step(at)
		if p.again {
			continue
		}
		next := p.NextRound()
		if next <= at {
			next = at + 1000
		}
		if at = next; at > f.Now+Span {
			break
		}
	}
	return p.out
}

func (p *player) fill() {
	nodes := make([]scheduler.NodeHandle, 0, len(p.f.nodes))
	for _, n := range p.f.nodes {
		h := p.AddNode(n.spec)
		if !n.open {
			p.At(h).SetOpen(h, scheduler.NoWork)
		}
		nodes = append(nodes, h)
	}
	handles := make([]scheduler.AppHandle, 0, len(p.f.apps))
	for i, a := range p.f.apps {
		h := p.AddApp(a.spec)
		p.apps[h] = i
		handles, p.last = append(handles, h), append(p.last, a.last)
	}
	for _, c := range p.f.containers {
		p.size[p.Restore(handles[c.app], nodes[c.node], c.resource, c.Container)] = c.resource
	}
	for i, a := range p.f.apps {
		if len(a.asks) > 0 {
			p.UpdateAsks(handles[i], a.asks)
		}
	}
}

// step has the scheduler decide once. again says that what it killed is free now, so that it must decide again.
func (p *player) step(at int64) {
	decisions := slices.Clone(p.Step(at))
	p.again = false
	for i := range decisions {
		d := &decisions[i]
		switch d.Kind {
		case drive.Allocate:
			a := p.apps[d.App]
			p.last[a]++
			p.Identify(max(p.f.apps[a].att, 1), p.last[a], false, d.Container)
			p.out.starts[a]++
		case drive.Tell, drive.Killable:
			p.lose(d, "killed, unless its application gives enough back by itself")
		case drive.Kill:
			p.lose(d, "killed")
			p.Free(d.Container)
			p.again = true
		case drive.Suspend:
			p.lose(d, "suspended")
		case drive.Shrink:
			p.lose(d, "shrunk")
		}
	}
}

func (p *player) lose(d *drive.Decision, how string) {
	size, runs := p.size[d.Container]
	if p.lost[d.Container] || !runs {
		return
	}
	p.lost[d.Container] = true
	spec := &p.f.apps[p.apps[d.App]].spec
	p.out.losses = append(p.out.losses, Loss{p.ContainerID(d.Container), spec.Queue, size, how, d.Reason})
}
