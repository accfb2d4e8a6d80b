package whatif

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/sim/whatif/load"
)

// Bars are how far a prediction may be off: nine of ten times, the backtest was not further off than that.
type Bars struct {
	Apps int `json:"apps"` // from which they come
	// Low and High are factors of an application's time.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Less and More are seconds of wait.
	Less float64 `json:"less"`
	More float64 `json:"more"`
}

// Backtest is how well the unchanged configuration, played, meets what was recorded.
type Backtest struct {
	Apps   int             `json:"apps"`   // that began and ended within the record
	Median float64         `json:"median"` // of the relative errors of their times
	P90    float64         `json:"p90"`
	P95    float64         `json:"p95"`
	All    Bars            `json:"all"`
	Queues map[string]Bars `json:"queues"`
	Worst  []WorstApp      `json:"worst"`
}

// WorstApp is an application that the backtest doesn't meet.
type WorstApp struct {
	ID    string  `json:"id"`
	Queue string  `json:"queue"`
	Then  float64 `json:"then"` // s
	Now   float64 `json:"now"`
	err   float64
}

// Limits of the errors with which there is an answer, and how many applications error bars need.
const (
	MostMedian = 0.05
	MostP90    = 0.25
	enoughApps = 20
	leastApps  = 3
	// resolution, in seconds, is how exact a recorded time is: shorter ones are compared as if they were that long.
	resolution = 1.0
)

// Refused says that the backtest failed, so that there is no answer.
type Refused struct {
	Backtest *Backtest
	Why      string
}

func (r *Refused) Error() string { return r.Why }

// backtest compares what was recorded with the same load, played.
func backtest(apps []load.App, played []load.Outcome) *Backtest {
	b := &Backtest{Queues: map[string]Bars{}}
	var all []int
	for i := range apps {
		if whole(&apps[i]) && played[i].End >= 0 {
			all = append(all, i)
		}
	}
	b.Apps = len(all)
	errors := make([]float64, 0, len(all))
	for _, i := range all {
		a := &apps[i]
		w := WorstApp{a.ID, a.Queue, seconds(a.Then.End - a.Submit), seconds(played[i].End - a.Submit), 0}
		w.err = math.Abs(w.Now-w.Then) / max(w.Then, resolution)
		errors = append(errors, w.err)
		if w.err > MostMedian {
			b.Worst = append(b.Worst, w)
		}
	}
	slices.SortStableFunc(b.Worst, func(x, y WorstApp) int {
		if x.err == y.err {
			return strings.Compare(x.ID, y.ID)
		}
		if x.err > y.err {
			return -1
		}
		return 1
	})
	b.Worst = b.Worst[:min(len(b.Worst), 10)]
	slices.Sort(errors)
	b.Median, b.P90, b.P95 = at(errors, .5), at(errors, .9), at(errors, .95)
	b.All = barsOf(apps, played, all)
	for _, g := range groups(apps, func(a *load.App) string { return a.Queue }) {
		own := slices.DeleteFunc(slices.Clone(g.apps), func(i int) bool { return !whole(&apps[i]) || played[i].End < 0 })
		if b.Queues[g.name] = b.All; len(own) >= enoughApps {
			b.Queues[g.name] = barsOf(apps, played, own)
		}
	}
	return b
}

// barsOf takes the 5th and the 95th of a hundred errors.
func barsOf(apps []load.App, played []load.Outcome, of []int) Bars {
	var ratio, diff []float64
	for _, i := range of {
		then, now := seconds(apps[i].Then.End-apps[i].Submit), seconds(played[i].End-apps[i].Submit)
		ratio = append(ratio, max(then, resolution)/max(now, resolution))
		diff = append(diff, meanWait(&apps[i].Then)-meanWait(&played[i]))
	}
	slices.Sort(ratio)
	slices.Sort(diff)
	b := Bars{Apps: len(of), Low: 1, High: 1}
	if len(of) > 0 {
		b.Low, b.High = min(at(ratio, .05), 1), max(at(ratio, .95), 1)
		b.Less, b.More = min(at(diff, .05), 0), max(at(diff, .95), 0)
	}
	return b
}

// refuse says why there is no answer, if there is none.
func (b *Backtest) refuse() error {
	var why string
	switch {
	case b.Apps < leastApps:
		why = fmt.Sprintf("only %d applications began and ended within the record: that is too few to tell how far predictions are off; record for longer", b.Apps)
	case b.Median > MostMedian:
		why = fmt.Sprintf("the unchanged configuration, played, misses the recorded times of applications by %.1f %% in the median, and at most %.0f %% may be", 100*b.Median, 100*MostMedian)
	case b.P90 > MostP90:
		why = fmt.Sprintf("the unchanged configuration, played, misses the recorded times of a tenth of the applications by more than %.0f %%: %.0f %%", 100*MostP90, 100*b.P90)
	default:
		return nil
	}
	var worst []string
	for _, w := range b.Worst {
		worst = append(worst, fmt.Sprintf("%s in %s took %.1f s, played %.1f s", w.ID, w.Queue, w.Then, w.Now))
	}
	if len(worst) > 0 {
		why += ". Worst: " + strings.Join(worst, "; ")
	}
	return &Refused{b, "no answer: " + why}
}
