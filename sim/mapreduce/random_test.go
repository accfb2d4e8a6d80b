package mapreduce

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the nodes, queues, policies and faults are, all jobs end: a reduce that is larger than the containers that hold outputs, and
// containers that stand still, get room. Links are fast and tasks short enough for that.
func TestAnyScenarioEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		if f := s.check(); f != nil {
			t.Fatal(f.path, f.text)
		}
		r, err := Run(s)
		if err == nil {
			err = r.sane()
		}
		if err != nil {
			text, _ := json.Marshal(s)
			t.Fatalf("%v\n%s", err, text)
		}
	})
}

// sane returns what can't be in the result of a scenario in which all jobs have ended.
func (r *Result) sane() error {
	for name, x := range map[string]float64{"makespan": r.Makespan, "mean job": r.MeanJob, "wasted": r.Wasted, "wasted on copies": r.WastedOn, "fairness": r.Fairness, "utilisation": r.Utilization} {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("%s is %v", name, x)
		}
	}
	if r.Fairness > 1+1e-9 || r.Utilization > 1+1e-9 || r.Useful > r.Copies || r.WastedOn > r.Wasted+1e-6 {
		return fmt.Errorf("fairness %v, utilisation %v, %d of %d copies useful, %v s of %v wasted on them", r.Fairness, r.Utilization, r.Useful, r.Copies, r.WastedOn, r.Wasted)
	}
	for i := range r.Jobs {
		if err := r.Jobs[i].sane(); err != nil {
			return fmt.Errorf("job %s: %w", r.Jobs[i].Name, err)
		}
	}
	return nil
}

func (j *JobResult) sane() error {
	if j.Error != "" {
		return fmt.Errorf("%s", j.Error)
	}
	for stage, list := range [][]TaskResult{j.Maps, j.Reduces} {
		for i := range list {
			x := &list[i]
			if x.Node == "" || x.Start < j.Submit || x.End < x.Start || x.End > j.End {
				return fmt.Errorf("task %d of stage %d: %+v", i, stage, x)
			}
			copies := 0
			for _, a := range x.Attempts {
				if a.Copy {
					copies++
				}
				if a.End < a.Start || a.Outcome == "succeeded" && stage == 1 && a.Fetched < j.MapsDone && a.Fetched < a.Start {
					return fmt.Errorf("task %d of stage %d: %+v", i, stage, a)
				}
			}
			if copies != x.Copies {
				return fmt.Errorf("task %d of stage %d has %d copies: %+v", i, stage, copies, x)
			}
		}
	}
	return nil
}

// of draws one of some values.
func of[T any](t *rapid.T, name string, list ...T) T { return rapid.SampledFrom(list).Draw(t, name) }

func drawScenario(t *rapid.T) *Scenario {
	s := &Scenario{
		Seed: rapid.Uint64().Draw(t, "seed"), Scheduler: of(t, "scheduler", "fair", "capacity", "fifo"), Limit: 200_000,
		Settings: Settings{
			SlowStart:   of(t, "slowstart", "omo", "0", "0.05", "1.0"),
			RampUp:      rapid.Bool().Draw(t, "ramp up"),
			StagePolicy: of(t, "stage policy", "none", "fresh", "omo"),
			Speculation: of(t, "speculation", "none", "esplash", "late", "split"),
			Containers:  of(t, "containers", "task", "reused"),
			Classes:     of(t, "levels", "measured", "configured"),
			Freezes:     rapid.Bool().Draw(t, "freezes"),
			Hints:       rapid.Bool().Draw(t, "hints"),
			Noise:       of(t, "noise", 0, 0.5),
			Stragglers:  of(t, "stragglers", Stragglers{}, Stragglers{0.05, 30}, Stragglers{1, 4}),
			Start:       of(t, "start", 0.1, 1, 30),
			Expiry:      of(t, "expiry", 1., 10, 100),
		},
	}
	if s.Scheduler == "fifo" {
		s.Settings.StagePolicy = "none"
	}
	drawNodes(t, s)
	queues := drawQueues(t, s)
	for i := range rapid.IntRange(1, 3).Draw(t, "kinds of jobs") {
		s.Jobs = append(s.Jobs, Jobs{
			Name: string(rune('a' + i)), Type: of(t, "type", "sort", "grep"), Count: rapid.IntRange(1, 3).Draw(t, "jobs"), Every: of(t, "every", 0., 20),
			Submit: of(t, "submit", 0., 0, 50), Queue: of(t, "queue", queues...), User: of(t, "user", "u", "v"),
			Maps:    drawTasks(t, s, "map", rapid.IntRange(0, 12).Draw(t, "maps")),
			Reduces: drawTasks(t, s, "reduce", rapid.IntRange(0, 6).Draw(t, "reduces")),
		})
		j := &s.Jobs[i]
		if j.Maps.Tasks+j.Reduces.Tasks == 0 {
			j.Maps.Tasks = 1
		}
		j.Maps.Output = of(t, "output", 0., 100)
	}
	return s
}

// drawNodes draws nodes, from one alone to several kinds, and what becomes of them: they are lost for a while, or slow.
func drawNodes(t *rapid.T, s *Scenario) {
	for i := range rapid.IntRange(1, 3).Draw(t, "kinds of nodes") {
		s.Nodes = append(s.Nodes, Nodes{
			Name: string(rune('a' + i)), Count: of(t, "nodes", 1, 1, 3), Memory: of[int64](t, "memory", 1024, 2048, 4096, 16384), VCores: of[int64](t, "vcores", 1, 2, 4, 16),
			Speed: of(t, "speed", 0.25, 1, 4), Class: rapid.IntRange(0, 3).Draw(t, "level"),
		})
		if rapid.Bool().Draw(t, "speeds") {
			s.Nodes[i].Speeds = map[string]float64{"sort": of(t, "speed of sort", 0.25, 4), "reduce": of(t, "speed of reduces", 0.25, 4)}
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		n := &s.Nodes[rapid.IntRange(0, len(s.Nodes)-1).Draw(t, "node")]
		name := n.Name
		if n.Count > 1 && rapid.Bool().Draw(t, "one of them") {
			name += "1"
		}
		at := of(t, "at", 0, 3, rapid.Float64Range(0, 200).Draw(t, "some time"))
		until := at + rapid.Float64Range(0.5, 300).Draw(t, "for")
		if rapid.Bool().Draw(t, "lost") {
			s.Changes = append(s.Changes, Change{At: at, Node: name, Down: pointer(true)}, Change{At: until, Node: name, Down: pointer(false)})
		} else {
			s.Changes = append(s.Changes, Change{At: at, Node: name, Speed: pointer(of(t, "factor", 0, 0.02, 0.3, 5))}, Change{At: until, Node: name, Speed: pointer(1.)})
		}
	}
}

// drawQueues draws queues, each of which lets a job have all of the cluster, and returns their names.
func drawQueues(t *rapid.T, s *Scenario) []string {
	dominant := rapid.Bool().Draw(t, "dominant resource")
	switch s.Scheduler {
	case "fifo":
		return []string{"root.default"}
	case "fair":
		policy := of(t, "policy of a queue", "fair", "fifo")
		if dominant {
			policy = of(t, "policy of a queue", "fair", "drf", "fifo")
		}
		s.Allocations = `<allocations><queue name="a"><weight>4</weight></queue><queue name="b"><schedulingPolicy>` + policy + `</schedulingPolicy></queue>`
		if dominant {
			s.Allocations += "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"
		}
		s.Allocations += "</allocations>"
	default:
		s.Properties = map[string]string{
			"yarn.scheduler.capacity.root.queues": "a,b", "yarn.scheduler.capacity.root.a.capacity": "80", "yarn.scheduler.capacity.root.b.capacity": "20",
			"yarn.scheduler.capacity.root.a.user-limit-factor": "10", "yarn.scheduler.capacity.root.b.user-limit-factor": "10",
			"yarn.scheduler.capacity.root.b.heddle-stage-policy": of(t, "stage policy of a queue", "none", "fresh", "omo"),
			"yarn.scheduler.capacity.root.a.ordering-policy":     of(t, "order", "fifo", "fair"),
		}
		if dominant {
			s.Properties["yarn.scheduler.capacity.resource-calculator"] = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
		}
	}
	return []string{"root.a", "root.b"}
}

// drawTasks draws tasks whose containers fit on some node, and may be much smaller.
func drawTasks(t *rapid.T, s *Scenario, what string, n int) Tasks {
	fits := &s.Nodes[rapid.IntRange(0, len(s.Nodes)-1).Draw(t, "node for a "+what)]
	part := of[int64](t, "part of it", 1, 1, 2, 4, 16, 64)
	return Tasks{
		Tasks: n, Seconds: of(t, "seconds of a "+what, 0, 0.1, 1, 20), Memory: max(1, fits.Memory/part),
		VCores: rapid.Int64Range(1, max(1, fits.VCores/of[int64](t, "part of its vcores", 1, 4))).Draw(t, "vcores of a "+what),
	}
}
