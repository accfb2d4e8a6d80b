package scheduler

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// A cluster of two nodes with 10 GB each; queues a and b of 50 %; what hog holds, and what then is said of an application
// in a that asks for something.
func TestExplain(t *testing.T) {
	type hog struct {
		queue, user string
		gb          int64
		count       int32
	}
	base := map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "maximum-am-resource-percent": "1",
		"root.a.user-limit-factor": "10", "root.b.user-limit-factor": "10",
	}
	any1 := Ask{Name: Any, Count: 1, RelaxLocality: true, Capability: res(1, 1)}
	for name, c := range map[string]struct {
		settings map[string]string
		hog      hog
		asks     []Ask
		black    []string
		limit    explain.Limit
		text     string
	}{
		"parallel": {
			settings: map[string]string{"root.a.max-parallel-apps": "1"}, hog: hog{"root.a", "h", 1, 1}, asks: []Ask{any1},
			limit: explain.ParallelApps, text: "queue root.a has 1 applications running at once, and may have 1",
		},
		"parallel of a user": {
			settings: map[string]string{"user.u.max-parallel-apps": "1"}, hog: hog{"root.b", "u", 1, 1}, asks: []Ask{any1},
			limit: explain.ParallelApps, text: "user u has 1 applications running",
		},
		"masters": {
			settings: map[string]string{"root.a.maximum-am-resource-percent": "0.05"}, hog: hog{"root.a", "h", 1, 1}, asks: []Ask{any1},
			limit: explain.QueueMasters, text: "have <memory:1024, vCores:1> and may have <memory:1024, vCores:1>; <memory:1024, vCores:1> more",
		},
		"masters of a user": {
			settings: map[string]string{"root.a.maximum-am-resource-percent": "0.1", "root.a.user-limit-factor": "0.5"},
			hog:      hog{"root.a", "u", 1, 1}, asks: []Ask{any1}, limit: explain.UserMasters, text: "of user u in queue root.a",
		},
		"queue maximum": {
			settings: map[string]string{"root.a.maximum-capacity": "60"}, hog: hog{"root.a", "h", 2, 20}, asks: []Ask{any1},
			limit: explain.QueueMaximum, text: "queue root.a has <memory:12288",
		},
		"user limit": {
			settings: map[string]string{"root.a.user-limit-factor": "0.5"}, hog: hog{"root.a", "u", 2, 20}, asks: []Ask{any1},
			limit: explain.UserLimit, text: "user u has <memory:6144",
		},
		"full":       {hog: hog{"root.b", "h", 1, 20}, asks: []Ask{any1}, limit: explain.ClusterFull, text: "n0, which comes nearest, lacks <memory:1024"},
		"too large":  {asks: []Ask{{Name: Any, Count: 1, RelaxLocality: true, Capability: res(11, 1)}}, limit: explain.TooLarge, text: "lacks <memory:1024"},
		"no place":   {asks: []Ask{row(0, Any, 1, false), row(0, "n7", 1, true)}, limit: explain.WrongPlace, text: "none of the 2 nodes"},
		"blacklist":  {asks: []Ask{any1}, black: []string{"n0", "/r1"}, limit: explain.Blacklisted, text: "(/r1, n0)"},
		"strict and": {hog: hog{"root.b", "h", 1, 20}, asks: []Ask{row(0, Any, 1, false), row(0, "n1", 1, true)}, limit: explain.ClusterFull, text: "n1, which comes nearest"},
	} {
		t.Run(name, func(t *testing.T) {
			settings := maps.Clone(base)
			maps.Copy(settings, c.settings)
			s := New(Config{Tree: capacityTree(t, settings), Minimum: res(1, 1)})
			for i, host := range []string{"n0", "n1"} {
				s.AddNode(NodeSpec{Host: host, Rack: []string{"/r0", "/r1"}[i], Capability: res(10, 10)})
			}
			if c.hog.count > 0 {
				h := s.AddApp(AppSpec{Queue: c.hog.queue, User: c.hog.user, Seq: 1, AM: res(1, 1)})
				s.UpdateAsks(h, []Ask{{Name: Any, Count: c.hog.count, RelaxLocality: true, Capability: res(c.hog.gb, 1)}})
				s.Schedule(0)
			}
			a := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 2, AM: res(1, 1)})
			s.UpdateBlacklist(a, c.black, nil)
			s.UpdateAsks(a, c.asks)
			if got := grants(s); len(got) > 0 {
				t.Fatalf("granted %v", got)
			}
			r := s.Explain(a)
			if len(r) != 1 || r[0].Limit != c.limit || !strings.Contains(r[0].Text, c.text) || r[0].Free == "" {
				t.Errorf("said %+v, want %s: %s", r, c.limit, c.text)
			}
		})
	}
}

func TestWhatIf(t *testing.T) {
	s := New(Config{Tree: capacityTree(t, map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "root.b.maximum-capacity": "50",
	}), Minimum: res(1, 1)})
	s.AddNode(NodeSpec{Host: "n0", Rack: "/r0", Capability: res(10, 10)})
	for _, c := range []struct {
		queue string
		ask   records.Resource
		am    bool
		want  explain.Limit
	}{
		{"root.a", res(1, 1), true, explain.NoLimit},
		{"root.a", res(7, 1), false, explain.NoLimit},
		{"root.a", res(11, 1), false, explain.TooLarge},
		{"root.b", res(6, 1), false, explain.QueueMaximum},
	} {
		r, err := s.WhatIf(c.queue, "u", c.ask, c.am)
		if err != nil || r.Limit != c.want || r.Text == "" {
			t.Errorf("%s %v: %v %+v, want %q", c.queue, c.ask, err, r, c.want)
		}
	}
	if _, err := s.WhatIf("root", "u", res(1, 1), false); err == nil {
		t.Error("a parent queue was taken for a leaf")
	}
	if got := grants(s); len(got) != 0 {
		t.Errorf("asking what if made %v", got)
	}
}

// A listing explains all applications that wait. What is the same for those of a leaf is found out once, and who blocks a leaf without
// going through all of them for each.
func TestManyApplicationsAreExplained(t *testing.T) {
	const n = 3000
	fair, err := queue.ParseFair([]byte(`<allocations><queue name="p0"><queue name="l0"><maxAMShare>0.1</maxAMShare></queue></queue></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	for kind, tree := range map[string]*queue.Tree{
		"masters": largeTree(t, map[string]string{"maximum-am-resource-percent": "0.1"}), "sizes": largeTree(t, nil), "fair": fair,
	} {
		s := New(Config{Tree: tree, Minimum: res(1, 1)})
		s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(20, 20)})
		var apps []handle.App
		for i := range n {
			h := s.AddApp(AppSpec{Seq: int64(i), Queue: "root.p0.l0", User: fmt.Sprint("u", i%10), AM: res(1, 1)})
			size := res(1, 1)
			if kind == "sizes" {
				size[0] += int64(i)
			}
			s.UpdateAsks(h, []Ask{{Priority: 1, Name: Any, Count: 2, RelaxLocality: true, Capability: size}})
			apps = append(apps, h)
		}
		s.Schedule(0)
		s.core.Passed, s.core.Demanded.Passed = 0, 0
		explained := 0
		s.ExplainAll(apps, func(r []explain.Reason) bool {
			explained += len(r)
			return true
		})
		if passed := s.core.Passed + s.core.Demanded.Passed; explained < n-40 || passed > 20*n {
			t.Errorf("%s: %d explained, %d looked at", kind, explained, passed)
		}
	}
}
