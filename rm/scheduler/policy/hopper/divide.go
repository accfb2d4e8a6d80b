package hopper

import (
	"math"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/hopper/divider"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

// share is which part of the leaf an amount is, in its dominant resource; 0 while nothing is known of the leaf's size.
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
		p.total[i] = math.Max(0, float64(q.Used[i]+q.Free[i]-p.masters[i]))
	}
	p.enter()
	order := p.divider.Divide(p.jobs, 1, p.set[epsilon])
	p.divider.Round(1)
	floor := divider.Floor(1, len(p.jobs), p.set[epsilon])
	kept := p.keeps > 0
	p.kept, p.keeps, p.until = records.Resource{}, 0, math.MaxInt64
	for _, i := range order {
		p.settle(p.who[i], &p.jobs[i], floor, passed)
	}
	p.favor(order)
	if kept || p.keeps > 0 {
		p.stir()
	}
}

// enter lists the jobs with what is known of them. An application that only asks for its ApplicationMaster isn't one.
func (p *Policy) enter() {
	p.jobs, p.who = p.jobs[:0], p.who[:0]
	for _, m := range p.list {
		x := p.apps.Get(m.app)
		if x.fresh {
			x.fresh, x.young = false, 0
			if r := &x.report; r.Copies && r.Young > 0 {
				x.young = p.now + min(r.Detection, longestDetection)
			}
		}
		s := x.current()
		x.beta = p.shapeOf(x, s)
		size := p.share(&x.of[s].size)
		x.tasks = x.left(s, p.types)
		if x.tasks <= 0 || !(size > 0) {
			p.rest(m.app, x)
			continue
		}
		x.alpha, x.size = p.weightOf(x, s), x.of[s].size
		x.virtual = divider.Virtual(x.tasks, x.beta, x.alpha)
		p.jobs = append(p.jobs, divider.Job{Tasks: x.tasks, Size: size, Alpha: x.alpha, Beta: x.beta})
		p.who = append(p.who, m.app)
	}
}

// rest notes that an application is no job now.
func (p *Policy) rest(h handle.App, x *app) {
	if x.slots != 0 || x.floor != 0 || x.kept != 0 || x.key != 0 {
		p.changed = append(p.changed, h)
	}
	x.slots, x.floor, x.kept, x.key, x.owes, x.overdue, x.virtual = 0, 0, 0, 0, 0, false, 0
}

// longestDetection bounds for how long a report keeps slots, in ms, whatever it says.
const longestDetection = 60_000

// settle notes what the division has for a job.
func (p *Policy) settle(h handle.App, j *divider.Job, floor, passed float64) {
	x := p.apps.Get(h)
	key, slots, floors, overdue := x.key, x.slots, x.floor, x.overdue
	held := x.tasksHeld(x.containers)
	x.key = j.Key() * (1 - 1e-9*j.Alpha) // of equal ones those with larger weights first
	x.slots = int32(min(j.Containers, math.MaxInt32))
	least := min(floor/j.Size, x.tasks) // containers, also parts of one
	x.floor = int32(min(least+1e-9, math.MaxInt32))
	x.owes = max(0, x.owes+(least-float64(held))*passed)
	x.overdue = x.asks && x.owes >= p.took.of()
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
	if x.key != key || x.slots != slots || x.floor != floors || x.overdue != overdue {
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
			x := p.apps.Get(p.who[i])
			if !x.asks || x.tasksHeld(x.containers) >= x.slots {
				continue
			}
			if tasks := p.local(p.who[i]); tasks > best {
				best, p.favorite = tasks, p.who[i]
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

// nextDue is when Tick is wanted.
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
