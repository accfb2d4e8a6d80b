package hopper

import (
	"cmp"
	"math"
	"slices"

	"heddle/rm/queue/leafpolicy"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/hopper/divider"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/stages"
	"heddle/yarn/records"
)

// Name is what queues call the policy (ordering-policy).
const Name = "hopper"

// Names of settings.
const (
	epsilon   = "epsilon"
	locality  = "locality-percent"
	beta      = "beta"
	alpha     = "alpha"
	dampening = "alpha-dampening"
)

func init() {
	leaf.Register(
		Name, func() leaf.Policy { return New() },
		leafpolicy.Setting{Name: epsilon, Least: 0, Most: 1},
		leafpolicy.Setting{Name: locality, Least: 0, Most: 100},
		leafpolicy.Setting{Name: beta, Least: leastBeta, Most: mostBeta},
		leafpolicy.Setting{Name: alpha, Least: leastAlpha, Most: mostAlpha},
		leafpolicy.Setting{Name: dampening, Least: 0, Most: 1},
	)
}

// interval is how long after a change the division is made again at the latest, in ms. With up to few jobs that is done at once where it matters.
const (
	interval = 100
	few      = 64
)

// Policy is Hopper for one leaf. It implements leaf.Policy, leaf.Watcher, leaf.Reporter, leaf.Prompter, leaf.Localizer, leaf.Configurer,
// leaf.Granter, leaf.Timer and leaf.Ranker.
type Policy struct {
	set     leafpolicy.Values
	now     int64 // of the last Tick, in ms
	divided int64 // when the slots were divided last, in ms
	stale   bool  // something has changed since
	urgent  bool  // jobs have come or gone since
	due     int64 // when Tick is wanted, in ms; 0: whenever

	apps    leaf.Table[handle.App, app]
	held    leaf.Notes[held]
	led     map[leaf.Note]records.Resource // what those of held have that run ApplicationMasters
	list    []member                       // all applications, by submission
	groups  map[string]*group
	ended   []end // since the last Tick
	took    mean  // tasks of all users, in seconds
	changed []handle.App

	divider  divider.Divider
	jobs     []divider.Job // those of list that are jobs, in any order
	standing []standing    // of jobs
	dirty    []handle.App  // of which something has changed since the last division
	anew     bool          // of all something may have
	types    int
	total    amounts          // of the leaf, without ApplicationMasters
	masters  records.Resource // of ApplicationMasters
	free     records.Resource // in the leaf, as far as is known
	kept     records.Resource // for copies
	keeps    int64            // slots that are
	until    int64            // when some of them aren't any more, in ms
	freed    bool             // something was, while slots are kept
	favorite handle.App       // that is served out of turn for its locality
	local    func(handle.App) int64
}

// member is an application in the order of submission.
type member struct {
	seq int64
	app handle.App
}

// New returns the policy of a leaf, with the settings that the text has.
func New() *Policy {
	return &Policy{
		set:    leafpolicy.Values{epsilon: .1, locality: 3, beta: 1.2, alpha: 1, dampening: .3},
		groups: map[string]*group{}, led: map[leaf.Note]records.Resource{}, types: records.MaxResourceTypes, favorite: noApp,
	}
}

const noApp handle.App = -1

// Configure takes over the settings of the queue.
func (p *Policy) Configure(s leafpolicy.Values) {
	for name := range p.set {
		if x, given := s[name]; given {
			p.set[name] = x
		}
	}
	p.stale, p.urgent, p.anew = true, true, true
}

// Locate takes over a function that counts tasks that could run next to their input.
func (p *Policy) Locate(count func(handle.App) int64) { p.local = count }

// Ranks of applications, the first ones first.
const (
	owed     = iota // below the floor
	favored         // served out of turn
	entitled        // below its slots
	ofOthers
)

// rank returns whose turn an application has.
func (p *Policy) rank(x *app, h handle.App, containers int32) int {
	n := x.tasksHeld(containers)
	switch {
	case x.starting(containers), n < x.floor, x.overdue && n == 0:
		return owed
	case n >= x.slots:
		return ofOthers
	case h == p.favorite:
		return favored
	}
	return entitled
}

// Ratio orders applications by rank, and then by what they have left to do.
func (p *Policy) Ratio(a leaf.App) float64 {
	x := p.apps.Get(a.Handle)
	if x == nil {
		return ofOthers
	}
	return float64(p.rank(x, a.Handle, a.Containers)) + squash(x.key)
}

// squash maps numbers from 0 on to those below 1, and infinity to what is nearly 1.
func squash(x float64) float64 {
	if math.IsInf(x, 1) || math.IsNaN(x) {
		return 1 - 1e-9
	}
	return min(x/(1+x), 1-1e-9)
}

// Cap leaves the slots that are kept for copies: to an application that has its slots already, those of all others; to one that has less, those of
// the applications before it only, as its tasks come before the copies of larger ones; and none to one below its floor.
func (p *Policy) Cap(a leaf.App) records.Resource {
	if p.keeps == 0 {
		return leaf.Uncapped()
	}
	others := p.kept
	if x := p.apps.Get(a.Handle); x != nil {
		switch p.rank(x, a.Handle, a.Containers) {
		case owed:
			return leaf.Uncapped()
		case ofOthers:
			others = others.Sub(x.size.Times(x.kept))
		default:
			others = x.before
		}
	}
	if others.IsZero() {
		return leaf.Uncapped()
	}
	return a.Used.Add(p.free.Sub(others).Max(records.Resource{}))
}

// Hold holds nothing.
func (p *Policy) Hold(leaf.Ask) (held bool, until int64) { return false, 0 }

// Copies returns how many containers an application may have for copies: its slots without those for its tasks.
func (p *Policy) Copies(a leaf.App) int64 {
	if x := p.apps.Get(a.Handle); x != nil {
		return max(0, int64(x.slots)-int64(math.Ceil(x.tasks)))
	}
	return 0
}

// Asked records an application's request.
func (p *Policy) Asked(k leaf.Ask) {
	x := p.app(&k.App)
	s, rerun := stages.Of(&k.App, k.Priority)
	if x.mapreduce {
		x.ask(s, rerun, request{k.Priority, k.RequestID}, k.Count)
	}
	if k.Count > 0 && !x.isMaster(&k.App, s, k.Priority) {
		p.measure(x, s, &k.Capability)
	}
	p.stale = true
}

// measure notes the size of a phase's containers.
func (p *Policy) measure(x *app, s stages.Stage, size *records.Resource) {
	if x.of[s].size != *size {
		p.urgent = p.urgent || x.of[s].size.IsZero()
		x.of[s].size = *size
	}
}

// Outputs records the output of maps.
func (p *Policy) Outputs(a leaf.App, maps, bytes int64) {
	x := p.app(&a)
	x.outputs.maps, x.outputs.bytes = maps, bytes
	p.stale = true
}

// Reported records an ApplicationMaster's report of its tasks.
func (p *Policy) Reported(a leaf.App, r leaf.TaskReport) {
	x := p.app(&a)
	if !x.reported || x.report != r {
		x.report, x.reported, x.fresh = r, true, true
		p.stale, p.urgent = true, true
	}
}

// Master records the container of an ApplicationMaster that ran before the leaf had this policy.
func (p *Policy) Master(a leaf.App, r records.Resource) {
	x := p.known(&a)
	if !x.ran {
		return // it was granted
	}
	p.masters = p.masters.Sub(x.master).Add(r)
	if x.master, x.masters = r, 1; r.IsZero() {
		x.masters = 0
	}
	p.stale = true
}

// Granted records a container.
func (p *Policy) Granted(a leaf.App, g leaf.Grant) {
	had := a
	had.Containers--
	x := p.known(&had)
	master := x.isMaster(&had, stages.None, g.Ask.Priority)
	s, rerun := stages.Of(&a, g.Ask.Priority)
	if s != stages.None {
		master = false
	}
	*g.Note = p.held.Add(g.Container, held{app: a.Handle, stage: s, master: master, since: g.Since})
	p.free = p.free.Sub(g.Resource)
	x.note(&a)
	x.told++
	x.fresh = x.fresh || x.report.Young > 0 // its tasks begin to run now
	if master {
		x.masters++
		p.masters = p.masters.Add(g.Resource)
		p.led[*g.Note] = g.Resource
	} else {
		t := &x.of[s]
		if t.running++; !rerun {
			t.granted++
		}
		if !g.Restored && x.mapreduce {
			x.ask(s, rerun, request{g.Ask.Priority, g.Ask.RequestID}, g.Ask.Count)
		}
		if t.size.IsZero() {
			p.measure(x, s, &g.Resource)
		}
	}
	p.stale = true
}

// Ended records that a container has ended. How long it took is known with the next Tick.
func (p *Policy) Ended(a leaf.App, _ leaf.Node, o leaf.Outcome) {
	p.free = p.free.Add(o.Resource)
	p.stale, p.freed = true, true
	x := p.known(&a)
	x.note(&a)
	known := p.held.At(o.Container, o.Note)
	if known == nil {
		if a.Containers == 0 && !x.master.IsZero() { // the last one of those from before: its ApplicationMaster
			p.masters = p.masters.Sub(x.master)
			x.master, x.masters = records.Resource{}, 0
		}
		return
	}
	c := *known
	p.drop(x, o.Note, &c)
	if !c.master && !x.reported { // those of an application that reports do one task after the other
		p.ended = append(p.ended, end{app: c.app, stage: c.stage, since: c.since, failed: o.Failed})
	}
}

// drop forgets a container of an application.
func (p *Policy) drop(x *app, n leaf.Note, c *held) {
	if c.master {
		x.masters--
		p.masters = p.masters.Sub(p.led[n])
		delete(p.led, n)
	} else {
		x.of[c.stage].running--
	}
	p.held.Remove(n)
	x.told--
}

// Left forgets an application.
func (p *Policy) Left(h handle.App) {
	x := p.apps.Get(h)
	if x == nil {
		return
	}
	if x.told > 0 { // it was moved with its containers
		for n, y := range p.held.All {
			if y.app == h {
				p.drop(x, n, y)
			}
		}
	}
	p.withdraw(x)
	if x.window != nil {
		x.window.users--
	}
	p.masters = p.masters.Sub(x.master)
	p.ended = slices.DeleteFunc(p.ended, func(e end) bool { return e.app == h })
	if x.group.apps--; x.group.apps == 0 && len(p.groups) > mostGroups {
		delete(p.groups, x.group.user)
	}
	if i, ok := slices.BinarySearchFunc(p.list, x.seq, func(m member, seq int64) int { return cmp.Compare(m.seq, seq) }); ok {
		p.list = slices.Delete(p.list, i, i+1)
	}
	if p.favorite == h {
		p.favorite = noApp
	}
	p.apps.Delete(h)
	p.stale, p.urgent = true, true
}

// Due returns when the division is to be made again, in ms; 0 if nothing has changed.
func (p *Policy) Due() int64 { return p.due }

// Time records the time, and reports whether Tick may do more than that.
func (p *Policy) Time(now int64) bool {
	p.now = max(p.now, now)
	p.learn()
	if p.keeps > 0 || p.timely() {
		return true
	}
	p.freed = false
	p.due = p.nextDue()
	return false
}

// timely reports whether the leaf is to be divided now.
func (p *Policy) timely() bool {
	return p.expired() || p.stale && (p.now-p.divided >= interval || p.urgent && len(p.list) <= few || p.divided == 0)
}

// Tick divides the leaf again if it is time to, and returns the applications for which something has changed by that.
func (p *Policy) Tick(now int64, q leaf.Queue) []handle.App {
	p.changed = p.changed[:0]
	p.now = max(p.now, now)
	p.anew = p.anew || p.types != q.Types
	p.free, p.types = q.Free, q.Types
	p.learn()
	if p.timely() {
		p.divide(&q)
	} else if p.freed && p.keeps > 0 && len(p.list) <= few {
		p.stir()
	}
	p.freed = false
	p.due = p.nextDue()
	return p.changed
}

// stir marks all to be asked again, as some may wait for slots that are kept, or were.
func (p *Policy) stir() {
	p.changed = p.changed[:0]
	for _, m := range p.list {
		p.changed = append(p.changed, m.app)
	}
}
