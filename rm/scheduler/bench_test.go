package scheduler

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/handle"
)

// largeTree has 20 parents of 25 leaves each, with limits of leaves.
func largeTree(tb testing.TB, limits map[string]string, labels ...string) *queue.Tree {
	settings := map[string]string{
		"maximum-am-resource-percent": "1", "user-limit-factor": "100", "maximum-applications": "1000000",
		"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	}
	var parents, leaves []string
	for i := range 25 {
		leaves = append(leaves, fmt.Sprintf("l%d", i))
	}
	for i := range 20 {
		p := fmt.Sprintf("p%d", i)
		parents = append(parents, p)
		settings["root."+p+".capacity"] = "5"
		settings["root."+p+".queues"] = strings.Join(leaves, ",")
		for _, label := range labels {
			settings["root."+p+".accessible-node-labels."+label+".capacity"] = "5"
		}
		for j := range leaves {
			leaf := fmt.Sprintf("root.%s.%s", p, leaves[j])
			settings[leaf+".capacity"] = "4"
			settings[leaf+".ordering-policy"] = []string{"fifo", "fair"}[j%2]
			settings[leaf+".user-limit-factor"] = "100"
			for key, value := range limits {
				settings[leaf+"."+key] = value
			}
		}
	}
	settings["root.queues"] = strings.Join(parents, ",")
	return capacityTree(tb, settings)
}

// largeCluster has 2,000 applications in 500 leaves, of 7 users, which ask for count containers each.
func largeCluster(b *testing.B, tree *queue.Tree, nodes int, count int32) (*Scheduler, []handle.App) {
	s := New(Config{Tree: tree, Minimum: res(1, 1)})
	for i := range nodes {
		s.AddNode(NodeSpec{Host: fmt.Sprintf("n%d", i), Rack: fmt.Sprintf("/r%d", i/40), Capability: res(20, 20)})
	}
	apps := make([]handle.App, 2000)
	for i := range apps {
		apps[i] = s.AddApp(AppSpec{
			Seq: int64(i), Queue: fmt.Sprintf("root.p%d.l%d", i%20, i/20%25), User: fmt.Sprintf("u%d", i%7), AM: res(1, 1),
		})
		ask(s, apps[i], i, count)
	}
	return s, apps
}

func ask(s *Scheduler, h handle.App, i int, count int32) {
	s.UpdateAsks(h, []Ask{{Priority: 1, Name: Any, Count: count, RelaxLocality: true, Capability: res(1+int64(i%3), 1)}})
}

// A decision where the cluster is full: a container ends, and the application whose turn it is gets its place.
func BenchmarkDecision(b *testing.B) {
	for _, nodes := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			s, _ := largeCluster(b, largeTree(b, nil), nodes, 1<<30)
			decide(b, s)
		})
	}
}

// The same with 10,000 requests whose constraints no node satisfies.
func BenchmarkDecisionBesideUnmet(b *testing.B) {
	s, apps := largeCluster(b, largeTree(b, nil), 1000, 1<<30)
	unmet(s, apps[7], 10_000)
	decide(b, s)
}

// The same where requests have tags and constraints that hinder nothing: alone, and beside requests for containers near
// a tag that none has.
func BenchmarkDecisionWithConstraints(b *testing.B) {
	near := func(tag string, least, most int32) *constraint.Request {
		return &constraint.Request{Tags: []string{"load"}, Constraint: counted(constraint.Node, least, most, tag)}
	}
	for _, unmet := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("unmet=%d", unmet), func(b *testing.B) {
			s, apps := largeCluster(b, largeTree(b, nil), 1000, 0)
			for i, h := range apps {
				s.UpdateAsks(h, []Ask{{
					Priority: 1, Name: Any, Count: 1 << 30, RelaxLocality: true, Capability: res(1+int64(i%3), 1),
					Scheduling: near("load", 0, 1<<20),
				}})
			}
			for i := range unmet {
				s.UpdateAsks(apps[i%8], []Ask{{
					Priority: int32(i/8 + 2), Name: Any, Count: 1, RelaxLocality: true, Capability: res(1, 1),
					Scheduling: near("absent", 1, math.MaxInt32),
				}})
			}
			decide(b, s)
		})
	}
}

// The same where some labels divide the nodes, a part of which has none.
func BenchmarkDecisionInPartitions(b *testing.B) {
	for _, n := range []int{1, 7} {
		b.Run(fmt.Sprintf("labels=%d", n), func(b *testing.B) { decide(b, labelledCluster(b, n)) })
	}
}

// labelledCluster has 1,000 nodes and 2,000 applications in 500 leaves, which are divided evenly between n labels and none.
func labelledCluster(b *testing.B, n int) *Scheduler {
	limits := map[string]string{}
	var labels []string
	for i := range n {
		labels = append(labels, fmt.Sprintf("x%d", i))
		limits["accessible-node-labels."+labels[i]+".capacity"] = "4"
	}
	tree := largeTree(b, limits, labels...)
	s := New(Config{Tree: tree, Minimum: res(1, 1)})
	labels = append(labels, "")
	for i := range 1000 {
		s.AddNode(NodeSpec{Host: fmt.Sprintf("n%d", i), Rack: fmt.Sprintf("/r%d", i/40), Capability: res(20, 20), Label: labels[i%len(labels)]})
	}
	for i := range 2000 {
		label := labels[i%len(labels)]
		h := s.AddApp(AppSpec{
			Seq: int64(i), Queue: fmt.Sprintf("root.p%d.l%d", i%20, i/20%25), User: fmt.Sprintf("u%d", i%7), AM: res(1, 1), Label: label,
		})
		s.UpdateAsks(h, []Ask{{Priority: 1, Name: Any, Count: 1 << 30, RelaxLocality: true, Capability: res(1+int64(i%3), 1), Label: label}})
	}
	return s
}

// The same where leaves hold their users to 25 % of a leaf, which all have reached.
func BenchmarkDecisionAtUserLimits(b *testing.B) {
	limits := map[string]string{"minimum-user-limit-percent": "25", "user-limit-factor": "1"}
	s, _ := largeCluster(b, largeTree(b, limits), 1000, 1<<30)
	decide(b, s)
}

// The same where leaves order applications by a policy that isn't built in.
func BenchmarkDecisionByPolicy(b *testing.B) {
	for _, policy := range []string{"eunomia", "hopper"} {
		for _, nodes := range []int{100, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", policy, nodes), func(b *testing.B) {
				s, _ := largeCluster(b, largeTree(b, map[string]string{"ordering-policy": policy}), nodes, 1<<30)
				decide(b, s)
			})
		}
	}
}

// The same in fair queues, where nodes are reserved for some of those who have less than their share.
func BenchmarkDecisionFair(b *testing.B) {
	var file strings.Builder
	for i := range 20 {
		fmt.Fprintf(&file, "<queue name=\"p%d\">", i)
		for j := range 25 {
			fmt.Fprintf(&file, "<queue name=\"l%d\"><maxAMShare>-1</maxAMShare></queue>", j)
		}
		file.WriteString("</queue>")
	}
	tree, err := queue.ParseFair([]byte("<allocations>" + file.String() + "</allocations>"))
	if err != nil {
		b.Fatal(err)
	}
	s, _ := largeCluster(b, tree, 1000, 1<<30)
	decide(b, s)
}

// decide frees containers one by one and counts what is granted for them.
func decide(b *testing.B, s *Scheduler) {
	var held []handle.Container
	calls := int64(0)
	collect := func() {
		calls++
		for _, d := range s.Schedule(calls / 300) { // as many in a ms as it makes about
			if d.Kind == Allocate {
				held = append(held, d.Container)
			}
		}
	}
	collect()
	runtime.GC() // what making the cluster has left isn't the decisions' to collect
	b.ReportAllocs()
	b.ResetTimer()
	used := processorTime(b)
	at, granted := 0, 0
	for granted < b.N {
		s.Free(held[at])
		held[at] = held[len(held)-1]
		held = held[:len(held)-1]
		before := len(held)
		collect()
		granted += len(held) - before
		if at += 7919; at >= len(held) {
			at %= len(held)
		}
	}
	b.ReportMetric(float64(granted)/(processorTime(b)-used).Seconds(), "decisions/cpu-s")
}

// processorTime is what the process has used: on a shared machine it says more than the time on the wall.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A decision where the cluster has room: all applications ask for 4 containers each, are served at once from all queues, and
// give them back.
func BenchmarkDecisionWithRoom(b *testing.B) {
	s, apps := largeCluster(b, largeTree(b, nil), 1000, 4)
	b.ReportAllocs()
	for granted := 0; granted < b.N; {
		var held []handle.Container
		for _, d := range s.Schedule(0) {
			if d.Kind == Allocate {
				held = append(held, d.Container)
			}
		}
		granted += len(held)
		for _, c := range held {
			s.Free(c)
		}
		for i, h := range apps {
			ask(s, h, i, 4)
		}
	}
}
