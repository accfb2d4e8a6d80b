package study

import (
	"fmt"
	"math"
	"time"

	"heddle/sim/hybrid"
)

// atOnce is the probability that all m tasks of a job start at once if it probes n workers, each of which is busy with a probability.
func atOnce(m, n int, busy float64) float64 {
	sum := 0.
	for i := m; i <= n; i++ {
		c, _ := math.Lgamma(float64(n + 1))
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(c - a - b + float64(i)*math.Log1p(-busy) + float64(n-i)*math.Log(busy))
	}
	return sum
}

// Sparrow checks batch sampling with late binding against what section 3 of its report derives and simulates.
func Sparrow(seeds int) (*Study, error) {
	s := &Study{Title: "Sparrow: batch sampling and late binding. Exponential tasks of 100 ms, a round trip of 1 ms. Mean ± deviation."}
	zero := Table{
		Title:   fmt.Sprintf("Part of the jobs of 10 tasks that start at once, 5,000 workers, %d seeds of 12,000 jobs", seeds),
		Columns: []string{"load", "busy", "d = 1", "formula", "d = 2", "formula"},
		Notes: []string{
			"Formulas: (1−ρ)^m for d = 1; Σ C(dm,i)(1−ρ)^i ρ^(dm−i) over i from m to dm for batch sampling. ρ is the part of busy workers that was measured:",
			"asking for tasks takes workers' time, too. What follows ± is the standard error that the number of jobs allows.",
		},
	}
	for _, load := range []float64{.1, .2, .3, .4, .5, .6, .7, .8} {
		row := []string{fmt.Sprintf("%.1f", load)}
		for _, d := range []float64{1, 2} {
			var part, busy sample
			for seed := range seeds {
				r, err := hybrid.Run(exponential(12_000, 10, 5000, load, uint64(seed)), hybrid.Options{
					Mode: "sparrow", Workers: 5000, Cutoff: time.Minute, Seed: uint64(seed), Exact: true, Ratio: d,
				})
				if err != nil {
					return nil, err
				}
				part, busy = append(part, r.ShortJobs.AtOnce), append(busy, r.Utilisation.Warm/100)
			}
			p, n := part.mean(), float64(10_800*seeds)
			if d == 1 {
				row = append(row, fmt.Sprintf("%.3f", busy.mean()))
			}
			row = append(row, fmt.Sprintf("%.3f ± %.3f", p, math.Sqrt(max(p*(1-p), 1/n)/n)), fmt.Sprintf("%.3f", atOnce(10, int(10*d), busy.mean())))
		}
		zero.Rows = append(zero.Rows, row)
	}
	const tasks, workers = 500, 10_000
	ideal := 0.
	for i := 1; i <= tasks; i++ {
		ideal += 100 / float64(i)
	}
	response := Table{
		Title:   fmt.Sprintf("Mean response of jobs of 500 tasks on 10,000 workers, in ms (ideal: %.0f), %d seeds of 400 jobs", ideal, seeds),
		Columns: []string{"load", "d = 1", "above ideal", "d = 1.5", "above ideal", "d = 2", "above ideal"},
		Notes:   []string{"The text, section 3.6: with late binding and d = 2 within 14 % of ideal at 90 % load; without late binding over 50 % above it; d = 1.5 nearly as good as 2."},
	}
	chart := Chart{Title: "Mean response of jobs of 500 tasks", Unit: "ms", Bars: []string{"d = 1", "d = 1.5", "d = 2"}}
	for _, load := range []float64{.5, .7, .8, .9} {
		row, bars := []string{fmt.Sprintf("%.1f", load)}, []float64{}
		for _, d := range []float64{1, 1.5, 2} {
			var mean sample
			for seed := range seeds {
				r, err := hybrid.Run(exponential(400, tasks, workers, load, uint64(seed)), hybrid.Options{
					Mode: "sparrow", Workers: workers, Cutoff: time.Minute, Seed: uint64(seed), Exact: true, Ratio: d,
				})
				if err != nil {
					return nil, err
				}
				mean = append(mean, 1000*r.ShortJobs.Completion.Mean)
			}
			row, bars = append(row, mean.String(), less(mean.mean(), ideal)), append(bars, mean.mean())
		}
		response.Rows = append(response.Rows, row)
		chart.add("load "+row[0], bars)
	}
	s.Tables, s.Charts = []Table{zero, response}, []Chart{chart}
	return s, nil
}
