package hopper

import (
	"math"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/hopper/divider"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

// share returns which part of the leaf an amount is, in its dominant resource; 0 while nothing is known of the leaf's size.
func (p *Policy) share(r *records.Resource) (worst float64) {
	for i := range p.types {
		if p.total[i] > 0 {
			worst = max(worst, float64(r[i])/p.total[i])
		}
	}
	return worst
}

// divide divides the leaf among jobs.
func (p *Policy) divide(q *leaf.Queue) {
	passed := float64(p.now-p.divided) / 1000
	if p.divided == 0 {
		passed = 0
	}
	p.divided, p.stale, p.urgent = max(p.now, 1), false, false
	for i := range p.total {
		total := math.Max(0, float64(q.Used[i]+q.Free[i]-p.masters[i]))
		p.anew = p.anew || total != p.total[i]
		p.total[i] = total
	}
	p.enter()
	order := p.divider.Divide(p.jobs, 1, p.set[epsilon])
	p.divider.Round(1)
	floor := divider.Floor(1, len(p.jobs), p.set[epsilon])
	kept := p.keeps > 0
	p.kept, p.keeps, p.until = records.Resource{}, 0, math.MaxInt64
	size, least := 0., 0.
	for _, i := range order {
		j := &p.jobs[i]
		if j.Size != size {
			size, least = j.Size, floor/j.Size
		}
		p.settle(&p.standing[i], j, min(least, j.Tasks), passed)
	}
	p.favor(order)
	if kept || p.keeps > 0 {
		p.stir()
	}
}

// standing holds the fields of a job that each division looks at: of hundreds of jobs few have changed since the last one.
type standing struct {
	app          handle.App
	held         int32
	slots, floor int32   // that it has been given
	owes         float64 // containers times seconds that it has had less than its floor
	asks         bool    // it did when it was heard of last
	overdue      bool    // it was owed a container for as long as a task takes
	calm         bool    // as long as slots, floor and overdue stay, nothing changes for it
}

// enter brings the jobs up to date with what is known of them.
func (p *Policy) enter() {
	for _, h := range p.dirty {
		if x := p.apps.Get(h); x != nil && x.dirty {
			p.learnBy(x)
		}
	}
	for _, g := range p.groups {
		for i := range g.of {
			if w := &g.of[i]; w.users > 0 && w.refit() {
				p.anew = true
			}
		}
	}
	if p.anew {
		p.anew = false
		for _, m := range p.list {
			p.soil(m.app, p.apps.Get(m.app))
		}
	}
	for _, h := range p.dirty {
		if x := p.apps.Get(h); x != nil && x.dirty {
			x.dirty = false
			p.refresh(h, x)
		}
	}
	p.dirty = p.dirty[:0]
}

// learnBy notes by which window the β of an application goes. It is nil where its own report has it.
func (p *Policy) learnBy(x *app) {
	var w *window
	if !x.reportsShape() {
		w = &x.group.of[x.current()]
	}
	if x.window == w {
		return
	}
	if x.window != nil {
		x.window.users--
	}
	if x.window = w; w != nil {
		w.users++
	}
}

// refresh enters what is known of an application now. One that only asks for its ApplicationMaster is no job.
func (p *Policy) refresh(h handle.App, x *app) {
	if x.fresh {
		x.fresh, x.young = false, 0
		if r := &x.report; r.Copies && r.Young > 0 {
			x.young = p.now + min(r.Detection, longestDetection)
		}
	}
	stage := x.current()
	x.beta = p.shapeOf(x, stage)
	size := p.share(&x.of[stage].size)
	x.tasks = x.left(stage, p.types)
	if x.tasks <= 0 || !(size > 0) {
		p.rest(h, x)
		return
	}
	x.alpha, x.size = p.weightOf(x, stage), x.of[stage].size
	x.virtual = divider.Virtual(x.tasks, x.beta, x.alpha)
	if x.place == 0 {
		p.jobs, p.standing = append(p.jobs, divider.Job{}), append(p.standing, standing{})
		x.place = len(p.jobs)
	}
	p.jobs[x.place-1] = divider.Job{Tasks: x.tasks, Size: size, Alpha: x.alpha, Beta: x.beta, Seq: x.seq}
	s := &p.standing[x.place-1]
	*s = standing{app: h, held: x.tasksHeld(x.containers), owes: s.owes, asks: x.asks}
}

// withdraw takes an application out of the jobs. The last one gets its place.
func (p *Policy) withdraw(x *app) {
	if x.place == 0 {
		return
	}
	last := len(p.jobs) - 1
	p.jobs[x.place-1], p.standing[x.place-1] = p.jobs[last], p.standing[last]
	p.apps.Get(p.standing[last].app).place = x.place
	p.jobs, p.standing = p.jobs[:last], p.standing[:last]
	x.place = 0
}

// rest notes that an application is no job now.
func (p *Policy) rest(h handle.App, x *app) {
	p.withdraw(x)
	if x.slots != 0 || x.floor != 0 || x.kept != 0 || x.key != 0 {
		p.changed = append(p.changed, h)
	}
	x.slots, x.floor, x.kept, x.key, x.overdue, x.virtual = 0, 0, 0, 0, false, 0
}

// longestDetection bounds for how long a report keeps slots, in ms, whatever it says.
const longestDetection = 60_000

// settle notes what the division has for a job, of which least are its floor; in containers, also parts of one.
func (p *Policy) settle(s *standing, j *divider.Job, least, passed float64) {
	given, lowest := int32(min(j.Containers, math.MaxInt32)), int32(min(least+1e-9, math.MaxInt32))
	s.owes = max(0, s.owes+(least-float64(s.held))*passed)
	overdue := s.asks && s.owes >= p.took.of()
	if s.calm && s.slots == given && s.floor == lowest && s.overdue == overdue && p.keeps == 0 {
		return
	}
	s.slots, s.floor, s.overdue = given, lowest, overdue
	h, held := s.app, s.held
	x := p.apps.Get(h)
	key, rank := x.key, p.rank(x, h, x.containers)
	x.key = j.Key() * (1 - 1e-9*j.Alpha) // of equal ones those with larger weights first
	x.slots, x.floor, x.overdue = s.slots, s.floor, s.overdue
	x.kept = 0
	if p.now < x.young {
		most := min(float64(x.slots), math.Floor(x.virtual+1e-9)) - float64(held) - float64(x.pendingCount(&x.size, p.types))
		if x.kept = max(0, min(int64(most), x.report.Young)); x.kept > 0 {
			p.until = min(p.until, x.young)
		}
	}
	x.before = p.kept
	p.keeps += x.kept
	p.kept = p.kept.Add(x.size.Times(x.kept))
	s.calm = p.now >= x.young && x.before.IsZero()
	if x.key != key || p.rank(x, h, x.containers) != rank { // else it keeps its place, and has no cap unless slots are kept, for which all are asked again
		p.changed = append(p.changed, h)
	}
}

// favor picks the job that is served out of turn: of the first k % the one with most tasks that could run next to their input. It keeps its turn
// until all its tasks have begun.
func (p *Policy) favor(order []int32) {
	if x := p.apps.Get(p.favorite); x != nil && x.asks && x.tasksHeld(x.containers) < x.slots {
		return
	}
	was := p.favorite
	p.favorite = noApp
	n := int(math.Ceil(p.set[locality] / 100 * float64(len(order))))
	if n > 1 && p.local != nil {
		best := int64(0)
		for _, i := range order[:n] {
			h := p.standing[i].app
			x := p.apps.Get(h)
			if !x.asks || x.tasksHeld(x.containers) >= x.slots {
				continue
			}
			if tasks := p.local(h); tasks > best {
				best, p.favorite = tasks, h
			}
		}
	}
	for _, h := range []handle.App{was, p.favorite} {
		if h != noApp && was != p.favorite && p.apps.Get(h) != nil {
			p.changed = append(p.changed, h)
		}
	}
}

// expired reports whether slots are kept for tasks that are too old by now.
func (p *Policy) expired() bool { return p.keeps > 0 && p.now >= p.until }

// nextDue returns when Tick is wanted.
func (p *Policy) nextDue() (at int64) {
	switch {
	case p.stale && p.keeps > 0:
		return min(p.divided+interval, p.until)
	case p.stale:
		return p.divided + interval
	case p.keeps > 0:
		return p.until
	}
	return 0
}
