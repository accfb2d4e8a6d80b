package copies

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"heddle/rm/scheduler/policy/eunomia"
	"heddle/rm/scheduler/policy/hopper"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

// always is policies whose Tick is called whenever it is for those that are no leaf.Timer.
type (
	alwaysHopper  struct{ *hopper.Policy }
	alwaysEunomia struct{ *eunomia.Policy }
)

// Time hides that of leaf.Timer.
func (alwaysHopper) Time()  {}
func (alwaysEunomia) Time() {}

func init() {
	leaf.Register("hopper-always", func() leaf.Policy { return alwaysHopper{hopper.New()} })
	leaf.Register("eunomia-always", func() leaf.Policy { return alwaysEunomia{eunomia.New(eunomia.Name)} })
}

// The calls of Tick that a leaf.Timer leaves out change nothing.
func TestPoliciesThatAreCalledLessDecideTheSame(t *testing.T) {
	if _, timer := leaf.Policy(alwaysHopper{}).(leaf.Timer); timer {
		t.Fatal("both are the same")
	}
	for seed := range uint64(8) {
		for _, policy := range []string{hopper.Name, eunomia.Name} {
			x := Setup{Nodes: 4, Node: records.NewResource(4096, 4), Policy: policy, How: LATE, Beat: 100, Remote: 1.5, Groups: seed%2 == 0, Silent: seed%4 == 3}
			less, err := Run(x, many(seed))
			if err != nil {
				t.Fatal(err)
			}
			x.Policy += "-always"
			all, err := Run(x, many(seed))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(less, all) {
				t.Errorf("%s, seed %d: %v, with all calls %v", policy, seed, less, all)
			}
		}
	}
}

// example is that of figures 2.1 to 2.3, in ms.
func example() []Job {
	make := func(lengths ...int64) Job {
		j := Job{User: "u", Size: records.NewResource(1024, 1), Detection: 1000, Phases: []Phase{{}}}
		for _, n := range lengths {
			j.Phases[0].Tasks = append(j.Phases[0].Tasks, Task{Original: n, Copy: min(n, 2000)})
		}
		return j
	}
	return []Job{make(8000, 3000, 3000, 3000), make(6000, 6000, 3000, 3000, 1000, 1000)}
}

// All five pairs of the text, in six slots.
func TestFigures21To23(t *testing.T) {
	for _, c := range []struct {
		policy   string
		budget   float64
		settings map[string]string
		a, b     int64
	}{
		{SRPT, 0, nil, 5000, 8000},
		{"fair", 0, nil, 6000, 8000},
		{SRPT, 2. / 6, nil, 3000, 7000},
		{"fair", 2. / 6, nil, 6000, 8000},
		{"hopper", 0, map[string]string{"epsilon": "1", "beta": "1.6"}, 3000, 6000},
	} {
		out, err := Run(Setup{Nodes: 1, Node: records.NewResource(6*1024, 6), Policy: c.policy, Settings: c.settings, How: Greedy, Budget: c.budget}, example())
		if err != nil {
			t.Fatal(err)
		}
		if out[0].Ended != c.a || out[1].Ended != c.b {
			t.Errorf("%s with a budget of %.2f: A and B end at %d and %d, want %d and %d", c.policy, c.budget, out[0].Ended, out[1].Ended, c.a, c.b)
		}
	}
}

// Where copies come last, and where nobody says that there are any, A1's copy waits.
func TestCopiesThatWait(t *testing.T) {
	for name, x := range map[string]Setup{
		"last": {Policy: SRPT, Last: true}, "silent": {Policy: "hopper", Settings: map[string]string{"epsilon": "1", "beta": "1.6"}, Silent: true},
	} {
		x.Nodes, x.Node, x.How = 1, records.NewResource(6*1024, 6), Greedy
		out, err := Run(x, example())
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]int64{"last": 7000, "silent": 5000}[name]; out[0].Ended != want {
			t.Errorf("%s: A ends at %d, want %d", name, out[0].Ended, want)
		}
	}
}

// many is jobs with inputs and two phases.
func many(seed uint64) (jobs []Job) {
	random := rand.New(rand.NewPCG(seed, 1))
	pareto := func() int64 { return int64(2000 * math.Pow(1-random.Float64(), -1/1.4)) }
	for i := range 40 {
		j := Job{At: int64(i) * 3000, User: "u", Size: records.NewResource(1024, 1), Detection: 2000, Phases: make([]Phase, 2)}
		for k := range j.Phases {
			j.Phases[k].Usual, j.Phases[k].Slow, j.Phases[k].Least = 3300, 5400, 2000
			for range 1 + random.IntN(30) {
				x := Task{Original: pareto(), Copy: pareto()}
				if k == 0 {
					x.Inputs = []int32{random.Int32N(8)}
				}
				j.Phases[k].Tasks = append(j.Phases[k].Tasks, x)
			}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// Whatever the policy and the algorithm, all jobs end, the same way each time; no copy that is useful is missing from the copies; and a job takes at
// least as long as the shortest attempts of its phases.
func TestJobsEnd(t *testing.T) {
	for _, policy := range []string{SRPT, "fair", "choosy", "hopper"} {
		for _, how := range []Speculation{Greedy, LATE, Mantri, GRASS} {
			for _, budget := range []float64{0, .25} {
				x := Setup{Nodes: 8, Node: records.NewResource(4096, 4), Policy: policy, How: how, Budget: budget, Beat: 100, Remote: 1.5, Groups: true}
				jobs := many(3)
				out, err := Run(x, jobs)
				if err != nil {
					t.Fatalf("%s, %s: %v", policy, how, err)
				}
				again, err := Run(x, jobs)
				if err != nil || !reflect.DeepEqual(out, again) {
					t.Errorf("%s, %s: another run is another one: %v", policy, how, err)
				}
				copies := 0
				for i := range jobs {
					j, o := &jobs[i], out[i]
					copies += o.Copies
					least := int64(0)
					for _, p := range j.Phases {
						worst := int64(0)
						for _, task := range p.Tasks {
							worst = max(worst, min(task.Original, task.Copy))
						}
						least += worst
					}
					if o.Ended-j.At < least || o.Useful > o.Copies || o.Local > len(j.Phases[0].Tasks) {
						t.Errorf("%s, %s: job %d of %d tasks: %+v, least %d", policy, how, i, j.Tasks(), o, least)
					}
				}
				if copies == 0 {
					t.Errorf("%s, %s: no copies", policy, how)
				}
			}
		}
	}
}

// A job for which no node has room is an error.
func TestJobWithoutRoom(t *testing.T) {
	jobs := example()
	jobs[1].Size = records.NewResource(1<<20, 1)
	if _, err := Run(Setup{Nodes: 1, Node: records.NewResource(6*1024, 6), Policy: SRPT, How: Greedy}, jobs); err == nil || err.Error() != "job 2 didn't end: no node has room for its tasks" {
		t.Error(err)
	}
}

// β is found from tasks, though copies overtake the longest ones.
func TestShape(t *testing.T) {
	for _, beta := range []float64{1.2, 1.8} {
		random := rand.New(rand.NewPCG(1, 2))
		w := &world{Setup: Setup{Groups: true}, fits: map[string]*shape{}}
		s := &state{Job: &Job{User: "u", Phases: []Phase{{Least: 1000}}}, tasks: make([]run, 1)}
		for range 4000 {
			x := int64(1000 * math.Pow(1-random.Float64(), -1/beta))
			s.tasks[0].began = -min(x, 5000) // a copy ends after 5 s
			w.learn(s, 0, x > 5000)
		}
		if got, n := w.fits["u"].beta(); math.Abs(got-beta) > .1 || n == 0 {
			t.Errorf("β is %.2f by %d, not %.2f", got, n, beta)
		}
	}
	if b, n := (*shape)(nil).beta(); b != 0 || n != 0 {
		t.Error(fmt.Sprint(b, n))
	}
}
