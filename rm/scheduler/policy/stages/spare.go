package stages

import (
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

// Reduces of a job whose last maps run may begin in room that no other takes.
const (
	stood = 2   // intervals for which the room must have been free
	ahead = 10. // seconds: what a container of MapReduce takes to start on a busy node, from its grant until it fetches
)

// spare is how much was free in each of the last intervals, at the least.
type spare struct {
	least [stood + 1]records.Resource // of this interval, and of those before
	at    int64                       // this interval
	begun bool
}

// note records the free resources at a time, in ms. Of a time without calls nothing is known, so nothing was free.
func (s *spare) note(now int64, free records.Resource) {
	n := now / leaf.Interval
	if passed := n - s.at; !s.begun || passed > 0 {
		if !s.begun || passed > stood {
			s.least = [stood + 1]records.Resource{}
		} else {
			copy(s.least[passed:], s.least[:])
			for i := 1; i < int(passed); i++ {
				s.least[i] = s.least[passed]
			}
		}
		s.least[0], s.at, s.begun = free, n, true
		return
	}
	s.least[0] = s.least[0].Min(free)
}

// stands reports whether an amount has been free all the time.
func (s *spare) stands(r *records.Resource) bool {
	for i := range s.least {
		if !r.FitsIn(s.least[i]) {
			return false
		}
	}
	return true
}

// Rest returns how long the maps of a job still take, none of which is pending, in seconds.
func (b *Book) Rest(j *Job) float64 { return max(0, j.Of[Map].Mean()-b.SinceLastMap(j)) }

// Early finds out whether reduces of a job may begin although maps of it run, at no cost to others: no map is pending, there has been room
// for a reduce that wasn't taken for two seconds, and the maps will have ended when it has started and fetched for some seconds. It reports
// whether that has changed.
func (b *Book) Early(j *Job, fetches float64) (changed bool) {
	m, r := &j.Of[Map], &j.Of[Reduce]
	was := j.Spare
	j.Spare = m.Known() && m.Left() > 0 && m.Pending == 0 && r.Pending > 0 && b.spare.stands(&r.Size) && b.Rest(j) <= fetches+ahead
	return j.Spare != was
}
