package queue

import (
	"strings"
	"testing"
)

// capacityProfile is the configuration of Hadoop's recordings, whose numbers are in the tests.
var capacityProfile = map[string]string{
	"root.queues": "default,prod,plan,closed", "maximum-am-resource-percent": "1.0", "root.accessible-node-labels": "*",
	"root.default.capacity": "20", "root.default.maximum-capacity": "100", "root.default.user-limit-factor": "10",
	"root.prod.capacity": "40", "root.prod.queues": "web,batch",
	"root.prod.web.capacity": "60", "root.prod.web.queues": "front,back",
	"root.prod.web.front.capacity": "75", "root.prod.web.front.user-limit-factor": "10", "root.prod.web.back.capacity": "25",
	"root.prod.batch.capacity": "40", "root.prod.batch.maximum-applications": "50",
	"root.plan.capacity": "30", "root.plan.reservable": "true",
	"root.closed.capacity": "10", "root.closed.state": "STOPPED",
}

func TestCapacityTree(t *testing.T) {
	tree, err := ParseCapacity(capacityProfile)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	tree.Root.All(func(q *Queue) { paths = append(paths, q.Path) })
	if got := strings.Join(paths, " "); got != "root root.default root.prod root.prod.web root.prod.web.front root.prod.web.back root.prod.batch root.plan root.plan.plan-default root.closed" {
		t.Errorf("got %s", got)
	}
	for _, c := range []struct {
		name, path         string
		leaf, stopped      bool
		capacity, absolute float32
		applications       int32
	}{
		{"default", "root.default", true, false, 20, 20, 2000},
		{"", "root.default", true, false, 20, 20, 2000},
		{"root.prod", "root.prod", false, false, 40, 40, 4000},
		{"web", "root.prod.web", false, false, 60.000004, 24, 2400},
		{"batch", "root.prod.batch", true, false, 40, 16.000002, 50},
		{"front", "root.prod.web.front", true, false, 75, 18, 1800},
		{"back", "root.prod.web.back", true, false, 25, 6, 600},
		{"plan", "root.plan", false, false, 30.000002, 30.000002, 3000},
		{"closed", "root.closed", true, true, 10, 10, 1000},
	} {
		q, ok := tree.Find(c.name)
		if !ok || q.Path != c.path || q.Leaf() != c.leaf || q.Stopped != c.stopped {
			t.Errorf("%q: got %+v", c.name, q)
			continue
		}
		if q.Capacity*100 != c.capacity || q.AbsoluteCapacity*100 != c.absolute || q.MaxApplications != c.applications {
			t.Errorf("%s: capacity %v, absolute %v, %d applications", c.path, q.Capacity*100, q.AbsoluteCapacity*100, q.MaxApplications)
		}
	}
	if _, ok := tree.Find("nowhere"); ok {
		t.Error("found what isn't there")
	}
}

func TestAmbiguousName(t *testing.T) {
	tree, err := ParseCapacity(map[string]string{
		"root.queues": "a,b", "root.a.queues": "x", "root.b.queues": "x",
		"root.a.capacity": "50", "root.b.capacity": "50", "root.a.x.capacity": "100", "root.b.x.capacity": "100",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tree.Find("x"); ok {
		t.Error("an ambiguous name means something")
	}
	if q, ok := tree.Find("root.b.x"); !ok || q.Path != "root.b.x" {
		t.Errorf("got %v, %v", q, ok)
	}
}

func TestRefused(t *testing.T) {
	for name, settings := range map[string]map[string]string{
		"root.a.capacity":        {"root.queues": "a", "root.a.capacity": "plenty"},
		"root.a.state":           {"root.queues": "a", "root.a.state": "ASLEEP"},
		"root.queues":            {"root.queues": "a,a"},
		"user-limit-factor":      {"root.queues": "a", "user-limit-factor": "much"},
		"maximum-applications":   {"root.queues": "a", "root.a.maximum-applications": "-5"},
		"root.a.a.a":             loop(),
		"root.a.max-parallel-ap": {"root.queues": "a", "root.a.max-parallel-apps": "x"},
	} {
		if _, err := ParseCapacity(settings); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// loop nests queues deeper than anybody wants.
func loop() map[string]string {
	s := map[string]string{}
	path := "root"
	for range 40 {
		s[path+".queues"] = "a"
		path += ".a"
	}
	return s
}

func TestFIFOTakesAnyName(t *testing.T) {
	tree := Default(FIFO)
	for name, want := range map[string]string{"": "default", "default": "default", "nowhere": "nowhere"} {
		if path, err := tree.Place(App{Queue: name, User: "u"}, nil); path != want || err != nil {
			t.Errorf("%q: got %q, %v", name, path, err)
		}
	}
}

// FuzzParseCapacity reads arbitrary settings: a tree that comes of them has a path for each queue.
func FuzzParseCapacity(f *testing.F) {
	f.Add("root.queues=a,b\nroot.a.capacity=50\nroot.b.capacity=2w\nroot.a.state=STOPPED")
	f.Add("root.queues=a\nroot.a.queues=a\nroot.a.a.queues=a\nroot.a.maximum-capacity=NaN")
	f.Fuzz(func(t *testing.T, text string) {
		settings := map[string]string{}
		for line := range strings.SplitSeq(text, "\n") {
			k, v, _ := strings.Cut(line, "=")
			settings[k] = v
		}
		tree, err := ParseCapacity(settings)
		if err != nil {
			return
		}
		tree.Root.All(func(q *Queue) {
			if found, ok := tree.Find(q.Path); !ok || found != q {
				t.Fatalf("%s is not found", q.Path)
			}
		})
	})
}
