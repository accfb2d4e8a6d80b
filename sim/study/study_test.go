package study

import (
	"math"
	"strings"
	"testing"

	"heddle/internal/timeline/timelinetest"
	"heddle/rm/queue/suspension"
	"heddle/sim"
	"heddle/sim/mapreduce"
)

// The shapes that the texts report, with one seed: lazy start ends before Fair over divided slots, at its best setting, and no later than
// Fair over the same containers at its best, but for noise.
func TestLazyStartEndsBeforeFair(t *testing.T) {
	w := workloads[0]
	best := map[slots]float64{}
	for _, how := range []slots{static, shared} {
		for _, x := range slowstarts {
			r, err := mapreduce.Run(cluster(w.nodes, how, w.jobs(how), mapreduce.Settings{SlowStart: x}))
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := best[how]; !ok || r.Makespan < b {
				best[how] = r.Makespan
			}
		}
	}
	r, err := mapreduce.Run(cluster(w.nodes, shared, w.jobs(shared), mapreduce.Settings{SlowStart: "omo", Hints: true}))
	if err != nil {
		t.Fatal(err)
	}
	if r.Makespan > 0.85*best[static] || r.Makespan > 1.05*best[shared] {
		t.Errorf("lazy start ends after %v s; Fair at its best after %v", r.Makespan, best)
	}
}

// OMO by the ResourceManager ends well before Fair over the same containers too, at its best setting.
func TestOMOByTheResourceManagerEndsBeforeFair(t *testing.T) {
	w := workloads[0]
	makespans := map[string]float64{}
	for name, set := range map[string]mapreduce.Settings{"0.2": {SlowStart: "0.2"}, "0.4": {SlowStart: "0.4"}, "omo": omoSettings} {
		r, err := mapreduce.Run(cluster(w.nodes, shared, w.jobs(shared), set))
		if err != nil {
			t.Fatal(err)
		}
		makespans[name] = r.Makespan
	}
	if makespans["omo"] > 0.9*min(makespans["0.2"], makespans["0.4"]) {
		t.Errorf("makespans: %v", makespans)
	}
}

// FRESH ends a fifth before Fair over the best division of slots, and is as fair as the text says from k = 5 on.
func TestFreshEndsBeforeFairAndIsFair(t *testing.T) {
	best := math.Inf(1)
	for _, c := range contenders() {
		if c.mapSlots == 0 && c.settings.StagePolicy == "" {
			continue
		}
		r, err := mapreduce.Run(sets[0].on(10, 10*c.mapSlots, 10, c.settings))
		if err != nil {
			t.Fatal(err)
		}
		if c.mapSlots > 0 {
			best = min(best, r.Makespan)
		} else if f := overall(r); r.Makespan > 0.8*best || f < 0.95 {
			t.Errorf("FRESH ends after %v s with fairness %v; Fair at its best after %v s", r.Makespan, f, best)
		}
	}
}

// Without stragglers eSplash makes hardly any useless copies, where LATE makes many.
func TestESplashMakesFewUselessCopies(t *testing.T) {
	useless := map[string]int{}
	for _, how := range []string{"late", "esplash"} {
		s := mixed(how, "configured", false, nil)
		s.Seed = 1
		r, err := mapreduce.Run(s)
		if err != nil {
			t.Fatal(err)
		}
		useless[how] = r.Copies - r.Useful
	}
	if useless["late"] < 10 || 5*useless["esplash"] > useless["late"] {
		t.Errorf("useless copies: %v", useless)
	}
}

// What a node that straggles and then goes away adds to the makespan is less than half with eSplash, and with cuts; and cuts end long before
// copies do, also without stragglers.
func TestNodeThatGoesAwayAddsLittle(t *testing.T) {
	ends := func(how string, changes []mapreduce.Change) float64 {
		s := mixed(how, "configured", false, changes)
		s.Seed = 1
		r, err := mapreduce.Run(s)
		if err != nil {
			t.Fatal(err)
		}
		return r.Makespan
	}
	added, healthy := map[string]float64{}, map[string]float64{}
	for _, how := range []string{"none", "esplash", "split"} {
		healthy[how] = ends(how, nil)
		added[how] = ends(how, slowed("level4-1", true)) - healthy[how]
	}
	if 2*added["esplash"] > added["none"] || 2*added["split"] > added["none"] || healthy["split"] > 0.85*healthy["esplash"] {
		t.Errorf("without it all ends after %v s; it adds %v", healthy, added)
	}
}

func TestPictureIsXML(t *testing.T) {
	r, err := mapreduce.Run(mixed("esplash", "measured", false, slowed("level4-1", true)))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := (&Study{Timelines: []Timeline{{"a < b", r, 120}}}).SVG(&b); err != nil {
		t.Fatal(err)
	}
	if shapes := timelinetest.Shapes(t, b.String(), "polygon"); shapes != 4 {
		t.Errorf("%d shapes: %s", shapes, b.String())
	}
}

// The study of Dice had two parameters "times": how often a task is suspended was how many times its jobs came, too, so that it simulated twice the jobs of its page.
func TestNoTwoParametersHaveOneName(t *testing.T) {
	for _, name := range Names() {
		seen := map[string]bool{}
		for _, p := range ParametersOf(name) {
			if seen[p.Name] {
				t.Errorf("the study %s has two parameters %q", name, p.Name)
			}
			seen[p.Name] = true
		}
	}
}

func TestUnknownStudy(t *testing.T) {
	if _, err := Run("none", Options{}); err == nil || !strings.Contains(err.Error(), strings.Join(Names(), ", ")) {
		t.Errorf("%v", err)
	}
}

// The shapes that BIG-C's text reports, with one seed: suspending serves short jobs no later than killing. No long job loses anything, where killing
// has many lose work. No more is used than there is. (Who waits longest, and what each further try saves, is luck with an eighth of the trace; the
// study compares that.)
func TestSuspensionLosesNothing(t *testing.T) {
	theirs := sim.Paging{Out: reclaiming, In: reclaiming, Resident: resident}
	of := func(x regime) figures {
		t.Helper()
		x.trace = &drawn{1. / 8, shortMean, longSpread, longVary}
		f, first, err := x.figures(Seeds{From: 1, To: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range first.line.Spans {
			if s.Amount < 0 || s.Amount > nodes*cores || s.To <= s.From {
				t.Fatalf("%s: %+v", x.name, s)
			}
		}
		return f
	}
	kill := of(regime{means: suspension.Kill})
	if kill.killed[0] == 0 || kill.lost[0] == 0 {
		t.Errorf("killing: %+v", kill)
	}
	late, atOnce := of(regime{means: suspension.Graceful, tries: 3, paging: theirs}), of(regime{means: suspension.Graceful, paging: theirs})
	for _, f := range []figures{late, atOnce} {
		if f.failed[0] != 0 || f.lost[0] != 0 || f.killed[0] != 0 || f.suspended[0] == 0 {
			t.Errorf("suspending: %+v", f)
		}
	}
	if late.short[0] > kill.short[0] {
		t.Errorf("short jobs' p95 is %.1f s, and %.1f s with killing", late.short[0], kill.short[0])
	}
}

// Long jobs of BIG-C's trace don't differ where they are told not to, and what is drawn otherwise is the same as ever.
func TestLongJobsCanBeAlike(t *testing.T) {
	alike := drawn{1. / 8, shortMean, 0, 0}
	tasks := map[int]bool{}
	for _, j := range alike.jobs(1) {
		if isShort(j.Name) {
			continue
		}
		tasks[len(j.Stages[0].Tasks)] = true
		for _, x := range j.Stages[0].Tasks {
			if x.Duration != longMean*1e9 {
				t.Fatalf("a task of %s lasts %v", j.Name, x.Duration)
			}
		}
	}
	if len(tasks) != 1 {
		t.Errorf("jobs have %v tasks", tasks)
	}
}

// Studies take what differs from the text alone: one model, one way to copy, an expiry, some values of D.
func TestStudiesOfOneVariant(t *testing.T) {
	for _, x := range []struct {
		study  string
		values map[string]string
		rows   int
	}{
		{"suspension", map[string]string{"tables": "tries", "part": "0.01", "tries": "0,3"}, 4},
		{"esplash", map[string]string{"cases": "rebooted", "policies": "none,late", "expiry": "60s", "jobs": "1"}, 2},
	} {
		s, err := Run(x.study, Options{Seeds: Seeds{From: 1, To: 1}, Values: x.values})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Tables[len(s.Tables)-1]; len(got.Rows) != x.rows {
			t.Errorf("%s: %d rows: %+v", x.study, len(got.Rows), got)
		}
	}
	for _, wrong := range []map[string]string{{"disk": "0"}, {"long-vary": "2"}, {"tries": "x"}} {
		if _, err := Run("suspension", Options{Seeds: Seeds{From: 1, To: 1}, Values: wrong}); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
	o := Options{Seeds: Seeds{From: 1, To: 1}, Values: map[string]string{"variants": "both,sizing", "models": "root"}}
	if err := o.Check("dice", diceParameters); err != nil {
		t.Fatal(err)
	}
	if got := diceVariants(&o); len(got) != 2 || got[0].name != "sizing, root" {
		t.Errorf("%+v", got)
	}
}
