package mapreduce

import (
	"testing"
)

// Jobs as Hadoop runs them ask for reduces when a twentieth of their maps is done, and containers take some seconds to start. A stage policy makes none of
// these workloads take longer than it does without one, beyond 5 %: reduces that wait until the last map has ended would cost their start, though room stood free.
func TestUnmodifiedJobsLoseNothingByPolicies(t *testing.T) {
	job := func(name string, maps int, seconds float64, reduces int, output float64, count int, every float64) Jobs {
		return Jobs{
			Name: name, Type: name, Count: count, Every: every,
			Maps:    Tasks{Tasks: maps, Seconds: seconds, Memory: 1, Output: output},
			Reduces: Tasks{Tasks: reduces, Seconds: 4, Memory: 1},
		}
	}
	for name, w := range map[string]struct {
		slots int64
		jobs  []Jobs
	}{
		"a small job with room":    {20, []Jobs{job("a", 4, 6, 2, 16, 1, 0)}},
		"a small job, two waves":   {5, []Jobs{job("a", 8, 6, 2, 16, 1, 0)}},
		"long maps with room":      {30, []Jobs{job("a", 16, 20, 4, 16, 1, 0)}},
		"four waves":               {10, []Jobs{job("a", 40, 20, 4, 16, 1, 0)}},
		"three jobs on five slots": {5, []Jobs{job("a", 4, 6, 2, 16, 3, 1)}},
		"four jobs":                {8, []Jobs{job("a", 8, 10, 2, 16, 4, 1)}},
		"large outputs":            {8, []Jobs{job("a", 8, 10, 2, 400, 4, 1)}},
		"short and long jobs":      {12, []Jobs{job("a", 8, 10, 2, 16, 2, 1), job("b", 40, 15, 6, 16, 2, 1)}},
		"jobs one after the other": {12, []Jobs{job("a", 6, 8, 2, 16, 8, 10)}},
	} {
		t.Run(name, func(t *testing.T) {
			took := func(policy string) (sum float64) {
				for seed := range uint64(3) {
					r, err := Run(&Scenario{
						Seed: seed + 1, Settings: Settings{SlowStart: "0.05", RampUp: true, StagePolicy: policy, Start: 4, Noise: 0.15},
						Nodes: []Nodes{{Name: "n", Memory: w.slots, VCores: 100}}, Jobs: w.jobs,
					})
					if err != nil {
						t.Fatal(err)
					}
					sum += r.Makespan / 3
				}
				return sum
			}
			without := took("none")
			for _, policy := range []string{"fresh", "omo"} {
				if x := took(policy); x > 1.05*without {
					t.Errorf("with %s the jobs take %.1f s, without a policy %.1f s", policy, x, without)
				}
			}
		})
	}
}
