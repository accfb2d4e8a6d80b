package eunomia_test

import (
	"fmt"
	"math"
	"testing"

	"heddle/rm/scheduler/policy/eunomia"
	"heddle/yarn/records"
)

// twenty are the nodes of the text's micro-benchmarks: five each of four speeds.
func twenty() (all []nodeSpec, of func(types ...int) []string) {
	for kind, speed := range []float64{1, 1.5, 2, 3} {
		for i := range 5 {
			all = append(all, nodeSpec{host: fmt.Sprintf("t%d-%d", kind+1, i), speed: speed, size: records.NewResource(4, 4)})
		}
	}
	return all, func(types ...int) (hosts []string) {
		for _, kind := range types {
			for _, m := range all[(kind-1)*5 : kind*5] {
				hosts = append(hosts, m.host)
			}
		}
		return hosts
	}
}

// Seed 000, table 5.1: Alice may use nodes 1 and 2, Bob 2 and 3, which is twice as fast. Both come to half of what they could do alone:
// Alice with four tasks, Bob with two. By tasks alone both have three.
func TestAliceAndBob(t *testing.T) {
	nodes := []nodeSpec{
		{"m1", 1, records.NewResource(2, 2)}, {"m2", 1, records.NewResource(2, 2)}, {"m3", 2, records.NewResource(2, 2)},
	}
	one := records.NewResource(1, 1)
	jobs := []job{
		{tasks: 1000, length: 1000, size: one, hosts: []string{"m1", "m2"}},
		{tasks: 1000, length: 1000, size: one, hosts: []string{"m2", "m3"}},
	}
	for policy, want := range map[string][2]float64{eunomia.Name: {.5, .5}, eunomia.TSF: {3. / 8, 5. / 8}, eunomia.Choosy: {3. / 8, 5. / 8}} {
		w := newWorld(t, policy, nodes, jobs)
		w.spread = .1 // slots that become free at once would all go to one of them
		var sum [2]float64
		n := 0.
		w.observe = func(now int64) {
			if now >= 3000 && w.left[0] > 10 && w.left[1] > 10 { // Bob was first on node 2, perhaps
				n++
				for i := range sum {
					sum[i] += w.share(i)
				}
			}
		}
		w.run()
		for i := range sum {
			if got := sum[i] / n; math.Abs(got-want[i]) > .02 {
				t.Errorf("%s: job %d has %.3f of its progress alone, want %.3f", policy, i, got, want[i])
			}
		}
	}
}

// Micro-benchmark 1 (5.4.1): as printed, with four tasks a node, and with two, which gives the times that the text prints.
func TestMicroBenchmark1(t *testing.T) {
	nodes, of := twenty()
	for _, c := range []struct {
		policy string
		cores  int64 // of a task; nodes have four
		spread float64
		want   [4]float64
	}{
		{eunomia.Name, 1, 0, [4]float64{209, 56, 200, 266}},
		{eunomia.Name, 2, 0, [4]float64{464, 92, 240, 359}}, // the text: 463, 98, 240, 365
		{eunomia.TSF, 2, .1, [4]float64{464, 85, 261, 346}},
	} {
		size := records.NewResource(c.cores, c.cores)
		w := newWorld(t, c.policy, nodes, []job{
			{at: 0, tasks: 1000, length: 23200, size: size},
			{at: 10e3, tasks: 150, length: 18300, size: size, hosts: of(2, 3, 4)},
			{at: 150e3, tasks: 100, length: 21300, size: size, hosts: of(3, 4)},
			{at: 150e3, tasks: 100, length: 55600, size: size, hosts: of(4)},
		})
		w.spread = c.spread
		w.run()
		for i, want := range c.want {
			if got := float64(w.ended[i]) / 1000; math.Abs(got-want) > .05*want {
				t.Errorf("%s, tasks of %d cores: J%d ends at %.0f s, want %.0f s within 5 %%", c.policy, c.cores, i+1, got, want)
			}
		}
	}
}

// Micro-benchmark 2 (5.4.2): a job that says falsely that it can use the fastest nodes only gains by it under TSF and Choosy, and nothing
// under Eunomia.
func TestMicroBenchmark2(t *testing.T) {
	nodes, of := twenty()
	for _, c := range []struct {
		policy       string
		cores        int64
		spread       float64
		honest, liar [2]float64 // ends of jobs between, in s
	}{
		{eunomia.Name, 1, 0, [2]float64{52, 57}, [2]float64{53, 58}},
		{eunomia.TSF, 1, 0, [2]float64{52, 57}, [2]float64{32, 38}},
		{eunomia.Choosy, 1, 0, [2]float64{52, 57}, [2]float64{32, 38}},
		{eunomia.Name, 2, 0, [2]float64{102, 111}, [2]float64{104, 113}},
		{eunomia.TSF, 2, .1, [2]float64{102, 111}, [2]float64{70, 80}},
	} {
		size := records.NewResource(c.cores, c.cores)
		jobs := []job{{tasks: 1000}, {tasks: 1000}, {tasks: 1000}, {tasks: 1000, hosts: of(4)}}
		for i := range jobs {
			jobs[i].length, jobs[i].size = 2000, size
		}
		w := newWorld(t, c.policy, nodes, jobs)
		w.spread = c.spread
		w.run()
		for i, end := range w.ended {
			want := c.honest
			if i == 3 {
				want = c.liar
			}
			if got := float64(end) / 1000; got < want[0] || got > want[1] {
				t.Errorf("%s, tasks of %d cores: J%d ends at %.1f s, want %v", c.policy, c.cores, i+1, got, want)
			}
		}
	}
}
