package study

import (
	"math"
	"strings"
	"testing"
	"time"

	"heddle/internal/timeline/timelinetest"
	"heddle/rm/scheduler/policy/partition"
	"heddle/sim/hybrid"
	"heddle/sim/study/sampling"
	"heddle/sim/study/shape"
)

// The formula for batch sampling: that of random placement for one probe a task, and figures worked out by hand.
func TestFormulaOfBatchSampling(t *testing.T) {
	for _, busy := range []float64{.1, .5, .9} {
		if got, want := atOnce(10, 10, busy), math.Pow(1-busy, 10); math.Abs(got-want) > 1e-12 {
			t.Errorf("busy %g: %g, not %g", busy, got, want)
		}
	}
	// One task, two probes: 1 − ρ². Two tasks, three probes, ρ = 1/2: (3 + 1)/8.
	if got := atOnce(1, 2, .3); math.Abs(got-.91) > 1e-12 {
		t.Errorf("%g", got)
	}
	if got := atOnce(2, 3, .5); math.Abs(got-.5) > 1e-12 {
		t.Errorf("%g", got)
	}
}

// What is simulated agrees with the formula, within four standard errors and what the number of workers allows.
func TestJobsStartAtOnceAsOftenAsTheFormulaSays(t *testing.T) {
	for _, d := range []float64{1, 2} {
		const jobs = 4000
		r, err := hybrid.Run(shape.Exponential(jobs, 5, 2000, .5, 1), hybrid.Options{
			Mode: "sparrow", Workers: 2000, Cutoff: time.Minute, Seed: 1, Exact: true, Ratio: d,
		})
		if err != nil {
			t.Fatal(err)
		}
		busy := r.Utilisation.Warm / 100
		p := atOnce(5, int(5*d), busy)
		if busy < .45 || busy > .54 || math.Abs(r.ShortJobs.AtOnce-p) > .01+4*math.Sqrt(p*(1-p)/(.9*jobs)) {
			t.Errorf("d = %g: %g of the jobs start at once, not %g; busy: %g", d, r.ShortJobs.AtOnce, p, busy)
		}
	}
}

// Late binding with two probes a task is within 14 % of ideal at 90 % load (figure 3 of the report), once queues are as long as they stay. A study of
// the first two seconds of an empty cluster had half of that, and a seventh of what random placement adds.
func TestLateBindingIsNearIdeal(t *testing.T) {
	s, err := Run("sparrow", Options{Seeds: Seeds{From: 1, To: 1}, Values: map[string]string{"parts": "response", "workers": "2000", "loads": "0.9", "span": "0.06"}})
	if err != nil {
		t.Fatal(err)
	}
	of := func(column string) float64 {
		c, err := s.Tables[0].Cell("0.9", column)
		if err != nil {
			t.Fatal(err)
		}
		return c.Mean
	}
	if late, batch, random := of("late binding, d = 2"), of("batch sampling"), of("random"); late > 20 || late < 4 || batch < 2*late || random < 10*late {
		t.Errorf("above ideal: %.1f %% with late binding, %.1f %% with batch sampling, %.1f %% with random placement", late, batch, random)
	}
}

// Random placement makes each worker a queue of its own: the mean response of jobs of one task is that of M/M/1, and that of jobs of many is
// that of the longest of as many. The simulation must run for long enough to see that.
func TestRandomPlacementIsMM1(t *testing.T) {
	for _, c := range []struct {
		tasks int
		load  float64
	}{{1, .5}, {1, .8}, {50, .8}} {
		jobs := 400_000 / c.tasks
		mean, _ := sampling.Responses(sampling.Way{Ratio: 1}, 1000, 1, c.tasks, jobs, jobs, c.load, 1)
		if want := .0005 + .1/(1-c.load)*harmonic(c.tasks); math.Abs(mean/want-1) > .06 {
			t.Errorf("%d tasks at %g: %.3f s, not %.3f s", c.tasks, c.load, mean, want)
		}
	}
}

// Short jobs: Eagle before Hawk before Sparrow, at each percentile. Dice helps both, Eirene helps Eagle.
func TestWhoWins(t *testing.T) {
	x := yahooShape.setting(1000)
	run := func(workers int, o hybrid.Options) outcome {
		o.Workers, o.Short = workers, x.short
		r, err := simulate(&x, Seeds{From: 1, To: 1}, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	order := func(what string, better, worse outcome, most float64) {
		t.Helper()
		for i := range better.short {
			if a, b := better.short[i].Mean(), worse.short[i].Mean(); a > most*b {
				t.Errorf("%s, figure %d: %g s, and %g s", what, i, a, b)
			}
		}
	}
	sparrow, hawk, eagle := run(3600, hybrid.Options{Mode: "sparrow"}), run(3600, hybrid.Options{Mode: "hawk"}), run(3600, hybrid.Options{Mode: "eagle"})
	order("Hawk and Sparrow", hawk, sparrow, .5)
	order("Eagle and Hawk", eagle, hawk, .9)
	d := partition.Study(2)
	d.Longest = 200 * time.Second // this trace's waits are shorter than Yahoo's
	order("Dice", run(2600, hybrid.Options{Mode: "hawk", Dice: d}), run(2600, hybrid.Options{Mode: "hawk"}), .9)
	order("Eirene", run(3600, hybrid.Options{Mode: "eagle", Eirene: hybrid.EireneStudy()}), eagle, .97)
}

func TestTracesThatTheEnvironmentNames(t *testing.T) {
	t.Setenv("HEDDLE_YAHOO_TRACE", "")
	t.Setenv("HEDDLE_GOOGLE_TRACE", "nowhere.tr")
	if _, err := settings(&Options{}); err == nil || !strings.Contains(err.Error(), "HEDDLE_GOOGLE_TRACE") {
		t.Errorf("%v", err)
	}
	t.Setenv("HEDDLE_GOOGLE_TRACE", "")
	if all, err := settings(&Options{}); err != nil || len(all) != 3 {
		t.Errorf("%d settings, %v", len(all), err)
	}
}

func TestChartIsXML(t *testing.T) {
	c := Chart{Title: "a < b", Unit: "s", Bars: []string{"x", "y"}, Groups: []string{"g & h", "i"}, Values: [][]float64{{3, 400}, {0, .02}}}
	var b strings.Builder
	if err := (&Study{Charts: []Chart{c, {Groups: []string{"nothing"}, Bars: []string{"x"}, Values: [][]float64{{0}}}}}).SVG(&b); err != nil {
		t.Fatal(err)
	}
	if bars := timelinetest.Shapes(t, b.String(), "rect"); bars != 1+2+4+1+1 {
		t.Errorf("%d bars: %s", bars, b.String())
	}
}
