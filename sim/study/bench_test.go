package study

import (
	"syscall"
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/partition"
	"heddle/sim"
	"heddle/sim/hybrid"
	"heddle/yarn/records"
)

// BenchmarkModes shows how many tasks each mode of heddle sim and heddle sim hybrid simulates in a second of the processor: a queue first come, first served, and one
// with each ordering policy, on 10,000 nodes at 90 % load; each system of short tasks with jobs in the shape of Yahoo's trace, alone and with Dice and Eirene.
func BenchmarkModes(b *testing.B) {
	const tasks, nodes = 100_000, 10_000
	slot := records.NewResource(1024, 1)
	jobs := sim.Generate(sim.Workload{
		Tasks: tasks, PerJob: 50, Mean: 20e9, Load: .9, Slots: nodes, Resource: slot, Queues: []string{"root.default"}, Users: 5,
	}, 1)
	for _, policy := range append([]string{""}, leaf.Names()...) {
		bench(b, "sim/"+policy, func() (int, error) {
			cfg, err := ordered(policy)
			if err != nil {
				return 0, err
			}
			cfg.Minimum = slot
			c, err := sim.NewCluster(eventlog.Unrecorded(cfg), sim.Nodes{Count: nodes, Capacity: slot}, jobs)
			if err == nil {
				_, err = c.Run()
			}
			return tasks, err
		})
	}
	s := yahooShape.setting(3000)
	short := s.jobs(1)
	for _, x := range systems(s.short) {
		o := x.Options
		o.Workers, o.Cutoff = 4000, s.cutoff
		bench(b, "hybrid/"+x.name, func() (int, error) { return hybridTasks(short, o) })
	}
}

// ordered is a queue with an ordering policy; "": the only queue without any configuration.
func ordered(policy string) (cfg scheduler.Config, err error) {
	if policy != "" {
		cfg.Tree, err = queue.ParseCapacity(map[string]string{
			"root.queues": "default", "root.default.capacity": "100", "root.default.ordering-policy": policy, "root.default.user-limit-factor": "100",
			"maximum-applications": "1000000",
		})
	}
	return cfg, err
}

// system is a mode of heddle sim hybrid, with what is added to it.
type system struct {
	name string
	hybrid.Options
}

func systems(short float64) (all []system) {
	for _, mode := range hybrid.Modes() {
		all = append(all, system{mode, hybrid.Options{Mode: mode, Short: short}})
	}
	dice, eirene := partition.Study(short), hybrid.EireneStudy()
	return append(all,
		system{"sparrow, early binding", hybrid.Options{Mode: "sparrow", Early: true}},
		system{"sparrow, eight slots", hybrid.Options{Mode: "sparrow", Slots: 8}},
		system{"hawk, Dice", hybrid.Options{Mode: "hawk", Short: short, Dice: dice}},
		system{"eagle, Dice", hybrid.Options{Mode: "eagle", Short: short, Dice: dice}},
		system{"eagle, Eirene", hybrid.Options{Mode: "eagle", Short: short, Eirene: eirene}},
		system{"eagle, Dice and Eirene", hybrid.Options{Mode: "eagle", Short: short, Dice: dice, Eirene: eirene}},
	)
}

func hybridTasks(jobs []sim.Job, o hybrid.Options) (int, error) {
	r, err := hybrid.Run(jobs, o)
	if err != nil {
		return 0, err
	}
	return r.Tasks, nil
}

// bench runs a simulation, which returns how many tasks it had, and reports its speed. The machine may have other work, so that only its processor time counts.
func bench(b *testing.B, name string, run func() (int, error)) {
	b.Run(name, func(b *testing.B) {
		tasks, used := 0, processorTime(b)
		for b.Loop() {
			n, err := run()
			if err != nil {
				b.Fatal(err)
			}
			tasks += n
		}
		b.ReportMetric(float64(tasks)/(processorTime(b)-used).Seconds(), "tasks/cpu-s")
	})
}

// BenchmarkHybrid is the same for Eagle and Eirene on larger clusters, with jobs in the shapes of Cloudera's and Facebook's traces.
func BenchmarkHybrid(b *testing.B) {
	for _, x := range []struct {
		name    string
		shape   synthetic
		jobs    int
		workers int
	}{{"cloudera", clouderaShape, 1500, 13_000}, {"facebook", facebookShape, 15_000, 50_000}} {
		s := x.shape.setting(x.jobs)
		jobs := s.jobs(1)
		for _, mode := range []string{"eagle", "eirene"} {
			o := hybrid.Options{Mode: "eagle", Workers: x.workers, Short: s.short, Cutoff: s.cutoff}
			if mode == "eirene" {
				o.Eirene = hybrid.EireneStudy()
			}
			bench(b, x.name+"/"+mode, func() (int, error) { return hybridTasks(jobs, o) })
		}
	}
}

// processorTime is what the process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
