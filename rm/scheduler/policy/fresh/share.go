package fresh

import "math"

// Thresholds of section 3.4.1.
const (
	near   = 0.8 // τ1: the progress of a job's maps from which their end is predicted
	sudden = 0.6 // τ2: the difference, as a part, from which a change counts as sudden
)

// work is the rest of the work, and the input of the decision on the next slot. Slots are counted in any unit, of which there are total.
// Times are in seconds.
type work struct {
	total     float64 // S
	maps      float64 // RW_m: slot-seconds left
	reduces   float64 // RW_r
	mapSlots  float64 // s_m
	jobs      float64 // k: those in their map phase
	next      float64 // w_m(b), of the job that is to begin next, if it is known
	first     ending  // J_a, which ends its maps first
	releasing float64 // 1/r: reduce slots that are released per second
	hasMaps   bool    // there is a job in its map phase
}

// ending is the job with the least map work left.
type ending struct {
	left     float64 // w'_m(a)
	progress float64
	slots    float64 // m_a
	reduces  float64 // w_r(a)
}

// expected is expSm, how many slots maps should have (algorithm 3.3.3). The text compares s'_m, a number of slots, with the ratio θ_exp;
// it means θ_exp·S.
func (w *work) expected() float64 {
	current := ratio(w.maps, w.reduces) * w.total
	if !w.hasMaps || w.first.progress < near {
		return current
	}
	maps := max(0, w.maps-w.jobs*w.first.left+w.next)
	predicted := ratio(maps, w.reduces+w.first.reduces) * w.total
	then := w.mapSlots + current/w.total*w.released()
	if math.Abs(then-predicted) > sudden*predicted {
		return predicted
	}
	return current
}

// released is η, how many reduce slots are released until the first job ends its maps (theorem 3.3.1).
func (w *work) released() float64 {
	if !(w.releasing > 0) {
		return 0
	}
	a := &w.first
	c := ratio(w.maps, w.reduces) * w.releasing / (2 * max(1, w.jobs))
	var x float64 // until then
	switch {
	case c > 0:
		x = (math.Sqrt(a.slots*a.slots+4*c*a.left) - a.slots) / (2 * c)
	case a.slots > 0:
		x = a.left / a.slots
	}
	return x * w.releasing
}

// ratio is θ: the maps' part of the work that is left. It is 1 if there is none.
func ratio(maps, reduces float64) float64 {
	if !(maps+reduces > 0) {
		return 1
	}
	return maps / (maps + reduces)
}
