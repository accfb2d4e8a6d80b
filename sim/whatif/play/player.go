package play

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/sim/whatif/load"
	"heddle/yarn/records"
)

// Options say what is other than then. The zero value changes nothing.
type Options struct {
	// Queues are in effect all the time, instead of those of the load; nil: those of the load, as they changed.
	Queues *eventlog.Source
	// Moved has the queues of applications, by those of the load; what isn't there stays.
	Moved map[string]string
	// More are nodes that are added, or, if it is negative, taken away, by their label.
	More map[string]int
	// Speed counts for all nodes: containers run so much shorter. 0 is 1.
	Speed float64
	// Add are applications besides those of the load.
	Add []load.App
	// Jitter has everything that takes a time take a little more or less, by random numbers of this seed; 0: exactly that time.
	Jitter uint64
	// Only says that what comes after the end of those doesn't matter, Until, if it isn't 0, what comes after a time in ms since 1970.
	Only  bool
	Until int64
}

// Result holds what became of applications: those of the load, in their order, and then those that were added.
type Result struct {
	Apps       []load.Outcome
	Unfinished int // applications that can't end: nothing admits them
	Decisions  int64
	Events     int64
	End        int64 // ms since 1970
	Series     Series
	Total      records.Resource // of all nodes, at most
	CapacityMS int64            // MB · ms that nodes offered during the load
	Parts      map[string]*Part // by label
	Preempted  []Preemption     // of added applications' sake
}

// Preemption is a container that was killed or suspended.
type Preemption struct {
	At    int64
	App   int // whose it was
	Kill  bool
	For   string // queue; empty: not known
	ForID records.ApplicationID
}

// player plays a load.
type player struct {
	engine sim.Engine
	driver *drive.Driver
	load   *load.Load
	opt    Options
	result *Result

	apps     []state
	byHandle []int32     // application by handle
	conts    []container // by handle
	nodes    []node      // by number; those that were added come last
	numbers  []int       // node by handle
	clones   map[int][]int
	killed   []scheduler.ContainerHandle
	wakes    sim.Wakes
	woken    int64 // ms
	round    int64 // ms
	gap      int   // among load.Pauses: the first that isn't over
	led      int64 // ms: when the last pause that was waited for ends
	still    int   // containers that are suspended
	over     int   // applications
	// submitted counts applications: those that were added are served in the order of submission, too.
	submitted int64
	// addedOver counts those of them that were added.
	addedOver int
	hasAble   bool
	offered   int64 // MB of all nodes
	since     int64 // when that changed last
	total     records.Resource
	// attributes are those of the load's hosts.
	attributes map[string]map[string]string
	failure    error
	random     *rand.Rand // of Jitter
}

// node is a node.
type node struct {
	handle     scheduler.NodeHandle
	there      bool
	left       bool // it is one of those that are taken away
	host, rack string
	like       string // host that it has the attributes of
	label      string
	capability records.Resource
}

// Run plays a load. Errors say what of the options, or of the load, can't be.
func Run(l *load.Load, o Options) (*Result, error) {
	p, err := newPlayer(l, o)
	if err != nil {
		return nil, err
	}
	enterAll(p)
	for p.failure == nil && p.over < len(p.apps) && !p.enough() && p.engine.Step() {
		before := p.result.Decisions
		p.schedule()
		if p.wakes.InVain(&p.engine, p.result.Decisions > before) {
			break
		}
	}
	if p.failure != nil {
		return nil, p.failure
	}
	return reportOf(p), nil
}

// enough reports whether nothing matters of what comes now.
func (p *player) enough() bool {
	return p.opt.Until > 0 && p.now() > p.opt.Until || p.opt.Only && p.addedOver == len(p.opt.Add)
}

func newPlayer(l *load.Load, o Options) (*player, error) {
	source := o.Queues
	if source == nil {
		source = l.Queues
	}
	tree, types, err := source.Tree()
	if err != nil {
		return nil, err
	}
	p := &player{load: l, opt: o, result: &Result{Parts: map[string]*Part{}}, clones: map[int][]int{}, attributes: map[string]map[string]string{}}
	if p.opt.Speed == 0 {
		p.opt.Speed = 1
	}
	if o.Jitter != 0 {
		p.random = rand.New(rand.NewPCG(o.Jitter, 1))
	}
	p.driver = drive.New(scheduler.Config{Tree: tree, Types: types, Minimum: l.Minimum, Heartbeat: time.Duration(l.Heartbeat) * time.Millisecond})
	p.nodes = make([]node, l.Nodes)
	if err := planNodes(p); err != nil {
		return nil, err
	}
	if err := labelAdded(p, tree); err != nil {
		return nil, err
	}
	p.apps = make([]state, len(l.Apps)+len(o.Add))
	p.result.Apps = make([]load.Outcome, len(p.apps))
	for i := range p.apps {
		p.apps[i].spec = p.spec(i)
		p.result.Apps[i] = load.Outcome{Granted: -1, End: -1}
	}
	p.since = l.Begin
	p.result.Series = newSeries(l)
	return p, checkQueues(p, tree)
}

func (p *player) spec(i int) *load.App {
	if n := len(p.load.Apps); i >= n {
		return &p.opt.Add[i-n]
	}
	return &p.load.Apps[i]
}

// queueOf is where an application is that the load has in a queue.
func (p *player) queueOf(path string) string {
	if to, ok := p.opt.Moved[path]; ok {
		return to
	}
	return path
}

// takes reports whether a queue of a tree may have applications. Those of a record were in queues that its own trees have.
func takes(p *player, tree *queue.Tree, path string, added bool) bool {
	switch {
	case p.opt.Queues == nil && len(p.opt.Moved) == 0 && !added || tree == nil || tree.Kind == queue.FIFO:
		return true
	case tree.Kind == queue.Fair:
		return p.driver.TakesApps(path)
	}
	if q, found := tree.Find(path); found {
		return q.Leaf()
	}
	above := tree.Above(path)
	return above != tree.Root && len(above.Children) == 0 && !above.Leaf() // its queues are made on demand
}

// checkQueues refuses queues that aren't there.
func checkQueues(p *player, tree *queue.Tree) error {
	var errs []error
	seen := map[string]bool{}
	for i := range p.apps {
		s := p.apps[i].spec
		paths := []string{s.Queue}
		for _, c := range s.Changes {
			if c.Op == eventlog.MoveApp {
				paths = append(paths, c.Queue)
			}
		}
		for _, path := range paths {
			to := p.queueOf(path)
			added := i >= len(p.load.Apps)
			if seen[to] || takes(p, tree, to, added) {
				seen[to] = !added
				continue
			}
			if seen[to] = true; added {
				errs = append(errs, fmt.Errorf("queue %q, of job %s, is no leaf of the configuration", to, s.Name))
				continue
			}
			errs = append(errs, fmt.Errorf("queue %q, in which the record has application %s (line %d), is no leaf of the configuration: add it, or say where its applications go: --map %s=root.other", to, s.Name, s.Line, path))
		}
	}
	return errors.Join(errs...)
}

// plan chooses the nodes that are added and taken away.
func planNodes(p *player) error {
	specs := make([]*scheduler.NodeSpec, p.load.Nodes)
	first := map[string][]int{} // nodes by label, in the order of their numbers
	for i := range p.load.Events {
		if e := &p.load.Events[i]; e.Op == eventlog.AddNode && specs[e.Node] == nil {
			specs[e.Node] = e.Spec
			first[e.Spec.Label] = append(first[e.Spec.Label], e.Node)
		}
	}
	for label, more := range p.opt.More {
		have := first[label]
		switch {
		case more < 0 && -more >= len(have):
			return fmt.Errorf("--nodes %d: the record has %d nodes with the label %q, and one must stay", more, len(have), label)
		case more < 0:
			for _, n := range have[len(have)+more:] {
				p.nodes[n].left = true
			}
		case more > maxNodes:
			return fmt.Errorf("--nodes +%d: at most %d can be added", more, maxNodes)
		case more > 0 && len(have) == 0:
			return fmt.Errorf("--nodes +%d: the record has no node with the label %q, which those that are added would be like", more, label)
		case more > 0:
			addLike(p, commonest(have, specs), more)
		}
	}
	return nil
}

// maxNodes bounds nodes that are added.
const maxNodes = 100_000

func addLike(p *player, n, more int) {
	for range more {
		p.clones[n] = append(p.clones[n], len(p.nodes))
		p.nodes = append(p.nodes, node{})
	}
}

// commonest is the first of the nodes of which most are alike.
func commonest(nodes []int, specs []*scheduler.NodeSpec) (best int) {
	count := map[records.Resource]int{}
	for _, n := range nodes {
		count[specs[n].Capability]++
	}
	best = nodes[0]
	for _, n := range nodes {
		if count[specs[n].Capability] > count[specs[best].Capability] {
			best = n
		}
	}
	return best
}

// now is the time in ms.
func (p *player) now() int64 { return p.engine.Now().Millis() }

// at enters an event.
func (p *player) at(ms int64, to sim.Handler, arg int64) {
	p.engine.At(sim.Time(ms)*sim.Time(time.Millisecond), to, arg)
}

// enterAll enters the cluster's events and applications. Each enters the next one.
func enterAll(p *player) {
	if len(p.load.Events) > 0 {
		p.at(p.load.Events[0].Time, changes{p}, 0)
	}
	if len(p.load.Apps) > 0 {
		p.at(p.load.Apps[0].Submit, arrival{p}, 0)
	}
	for i := range p.opt.Add {
		p.at(p.opt.Add[i].Submit, arrival{p}, int64(len(p.load.Apps)+i))
	}
}

// schedule has the driver decide after the events of a time.
func (p *player) schedule() {
	now := p.now()
	if to := p.paused(now); to > 0 {
		p.wakes.At(&p.engine, to, &p.led)
		return
	}
	for p.decide(now) {
		continue
	}
	p.wakes.At(&p.engine, p.driver.NextWake(), &p.woken)
	if _, more := p.engine.Next(); more || p.still > 0 { // else a round changes nothing
		p.wakes.At(&p.engine, p.driver.NextRound(), &p.round)
	}
}

// paused returns when the pause ends in which a time is; 0: it is in none. Changes of leaders come as they did: what they did to applications isn't an error of the play.
func (p *player) paused(now int64) (to int64) {
	for p.gap < len(p.load.Pauses) && p.load.Pauses[p.gap].To <= now {
		p.gap++
	}
	if p.gap < len(p.load.Pauses) && p.load.Pauses[p.gap].From < now {
		return p.load.Pauses[p.gap].To
	}
	return 0
}

func (p *player) decide(now int64) bool {
	p.killed = p.killed[:0]
	decisions := p.driver.Step(now)
	p.result.Decisions += int64(len(decisions))
	for i := range decisions {
		switch d := &decisions[i]; d.Kind {
		case drive.Allocate:
			p.granted(d)
		case drive.Suspend:
			p.pause(d)
		case drive.Resume:
			p.resume(d.Container)
		case drive.Kill:
			p.killed = append(p.killed, d.Container)
			noteFor(p, d, true)
		}
	}
	for _, h := range p.killed {
		p.lose(h, true)
	}
	return len(p.killed) > 0
}

// maxNoted bounds the preemptions that are listed.
const maxNoted = 10_000

func noteFor(p *player, d *drive.Decision, kill bool) {
	if len(p.opt.Add) > 0 && len(p.result.Preempted) < maxNoted {
		p.result.Preempted = append(p.result.Preempted, Preemption{p.now(), int(p.byHandle[d.App]), kill, d.For, d.ForApp})
	}
}

// report is the result once nothing more happens.
func reportOf(p *player) *Result {
	r := p.result
	r.End, r.Events = p.now(), p.engine.Events()
	p.offer(r.End)
	for _, x := range r.Parts {
		x.offers(p, 0)
	}
	for i := range p.apps {
		if p.apps[i].phase != over {
			r.Unfinished++
		}
	}
	return r
}

// offer counts what nodes have offered until a time.
func (p *player) offer(now int64) {
	until := min(now, p.load.End)
	p.result.CapacityMS += p.offered * max(until-p.since, 0)
	p.since = max(p.since, until)
}
