package partition_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/rm/scheduler/policy/partition"
)

// Section 3.3.2: p = x, x², √x of the mean wait as a part of the longest, at most 1.
func TestModels(t *testing.T) {
	for _, c := range []struct{ x, linear, square, root float64 }{
		{0, 0, 0, 0}, {.25, .25, .0625, .5}, {.81, .81, .6561, .9}, {1, 1, 1, 1}, {7, 1, 1, 1}, {-1, 0, 0, 0}, {math.NaN(), 0, 0, 0},
	} {
		for name, want := range map[string]float64{"linear": c.linear, "square": c.square, "root": c.root} {
			m, err := partition.ParseModel(name)
			if err != nil || m.String() != name {
				t.Fatal(name, err)
			}
			if got := m.Of(c.x); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s of %g is %g, not %g", name, c.x, got, want)
			}
		}
	}
	if _, err := partition.ParseModel("cubic"); err == nil {
		t.Error("a cubic model is accepted")
	}
}

// With 4,000 nodes of which 2 % are the short partition and 10 % may be, and a longest wait of 1000 s.
func TestWindows(t *testing.T) {
	s := partition.Hawk(90*time.Second, 2)
	s.Dice = partition.Study(2)
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	z := partition.NewSizer(s, 5*time.Second)
	if z.Ends() != 65*time.Second {
		t.Errorf("the first window ends at %v", z.Ends())
	}
	plan := func(want partition.Plan) {
		t.Helper()
		if p := z.Next(z.Ends(), 4000); p != want {
			t.Errorf("%+v, not %+v", p, want)
		}
	}
	plan(partition.Plan{})
	z.Waited(100*time.Second, 3)
	z.Waited(900*time.Second, 1)
	// A wait of 300 s: linear 0.3 of 320 nodes; square 0.09 of 80 + 96.
	plan(partition.Plan{Wait: 300 * time.Second, Closed: 96, Requests: 15})
	plan(partition.Plan{})
	z.Waited(5000*time.Second, 1)
	plan(partition.Plan{Wait: 5000 * time.Second, Closed: 320, Requests: 400})

	z.Waited(time.Second, 1)
	end := z.Ends()
	if z.Next(end+10*time.Minute, 4000); z.Ends() != end+11*time.Minute {
		t.Errorf("after missed windows the next ends at %v", z.Ends())
	}

	s.Dice.Multiplier, s.Dice.NoSizing = 1000, true
	z = partition.NewSizer(s, 0)
	z.Waited(time.Hour, 1)
	plan(partition.Plan{Wait: time.Hour, Requests: 3920}) // all there are
	s.Dice.NoRequests, s.Dice.NoSizing, s.Dice.Sizing = true, false, partition.Root
	z = partition.NewSizer(s, 0)
	z.Waited(90*time.Second, 1)
	plan(partition.Plan{Wait: 90 * time.Second, Closed: 96})
}

func TestLongAndShort(t *testing.T) {
	s := partition.Eagle(90*time.Second, 2)
	if s.Long(90*time.Second) || !s.Long(90*time.Second+1) {
		t.Error("the cutoff itself is short")
	}
	for nodes, want := range map[int]int{4000: 80, 99: 1, 49: 0, 0: 0} {
		if n := s.Size(nodes); n != want {
			t.Errorf("of %d nodes %d are the short partition", nodes, n)
		}
	}
	if h := partition.Hawk(0, 0).Rules; !h.Steal || h.AvoidLong || h.Sticky {
		t.Errorf("Hawk: %+v", h)
	}
	if e := s.Rules; e.Steal || !e.AvoidLong || !e.Sticky || !e.Shortest || e.Least != 20 || e.Bound != 5 {
		t.Errorf("Eagle: %+v", e)
	}
}

func TestEstimates(t *testing.T) {
	tags := []string{"nightly", "Heddle-Task-Time:80s", "heddle-task-time:9s"}
	for _, c := range []struct {
		submitted string
		tags      []string
		queue     time.Duration
		want      time.Duration
		known     bool
	}{
		{"5s", tags, time.Minute, 5 * time.Second, true},
		{"", tags, time.Minute, 80 * time.Second, true},
		{"", tags[:1], time.Minute, time.Minute, true},
		{"", nil, 0, 0, false},
	} {
		if d, known, err := partition.Estimate(c.submitted, c.tags, c.queue); d != c.want || known != c.known || err != nil {
			t.Errorf("%+v: %v, %v, %v", c, d, known, err)
		}
	}
	for _, bad := range []string{"heddle-task-time:soon", "heddle-task-time:", "heddle-task-time:-1s"} {
		if _, _, err := partition.Estimate("", []string{bad}, 0); err == nil {
			t.Errorf("the tag %q is accepted", bad)
		}
	}
	for _, bad := range []string{"soon", "0s", "-1s", "5"} {
		if _, _, err := partition.Estimate(bad, tags, time.Minute); err == nil || !strings.Contains(err.Error(), partition.Property) {
			t.Errorf("the property %q: %v", bad, err)
		}
	}
}

func TestBadSettings(t *testing.T) {
	for what, change := range map[string]func(*partition.Settings){
		"cutoff":     func(s *partition.Settings) { s.Cutoff = -1 },
		"short":      func(s *partition.Settings) { s.Short = 100 },
		"no number":  func(s *partition.Settings) { s.Short = math.NaN() },
		"most":       func(s *partition.Settings) { s.Dice.Most = 1 },
		"longest":    func(s *partition.Settings) { s.Dice.Longest = 0 },
		"window":     func(s *partition.Settings) { s.Dice.Window = 0 },
		"multiplier": func(s *partition.Settings) { s.Dice.Multiplier = -1 },
		"times":      func(s *partition.Settings) { s.Dice.Times = -1 },
	} {
		s := partition.Eagle(time.Minute, 2)
		s.Dice = partition.Study(2)
		change(&s)
		if s.Check() == nil {
			t.Errorf("%s: %+v is accepted", what, s)
		}
	}
	s := partition.Eagle(time.Minute, 2)
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// The cases of figure 3.7, and the timeout.
func TestLimitsOfSuspensions(t *testing.T) {
	d := partition.Study(2)
	for name, test := range map[string]struct {
		c    partition.Candidate
		want partition.Refusal
	}{
		"a":                {partition.Candidate{Long: true, Times: 1, Waiting: 2}, partition.Granted},
		"b":                {partition.Candidate{Long: true, Another: true, Waiting: 2}, partition.Another},
		"c":                {partition.Candidate{Long: true}, partition.NobodyWaits},
		"d":                {partition.Candidate{Waiting: 2}, partition.NotLong},
		"e":                {partition.Candidate{Long: true, Times: 2, Waiting: 2}, partition.TooOften},
		"an absurd number": {partition.Candidate{Long: true, Waiting: -1}, partition.NobodyWaits},
	} {
		got := d.Request(test.c)
		if got != test.want {
			t.Errorf("case %s: %v, not %v", name, got, test.want)
		}
		if got.String() == "" {
			t.Errorf("refusal %d has no words", got)
		}
	}
	if d.Due(100*time.Second-1) || !d.Due(100*time.Second) {
		t.Error("a suspended task isn't due after 100 s")
	}
}

func TestDrawTakesNoNodeTwice(t *testing.T) {
	nodes := []int{0, 1, 2, 3, 4}
	last := func(n int) int { return n - 1 }
	if got := slices.Clone(partition.Draw(nodes, 3, last)); !slices.Equal(got, []int{4, 0, 1}) {
		t.Errorf("%v", got)
	}
	if got := partition.Draw(nodes, 9, last); len(got) != 5 {
		t.Errorf("%v", got)
	}
	slices.Sort(nodes)
	if !slices.Equal(nodes, []int{0, 1, 2, 3, 4}) {
		t.Errorf("nodes are lost: %v", nodes)
	}
}

// The constants of the texts.
func TestPresets(t *testing.T) {
	if got, want := partition.Hawk(7, 2), (partition.Settings{Cutoff: 7, Short: 2, Rules: partition.Rules{Probes: 2, Least: 2, Steal: true}}); got != want {
		t.Errorf("Hawk: %+v", got)
	}
	want := partition.Settings{Cutoff: 7, Short: 2, Rules: partition.Rules{
		Probes: 2, Least: 20, AvoidLong: true, Rounds: 2, Sticky: true, Shortest: true, Bound: 5,
	}}
	if got := partition.Eagle(7, 2); got != want {
		t.Errorf("Eagle: %+v", got)
	}
	if got := *partition.Study(17); got != (partition.Dice{
		Most: 25, Longest: 1000 * time.Second, Window: time.Minute, Sizing: partition.Linear, Preemption: partition.Square, Multiplier: 1,
		Times: 2, Timeout: 100 * time.Second, SuspendCost: 3 * time.Second, ResumeCost: 10 * time.Second,
	}) {
		t.Errorf("Dice: %+v", got)
	}
}

// The edges of what settings may be, without Dice and with it.
func TestEdgesOfSettings(t *testing.T) {
	for _, short := range []float64{0, 99.9} {
		s := partition.Hawk(0, short)
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, short := range []float64{-.1, 100, math.NaN()} {
		s := partition.Hawk(0, short)
		if err := s.Check(); err == nil || strings.Contains(err.Error(), "long work needs") != (short == 100) {
			t.Errorf("a short partition of %g %%: %v", short, err)
		}
	}
	for short, most := range map[float64]float64{0: 8, 2: 10, 95: 99, 99.5: 99.5} {
		s := partition.Hawk(0, short)
		s.Dice = partition.Study(short)
		if err := s.Check(); err != nil || s.Dice.Most != most {
			t.Errorf("with %g %%, Dice grows to %g, not %g: %v", short, s.Dice.Most, most, err)
		}
	}
	for ok, changes := range map[bool][]func(*partition.Dice){
		true: {
			func(d *partition.Dice) { d.Most = 2 }, func(d *partition.Dice) { d.Most = 99.9 }, func(d *partition.Dice) { d.Longest, d.Window = 1, 1 },
			func(d *partition.Dice) { d.Multiplier = 0 }, func(d *partition.Dice) { d.Multiplier = 1000 }, func(d *partition.Dice) { d.Times, d.Timeout = 0, 0 },
		},
		false: {
			func(d *partition.Dice) { d.Most = 100 }, func(d *partition.Dice) { d.Most = math.NaN() }, func(d *partition.Dice) { d.Multiplier = 1001 },
			func(d *partition.Dice) { d.Timeout = -1 }, func(d *partition.Dice) { d.Window = -1 },
		},
	} {
		for i, change := range changes {
			s := partition.Hawk(0, 2)
			s.Dice = partition.Study(2)
			change(s.Dice)
			if err := s.Check(); (err == nil) != ok {
				t.Errorf("%d: %+v: %v", i, *s.Dice, err)
			}
		}
	}
}
