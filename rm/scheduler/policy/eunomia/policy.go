package eunomia

import (
	"fmt"
	"math"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/stages"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

// Names by which queues call the policies (ordering-policy).
const (
	Name   = "eunomia"
	TSF    = "tsf"
	Choosy = "choosy"
)

func init() {
	for _, name := range []string{Name, TSF, Choosy} {
		leaf.Register(name, func() leaf.Policy { return New(name) })
	}
}

// Policy is one of the policies for one leaf. It implements leaf.Policy, leaf.Watcher, leaf.Placer, leaf.Timer and leaf.Ranker.
type Policy struct {
	name    string
	cluster *survey.Cluster
	version int64 // of the cluster, that progress was computed with
	apps    leaf.Table[handle.App, app]
	held    leaf.Notes[held]
	changed []handle.App
}

// app is an application of the leaf.
type app struct {
	partial bool // it had containers before the leaf had this policy
	asks    bool // it did when it was heard of last
	weight  float64
	held    int32            // of its containers that the policy was told of
	told    records.Resource // that these have
	of      [stages.None + 1]part
}

// part is what an application has in one stage of its work. Other applications than MapReduce's have stages.None only.
type part struct {
	size     int32   // number of the size of its tasks in cluster.sizes
	sized    bool    // size is known
	running  int32   // containers
	progress float64 // Σ T·P of equation 5.1
}

// held is a container that an application has.
type held struct {
	app    handle.App
	node   handle.Node
	size   int32 // number of its size in cluster.sizes
	stage  stages.Stage
	master bool // it runs the ApplicationMaster, which makes no progress
}

// New returns the policy of a leaf, by its name.
func New(name string) *Policy {
	return &Policy{name: name, cluster: survey.New()}
}

// Survey takes over what is known of the nodes.
func (p *Policy) Survey(c *survey.Cluster) {
	for h := range p.apps.All {
		p.Left(h)
	}
	p.cluster = c
}

// taskOf returns the type of tasks whose speed counts for a stage. The baselines don't look at speeds.
func (p *Policy) taskOf(s stages.Stage) survey.Task {
	switch {
	case p.name != Name:
		return survey.Even
	case s == stages.Reduce:
		return survey.Reduce
	}
	return survey.Map
}

// app finds an application, or enters it.
func (p *Policy) app(a *leaf.App, had int32) *app {
	x := p.apps.Get(a.Handle)
	if x == nil {
		x = p.apps.Put(a.Handle, app{partial: a.Containers > had})
	}
	if x.weight = a.Weight; !(x.weight > 0) {
		x.weight = 1
	}
	x.asks = !a.Pending.IsZero()
	return x
}

// measure notes the size of the tasks of a stage, once: larger or smaller containers count as a part of it.
func (p *Policy) measure(x *part, size *records.Resource) {
	if !x.sized {
		x.size, x.sized = p.cluster.Hold(size), true
	}
}

// Ratio returns the progress share S of equation 5.1; for Choosy it is the dominant share.
func (p *Policy) Ratio(a leaf.App) float64 {
	if p.name == Choosy {
		if a.Weight > 0 {
			return p.cluster.Share(a.Used) / a.Weight
		}
		return p.cluster.Share(a.Used)
	}
	x := p.apps.Get(a.Handle)
	if x == nil {
		return 0
	}
	sum := 0.
	for s := range x.of {
		sum += p.part(&x.of[s], p.taskOf(stages.Stage(s)))
	}
	if x.partial {
		sum += p.cluster.Share(new(a.Used.Sub(x.told).Max(records.Resource{})))
	}
	if a.Weight > 0 {
		return sum / a.Weight
	}
	return sum
}

// part returns what a stage of an application adds to its share.
func (p *Policy) part(x *part, t survey.Task) float64 {
	if x.running == 0 {
		return 0
	}
	return x.progress / p.cluster.Alone(x.size, t) // infinite if no node could hold a task
}

// Cap is none.
func (p *Policy) Cap(leaf.App) records.Resource { return leaf.Uncapped() }

// Hold holds nothing.
func (p *Policy) Hold(leaf.Ask) (held bool, until int64) { return false, 0 }

// Asked records the size of an application's tasks.
func (p *Policy) Asked(k leaf.Ask) {
	x := p.app(&k.App, 0)
	s, _ := stages.Of(&k.App, k.Priority)
	if k.Count > 0 && !p.masters(&k.App, s, k.Priority) {
		p.measure(&x.of[s], &k.Capability)
	}
}

// masters reports whether a request is for the ApplicationMaster: YARN asks for it at priority 0, before anything else.
func (p *Policy) masters(a *leaf.App, s stages.Stage, priority int32) bool {
	return s == stages.None && (a.Type == stages.Type || priority == 0 && a.Containers == 0)
}

// Outputs is of no interest.
func (p *Policy) Outputs(leaf.App, int64, int64) {}

// Granted counts a container for its application.
func (p *Policy) Granted(a leaf.App, g leaf.Grant) {
	x := p.app(&a, 1)
	s, _ := stages.Of(&a, g.Ask.Priority)
	before := a
	before.Containers--
	c := held{app: a.Handle, node: g.Node.Handle, stage: s, master: p.masters(&before, s, g.Ask.Priority)}
	if !c.master {
		p.measure(&x.of[s], &g.Resource)
	}
	c.size = p.numberOf(&x.of[s], &g.Resource)
	*g.Note = p.held.Add(g.Container, c)
	x.held, x.told = x.held+1, x.told.Add(g.Resource)
	if !c.master {
		p.count(x, &c, 1)
	}
}

// numberOf returns the number of a container's size, which is mostly that of the tasks of its stage.
func (p *Policy) numberOf(x *part, size *records.Resource) int32 {
	if x.sized && *p.cluster.Size(x.size) == *size {
		return p.cluster.HoldAgain(x.size)
	}
	return p.cluster.Hold(size)
}

// count adds a container to the progress of its application, or takes it away.
func (p *Policy) count(x *app, c *held, by int32) {
	y := &x.of[c.stage]
	if y.running += by; y.running == 0 {
		y.progress = 0 // without what rounding has left
		return
	}
	y.progress += float64(by) * p.cluster.Progress(c.node, p.taskOf(c.stage), y.size, p.cluster.Size(c.size))
}

// Ended takes a container from its application.
func (p *Policy) Ended(a leaf.App, _ leaf.Node, o leaf.Outcome) {
	known := p.held.At(o.Container, o.Note)
	if known == nil {
		return
	}
	c := *known
	p.held.Remove(o.Note)
	x := p.apps.Get(c.app)
	x.held--
	x.asks = !a.Pending.IsZero()
	if x.told = x.told.Sub(*p.cluster.Size(c.size)); !c.master {
		p.count(x, &c, -1)
	}
	p.cluster.Drop(c.size)
}

// Left forgets an application.
func (p *Policy) Left(h handle.App) {
	x := p.apps.Get(h)
	if x == nil {
		return
	}
	if x.held > 0 { // it was moved with its containers
		for n, y := range p.held.All {
			if y.app == h {
				p.cluster.Drop(y.size)
				p.held.Remove(n)
			}
		}
	}
	for s := range x.of {
		if y := &x.of[s]; y.sized {
			p.cluster.Drop(y.size)
		}
	}
	p.apps.Delete(h)
}

// Time reports whether nodes have changed.
func (p *Policy) Time(int64) bool { return p.cluster.Version() != p.version }

// Tick computes progress again where nodes have changed, and returns the applications whose shares that changes: all of them.
func (p *Policy) Tick(int64, leaf.Queue) []handle.App {
	p.changed = p.changed[:0]
	if v := p.cluster.Version(); v != p.version {
		p.version = v
		p.recount()
	}
	return p.changed
}

// recount computes the progress of all applications from their containers.
func (p *Policy) recount() {
	for h, x := range p.apps.All {
		for s := range x.of {
			x.of[s].progress = 0
		}
		p.changed = append(p.changed, h)
	}
	for _, c := range p.held.All {
		if !c.master {
			y := &p.apps.Get(c.app).of[c.stage]
			y.progress += p.cluster.Progress(c.node, p.taskOf(c.stage), y.size, p.cluster.Size(c.size))
		}
	}
}

// Standing compares an application with the one that is first.
func (p *Policy) Standing(a leaf.App) string {
	mine, least, waiting := p.Ratio(a), math.Inf(1), 0
	for h, x := range p.apps.All {
		if x.asks && h != a.Handle {
			waiting++
			least = min(least, p.Ratio(leaf.App{Handle: h, Used: &x.told, Weight: x.weight}))
		}
	}
	what := "of the progress that it could make alone"
	switch p.name {
	case TSF:
		what = "of the tasks that it could have alone"
	case Choosy:
		what = "of the cluster"
	}
	switch {
	case waiting == 0:
		return fmt.Sprintf("the application has %.2f %s", mine, what)
	case least < mine:
		return fmt.Sprintf("the application has %.2f %s, and the one with the least has %.2f", mine, what, least)
	}
	return fmt.Sprintf("the application has %.2f %s, and no other that asks has less", mine, what)
}
