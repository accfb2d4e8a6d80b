package trace

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"heddle/sim"
	"heddle/yarn/records"
)

// synthTrace has the supported fields of a SYNTH file: distributions that jobs are drawn from.
type synthTrace struct {
	Jobs      int             `json:"num_jobs"`
	Seed      uint64          `json:"rand_seed"`
	Workloads []synthWorkload `json:"workloads"`
}

type synthWorkload struct {
	Weight  float64      `json:"workload_weight"`
	Queue   string       `json:"queue_name"`
	Classes []synthClass `json:"job_classes"`
	Times   []struct {
		Time   float64 `json:"time"` // s
		Weight float64 `json:"weight"`
	} `json:"time_distribution"`
}

type synthClass struct {
	Weight float64     `json:"class_weight"`
	User   string      `json:"user_name"`
	Tasks  []synthTask `json:"tasks"`
}

type synthTask struct {
	Priority int32       `json:"priority"`
	Count    synthSample `json:"count"`
	Time     synthSample `json:"time"` // s
	Memory   synthSample `json:"max_memory"`
	VCores   synthSample `json:"max_vcores"`
}

// synthSample is a value, a log-normal distribution (or a normal one: "NORM"), or values with weights.
type synthSample struct {
	Value    float64   `json:"val"`
	Std      float64   `json:"std"`
	Dist     string    `json:"dist"`
	Discrete []float64 `json:"discrete"`
	Weights  []float64 `json:"weights"`
}

func (s *synthSample) draw(rng *rand.Rand) float64 {
	switch {
	case len(s.Discrete) > 0:
		return s.Discrete[weighted(rng, len(s.Discrete), func(i int) float64 {
			if i < len(s.Weights) {
				return s.Weights[i]
			}
			return 1
		})]
	case !(s.Std > 0):
		return s.Value
	case s.Dist == "NORM":
		return max(0, s.Value+s.Std*rng.NormFloat64())
	case !(s.Value > 0):
		return 0
	}
	spread := math.Log(1 + s.Std*s.Std/(s.Value*s.Value))
	return math.Exp(math.Log(s.Value) - spread/2 + math.Sqrt(spread)*rng.NormFloat64())
}

// weighted draws a number below n.
func weighted(rng *rand.Rand, n int, weight func(int) float64) int {
	sum := 0.
	for i := range n {
		sum += max(0, weight(i))
	}
	x := rng.Float64() * sum
	for i := range n {
		if x -= max(0, weight(i)); x < 0 {
			return i
		}
	}
	return 0
}

// appendTo draws the jobs. Arrivals fall evenly between two times of the distribution, with the weight of the first. Each of a class's tasks
// is a stage. The drawing isn't Hadoop's, so that the jobs are others than Hadoop's of the same seed.
func (g *synthTrace) appendTo(jobs []sim.Job, o Options) ([]sim.Job, error) {
	if g.Jobs < 0 || g.Jobs > maxTasks {
		return nil, fmt.Errorf("num_jobs is %d", g.Jobs)
	}
	if len(g.Workloads) == 0 {
		return nil, errors.New("there are no workloads")
	}
	rng := rand.New(rand.NewPCG(g.Seed, 0))
	total := 0
	for range g.Jobs {
		w := &g.Workloads[weighted(rng, len(g.Workloads), func(i int) float64 { return g.Workloads[i].Weight })]
		if len(w.Classes) == 0 || len(w.Times) == 0 {
			return nil, errors.New("a workload needs job_classes and a time_distribution")
		}
		class := &w.Classes[weighted(rng, len(w.Classes), func(i int) float64 { return w.Classes[i].Weight })]
		from := weighted(rng, len(w.Times), func(i int) float64 { return w.Times[i].Weight })
		at := w.Times[from].Time
		if from+1 < len(w.Times) {
			at += rng.Float64() * (w.Times[from+1].Time - at)
		}
		j := sim.Job{Queue: w.Queue, User: class.User, AM: o.AM}
		o.name(&j, len(jobs))
		var err error
		if j.Submit, err = seconds(at); err != nil {
			return nil, fmt.Errorf("time_distribution: %w", err)
		}
		for i := range class.Tasks {
			s, err := class.Tasks[i].stage(rng, o, maxDrawn-total)
			if err != nil {
				return nil, err
			}
			if len(s.Tasks) > 0 {
				j.Stages = append(j.Stages, s)
			}
			total += len(s.Tasks)
		}
		j.Estimate = mean(&j)
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// maxDrawn bounds the tasks of all jobs that a SYNTH trace asks for: a few bytes may ask for any number of them.
const maxDrawn = 10 * maxTasks

// stage draws a stage of up to so many tasks.
func (g *synthTask) stage(rng *rand.Rand, o Options, most int) (sim.Stage, error) {
	s := sim.Stage{Priority: g.Priority, Resource: o.Slot}
	if m := g.Memory.draw(rng); m >= 1 && m < 1<<40 {
		s.Resource = records.NewResource(int64(m), max(s.Resource.VCores(), 1))
	}
	if v := g.VCores.draw(rng); v >= 1 && v < 1<<30 {
		s.Resource[records.VCores] = int64(v)
	}
	n := g.Count.draw(rng)
	if !(n <= maxTasks) {
		return s, fmt.Errorf("a job has %g tasks of priority %d", n, g.Priority)
	}
	if int(n) > most {
		return s, fmt.Errorf("the jobs have more than %d tasks together: lower num_jobs, or the count of tasks", maxDrawn)
	}
	s.Tasks = make([]sim.Task, int(max(n, 0)))
	for i := range s.Tasks {
		var err error
		if s.Tasks[i].Duration, err = seconds(g.Time.draw(rng)); err != nil {
			return s, fmt.Errorf("time of a task: %w", err)
		}
	}
	return s, nil
}
