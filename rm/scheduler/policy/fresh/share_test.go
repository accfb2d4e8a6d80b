package fresh

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Algorithm 3.3.3, with 40 slots. The first job has 100 slot-seconds of maps left.
func TestExpectedSlotsOfAlgorithm333(t *testing.T) {
	for name, c := range map[string]struct {
		work work
		want float64
	}{
		"in proportion to what is left":                       {work{total: 40, maps: 300, reduces: 100, hasMaps: true}, 30},
		"no reduces":                                          {work{total: 40, maps: 300, hasMaps: true}, 40},
		"no maps":                                             {work{total: 40, reduces: 5}, 0},
		"nothing is left":                                     {work{total: 40}, 40},
		"below τ1 nothing is predicted":                       {work{total: 40, maps: 300, reduces: 100, hasMaps: true, jobs: 2, first: ending{left: 100, progress: 0.79, reduces: 800}}, 30},
		"a sudden change, lines 7 to 12":                      {work{total: 40, maps: 300, reduces: 100, mapSlots: 30, hasMaps: true, jobs: 2, first: ending{left: 100, progress: 0.8, reduces: 800}}, 40 * 100. / 1000},
		"the next job's maps count, line 7":                   {work{total: 40, maps: 300, reduces: 100, mapSlots: 30, hasMaps: true, jobs: 2, next: 300, first: ending{left: 100, progress: 0.8, reduces: 1500}}, 40 * 400. / 2000},
		"no sudden change: |33 − 27|/27 isn't above 0.6":      {work{total: 40, maps: 300, reduces: 100, mapSlots: 33, hasMaps: true, jobs: 1, first: ending{left: 100, progress: 0.9}}, 30},
		"slots that are released become the maps', line 11":   {work{total: 40, maps: 300, reduces: 100, mapSlots: 30, releasing: 1e6, hasMaps: true, jobs: 1, first: ending{left: 100, progress: 0.9}}, 40 * 200. / 300},
		"released slots decide: |43.8 − 26.7|/26.7 is sudden": {work{total: 40, maps: 300, reduces: 100, mapSlots: 30, releasing: 2, hasMaps: true, jobs: 1, first: ending{left: 100, progress: 0.9, slots: 4}}, 40 * 200. / 300},
		"with five less, |38.8 − 26.7|/26.7 is not":           {work{total: 40, maps: 300, reduces: 100, mapSlots: 25, releasing: 2, hasMaps: true, jobs: 1, first: ending{left: 100, progress: 0.9, slots: 4}}, 30},
		"maps of all jobs end with the first":                 {work{total: 40, maps: 150, reduces: 100, mapSlots: 30, hasMaps: true, jobs: 2, first: ending{left: 100, progress: 0.9}}, 0},
	} {
		if got := c.work.expected(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v slots, not %v", name, got, c.want)
		}
	}
}

// Theorem 3.3.1: η reduce slots are released in the x seconds in which w'_m(a) = x·(x·θ/(2rk) + m_a) is done.
func TestReleasedSlotsOfTheorem331(t *testing.T) {
	w := work{total: 40, maps: 300, reduces: 100, jobs: 3, releasing: 0.5, first: ending{left: 100, slots: 4}}
	x := w.released() / w.releasing
	if done := x * (x*0.75*0.5/(2*3) + 4); math.Abs(done-100) > 1e-9 {
		t.Errorf("in %v s %v slot-seconds are done", x, done)
	}
	w.maps = 0 // θ is 0: no more slots
	if got := w.released(); !(math.Abs(got-0.5*100/4) <= 1e-9) {
		t.Errorf("without further slots %v are released", got)
	}
	for _, w := range []work{{maps: 1, first: ending{left: 1}}, {releasing: 1}, {reduces: 1, releasing: 1, first: ending{left: 1}}} {
		if got := w.released(); got != 0 {
			t.Errorf("%+v: %v are released", w, got)
		}
	}
	if got := (&work{releasing: 1, first: ending{left: 1}}).released(); !(got > 0) || math.IsInf(got, 0) {
		t.Errorf("without jobs %v are released", got)
	}
}

// Whatever is left, maps are to have between nothing and all slots.
func TestSharesAreWithinTheSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := func(name string) float64 {
			return rapid.OneOf(rapid.Float64Range(0, 1e9), rapid.Just(0.), rapid.Float64Range(0, 1e-9)).Draw(t, name)
		}
		w := work{
			total: rapid.Float64Range(1e-3, 1e5).Draw(t, "S"), maps: x("maps"), reduces: x("reduces"), mapSlots: x("s_m"), jobs: x("k"), next: x("b"),
			releasing: x("r"), hasMaps: rapid.Bool().Draw(t, "M"), first: ending{x("a"), rapid.Float64Range(0, 1).Draw(t, "progress"), x("m_a"), x("w_r(a)")},
		}
		if got := w.expected(); !(got >= 0 && got <= w.total*(1+1e-9)) {
			t.Errorf("%+v: %v slots", w, got)
		}
	})
}

// profile is what is known of a job beforehand.
type profile struct{ maps, reduces float64 } // w_m and w_r, in slot-seconds

// static is algorithm 3.3.1: of all divisions of s slots, the one with the least makespan if k jobs share each stage evenly.
func static(s, k int, jobs []profile) (maps int, makespan float64) {
	makespan = math.Inf(1)
	for m := 1; m < s; m++ {
		if t := pipeline(jobs, k, func(_, _ []float64) float64 { return float64(m) }, float64(s)); t < makespan {
			maps, makespan = m, t
		}
	}
	return maps, makespan
}

// pipeline is the makespan of jobs that go through two stages, in which k jobs share what each stage has evenly. split says how many slots
// maps have, by what is left of the maps of jobs in their map phase and of the reduces of those behind it.
func pipeline(jobs []profile, k int, split func(maps, reduces []float64) float64, slots float64) (now float64) {
	var mapping, reducing []*profile
	waiting := make([]*profile, len(jobs))
	for i := range jobs {
		j := jobs[i]
		waiting[i] = &j
	}
	for len(waiting)+len(mapping)+len(reducing) > 0 {
		for len(mapping) < k && len(waiting) > 0 {
			mapping, waiting = append(mapping, waiting[0]), waiting[1:]
		}
		inReduce := min(k, len(reducing))
		m := split(lefts(mapping, func(p *profile) float64 { return p.maps }), lefts(reducing, func(p *profile) float64 { return p.reduces }))
		perMap, perReduce := m/float64(max(1, len(mapping))), (slots-m)/float64(max(1, inReduce))
		step := math.Inf(1)
		for _, p := range mapping {
			step = min(step, p.maps/perMap)
		}
		for _, p := range reducing[:inReduce] {
			step = min(step, p.reduces/perReduce)
		}
		step = max(step, 1e-6)
		if math.IsInf(step, 1) {
			return step
		}
		step = min(step, 1) // the split may change meanwhile
		now += step
		for _, p := range mapping {
			p.maps -= step * perMap
		}
		for _, p := range reducing[:inReduce] {
			p.reduces -= step * perReduce
		}
		for _, p := range mapping {
			if p.maps <= 1e-9 {
				reducing = append(reducing, p)
			}
		}
		mapping = slices.DeleteFunc(mapping, func(p *profile) bool { return p.maps <= 1e-9 })
		reducing = slices.DeleteFunc(reducing, func(p *profile) bool { return p.maps <= 1e-9 && p.reduces <= 1e-9 })
	}
	return now
}

func lefts(jobs []*profile, of func(*profile) float64) (out []float64) {
	for _, p := range jobs {
		out = append(out, of(p))
	}
	return out
}

// Dynamic shares do no worse than the best static division, which has to know all jobs beforehand (section 3.4.2).
func TestDynamicSharesBeatTheBestStaticDivision(t *testing.T) {
	sum := func(x []float64) (s float64) {
		for _, v := range x {
			s += v
		}
		return s
	}
	rapid.Check(t, func(t *rapid.T) {
		const slots, k = 20, 3
		var jobs []profile
		for range rapid.IntRange(2, 8).Draw(t, "jobs") {
			jobs = append(jobs, profile{rapid.Float64Range(20, 400).Draw(t, "maps"), rapid.Float64Range(20, 400).Draw(t, "reduces")})
		}
		division, best := static(slots, k, jobs)
		dynamic := pipeline(jobs, k, func(maps, reduces []float64) float64 {
			w := work{total: slots, maps: sum(maps), reduces: sum(reduces), hasMaps: len(maps) > 0, jobs: float64(len(maps))}
			return w.expected()
		}, slots)
		if dynamic > best+2 { // of steps of a second
			t.Errorf("%v s, with %d map slots %v s", dynamic, division, best)
		}
	})
}
