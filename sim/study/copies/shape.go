package copies

import "math"

// shape is what is known of how long the tasks of a user take, by the least that they can: Σln(x/least), over those that ended and those that a copy overtook.
type shape struct {
	ended int64
	sum   float64
}

// beta returns the maximum likelihood estimate of the shape of their Pareto distribution, by how many; 0 if nothing is known.
func (s *shape) beta() (beta float64, ended int64) {
	if s == nil || s.sum <= 0 {
		return 0, 0
	}
	return float64(s.ended) / s.sum, s.ended
}

// learn records how long an original took, or had run when its copy ended.
func (w *world) learn(s *state, task int32, overtaken bool) {
	p := &s.Phases[s.phase]
	if p.Least <= 0 || !w.Groups {
		return
	}
	f := w.fits[s.User]
	if f == nil {
		f = &shape{}
		w.fits[s.User] = f
	}
	if took := w.now() - s.tasks[task].began; took > p.Least {
		f.sum += math.Log(float64(took) / float64(p.Least))
	}
	if !overtaken {
		f.ended++
	}
}
