package hopper

import (
	"math"

	"heddle/internal/pareto"
	"heddle/rm/scheduler/policy/stages"
)

// Bounds of β, and what it is rounded to so that there are few classes.
const (
	leastBeta = 1.05
	mostBeta  = 1.95
	betaSteps = 20 // in one
)

// A user's tasks that the fit of β regards: the last window of them, if there are enough.
const (
	enough     = pareto.Enough
	refit      = 10 // tasks after which β is fitted again
	mostGroups = 256
)

// group is a user of the leaf. The text has groups "by organisation".
type group struct {
	user string
	apps int
	of   [stages.None + 1]window
}

// window has how long the last tasks of one kind took.
type window struct {
	took     pareto.Window // seconds
	users    int           // applications whose β goes by it
	unfitted int
	beta     float64 // 0: it isn't known
}

func (w *window) add(seconds float64, cut bool) {
	w.took.Add(seconds, cut)
	w.unfitted++
}

// shape is β of the tasks, or else what is assumed: the maximum likelihood estimate of the Pareto distribution, where tasks that were cut off
// count with the time that they had.
func (w *window) shape(otherwise float64) float64 {
	if w.unfitted >= refit && w.took.Len() >= enough {
		w.unfitted = 0
		w.beta = fit(&w.took)
	}
	if w.beta == 0 {
		return clampBeta(otherwise)
	}
	return w.beta
}

// refit fits β again if that is due, and reports whether it has changed.
func (w *window) refit() bool {
	was := w.beta
	w.shape(0)
	return w.beta != was
}

// fit returns the estimate within bounds; 0 if fewer than enough tasks have ended.
func fit(took *pareto.Window) float64 {
	b, ended := took.Shape()
	if ended < enough {
		return 0
	}
	return clampBeta(b)
}

// clampBeta returns a β within bounds, in steps.
func clampBeta(b float64) float64 {
	if !(b > leastBeta) {
		return leastBeta
	}
	return math.Round(min(b, mostBeta)*betaSteps) / betaSteps
}

// mean is one that follows the last few tasks.
type mean struct{ n, sum float64 }

func (m *mean) add(x float64) {
	const fading = .98
	m.n, m.sum = m.n*fading+1, m.sum*fading+x
}

// of returns the mean, or a second if there is none.
func (m *mean) of() float64 {
	if m.n == 0 {
		return 1
	}
	return m.sum / m.n
}

// learn records the durations of tasks that have ended since the last Tick.
func (p *Policy) learn() {
	for _, e := range p.ended {
		seconds := max(1, float64(p.now-e.since)) / 1000
		p.took.add(seconds)
		if x := p.apps.Get(e.app); x != nil {
			x.group.of[e.stage].add(seconds, e.failed)
		}
	}
	p.ended = p.ended[:0]
}

// shapeOf is β of a job: as its ApplicationMaster has found it by enough tasks, or as the tasks of its user have it, or else as it is configured.
func (p *Policy) shapeOf(x *app, s stages.Stage) float64 {
	if x.reportsShape() {
		return clampBeta(x.report.Beta)
	}
	return x.group.of[s].shape(p.set[beta])
}

// reportsShape reports whether the ApplicationMaster has found β by enough tasks.
func (x *app) reportsShape() bool { return x.reported && x.report.Ended >= enough && x.report.Beta > 0 }
