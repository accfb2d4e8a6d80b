package hopper

import (
	"cmp"
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/stages"
	"heddle/yarn/records"
)

// app is an application of the leaf.
type app struct {
	seq       int64
	mapreduce bool // it has stages
	ran       bool // it had containers before the leaf had this policy
	asks      bool // it did when it was heard of last
	overdue   bool // it was owed a container for as long as a task takes
	reported  bool // its ApplicationMaster tells of its tasks
	fresh     bool // it has since the last Tick
	dirty     bool // it is in Policy.dirty
	place     int  // in Policy.jobs, from 1 on; 0: it is no job
	group     *group
	window    *window // of its group, by which its β goes; nil: it has been in no division

	told       int32            // containers in Policy.held
	containers int32            // as it was heard of last
	masters    int32            // of these
	master     records.Resource // what the one has that ran before the leaf had this policy
	asked      records.Resource // likewise
	of         [stages.None + 1]phase
	pending    map[request]int32 // requests of MapReduce
	outputs    struct{ maps, bytes int64 }
	report     leaf.TaskReport
	young      int64 // until when tasks that it told of are too young to judge, in ms

	// Results of the last division. Counts are containers of its size.
	key     float64 // by what jobs are ordered
	tasks   float64 // T
	alpha   float64
	beta    float64
	virtual float64 // V
	size    records.Resource
	slots   int32
	floor   int32
	kept    int64            // for its copies
	before  records.Resource // what is kept for those of jobs before it
}

// phase is one stage of a MapReduce application. Others have stages.None only.
type phase struct {
	pending, running int64 // containers
	granted          int64 // to tasks that had none before
	reruns           int64 // of pending
	size             records.Resource
}

func (t *phase) left() int64 { return t.pending + t.running }

// all returns how many tasks there are, as far as they were asked for.
func (t *phase) all() int64 { return t.granted + t.pending - t.reruns }

// request names one of an application.
type request struct {
	priority int32
	id       int64
}

// held is a container.
type held struct {
	app    handle.App
	stage  stages.Stage
	master bool
	since  int64 // ms
}

// end is a task that has ended.
type end struct {
	app    handle.App
	stage  stages.Stage
	since  int64 // ms
	failed bool
}

// amounts are resources by type.
type amounts [records.MaxResourceTypes]float64

// app finds an application, or enters it.
func (p *Policy) app(a *leaf.App) *app {
	x := p.known(a)
	x.note(a)
	return x
}

// known finds an application, or enters it as it was.
func (p *Policy) known(a *leaf.App) *app {
	if x := p.apps.Get(a.Handle); x != nil {
		p.soil(a.Handle, x)
		return x
	}
	g := p.groups[a.User]
	if g == nil {
		g = &group{user: a.User}
		p.groups[a.User] = g
	}
	g.apps++
	at, _ := slices.BinarySearchFunc(p.list, a.Seq, func(m member, seq int64) int { return cmp.Compare(m.seq, seq) })
	p.list = slices.Insert(p.list, at, member{a.Seq, a.Handle})
	p.stale, p.urgent = true, true
	x := p.apps.Put(a.Handle, app{seq: a.Seq, mapreduce: a.Type == stages.Type, ran: a.Containers > 0, group: g})
	if x.ran {
		x.masters = 1
	}
	p.soil(a.Handle, x)
	return x
}

// soil notes that something has changed of an application, so that the next division looks at it.
func (p *Policy) soil(h handle.App, x *app) {
	if !x.dirty {
		x.dirty = true
		p.dirty = append(p.dirty, h)
	}
}

// note notes what an application has and asks for now.
func (x *app) note(a *leaf.App) {
	x.containers, x.asked, x.asks = a.Containers, *a.Pending, !a.Pending.IsZero()
}

// isMaster reports whether a request of an application as it was is for its ApplicationMaster: YARN asks for that at priority 0, before anything else.
func (x *app) isMaster(had *leaf.App, s stages.Stage, priority int32) bool {
	if x.mapreduce {
		return s == stages.None && had.Containers == 0
	}
	return had.Containers == 0 && priority == 0
}

// starting reports whether nothing of an application runs, and it asks for its ApplicationMaster only.
func (x *app) starting(containers int32) bool {
	if containers != 0 {
		return false
	}
	for i := len(x.of) - 1; i >= 0; i-- { // most have no stages
		if t := &x.of[i]; !t.size.IsZero() || *t != (phase{}) {
			return false
		}
	}
	return true
}

// tasksHeld returns how many containers for tasks an application has, of all that it has.
func (x *app) tasksHeld(containers int32) int32 { return max(0, containers-x.masters) }

// ask notes how many containers a request of MapReduce is for.
func (x *app) ask(s stages.Stage, rerun bool, r request, count int32) {
	if s == stages.None {
		return
	}
	more := int64(count - x.pending[r])
	switch {
	case count == 0:
		delete(x.pending, r)
	case x.pending == nil:
		x.pending = map[request]int32{}
		fallthrough
	default:
		x.pending[r] = count
	}
	t := &x.of[s]
	if t.pending += more; rerun {
		t.reruns += more
	}
}

// now is the phase that runs: the maps of MapReduce as long as there are any, and then the reduces.
func (x *app) current() stages.Stage {
	switch {
	case !x.mapreduce:
		return stages.None
	case x.of[stages.Map].left() > 0:
		return stages.Map
	case x.of[stages.Reduce].left() > 0:
		return stages.Reduce
	}
	return stages.None
}

// unknown returns how many containers it has that ran before the leaf had this policy.
func (x *app) unknown() int64 {
	n := int64(x.containers - x.masters)
	for i := range x.of {
		n -= x.of[i].running
	}
	return max(0, n)
}

// pendingCount returns how many containers of a size it asks for.
func (x *app) pendingCount(size *records.Resource, types int) int64 {
	n := int64(0)
	for i := range types {
		if size[i] > 0 {
			n = max(n, (x.asked[i]+size[i]-1)/size[i])
		}
	}
	return n
}

// left is T: tasks of the phase that runs which haven't ended. Reports count within bounds.
func (x *app) left(s stages.Stage, types int) float64 {
	size := &x.of[s].size
	holds, asks := int64(x.tasksHeld(x.containers)), x.pendingCount(size, types)
	if x.reported {
		most := float64(holds + asks)
		return min(max(float64(x.report.Left), most*x.beta/2), most)
	}
	if x.mapreduce && s != stages.None {
		return float64(x.of[s].left() + x.unknown())
	}
	return float64(holds + asks)
}
