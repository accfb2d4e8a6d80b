package hybrid

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/sim"
	"heddle/sim/trace"
)

// published reads results of the simulator of Eagle's authors: for each configuration and figure those of several seeds.
func published(t *testing.T, file string, cutoff time.Duration) map[Options]map[string][]float64 {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all := map[Options]map[string][]float64{}
	for _, row := range rows[1:] {
		number := func(i int) float64 {
			x, err := strconv.ParseFloat(row[i], 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		o := Options{Mode: row[0], Workers: int(number(1)), Short: number(2), Cutoff: cutoff}
		if all[o] == nil {
			all[o] = map[string][]float64{}
		}
		for i := 4; i < len(row); i++ {
			all[o][rows[0][i]] = append(all[o][rows[0][i]], number(i))
		}
	}
	return all
}

// spread is the mean, the standard deviation, and the least and most.
func spread(x []float64) (mean, deviation, least, most float64) {
	least = math.Inf(1)
	for _, v := range x {
		mean += v / float64(len(x))
		least, most = min(least, v), max(most, v)
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(max(1, len(x)-1))
	}
	return mean, math.Sqrt(deviation), least, most
}

// measure simulates with several seeds.
func measure(t *testing.T, jobs []sim.Job, o Options, seeds int) map[string][]float64 {
	got := map[string][]float64{}
	for seed := range seeds {
		o.Seed = uint64(seed) + 1
		r := must(t, jobs, o)
		for name, f := range map[string]Figures{
			"short": r.ShortJobs.Completion, "long": r.LongJobs.Completion, "short_wait": r.ShortJobs.Wait, "long_wait": r.LongJobs.Wait,
		} {
			for what, x := range map[string]float64{"p50": f.P50, "p75": f.P75, "p90": f.P90, "p99": f.P99, "mean": f.Mean} {
				got[name+"_"+what] = append(got[name+"_"+what], x)
			}
		}
		got["dense"] = append(got["dense"], r.Utilisation.Dense)
	}
	return got
}

// compare reports figures of which the mean over seeds is out of a band around the published mean.
func compare(t *testing.T, jobs []sim.Job, all map[Options]map[string][]float64, seeds int, band func(mode, figure string, ours, theirs []float64) float64) {
	for o, want := range all {
		got := measure(t, jobs, o, seeds)
		for name, theirs := range want {
			ours, _, from, to := spread(got[name])
			mean, _, least, most := spread(theirs)
			if math.Abs(ours-mean) > band(o.Mode, name, got[name], theirs) {
				t.Errorf("%s, %d workers, short partition of %g %%: %s is %.3f (%.3f to %.3f), not %.3f (%.3f to %.3f)", o.Mode, o.Workers, o.Short, name, ours, from, to, mean, least, most)
			}
		}
	}
}

// byChance is how far the means of two samples may be apart: so many of its standard errors.
func byChance(errors float64, a, b []float64) float64 {
	_, x, _, _ := spread(a)
	_, y, _, _ := spread(b)
	if len(b) == 1 {
		y = x // one run doesn't show how its like differ
	}
	return errors * math.Sqrt(x*x/float64(len(a))+y*y/float64(len(b)))
}

// clwl uses no random numbers, so that its results don't spread; but they depend on the order of events of one time, which differs.
const order = .15

// In every mode the results of one seed lie within twice the spread of those of the authors' simulator, and 1 %.
func TestResultsAreThoseOfThePublishedSimulator(t *testing.T) {
	all := published(t, "testdata/published.csv", 90*time.Second)
	if len(all) != 18 {
		t.Fatalf("%d configurations are on record", len(all))
	}
	compare(t, workload(t, 1000), all, 1, func(mode, _ string, _, theirs []float64) float64 {
		mean, _, least, most := spread(theirs)
		if mode == "clwl" {
			return order * mean
		}
		return 2*(most-least) + .01*mean
	})
}

// The means over many seeds lie much closer: within four standard errors, and half a percent for the order of events of one time.
func TestMeansAreThoseOfThePublishedSimulator(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 runs it, as it takes minutes")
	}
	compare(t, workload(t, 1000), published(t, "testdata/published.csv", 90*time.Second), 24, func(mode, _ string, ours, theirs []float64) float64 {
		mean, _, _, _ := spread(theirs)
		if mode == "clwl" {
			return order * mean
		}
		return byChance(4, ours, theirs) + .005*mean
	})
}

// The same with a slice of Yahoo's trace, which may not be part of this repository, if HEDDLE_YAHOO_TRACE names its file. Bands are twice the largest spread of any
// configuration of Sparrow, Hawk and Eagle, in percent, as the mean of repeats of one seldom is wider off; few were run more than three times, so that chance is added.
func TestResultsForYahoo(t *testing.T) {
	all := published(t, "testdata/yahoo.csv", 90581100*time.Microsecond)
	if len(all) != 28 {
		t.Fatalf("%d configurations are on record", len(all))
	}
	file := os.Getenv("HEDDLE_YAHOO_TRACE")
	if file == "" {
		return
	}
	jobs, err := trace.Open(file, trace.Options{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	figures := []string{"p50", "p75", "p90", "p99", "mean"}
	percent := map[string][]float64{ // of short and of long jobs
		"sparrow": {6.3, 6.3, 3.4, 12.2, 2.4, 5.4, 5.4, 5.1, 37, 3.2},
		"hawk":    {4, 12.3, 12.3, 10.1, 10, .7, 3, 3, 1.3, .2},
		"eagle":   {.2, 3.5, 3.5, 2, 1.3, 1.9, 1.9, 1.9, .4, .4},
	}
	compare(t, jobs, all, 12, func(mode, figure string, ours, theirs []float64) float64 {
		mean, _, _, _ := spread(theirs)
		p, ok := percent[mode]
		if !ok {
			p = percent["hawk"]
		}
		part := .01 // of the utilisation
		if class, what, is := strings.Cut(figure, "_"); is {
			i := slices.Index(figures, strings.TrimPrefix(what, "wait_"))
			if class == "long" {
				i += len(figures)
			}
			part = 2 * p[i] / 100
		}
		return part*mean + byChance(3, ours, theirs) + .002 // waits have 3 decimals on record
	})
}
