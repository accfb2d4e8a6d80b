package divider

import (
	"math"
	"slices"
)

// Guidelines is algorithm 1, which regards neither weights nor classes: β is that of the first job. With too few slots for all virtual sizes
// the smallest jobs get theirs; else all share in proportion to them.
func (d *Divider) Guidelines(jobs []Job, slots float64) {
	d.sort(jobs)
	d.guidelines(d.ranking, slots)
}

func (d *Divider) guidelines(order []int32, slots float64) {
	all := 0.
	for _, i := range order {
		all += d.jobs[i].virtual()
	}
	left := slots
	for _, i := range order {
		j := &d.jobs[i]
		if all >= slots {
			j.Slots = min(j.virtual(), left)
			left -= j.Slots
		} else {
			j.Slots = part(slots, j.virtual(), all)
		}
	}
}

// part is slots·of/all; 0 of nothing.
func part(slots, of, all float64) float64 {
	if !(all > 0) {
		return 0
	}
	return slots * (of / all)
}

// Fair is algorithm 2: algorithm 1 where each job gets at least the Floor.
func (d *Divider) Fair(jobs []Job, slots, epsilon float64) {
	d.sort(jobs)
	d.fair(slots, epsilon)
}

func (d *Divider) fair(slots, epsilon float64) {
	n := len(d.ranking)
	floor := Floor(slots, n, epsilon)
	at := func(i int) *Job { return &d.jobs[d.ranking[i]] }
	d.works = slices.Grow(d.works[:0], n)[:n] // jobs lie far apart, and there are several rounds
	m1, above, work := 0, 0., 0.
	beta, factor := 0., 0. // factor is what a job's virtual size is of its work
	for i, x := range d.ranking {
		j := &d.jobs[x]
		if j.Beta != beta {
			beta, factor = j.Beta, Virtual(1, j.Beta, 1)
		}
		d.works[i] = j.work()
		if v := factor * d.works[i]; v <= floor {
			m1++
		} else {
			above += v
		}
		work += d.works[i]
	}
	if slots <= above+float64(m1)*floor { // case 1
		left := slots - float64(n)*floor
		for i := range n {
			more := 0.
			if i >= m1 {
				more = max(0, min(at(i).virtual()-floor, left))
				left -= more
			}
			at(i).Slots = floor + more
		}
		return
	}
	m2 := 0 // case 2
	for ; m2 < min(m1, n-1); m2++ {
		if part(slots-float64(m2)*floor, d.works[m2], work) >= max(floor, at(m2).virtual()) {
			break
		}
		work -= d.works[m2]
	}
	rest := slots - float64(m2)*floor
	work = 0 // without what rounding has left
	for _, x := range d.works[m2:] {
		work += x
	}
	for i, x := range d.ranking {
		if j := &d.jobs[x]; i < m2 {
			j.Slots = floor
		} else {
			j.Slots = max(floor, part(rest, d.works[i], work))
		}
	}
}

// Phases is algorithm 3: jobs weigh as much as the next phase has to read. β is that of the first job.
func (d *Divider) Phases(jobs []Job, slots float64) {
	d.sort(jobs)
	d.phases(d.ranking, slots)
}

func (d *Divider) phases(order []int32, slots float64) {
	n := len(order)
	if n == 0 {
		return
	}
	at := func(i int) *Job { return &d.jobs[order[i]] }
	if !slices.ContainsFunc(order, func(i int32) bool { return d.jobs[i].Alpha != at(0).Alpha }) {
		d.guidelines(order, slots)
		return
	}
	weighed := func(i int) float64 { return at(i).virtual() * math.Sqrt(at(i).Alpha) } // V
	// In the text's numbers, from 1 on, k jobs are in for certain, least is α_min of the first k+1 and next that of the first k+2.
	least, sum := min(at(0).Alpha, at(1).Alpha), weighed(0)
	if slots <= sum/math.Sqrt(least) { // case 1
		d.only(order, 1, func(int) float64 { return slots })
		return
	}
	for k := 1; k < n; k++ {
		sum += weighed(k)
		if slots <= sum/math.Sqrt(least) { // case 2
			d.oneByOne(order, k+1, least, slots)
			return
		}
		next := least
		if k+1 < n {
			next = min(least, at(k+1).Alpha)
		}
		if k+1 == n || slots <= sum/math.Sqrt(next) { // cases 4 and 3
			d.only(order, k+1, func(i int) float64 { return part(slots, weighed(i), sum) })
			return
		}
		least = next
	}
}

// only gives the first n jobs slots, and the others none.
func (d *Divider) only(order []int32, n int, slots func(i int) float64) {
	for i, x := range order {
		d.jobs[x].Slots = 0
		if i < n {
			d.jobs[x].Slots = slots(i)
		}
	}
}

// oneByOne is case 2 of algorithm 3: the first n jobs get the level that is best for them beside one of the least weight, which comes last.
func (d *Divider) oneByOne(order []int32, n int, least, slots float64) {
	last, differ := -1, false // k_min
	for i, x := range order[:n] {
		if d.jobs[x].Alpha == least {
			last = i
		} else {
			differ = true
		}
	}
	left := slots
	take := func(i int) float64 {
		j := &d.jobs[order[i]]
		got := min(j.virtual()*math.Sqrt(j.Alpha/least), left)
		left -= got
		return got
	}
	if !differ {
		d.only(order, n, take)
		return
	}
	d.only(order, n, func(i int) float64 {
		if i == last {
			return 0
		}
		return take(i)
	})
	d.jobs[order[last]].Slots = take(last)
}

// Classes is algorithm 4: classes of β get slots by what they gain, and jobs within a class by algorithm 1, or 3 if weights differ.
func (d *Divider) Classes(jobs []Job, slots float64) {
	d.sort(jobs)
	d.share(d.ranking, slots)
}

// byClass gives classes their slots. x is ΣT/√(β−1), in proportion to which classes share; level is by how much of it that comes down to the
// gain of the least class that gets anything, at which q of algorithm 4 is level·x.
func (d *Divider) byClass(slots float64) {
	x := func(g *group) float64 { return g.work / math.Sqrt(g.beta-1) }
	sum := 0. // of x of the classes before
	for last := range d.groups {
		g := &d.groups[last]
		level := 2 / g.beta * math.Sqrt(g.beta-1)
		if slots <= level*sum {
			d.proportional(last, x, sum, slots)
			return
		}
		if own := Virtual(g.work, g.beta, 1); slots <= level*sum+own {
			for i := range d.groups {
				d.groups[i].slots = 0
				if i < last {
					d.groups[i].slots = level * x(&d.groups[i])
				}
			}
			g.slots = slots - level*sum
			return
		}
		sum += x(g)
	}
	d.proportional(len(d.groups), x, sum, slots)
}

// proportional divides slots among the first n classes.
func (d *Divider) proportional(n int, x func(*group) float64, sum, slots float64) {
	for i := range d.groups {
		g := &d.groups[i]
		g.slots = 0
		if i < n {
			g.slots = part(slots, x(g), sum)
		}
	}
}
