package speculate

import (
	"math"
	"time"

	"heddle/am/stage"
)

// Settings of Split.
const (
	leastPart = 0.04 // of a whole task's work that is worth a task of its own
	beginning = 2.0  // seconds until a task of its own gets on
	leastGain = 0.15 // of the time that a whole task takes
	stuck     = 0.05 // of the pace of the others: such an attempt may never get to where it is told to stop
)

// Split stops attempts at maps early where slots are idle, so that these do the rest of the input. Nothing is done twice, so that it
// need not be sure that an attempt straggles: it is enough that all end earlier. Attempts that can't be divided, and those that are
// stuck, are copied as ESplash does. Its zero value is ready.
type Split struct {
	ESplash
	idle []int // by node: slots without a task
}

// Round implements stage.Speculator: copies of what is better not divided.
func (s *Split) Round(r *stage.Round) []stage.Copy {
	copies := s.ESplash.Round(r)
	if len(copies) == 0 {
		return nil
	}
	idle := s.free(r)
	for _, c := range copies {
		for i := range r.Running {
			if x := &r.Running[i]; x.ID == c.Of {
				if _, gain := s.cut(r.Now, x, idle); gain > 0 {
					return nil
				}
			}
		}
	}
	return copies
}

// Split implements stage.Splitter: it proposes the cut that wins most time, if any.
func (s *Split) Split(r *stage.Round) []stage.Cut {
	idle := s.free(r)
	var best stage.Cut
	most := 0.
	for i := range r.Running {
		x := &r.Running[i]
		if x.Attempts != 1 {
			continue
		}
		if c, gain := s.cut(r.Now, x, idle); gain > most {
			best, most = c, gain
		}
	}
	if most == 0 {
		return nil
	}
	if !idle.sick {
		for n := range s.nodes {
			if s.straggles(n) {
				best.Avoid = append(best.Avoid, n)
			}
		}
	}
	return []stage.Cut{best}
}

// free is slots without a task.
type free struct {
	slots int
	pace  float64 // at which one of them gets on with maps on average, in whole tasks per second
	sick  bool    // their nodes straggle: no others are free
}

// free returns the slots without a task, of nodes that don't straggle if there are such.
func (s *Split) free(r *stage.Round) (well free) {
	if r.Waiting[stage.Map] > 0 {
		return well // they are going to be taken
	}
	s.idle = append(s.idle[:0], r.Slots...)
	for i := range r.Running {
		if n := r.Running[i].Node; n >= 0 && n < len(s.idle) {
			s.idle[n]--
		}
	}
	sick, known := free{sick: true}, 0
	for n, idle := range s.idle {
		if idle <= 0 {
			continue
		}
		if s.straggles(n) {
			sick.slots += idle
			continue
		}
		well.slots += idle
		if mean := s.table[s.classes[n]][stage.Map].mean; mean > 0 {
			known += idle
			well.pace += float64(idle) / mean
		}
	}
	if well.slots > 0 {
		well.pace /= float64(max(known, 1)) // 0 if the time of a task is unknown
		return well
	}
	sick.pace = 1 / s.table[0][stage.Map].mean // NaN likewise
	return sick
}

// cut returns how an attempt is best divided among free slots, and how many seconds earlier its input is done then; 0 if it isn't worth
// while. All of them are to end at the same time t: the attempt does v·t of the work W that is left, each of n others does pace·(t − beginning).
func (s *Split) cut(now time.Duration, x *stage.Running, idle free) (c stage.Cut, gain float64) {
	p, pace := sane(x.Progress), idle.pace
	if x.Fixed || x.ID.Stage != stage.Map || !(pace > 0) || !s.rated(x.ID) {
		return c, 0
	}
	left := s.remaining(now, x)
	work := (1 - p) * share(x)
	v := work / left
	if !(left > 0) || v < stuck*pace {
		return c, 0
	}
	if idle.sick {
		pace = min(pace, v) // the node is slow, or the task is: others may be as well
	}
	for n := min(idle.slots, stage.MostParts); n > 0; n-- {
		others := float64(n) * pace
		t := (work + others*beginning) / (v + others)
		part := pace * (t - beginning)
		if part < leastPart {
			continue
		}
		gain = left - t
		if gain < math.Max(leastGain/pace, beginning) {
			return c, 0
		}
		return stage.Cut{Of: x.ID, At: p + v*t/share(x), Parts: n}, gain
	}
	return c, 0
}
