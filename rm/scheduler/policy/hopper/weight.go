package hopper

import (
	"math"

	"heddle/rm/scheduler/policy/stages"
)

// Bounds of α. With 0 the virtual size would be 0, and the job would starve under guideline 1.
const (
	leastAlpha = .1
	mostAlpha  = 10
)

// weightOf is α of a job: what the next phase has still to read, as a part of what this one has still to put out, to the power of the
// dampening. In the last phase it is 1.
func (p *Policy) weightOf(x *app, s stages.Stage) float64 {
	a := x.alphaOf(s)
	if a < 0 {
		a = p.set[alpha]
	}
	return min(max(math.Pow(a, p.set[dampening]), leastAlpha), mostAlpha)
}

// alphaOf is α as it was reported, or else by counts: outputs of a phase differ little, so that what reduces have read is the part of them that
// run, of what maps have put out. It is below 0 if nothing is known.
func (x *app) alphaOf(s stages.Stage) float64 {
	m, r := &x.of[stages.Map], &x.of[stages.Reduce]
	switch {
	case x.reported && x.report.ToMake > 0:
		return float64(x.report.ToRead) / float64(x.report.ToMake)
	case s != stages.Map || r.all() == 0 || x.reported:
		return 1
	case x.outputs.maps == 0:
		return -1
	case x.outputs.bytes == 0:
		return 0
	}
	all, left := float64(m.all()), float64(m.left())
	read := float64(r.granted) / float64(r.all())
	return max(0, all-(all-left)*min(read, 1)) / left
}
