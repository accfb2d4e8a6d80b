package scheduler

import (
	"slices"
	"testing"

	"heddle/yarn/records"
)

// What an application could get is counted in the partitions in which it asks (Hadoop: CapacityHeadroomProvider.getHeadroom): what is free there, as far as
// its user may go, who has the guarantee of the queue until it is used up. Only memory is limited by the calculator.
func TestHeadroomOfPartitions(t *testing.T) {
	s := New(Config{Minimum: res(1, 1), Tree: capacityTree(t, map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "root.a.maximum-capacity": "100", "maximum-am-resource-percent": "1", "root.a.user-limit-factor": "10",
		"root.accessible-node-labels.x.capacity": "100", "root.a.accessible-node-labels": "x", "root.a.accessible-node-labels.x.capacity": "60",
		"root.b.accessible-node-labels": "x", "root.b.accessible-node-labels.x.capacity": "40",
	})})
	s.AddNode(NodeSpec{Host: "plain", Rack: "/r", Capability: res(10, 10)})
	s.AddNode(NodeSpec{Host: "labelled", Rack: "/r", Capability: res(20, 20), Label: "x"})
	a := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 1, AM: res(1, 1)})
	asks := func(labels ...string) {
		for i, label := range []string{"", "x"} {
			count := int32(0)
			if slices.Contains(labels, label) {
				count = 100
			}
			s.UpdateAsks(a, []Ask{{Priority: int32(i + 1), Name: Any, Count: count, RelaxLocality: true, Capability: res(100, 1), Label: label}})
		}
		s.Schedule(0)
	}
	for _, x := range []struct {
		labels []string
		want   records.Resource
	}{{nil, res(5, 10)}, {[]string{""}, res(5, 10)}, {[]string{"x"}, res(12, 20)}, {[]string{"", "x"}, res(17, 30)}} {
		asks(x.labels...)
		if got := s.HeadroomOf(a); got != x.want {
			t.Errorf("it asks on %q: %v is left, want %v", x.labels, got, x.want)
		}
	}
}
