package scheduler

import (
	"fmt"
	"strings"
	"testing"

	"heddle/rm/queue"
)

// largeTree has 20 parents of 25 leaves each.
func largeTree(tb testing.TB) *queue.Tree {
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
		for j := range leaves {
			leaf := fmt.Sprintf("root.%s.%s", p, leaves[j])
			settings[leaf+".capacity"] = "4"
			settings[leaf+".ordering-policy"] = []string{"fifo", "fair"}[j%2]
			settings[leaf+".user-limit-factor"] = "100"
		}
	}
	settings["root.queues"] = strings.Join(parents, ",")
	return capacityTree(tb, settings)
}

// A decision where the cluster is full and 2,000 applications in 500 leaves wait: a container ends, and the application
// whose turn it is gets its place.
func BenchmarkDecision(b *testing.B) {
	for _, nodes := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			s := New(Config{Tree: largeTree(b), Minimum: res(1, 1)})
			for i := range nodes {
				s.AddNode(NodeSpec{Host: fmt.Sprintf("n%d", i), Rack: fmt.Sprintf("/r%d", i/40), Capability: res(20, 20)})
			}
			for i := range 2000 {
				h := s.AddApp(AppSpec{
					Seq: int64(i), Queue: fmt.Sprintf("root.p%d.l%d", i%20, i/20%25), User: fmt.Sprintf("u%d", i%7), AM: res(1, 1),
				})
				s.UpdateAsks(h, []Ask{
					{Priority: 1, Name: Any, Count: 1 << 30, RelaxLocality: true, Capability: res(1+int64(i%3), 1)},
				})
			}
			var held []ContainerHandle
			collect := func() {
				for _, d := range s.Schedule(0) {
					if d.Kind == Allocate {
						held = append(held, d.Container)
					}
				}
			}
			collect()
			b.ReportAllocs()
			b.ResetTimer()
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
		})
	}
}
