package forecast

import (
	"fmt"
	"math"
	"slices"

	"heddle/sim/whatif/load"
)

// Graded is a forecast for a submission of the record, made of what was recorded before it, beside what happened. Times are in seconds after the submission.
type Graded struct {
	App      string  `json:"application"`
	Start    Bounds  `json:"start"`
	Happened float64 `json:"happened"`
}

// Inside reports whether it happened within the bounds. Recorded times are exact to a heartbeat, so a second more or less counts as inside.
func (g *Graded) Inside() bool {
	const exact = 1.0
	return g.Start.Low >= 0 && g.Happened >= g.Start.Low-exact && (g.Start.High < 0 || g.Happened <= g.Start.High+exact)
}

// Error is how far the median is off, in seconds.
func (g *Graded) Error() float64 {
	if g.Start.Median < 0 {
		return math.Inf(1)
	}
	return math.Abs(g.Start.Median - g.Happened)
}

// Candidates are the submissions of a record that can be graded: applications that began and ended within it, were submitted after the first third of
// the time in which there are submissions, and had their first container before the last submission: later ones met a load that wanes. At most n are
// chosen, spread over the rest.
func Candidates(l *load.Load, n int) []int {
	var all []int
	first, last := l.End, l.Begin
	for i := range l.Apps {
		first, last = min(first, l.Apps[i].Submit), max(last, l.Apps[i].Submit)
	}
	for i := range l.Apps {
		a := &l.Apps[i]
		if !a.Before && !a.Cut && a.Then.Granted >= 0 && a.Then.Granted <= last && a.Withdrawn == 0 && len(a.Attempts) > 0 && a.Submit > first+(last-first)/3 {
			all = append(all, i)
		}
	}
	if len(all) <= n {
		return all
	}
	chosen := make([]int, n)
	for i := range chosen {
		chosen[i] = all[i*len(all)/n]
	}
	return chosen
}

// Grade forecasts the starts of some applications of a record from what it has before each of their submissions, and tells what happened. It reads the record once for each.
// Submissions of which the record knew too little then are left out.
func Grade(path string, l *load.Load, apps []int, ro load.Options, o Options) ([]Graded, error) {
	var list []Graded
	for _, i := range apps {
		a := &l.Apps[i]
		ro.Until = a.Submit - 1
		before, err := load.Open(path, ro)
		if err != nil {
			return nil, fmt.Errorf("the record until %s was submitted: %w", a.ID, err)
		}
		if len(newPast(before).all) < leastLives {
			continue
		}
		job := load.App{
			ID: "graded", Name: a.Name, Queue: a.Queue, User: a.User, Type: a.Type, Label: a.Label, Priority: a.Priority, Master: a.Master, Spare: a.Spare, Keep: a.Keep,
			Attempts: a.Attempts, Then: load.Outcome{Granted: -1, End: -1},
		}
		o.At = a.Submit
		answer, err := Submit(before, job, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.ID, err)
		}
		list = append(list, Graded{App: a.ID, Start: answer.Start, Happened: float64(a.Then.Granted-a.Submit) / 1000})
	}
	return list, nil
}

// Widen returns the factor by which bounds must be wider so that nine tenths of what comes are within them, as graded forecasts tell (split conformal prediction: Vovk,
// Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005). It is 1 at least, and 1 if fewer than 5 were graded.
func Widen(list []Graded) float64 {
	if len(list) < 5 {
		return 1
	}
	var scores []float64
	for i := range list {
		g := &list[i]
		score := 1.0
		if g.Start.Low >= 0 {
			score = max(score, (g.Start.Low+shift)/(g.Happened+shift))
		}
		if g.Start.High >= 0 {
			score = max(score, (g.Happened+shift)/(g.Start.High+shift))
		}
		scores = append(scores, score)
	}
	slices.Sort(scores)
	return scores[place(len(scores))-1]
}

// Parts of what comes that bounds hold, and how sure that is.
const (
	held = 0.9
	sure = 0.8
)

// place returns which of n scores, from 1, the smallest first, is at least as large as those of a part held of what comes, in a part sure of all cases (Vovk, "Conditional validity of
// inductive conformal predictors", 2012, proposition 2a): with few scores the mean alone is right, and half of the cases hold less. If n are too few it is the largest.
func place(n int) int {
	p := math.Pow(1-held, float64(n)) // that so many of n are below the bound
	for k, sum := 0, p; k < n-1; k++ {
		if sum >= sure {
			return k + 1
		}
		p *= float64(n-k) / float64(k+1) * held / (1 - held)
		sum += p
	}
	return n
}

// shift, in seconds, is added to times before they are compared by their ratio: none is as exact as a heartbeat.
const shift = 1.0

// wider returns bounds that are wider by a factor.
func (b Bounds) wider(factor float64) Bounds {
	if b.Low >= 0 {
		b.Low = max((b.Low+shift)/factor-shift, 0)
	}
	if b.High >= 0 {
		b.High = (b.High+shift)*factor - shift
	}
	return b
}

// Summary returns the median error of forecasts, in seconds, and how many of what happened are within the bounds.
func Summary(list []Graded) (median float64, inside int) {
	var errors []float64
	for i := range list {
		errors = append(errors, list[i].Error())
		if list[i].Inside() {
			inside++
		}
	}
	if len(errors) == 0 {
		return 0, 0
	}
	slices.Sort(errors)
	return errors[len(errors)/2], inside
}
