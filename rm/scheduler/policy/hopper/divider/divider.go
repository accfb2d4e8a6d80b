package divider

import (
	"cmp"
	"math"
	"slices"
)

// Job is a job in a division.
type Job struct {
	Tasks float64 // T: that haven't ended, those that run included
	Size  float64 // slots that a container for one of them takes; above 0
	Alpha float64 // α: what the next phase has to read, by what this one has to do; above 0. 1 in the last phase
	Beta  float64 // β of the durations of its tasks; above 1 and below 2
	Seq   int64   // of jobs that are equal otherwise, those with a lower one come first

	Slots      float64 // S_i, which a division finds
	Containers int64   // whole ones, which Round finds
}

// work is T in slots.
func (j *Job) work() float64 { return j.Tasks * j.Size }

// virtual is V without the weight, in slots: equation 3.5.
func (j *Job) virtual() float64 { return Virtual(j.work(), j.Beta, 1) }

// Virtual returns the virtual size of a job with so many tasks: V of section 4.1. With α = 1 it is that of equation 3.5.
func Virtual(tasks, beta, alpha float64) float64 { return 2 / beta * tasks * math.Sqrt(alpha) }

// Key is by what jobs are ordered: the larger one of T and of T' = α·T, what the next phase reads, in slots.
func (j *Job) Key() float64 { return j.work() * max(1, j.Alpha) }

// Divider divides slots. The zero value is ready. It isn't safe for concurrent use.
type Divider struct {
	jobs    []Job
	ranking []int32 // of jobs, as they are served
	free    []int32 // those of ranking that aren't held at the floor
	classes []int32 // those of free, by β and then in their order
	groups  []group
	places  []place // of the last division, in its order
	moved   []place // those of them that have changed since
	spare   []place
	over    []remainder
	works   []float64 // of ranking, in slots
	plain   bool      // all jobs have one β and one weight
	size    float64   // of all jobs; 0: they differ
}

// place is a job with what it is sorted by.
type place struct {
	first, second float64 // ascending
	seq           int64   // then by this
	at            int32   // and this
}

// before compares without a look at NaN, which there is none of: jobs are sorted with each division, and that is most of what one takes.
func (a place) before(b place) int {
	switch {
	case a.first < b.first:
		return -1
	case a.first > b.first:
		return 1
	case a.second < b.second:
		return -1
	case a.second > b.second:
		return 1
	case a.seq != b.seq:
		return cmp.Compare(a.seq, b.seq)
	}
	return cmp.Compare(a.at, b.at)
}

// group is a class of β.
type group struct {
	from, to int     // in classes
	beta     float64 // of its jobs
	work     float64 // ΣT·√(α/least α)
	slots    float64
}

// sort puts jobs into their order: ascending by Key, of equal ones those with larger weights first, then by Seq and as they stand in the slice.
// It begins with the order of the division before, from which a leaf's jobs differ little: those that have changed are sorted, and put among the others.
func (d *Divider) sort(jobs []Job) {
	d.jobs = jobs
	n := len(jobs)
	d.plain, d.size = true, 0
	if n > 0 {
		d.size = jobs[0].Size
	}
	d.moved = d.moved[:0]
	stay, known := d.places[:0], len(d.places)
	for _, was := range d.places {
		if int(was.at) >= n {
			continue
		}
		if p := d.placeOf(was.at); p == was {
			stay = append(stay, p)
		} else {
			d.moved = append(d.moved, p)
		}
	}
	for i := known; i < n; i++ {
		d.moved = append(d.moved, d.placeOf(int32(i)))
	}
	slices.SortFunc(d.moved, place.before)
	d.merge(stay)
}

// placeOf returns where a job belongs, and notes whether it differs from the first one.
func (d *Divider) placeOf(i int32) place {
	j, first := &d.jobs[i], &d.jobs[0]
	d.plain = d.plain && j.Beta == first.Beta && j.Alpha == first.Alpha
	if j.Size != first.Size {
		d.size = 0
	}
	return place{j.Key(), -j.Alpha, j.Seq, i}
}

// merge makes the order of those that stay and of those that have moved, which are both sorted.
func (d *Divider) merge(stay []place) {
	n := len(d.jobs)
	d.ranking = slices.Grow(d.ranking[:0], n)[:n]
	all := slices.Grow(d.spare[:0], n)[:n]
	for k, i, m := 0, 0, 0; k < n; k++ {
		if m == len(d.moved) || i < len(stay) && stay[i].before(d.moved[m]) < 0 {
			all[k] = stay[i]
			i++
		} else {
			all[k] = d.moved[m]
			m++
		}
		d.ranking[k] = all[k].at
	}
	d.places, d.spare = all, d.places
}

// Floor returns the least that each of n jobs gets: S/N − ε of section 3.5, where ε is a part of S/N from 0 (fair) to 1 (no floor).
func Floor(slots float64, n int, epsilon float64) float64 {
	if n == 0 {
		return 0
	}
	return (1 - epsilon) * slots / float64(n)
}

// Divide sets the slots of all jobs, which get at least the Floor each. It returns the order in which they are served, which is good until the
// next call.
func (d *Divider) Divide(jobs []Job, slots, epsilon float64) (order []int32) {
	d.sort(jobs)
	switch {
	case len(jobs) == 0:
	case d.plain:
		d.fair(slots, epsilon)
	default:
		d.project(slots, Floor(slots, len(jobs), epsilon))
	}
	return d.ranking
}

// rounds bounds how often a projection begins again. What is left then is settled by settle.
const rounds = 16

// project divides slots so that no job has less than the floor: jobs that would have less get it, and the others share the rest.
func (d *Divider) project(slots, floor float64) {
	d.free = append(d.free[:0], d.ranking...)
	left := slots
	for range rounds {
		d.share(d.free, left)
		n := len(d.free)
		d.free = slices.DeleteFunc(d.free, func(i int32) bool {
			below := d.jobs[i].Slots < floor
			if below {
				d.jobs[i].Slots = floor
			}
			return below
		})
		if len(d.free) == n {
			return
		}
		left = slots - floor*float64(len(d.ranking)-len(d.free))
		if len(d.free) == 0 {
			return
		}
	}
	d.share(d.free, left)
	d.settle(floor)
}

// settle lifts those below the floor at the cost of those above it, the last in the order first.
func (d *Divider) settle(floor float64) {
	owed := 0.
	for _, i := range d.free {
		if j := &d.jobs[i]; j.Slots < floor {
			owed += floor - j.Slots
			j.Slots = floor
		}
	}
	for _, i := range slices.Backward(d.free) {
		j := &d.jobs[i]
		take := min(owed, j.Slots-floor)
		j.Slots -= take
		owed -= take
	}
}

// share divides slots among jobs in their order, by classes and within these by weights.
func (d *Divider) share(order []int32, slots float64) {
	d.group(order)
	if len(d.groups) == 1 {
		d.phases(order, slots)
		return
	}
	d.byClass(slots)
	for _, g := range d.groups {
		d.phases(d.classes[g.from:g.to], g.slots)
	}
}

// group finds the classes of jobs. The work of a class is ΣT, where jobs weigh as in algorithm 3.
func (d *Divider) group(order []int32) {
	least := math.Inf(1)
	d.groups = d.groups[:0]
	for _, i := range order {
		j := &d.jobs[i]
		least = min(least, j.Alpha)
		d.groups[d.class(j.Beta)].to++
	}
	from := 0
	for k := range d.groups {
		g := &d.groups[k]
		g.from, g.to, from = from, from, from+g.to
	}
	d.classes = slices.Grow(d.classes[:0], len(order))[:len(order)]
	for _, i := range order {
		j := &d.jobs[i]
		g := &d.groups[d.class(j.Beta)]
		d.classes[g.to] = i
		g.to++
		g.work += j.work() * math.Sqrt(j.Alpha/least)
	}
}

// class finds the class of a β among those that are known so far, by β, or makes it. There are few: policies round β.
func (d *Divider) class(beta float64) int {
	from, to := 0, len(d.groups)
	for from < to {
		if k := (from + to) / 2; d.groups[k].beta < beta {
			from = k + 1
		} else {
			to = k
		}
	}
	if from == len(d.groups) || d.groups[from].beta != beta {
		d.groups = slices.Insert(d.groups, from, group{beta: beta})
	}
	return from
}
