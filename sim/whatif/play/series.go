package play

import (
	"slices"

	"heddle/sim/whatif/load"
)

// bins is in how many parts of the load's time use is told.
const bins = 240

// Series is how much memory the containers of each queue held over the time of a load.
type Series struct {
	Queues []string
	Begin  int64
	Bin    float64     // ms
	MB     [][]float64 // by queue and bin, on average
	of     []int       // queue by application
}

func newSeries(l *load.Load) Series {
	s := Series{Begin: l.Begin, Bin: float64(max(l.End-l.Begin, 1)) / bins}
	for i := range l.Apps {
		s.Queues = append(s.Queues, l.Apps[i].Queue)
	}
	slices.Sort(s.Queues)
	s.Queues = slices.Compact(s.Queues)
	s.of = make([]int, len(l.Apps))
	for i := range l.Apps {
		s.of[i], _ = slices.BinarySearch(s.Queues, l.Apps[i].Queue)
	}
	for range s.Queues {
		s.MB = append(s.MB, make([]float64, bins))
	}
	return s
}

// ran enters that a container of an application held memory for some time.
func (s *Series) ran(app int, from, to, mb int64) {
	if app >= len(s.of) {
		return // one that was added
	}
	line := s.MB[s.of[app]]
	a, b := float64(from-s.Begin)/s.Bin, float64(to-s.Begin)/s.Bin
	for i := max(int(a), 0); i < bins && float64(i) < b; i++ {
		part := min(b, float64(i+1)) - max(a, float64(i))
		line[i] += part * float64(mb)
	}
}
