package study

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"heddle/sim"
	"heddle/sim/study/shape"
	"heddle/sim/trace"
)

// setting is a trace with the cluster that its users replayed it on.
type setting struct {
	key    string // by which parameters and pages name it
	name   string
	cutoff time.Duration
	short  float64 // percent of the workers
	// sizes are the clusters of the studies of Hawk, Eagle and Dice, eireneSizes those of Eirene's.
	sizes, eireneSizes []int
	// growing is the cluster for the table of growing short partitions; 0: the texts have none for this trace.
	growing int
	// diceText and eireneText are the papers' results for this trace.
	diceText   string
	eireneText []string
	jobs       func(seed uint64) []sim.Job // they are the same for each seed where the trace is a file
}

// The clusters and the texts' figures of each trace. A synthetic trace and a slice of one have the same.
var (
	yahoo = setting{
		cutoff: 90580 * time.Millisecond, short: 2, growing: 4000,
		sizes: []int{3000, 4000, 5000}, eireneSizes: []int{3500, 4000, 5000, 6500},
		diceText:   "The text, Yahoo, short jobs: 3000 workers: Hawk −91.4/−83.6/−74.4 %, Eagle −97.4/−82.3/−74.9 %; 4000: Hawk −17.7/−26.0/−38.3 %, Eagle −4.1/−8.7/−34.0 %; long P90 at 4000: +8.9 % Hawk, +2.4 % Eagle.",
		eireneText: eireneOfBoth,
	}
	google = setting{
		cutoff: 1129500 * time.Millisecond, short: 17,
		sizes: []int{11_000, 12_000, 13_000}, eireneSizes: []int{12_000, 13_000, 15_000},
		diceText:   "The text, Google, 12,000 workers, short jobs: Hawk −50.9/−54.5/−43.5 %, Eagle −33.2/−74.1/−85.3 %.",
		eireneText: eireneOfBoth,
	}
	cloudera = setting{
		cutoff: 272800 * time.Millisecond, short: 9,
		sizes: []int{11_000, 12_000, 13_000}, eireneSizes: []int{12_000, 13_000, 14_500, 20_000},
		diceText: "The text, Cloudera, 12,000 workers, short jobs: Hawk −59.1/−45.0/−14.4 %, Eagle −27.6/−57.3/−11.5 %; long P90: +26.8 % Hawk, +24.7 % Eagle.",
		eireneText: []string{
			"The text, Cloudera (13,000 to 14,500 workers), short jobs, overloaded: P90 −70.3 %, all of it by staging; lightly loaded, cloning alone: trivial.",
		},
	}
	facebook = setting{
		cutoff: 76600 * time.Millisecond, short: 2,
		sizes: []int{50_000, 57_500, 65_000}, eireneSizes: []int{50_000, 57_500, 65_000, 85_000},
		diceText: "The text on Dice has no figures for Facebook.",
		eireneText: []string{
			"The text, Facebook (50,000 to 65,000 workers), short jobs: 50,000 workers: −39.2/−79.1/−81.3 %, all of it by staging;",
			"lightly loaded, cloning alone: −13.1/−10.0/−8.8 %.",
		},
	}
	// facebook2009 is the SWIM trace, whose cluster was smaller, and which has no durations. With blocks of 128 MB read at 2 MB/s long jobs are those that
	// shuffle: 8 % of the jobs with 73 % of the work, for some 400 busy workers. At 4 MB/s no job is long, and at 1 MB/s a full block alone makes one.
	facebook2009 = setting{
		cutoff: facebook.cutoff, short: facebook.short,
		sizes: []int{450, 600, 800}, eireneSizes: []int{450, 600, 800, 1600},
		diceText: facebook.diceText, eireneText: facebook.eireneText,
	}
	eireneOfBoth = []string{
		"The text, short jobs, overloaded: P90 −66.9 % Yahoo, −67.4 % Google, all of it by staging; Google with 15,000 workers: −9.1/−11.6/−15.8 %;",
		"lightly loaded, cloning alone: −13.1/−10.0/−8.8 % Facebook, and up to +3.1 % at P50 for Google.",
	}
)

// synthetic is a drawn trace, with the cluster of the real one.
type synthetic struct {
	like setting
	*shape.Shape
}

var (
	yahooShape    = synthetic{yahoo, &shape.Yahoo}
	clouderaShape = synthetic{cloudera, &shape.Cloudera}
	facebookShape = synthetic{facebook, &shape.Facebook}
)

// setting returns a trace of so many jobs with a shape, another one for each seed.
func (x *synthetic) setting(jobs int) setting {
	s := x.like
	s.key = strings.ToLower(x.Of) + "-shape"
	s.name = fmt.Sprintf("synthetic trace of %s's shape, %d jobs, another one for each seed", x.Of, jobs)
	var last uint64
	var trace []sim.Job // the one of the seed that was asked for last
	s.jobs = func(seed uint64) []sim.Job {
		if trace == nil || seed != last {
			trace, last = x.Trace(jobs, seed), seed
		}
		return trace
	}
	return s
}

// repeat has the jobs of a file come so many times, one round after the other, or only the first part of them. A round begins after the last one by the mean time
// between two jobs, so that load and queues go on as they were.
func (s *setting) repeat(times float64) {
	once := s.jobs
	var of []sim.Job
	s.jobs = func(seed uint64) []sim.Job {
		if of == nil {
			of = shape.Repeated(once(seed), times)
		}
		return of
	}
	if times != 1 {
		s.name = fmt.Sprintf("%s, %g times its jobs", s.name, times)
	}
}

// given returns the settings of traces that the environment names, each a file: HEDDLE_YAHOO_TRACE and HEDDLE_GOOGLE_TRACE in Hawk's format, and
// HEDDLE_FACEBOOK_TRACE in SWIM's.
func given() (all []setting, err error) {
	hawk := trace.Options{Format: "hawk", Whole: true}
	for _, x := range []struct {
		variable, key, name string
		setting             setting
		options             trace.Options
	}{
		{"HEDDLE_YAHOO_TRACE", "yahoo", "slice of Yahoo's trace", yahoo, hawk},
		{"HEDDLE_GOOGLE_TRACE", "google", "slice of Google's trace", google, hawk},
		{"HEDDLE_FACEBOOK_TRACE", "facebook-2009", "FB-2009, blocks of 128 MB at 2 MB/s", facebook2009, trace.Options{Format: "swim", BlockMB: 128, RateMB: 2}},
	} {
		file := os.Getenv(x.variable)
		if file == "" {
			continue
		}
		s := x.setting
		s.key, s.name = x.key, x.name
		jobs, err := trace.Open(file, x.options)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.variable, err)
		}
		s.jobs = func(uint64) []sim.Job { return jobs }
		all = append(all, s)
	}
	return all, nil
}

// newRandom draws what is beside the durations of a workload.
func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 4003)) }
