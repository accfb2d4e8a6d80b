package mapreduce

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// simple is a job on two nodes of two containers: maps of 10 s, which write 100 MB each, and reduces of 5 s that fetch 10 MB/s.
func simple(maps, reduces int) *Scenario {
	return &Scenario{
		Settings: Settings{SlowStart: "1.0", Bandwidth: 10},
		Nodes:    []Nodes{{Name: "n", Count: 2, Memory: 2048, VCores: 2}},
		Jobs: []Jobs{{
			Name: "job", Maps: Tasks{Tasks: maps, Seconds: 10, Memory: 1024, Output: 100},
			Reduces: Tasks{Tasks: reduces, Seconds: 5, Memory: 1024},
		}},
	}
}

func run(t *testing.T, s *Scenario) *Result {
	t.Helper()
	r, err := Run(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(a, b float64) bool { return math.Abs(a-b) < 0.01 }

// Worked by hand: a container starts in 1 s. 4 maps run at once and end at 11 s. 2 reduces begin at 12 s, fetch 200 MB each until 32 s,
// and end at 37 s.
func TestMapsShuffleAndReducesTakeTheirTime(t *testing.T) {
	r := run(t, simple(4, 2))
	j := &r.Jobs[0]
	if !near(j.MapsDone, 11) || !near(j.End, 37) || !near(r.Makespan, 37) || j.Start != 1 {
		t.Errorf("%+v", j)
	}
	if a := j.Reduces[0].Attempts[0]; !near(a.Start, 12) || !near(a.Fetched, 32) || a.Outcome != "succeeded" {
		t.Errorf("%+v", a)
	}
	if r.Fairness != 1 || !near(r.Utilization, (11+26/2.)/37) {
		t.Errorf("fairness %v, utilisation %v", r.Fairness, r.Utilization)
	}
}

// A reduce that begins while maps run has fetched all but the last outputs when they end: 3 maps on 4 containers, one of them of the
// reduce. The fourth map follows until 22 s. By then 300 MB were fetched since 11 s, 110 MB, so that 290 MB remain.
func TestReduceFetchesWhileMapsRun(t *testing.T) {
	s := simple(4, 1)
	s.Settings.SlowStart = "0.0"
	j := &run(t, s).Jobs[0]
	if !near(j.MapsDone, 22) || !near(j.Reduces[0].Attempts[0].Fetched, 22+29) || !near(j.End, 22+29+5) {
		t.Errorf("%+v", j)
	}
}

// 250 reduces take all of 40 containers but one as soon as they may, and wait for maps that have nowhere to run; or they leave half of them.
func TestReducesRampUp(t *testing.T) {
	done := map[bool]float64{}
	for _, limited := range []bool{false, true} {
		s := simple(400, 250)
		s.Nodes[0].Count, s.Settings.SlowStart, s.Settings.RampUp = 20, "0.05", limited
		done[limited] = run(t, s).Jobs[0].MapsDone
	}
	if done[true] > 0.5*done[false] {
		t.Errorf("maps are done at %v s, and at %v without a limit", done[true], done[false])
	}
}

// A node of half the speed takes twice as long, also for a type of tasks alone; and one that becomes slow does the rest more slowly.
func TestSpeedsOfNodes(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*Scenario)
		end    float64
	}{
		"half":        {func(s *Scenario) { s.Nodes[0].Speed = 0.5 }, 21},
		"for a stage": {func(s *Scenario) { s.Nodes[0].Speeds = map[string]float64{"map": 0.25} }, 41},
		"for a type":  {func(s *Scenario) { s.Nodes[0].Speeds = map[string]float64{"map": 0.25, "sort": 2, "sort.reduce": 9} }, 6},
		"for both":    {func(s *Scenario) { s.Nodes[0].Speeds = map[string]float64{"sort": 3, "sort.map": 5} }, 3},
		"from 6 s on": {func(s *Scenario) { s.Changes = []Change{{At: 6, Node: "n", Speed: pointer(0.1)}} }, 56},
		"for a while": {func(s *Scenario) {
			s.Changes = []Change{{At: 6, Node: "n", Speed: pointer(0.)}, {At: 16, Node: "n", Speed: pointer(1.)}}
		}, 21},
		"a part straggles": {func(s *Scenario) { s.Settings.Stragglers = Stragglers{1, 3} }, 31},
		"shared by two":    {func(s *Scenario) { s.Nodes[0].Parallel = 1 }, 21},
		"one and a half":   {func(s *Scenario) { s.Nodes[0].Parallel = 1.5 }, 1 + 10/.75},
		"room for both":    {func(s *Scenario) { s.Nodes[0].Parallel = 2 }, 11},
	} {
		s := simple(4, 0)
		s.Jobs[0].Type = "sort"
		x.change(s)
		if r := run(t, s); !near(r.Makespan, x.end) {
			t.Errorf("%s: ends at %v s instead of %v", name, r.Makespan, x.end)
		}
	}
}

func pointer[T any](x T) *T { return &x }

// A node that is lost takes its tasks and the outputs that it serves with it. They are done again elsewhere, once that is noticed.
func TestNodeThatIsLost(t *testing.T) {
	s := simple(8, 1)
	s.Changes = []Change{{At: 15, Node: "n2", Down: pointer(true)}, {At: 200, Node: "n2", Down: pointer(false)}}
	r := run(t, s)
	lost := 0
	for _, m := range r.Jobs[0].Maps {
		for _, a := range m.Attempts {
			if strings.Contains(a.Outcome, "lost") {
				lost++
				if a.Node != "n2" || !near(a.End, 25) {
					t.Errorf("%+v", a)
				}
			}
		}
		if m.Node != "n1" {
			t.Errorf("the output of %+v is on the lost node", m)
		}
	}
	if lost != 2 || !near(r.Jobs[0].Wasted, 2*(25-12)+2*10) {
		t.Errorf("%d attempts were lost, %v s of work", lost, r.Jobs[0].Wasted)
	}
}

// A node that doesn't answer, and whose loss nobody has noticed, gets containers that don't start. They are given up 180 s after they
// should have begun; and when the node has got some of them again, it is avoided.
func TestContainersOnANodeThatDoesNotAnswer(t *testing.T) {
	s := simple(8, 0)
	s.Settings.Expiry = 10_000
	s.Changes = []Change{{At: 0.5, Node: "n2", Down: pointer(true)}}
	r := run(t, s)
	if r.Makespan < 181+11 || r.Makespan > 2*181+11+1 || r.Wasted != 0 {
		t.Errorf("it ends after %v s, %v s of them wasted", r.Makespan, r.Wasted)
	}
	for _, m := range r.Jobs[0].Maps {
		if m.Node != "n1" {
			t.Errorf("%+v", m)
		}
	}
}

// A node that stops getting on is no end of a job whose tasks are copied.
func TestCopiesHelp(t *testing.T) {
	for _, how := range []string{"esplash", "late"} {
		s := simple(40, 0)
		s.Nodes[0].Count = 4
		s.Settings.Speculation = how
		s.Changes = []Change{{At: 45, Node: "n1", Speed: pointer(0.01)}}
		r := run(t, s)
		if r.Useful < 1 || r.Makespan > 200 {
			t.Errorf("%s: %d of %d copies were useful, and all ends at %v s", how, r.Useful, r.Copies, r.Makespan)
		}
	}
}

// On a full cluster whatever becomes free is for the reduces of a job that came first. A copy waits until all of them have begun, unless a map of
// its own job with slack gives its room: then it begins at once. Whatever stood still has one result, too.
func TestCopiesThatSuspensionPaysFor(t *testing.T) {
	ends := map[bool]float64{}
	for _, freezes := range []bool{false, true} {
		s := &Scenario{
			Scheduler:  "capacity",
			Properties: map[string]string{"yarn.scheduler.capacity.root.queues": "default", "yarn.scheduler.capacity.root.default.capacity": "100"},
			Settings:   Settings{SlowStart: "1.0", Speculation: "esplash", Freezes: freezes},
			Nodes:      []Nodes{{Name: "n", Count: 3, Memory: 2200, VCores: 2}},
			Changes:    []Change{{At: 40, Node: "n3", Speed: pointer(0.01)}},
			Jobs: []Jobs{
				{Name: "first", Maps: Tasks{Tasks: 1, Seconds: 45, Memory: 1024}, Reduces: Tasks{Tasks: 30, Seconds: 20, Memory: 1024}},
				{Name: "second", Submit: 0.1, Maps: Tasks{Tasks: 10, Seconds: 30, Memory: 1024}},
			},
		}
		r := run(t, s)
		won, stood := 0, 0
		for _, m := range r.Jobs[1].Maps {
			for _, a := range m.Attempts {
				if a.Outcome == "succeeded" {
					won++
				}
				if !a.Copy && a.Outcome == "succeeded" && a.End-a.Start > 31 && a.Node != "n3" {
					stood++
				}
			}
		}
		if won != 10 || stood > 0 != freezes || r.Frozen > 0 != freezes {
			t.Errorf("freezes %v: %d results of 10 maps, %d of which stood still; %d containers did", freezes, won, stood, r.Frozen)
		}
		ends[freezes] = r.Jobs[1].End
	}
	if ends[true] > 0.75*ends[false] {
		t.Errorf("the job ends at %v s, and at %v if nothing stands still", ends[true], ends[false])
	}
}

// The scenario of the documentation in which suspension pays for copies: the job with the straggler ends at least a third earlier, and the other one at
// most a twentieth later.
func TestScenarioOfPaidCopies(t *testing.T) {
	var ends [2][2]float64
	for i, freezes := range []bool{false, true} {
		s, err := ReadFile("../../docs/scenarios/paid-copies.yaml")
		if err != nil {
			t.Fatal(err)
		}
		s.Settings.Freezes = freezes
		r := run(t, s)
		ends[i] = [2]float64{r.Jobs[0].End, r.Jobs[1].End}
	}
	if ends[1][1] > ends[0][1]*2/3 || ends[1][0] > ends[0][0]*1.05 {
		t.Errorf("the jobs end at %v s, and at %v s if nothing stands still", ends[1], ends[0])
	}
}

// Jobs that nothing can end are reported, and so is a scenario that takes too long.
func TestJobsThatDoNotEnd(t *testing.T) {
	s := simple(1, 0)
	s.Changes = []Change{{At: 5, Node: "n", Speed: pointer(0.)}}
	if r, err := Run(s); err == nil || !strings.Contains(err.Error(), "nothing happens any more") || r.Jobs[0].Error == "" {
		t.Errorf("%v", err)
	}
	s = simple(9, 0)
	s.Limit = 5
	r, err := Run(s)
	if err == nil || !strings.Contains(err.Error(), "the limit") {
		t.Errorf("%v", err)
	}
	if text, err := json.Marshal(r); err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%s, %v", text, err)
	}
}

// A job that has nothing isn't looked at in each second: where very many wait, all others would take as long as these.
func TestJobsThatWaitTakeNoTime(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := simple(2, 1)
		s.Jobs[0].Count = 50
		if late {
			s.Settings.Speculation = "late" // looks at the time
		}
		c, err := newCluster(s)
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for c.engine.Now() < 60*second && c.engine.Step() {
			c.schedule()
			if c.engine.Now() > 2*second {
				most = max(most, len(c.awake))
			}
		}
		if len(c.live) < 40 || most > 5 != late {
			t.Errorf("%d of %d jobs are looked at (%v)", most, len(c.live), late)
		}
	}
}

// Jobs without work have had equally much.
func TestFairnessOfJobsWithoutWork(t *testing.T) {
	s := simple(2, 0)
	s.Jobs[0].Count, s.Jobs[0].Maps.Seconds = 2, 0
	if r := run(t, s); r.Fairness != 1 || r.Wasted != 0 {
		t.Errorf("%+v", r)
	}
}

// A container that stands still uses what it holds, and where memory alone is measured vcores don't count.
func TestNoMoreIsUsedThanThereIs(t *testing.T) {
	s := simple(8, 0)
	s.Scheduler, s.Jobs[0].Maps.VCores = "fifo", 2
	if r := run(t, s); !near(r.Utilization, 1) {
		t.Errorf("%v of the memory is used", r.Utilization)
	}
	s, err := ReadFile("../../docs/scenarios/paid-copies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, s); !(r.Utilization <= 1) || r.Frozen == 0 {
		t.Errorf("%v is used with %d containers that stood still", r.Utilization, r.Frozen)
	}
}

// Whatever is simulated: the same scenario gives the same bytes. Each task has one result, of an attempt that has succeeded; no reduce
// has fetched all before the last map was done; and no container has two tasks at once.
func TestResultsAreSane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
		s := &Scenario{
			Seed: rapid.Uint64().Draw(t, "seed"),
			Settings: Settings{
				SlowStart:   rapid.SampledFrom([]string{"", "omo", "0.5", "1.0"}).Draw(t, "slowstart"),
				Speculation: rapid.SampledFrom([]string{"", "esplash", "late", "split"}).Draw(t, "speculation"),
				Containers:  rapid.SampledFrom([]string{"", "reused"}).Draw(t, "containers"),
				Freezes:     rapid.Bool().Draw(t, "freezes"),
				Classes:     rapid.SampledFrom([]string{"", "configured"}).Draw(t, "levels"),
				Hints:       rapid.Bool().Draw(t, "hints"),
				Noise:       0.3, Stragglers: Stragglers{0.1, 8},
			},
			Scheduler: rapid.SampledFrom([]string{"", "fifo", "capacity"}).Draw(t, "scheduler"),
			Nodes:     []Nodes{{Name: "a", Memory: 3072, VCores: 3, Class: 2}, {Name: "b", Count: number("nodes", 1, 3), Memory: 2048, VCores: 2, Speed: 0.5, Class: 1}},
		}
		if s.Scheduler == "capacity" {
			s.Properties = map[string]string{"yarn.scheduler.capacity.root.queues": "default", "yarn.scheduler.capacity.root.default.capacity": "100"}
		}
		for range number("changes", 0, 3) {
			at, up := float64(number("at", 0, 200)), number("for", 1, 100)
			node := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "node")
			if rapid.Bool().Draw(t, "down") {
				s.Changes = append(s.Changes, Change{At: at, Node: node, Down: pointer(true)}, Change{At: at + float64(up), Node: node, Down: pointer(false)})
			} else {
				s.Changes = append(s.Changes, Change{At: at, Node: node, Speed: pointer(0.1)}, Change{At: at + float64(up), Node: node, Speed: pointer(1.)})
			}
		}
		for range number("jobs", 1, 3) {
			s.Jobs = append(s.Jobs, Jobs{
				Name: strings.Repeat("j", len(s.Jobs)+1), Submit: float64(number("submit", 0, 50)), Maps: Tasks{Tasks: number("maps", 1, 10), Seconds: 20, Memory: 1024, Output: float64(number("MB", 0, 500))},
				Reduces: Tasks{Tasks: number("reduces", 0, 3), Seconds: 20, Memory: 1024},
			})
		}
		r, err := Run(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Run(s)
		if err != nil {
			t.Fatal(err)
		}
		var one, two bytes.Buffer
		if r.Write(&one) != nil || again.Write(&two) != nil || one.String() != two.String() {
			t.Fatalf("the same scenario gives\n%s\nand\n%s", one.String(), two.String())
		}
		for _, j := range r.Jobs {
			if j.Error != "" {
				t.Fatalf("%s: %s", j.Name, j.Error)
			}
			for stage, list := range [][]TaskResult{j.Maps, j.Reduces} {
				for i, x := range list {
					if x.Node == "" {
						t.Fatalf("task %d of stage %d has no result: %+v", i, stage, x)
					}
					for _, a := range x.Attempts {
						if a.End < a.Start || a.Outcome == "succeeded" && stage == 1 && a.Fetched == 0 {
							t.Fatalf("%+v", a)
						}
					}
				}
			}
		}
	})
}
