package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/internal/timeline"
	"heddle/sim/mapreduce"
	"heddle/sim/study/hopper"
)

// Study is what an experiment has shown.
type Study struct {
	Title     string
	Seeds     Seeds
	Tables    []Table
	Timelines []Timeline
	Charts    []Chart
	Cores     []timeline.Line // used by long and by short jobs
}

// Timeline is a run, drawn as what runs over time.
type Timeline struct {
	Title  string
	Result *mapreduce.Result
	Slots  int
}

// definition is a study with its parameters.
type definition struct {
	run        func(*Options) (*Study, error)
	parameters []Parameter
}

// studies by name.
var studies = map[string]definition{
	"fresh": {Fresh, freshParameters}, "omo": {OMO, omoParameters}, "esplash": {ESplash, esplashParameters}, "sparrow": {Sparrow, sparrowParameters},
	"hawk": {Hawk, traceParameters}, "eagle": {Eagle, traceParameters}, "dice": {Dice, diceParameters}, "eirene": {Eirene, eireneParameters},
	"suspension": {Suspension, suspensionParameters}, "eunomia": {Eunomia, eunomiaParameters}, "hopper": {Hopper, hopper.Parameters},
}

// Names lists the studies.
func Names() []string { return slices.Sorted(maps.Keys(studies)) }

// Run runs a study.
func Run(name string, o Options) (*Study, error) {
	d, ok := studies[name]
	if !ok {
		return nil, fmt.Errorf("there is no study %q: there are %s", name, strings.Join(Names(), ", "))
	}
	if err := o.Check(name, d.parameters); err != nil {
		return nil, err
	}
	return d.run(&o)
}

// Hopper returns the study of package hopper.
func Hopper(o *Options) (*Study, error) {
	tables, err := hopper.Tables(o)
	return &Study{Title: "Hopper: slots by virtual sizes, beside SRPT, Fair and DRF with the same speculation.", Seeds: o.Seeds, Tables: tables}, err
}

// runs are what came out of a scenario with different seeds.
type runs []*mapreduce.Result

// with simulates a scenario with each seed.
func with(seeds Seeds, make func() *mapreduce.Scenario) (runs, error) {
	var out runs
	for seed := range seeds.All() {
		s := make()
		s.Seed = seed
		r, err := mapreduce.Run(s)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (r runs) of(figure func(*mapreduce.Result) float64) (out sample) {
	for _, x := range r {
		out = append(out, figure(x))
	}
	return out
}

func makespan(r *mapreduce.Result) float64 { return r.Makespan }
